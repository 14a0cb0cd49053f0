//! Orders to the agent that no skill may give: against its rules, or behind its owner's back.

use super::pattern::patterns;
use super::{Sign, Weight, leak};
use crate::inspect::about;
use crate::inspect::hosts::{Place, links};
use crate::inspect::page::{Kind, Page, Zone};
use crate::inspect::words::Words;

patterns! {
    IGNORE = r"(?:^|[.:;!>*\-,(\[]\s*|\b(?:must|should|now|please|and|to|then|always|immediately|will|instruction|important|first|also|just|simply|can|you|instead)[:,]?\s+|\d\.\s+)(?:ignore|disregard|forget|override|bypass|discard|do not follow|don't follow|stop following)\s+(?:(?:all|any|the|your|every|these|those|of|everything in|everything|each)\s+)*(?:(?:previous|prior|above|earlier|preceding|existing|system|other|original|former|current|default|initial|built-in|safety|security|content|ethical|developer)\s+)+(?:(?:safety|security|system|user|developer|and|or|content)\s+)*(?:instructions?|guidance|rules|guidelines?|prompts?|directives?|constraints?|context|polic(?:y|ies)|restrictions?|filters?|checks?|protocols?|training|guardrails?|warnings?|messages?)|(?:ignore|disregard|forget|override|bypass)\s+(?:all|every|your|any|everything)\s+(?:of\s+)?(?:the\s+|your\s+)?(?:rules|restrictions|safety|guardrails|instructions|guidelines|programming|training|limitations)\b|forget everything (?:you|above|before)|(?:ignore|disregard) (?:everything|anything|all) (?:above|before|previously|prior|you were told|said)|\[inst\]\s*ignore|no longer (?:bound|restricted|limited|constrained) by|(?:replace|overwrite|override) (?:your|the) (?:system prompt|instructions|core directives)|无视.{0,8}(?:指令|规则)|忽略.{0,8}(?:之前|以上|先前|所有).{0,6}(?:指令|规则)|ignora (?:todas )?las instrucciones|ignoriere (?:alle )?(?:vorherigen|bisherigen)|ignorez (?:toutes )?les instructions|игнорируй.{0,20}инструкции|以前の指示を無視|これまでの指示を無視";
    NEW_ROLE = r"you are now (?:in |an? )?(?:dan\b|developer mode|unrestricted|jailbroken|god mode|root|in unrestricted|admin|debug mode|maintenance mode|free from)|\bsystem override\b|enter (?:developer|god|unrestricted|jailbreak|admin|dan|debug) mode|(?:developer|god|jailbreak|dan|unrestricted) mode (?:is )?(?:enabled|activated|on\b)|(?:act|behave|operate|respond) (?:as|like) (?:an? |if you were )?(?:unrestricted|uncensored|unfiltered|jailbroken)|(?:act|behave|operate|respond) without (?:any )?(?:restrictions|limits|filters|safety|guardrails)|\b(?:no|without|free of|any) (?:ethical|safety|moral|content) (?:restrictions|guidelines|limits|limitations|constraints|filters|guardrails)|pretend (?:that )?(?:you|there) (?:are|have) no (?:rules|restrictions|limits|guidelines)|do anything now";
    UNGUARDED = r"(?:disable|turn off|deactivate|remove|switch off) (?:all |your |the |any )?(?:safety|security|content|ethical)\s+(?:checks?|filters?|guardrails?|restrictions?|protocols?|guidelines?|mechanisms?|features?|controls?|measures|warnings?|validations?)";
    HIDE = r"(?:do not|don't|never|must not|should not|shouldn't|without|avoid)\s+(?:\w+\s+){0,2}(?:tell(?:ing)?|mention(?:ing)?|inform(?:ing)?|reveal(?:ing)?|disclos(?:e|ing)|notify(?:ing)?|alert(?:ing)?|show(?:ing)?|report(?:ing)?|display(?:ing)?|expos(?:e|ing)|discuss(?:ing)?|let(?:ting)?|log(?:ging)?|warn(?:ing)?)\s+(?:\w+\s+){0,7}(?:to\s+)?(?:the\s+|your\s+)?(?:user|owner|human|operator|anyone|anybody|them\b)|(?:do not|don't|never) (?:tell|inform|notify|alert|warn) (?:the )?(?:user|owner|human|operator|anyone)|(?:keep|hide|conceal)\s+(?:this|it|these|the\s+\w+|all)\s+(?:\w+\s+){0,4}(?:secret|hidden|from)\s+(?:\w+\s+){0,3}(?:user|owner|human)|without (?:the )?(?:user|owner|human|their)(?:'s)? (?:\w+ )?(?:knowledge|knowing|awareness|consent|noticing|notice)|(?:user|owner) (?:must|should|will|need) not (?:know|see|be (?:told|aware|informed)|notice)|(?:do not|don't|never) (?:mention|reveal|disclose|acknowledge|refer to) (?:this|these|the (?:existence|contents)|that you)(?: \w+){0,2} (?:comment|instructions?|section|step|rule|skill|prompt|message|action|upload|request)|(?:secretly|covertly|surreptitiously|stealthily)\s+\w+|不要告诉用户|ユーザーに(?:知らせ|伝え|言わ)(?:ない|ず)";
    NO_ASK = r"(?:auto(?:matically)?[- ]?approve|approve) (?:all|any|every(?:thing)?|each)\b|(?:disable|turn off|bypass|skip) (?:all )?(?:approvals?|confirmations?|permission (?:prompts?|checks?)|safety (?:checks?|prompts?)|sandbox)|--dangerously-skip-permissions|bypasspermissions";
    PROMPT = r"(?:reveal|print|output|repeat|show|send|leak|echo|dump|include|return|disclose)\s+(?:\w+\s+){0,4}(?:system prompt|your (?:instructions|system message|initial prompt)|hidden instructions)|echo the value of the authorization header";
    LOOP = r"retry .{0,40}(?:indefinitely|forever) until";
    DECEIVE = r"\b(?:tell|assure|reassure|inform|convince|claim to)\s+(?:the\s+)?(?:user|owner|human|them)\s+(?:that\s+)?.{0,60}(?:safe|scanned|approved|verified|nothing (?:happened|changed)|no (?:issues|problems|changes)|routine|normal|required by)|\b(?:fake|forge|fabricate|pretend)\b.{0,40}\b(?:result|success|output|error|approval|confirmation)|\blie to\b.{0,20}(?:user|owner)";
    QUOTED = r#"["'“`«][^"'”`»]*(?:ignore|disregard|forget|override|bypass|you are now|developer mode|system prompt|instructions)[^"'”`»]*["'”`»]|e\.g\.|for example|such as|like \x22|example:|examples?\b.{0,40}:|\b(?:if|when)\b.{0,80}(?:says?|contains?|asks?|tells?|instructs?|includes?|claims?|tries)|detect|attempt|inject|attack|jailbreak(?:s|ing)?\b.{0,30}(?:prompt|test|pattern)"#;
}

