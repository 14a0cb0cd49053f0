//! Orders to the agent that no skill may give: against its rules, or behind its owner's back.

use super::pattern::patterns;
use super::{Sign, Weight};
use crate::inspect::page::{Kind, Page, Zone};
use crate::inspect::words::Words;

patterns! {
    IGNORE = r"\b(?:ignore|disregard|forget|override)\s+(?:all\s+|any\s+|the\s+|your\s+|every\s+)*(?:of\s+)?(?:(?:previous|prior|above|earlier|preceding|existing|system|other|original|former)\s+)+(?:instructions?|rules|guidelines|prompts?|directives?|constraints|context)|(?:ignore|disregard|bypass)\s+(?:all\s+|any\s+|your\s+|the\s+)*(?:safety|security|content|ethical)\s+(?:rules|guidelines|polic(?:y|ies)|restrictions|filters|checks|protocols)|(?:ignore|disregard|forget|override)\s+(?:all|every|your)\s+(?:of\s+)?(?:the\s+|your\s+)?(?:rules|restrictions|safety|guardrails)|无视.{0,8}(?:指令|规则)|忽略.{0,8}(?:之前|以上|先前).{0,6}(?:指令|规则)";
    NEW_ROLE = r"you are now (?:in |an? )?(?:dan\b|developer mode|unrestricted|jailbroken|god mode|root|in unrestricted)|\bsystem override\b|enter (?:developer|god|unrestricted|jailbreak) mode|act as (?:an? )?unrestricted|no (?:ethical|safety) (?:restrictions|guidelines|limits)";
    HIDE = r"(?:do not|don't|never|must not|should not|without)\s+(?:\w+\s+)?(?:tell(?:ing)?|mention(?:ing)?|inform(?:ing)?|reveal(?:ing)?|disclos(?:e|ing)|notify(?:ing)?|alert(?:ing)?|show(?:ing)?|report(?:ing)?)\s+(?:\w+\s+){0,6}(?:to\s+)?(?:the\s+)?(?:user|owner|human|operator)|(?:keep|hide)\s+(?:this|it|the\s+\w+)\s+(?:\w+\s+){0,3}(?:secret|hidden|from)\s+(?:\w+\s+){0,3}(?:user|owner|human)|without (?:the )?(?:user|owner)(?:'s)? (?:knowledge|knowing|awareness|consent|noticing)|(?:secretly|covertly)\s+\w+";
    NO_ASK = r"(?:auto(?:matically)?[- ]?approve|approve) (?:all|any|every(?:thing)?|each)\b|(?:disable|turn off|bypass|skip) (?:all )?(?:approvals?|confirmations?|permission (?:prompts?|checks?)|safety (?:checks?|prompts?)|sandbox)|--dangerously-skip-permissions|bypasspermissions";
    PROMPT = r"(?:reveal|print|output|repeat|show|send|leak|echo)\s+(?:\w+\s+){0,3}(?:system prompt|your (?:instructions|system message)|hidden instructions)|echo the value of the authorization header";
    LOOP = r"retry .{0,40}(?:indefinitely|forever) until";
    QUOTED = r#"["'“`][^"'”`]*(?:ignore|disregard|forget|override)[^"'”`]*["'”`]|e\.g\.|for example|such as|like \x22|example:|\bif\b.{0,60}(?:says|contains|asks|tells)|detect|attempt|inject|attack"#;
}

pub(super) fn look(page: &Page, at: usize, signs: &mut Vec<Sign>) {
    let line = &page.lines[at];
    if !line.words.have(Words::ORDER) {
        return;
    }
    let text = line.text.as_str();
    // In a program these are mostly words it looks for.
    let spoken = page.kind == Kind::Prose;
    let quoted = QUOTED.is_in(text);
    let weight = |weight: Weight| match (spoken, quoted) {
        (true, false) => weight,
        (true, true) => weight.min(Weight::Suspicious),
        (false, false) => weight.min(Weight::Suspicious),
        (false, true) => Weight::Note,
    };
    if IGNORE.is_in(text) {
        signs.push(Sign::new(
            "agent-override",
            weight(Weight::Dangerous),
            "tells the agent to drop its rules",
        ));
    } else if NEW_ROLE.is_in(text) {
        signs.push(Sign::new(
            "agent-override",
            weight(Weight::Dangerous),
            "tells the agent that it is something without rules",
        ));
    }
    if HIDE.is_in(text) && spoken {
        let bad = page.near(at, 4).iter().any(|near| {
            near.words.have(Words::LINK) && near.words.have_any(Words::POST | Words::FETCH)
        });
        let strong = bad
            || text.contains("secretly")
            || text.contains("covertly")
            || text.contains("knowledge")
            || text.contains("knowing");
        let weight = if strong && line.zone == Zone::Prose {
            Weight::Suspicious
        } else {
            Weight::Note
        };
        signs.push(Sign::new(
            "behind-your-back",
            weight,
            "tells the agent to keep something from you",
        ));
    }
    if NO_ASK.is_in(text) {
        signs.push(Sign::new(
            "no-questions",
            Weight::Note,
            "wants things done without asking you",
        ));
    }
    if PROMPT.is_in(text) && spoken {
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