/// Whether a line tells the agent to drop its rules.
pub(super) fn drops_rules(text: &str) -> bool {
    IGNORE.is_in(text) || NEW_ROLE.is_in(text) || UNGUARDED.is_in(text)
}

/// Whether a line tells the agent to keep something from its owner.
pub(super) fn hides(text: &str) -> bool {
    HIDE.is_in(text)
}

/// Whether a line tells the agent to say what is not so.
pub(super) fn deceives(text: &str) -> bool {
    DECEIVE.is_in(text)
}

/// Whether such words are quoted or spoken of.
pub(super) fn is_quoted(text: &str) -> bool {
    // The quotes around a value of the head belong to its notation.
    let value = text.split_once(": ").filter(|(key, value)| {
        !key.contains(' ') && value.starts_with(['"', '\'']) && value.ends_with(['"', '\''])
    });
    let text = value.map_or(text, |(_, value)| value.trim_matches(['"', '\'']));
    QUOTED.is_in(&about::without_names(text))
}

pub(super) fn look(page: &Page, at: usize, signs: &mut Vec<Sign>) {
    let line = &page.lines[at];
    if !line.words.have(Words::ORDER) {
        return;
    }
    let text = line.text.as_str();
    // In a program these are mostly words it looks for.
    let spoken = page.kind == Kind::Prose && line.zone == Zone::Prose;
    let quoted = is_quoted(text);
    let weight = |weight: Weight| match (spoken, quoted) {
        (true, false) => weight,
        // Whoever quotes such words adds nothing to other doubts.
        (true, true) => Weight::Note,
        (false, false) if page.kind == Kind::Prose => weight.min(Weight::Suspicious),
        (false, _) => Weight::Note,
    };
    if IGNORE.is_in(text) {
        signs.push(Sign::order(
            "agent-override",
            weight(Weight::Dangerous),
            "tells the agent to drop its rules",
        ));
    } else if NEW_ROLE.is_in(text) {
        signs.push(Sign::order(
            "agent-override",
            weight(Weight::Dangerous),
            "tells the agent that it is something without rules",
        ));
    }
    if UNGUARDED.is_in(text) {
        signs.push(Sign::new(
            "agent-override",
            weight(Weight::Dangerous),
            "tells the agent to switch off what protects you",
        ));
    }
    if HIDE.is_in(text) && page.kind == Kind::Prose {
        behind_your_back(page, at, signs);
    }
    if NO_ASK.is_in(text) {
        signs.push(Sign::new(
            "no-questions",
            Weight::Note,
            "wants things done without asking you",
        ));
    }
    if PROMPT.is_in(text) && page.kind == Kind::Prose {
        signs.push(Sign::new(
            "prompt-leak",
            weight(Weight::Suspicious),
            "asks for the agent's own instructions or keys",
        ));
    }
    if LOOP.is_in(text) {
        signs.push(Sign::new(
            "endless",
            Weight::Suspicious,
            "tells the agent to go on without end",
        ));
    }
}

/// How bad it is to keep something from the owner: by what it is.
fn behind_your_back(page: &Page, at: usize, signs: &mut Vec<Sign>) {
    let line = &page.lines[at];
    let text = line.text.as_str();
    let harm = page.near(at, 4).iter().any(|near| {
        let sends = near.words.have(Words::LINK)
            && near
                .words
                .have_any(Words::POST | Words::FETCH | Words::UPLOAD)
            && links(&near.text)
                .iter()
                .any(|link| !matches!(link.place, Place::Near | Place::Installer));
        sends || leak::secret_in(near).is_some() || drops_rules(&near.text)
    });
    let plain = [
        "secretly",
        "covertly",
        "stealthily",
        "knowledge",
        "knowing",
        "awareness",
    ]
    .iter()
    .any(|word| text.contains(word));
    let acts = line.words.have(Words::ACT)
        && ["silently", "quietly", "background", "hidden"]
            .iter()
            .any(|word| text.contains(word));
    let weight = match (harm, plain || acts) {
        _ if line.zone == Zone::Code || QUOTED.is_in(text) => Weight::Note,
        (true, _) => Weight::Dangerous,
        (false, true) => Weight::Suspicious,
        _ => Weight::Note,
    };
    signs.push(Sign::order(
        "behind-your-back",
        weight,
        "tells the agent to keep something from you",
    ));
}
