//! Families of phrases with which instructions are injected, in plain lower-case text.

use std::ops::Range;
use std::sync::LazyLock;

use regex::{Regex, RegexSet};

/// What a phrase tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Family {
    InstructionOverride,
    Disregard,
    ContextReset,
    RoleHijack,
    NewInstructions,
    SystemPrompt,
    ExecInjection,
    Elevation,
    ForcedRemoval,
    MassDeletion,
    SystemTag,
    RoleDelimiter,
    Authority,
    Concealment,
    Exfiltration,
}

/// A phrase in a plain text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Phrase {
    pub family: Family,
    pub range: Range<usize>,
}

impl Family {
    pub const ALL: [Self; 15] = [
        Self::InstructionOverride,
        Self::Disregard,
        Self::ContextReset,
        Self::RoleHijack,
        Self::NewInstructions,
        Self::SystemPrompt,
        Self::ExecInjection,
        Self::Elevation,
        Self::ForcedRemoval,
        Self::MassDeletion,
        Self::SystemTag,
        Self::RoleDelimiter,
        Self::Authority,
        Self::Concealment,
        Self::Exfiltration,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::InstructionOverride => "instruction-override",
            Self::Disregard => "disregard",
            Self::ContextReset => "context-reset",
            Self::RoleHijack => "role-hijack",
            Self::NewInstructions => "new-instructions",
            Self::SystemPrompt => "system-prompt",
            Self::ExecInjection => "exec-injection",
            Self::Elevation => "elevation",
            Self::ForcedRemoval => "forced-removal",
            Self::MassDeletion => "mass-deletion",
            Self::SystemTag => "system-tag",
            Self::RoleDelimiter => "role-delimiter",
            Self::Authority => "authority",
            Self::Concealment => "concealment",
            Self::Exfiltration => "exfiltration",
        }
    }

    /// Whether it says something by itself: a role name before a colon does not.
    pub fn is_telling(self) -> bool {
        !matches!(self, Self::RoleDelimiter | Self::ForcedRemoval)
    }

    /// Blanks of the plain text are single, letters are small.
    fn pattern(self) -> &'static str {
        match self {
            Self::InstructionOverride => {
                r"(?:ignore|ignoring|override|overriding|bypass|skip|overlook|discard|forget|ignora|ignorez|ignoriere|vergiss|vergessen sie|olvida)[ ,]+(?:(?:all|any|every|everything|the|your|my|our|these|those|this|that|of|above|previous|previously|prior|preceding|past|earlier|former|foregoing|initial|original|existing|current|given|system|safety|security|other|todas|las|toutes|les|alle|saemtliche|samtliche|vorherigen|vorigen|obigen|deine|and|or|said|before|you|were|was|have|been|told)[ ,]+){0,7}(?:instruction|prompt|rule|guideline|directive|command|context|order|programming|training|restriction|constraint|polic|filter|message|assignment|statement|information|instruccion|consigne|anweisung|befehl|aufgabe|instruktion|above|previous|before)"
            }
            Self::Disregard => {
                r"disregard(?:ing)?[ ,]+(?:[a-z0-9_]+[ ,]+){0,6}?(?:instruction|prompt|rule|guideline|directive|command|context|order|programming|training|above|previous|prior|everything|said|told)|pay no attention to|do not (?:follow|obey|listen to) (?:[a-z0-9_]+ ){0,3}(?:previous|prior|above|earlier|original|system)"
            }
            Self::ContextReset => {
                r"(?:forget|erase|clear|wipe|reset) (?:about )?(?:everything|all (?:of )?(?:that|this|the above|your)|your (?:memory|context|history|instructions)|the (?:above|previous|conversation|context)|what (?:i|you|we|was)|alles)|end of (?:the )?(?:context|conversation|document|prompt|user (?:input|message))|start(?:ing)? (?:over|again|fresh|anew) (?:with|from)|new (?:conversation|session) (?:starts|begins)|vergiss alles|now (?:let's |lets )?(?:begin|start) (?:a )?new"
            }
            Self::RoleHijack => {
                r"you are (?:now|no longer|from now on)\b|from now on,? (?:you|your|act|answer|respond|only)|(?:act|behave|respond|answer|reply|talk|speak) as (?:if you|though you|an? (?:[a-z0-9_]+ ){0,3}(?:without|who|that|with no)|my|dan\b)|(?:pretend|imagine|suppose|assume) (?:that )?(?:you are|you're|you were|to be|you have no)|i want you to (?:act|pretend|respond|behave)|do anything now|(?:developer|god|jailbreak|debug|maintenance|dan|unrestricted|opposite|sudo) mode|stay in character|du bist (?:jetzt|nun|ab jetzt)|ab jetzt bist du"
            }
            Self::NewInstructions => {
                r"(?:new|updated|revised|additional|real|actual|true|next|special|secret) (?:and [a-z0-9_]+ )?(?:instructions?|task|rules?|directives?|orders?|objective|assignment|goal|mission|aufgabe)(?: ?:| is\b| are\b| from\b| follows?\b| for you)|(?:important|urgent|critical)(?: new)? instructions?\b|follow (?:these|the following|my|only my|only these)(?: new| next| exact)? (?:instruction|order|command|direction)|before you (?:can )?(?:solve|continue|proceed|do|complete|start|finish|answer)[ a-z0-9_]{0,24}(?:task|request|question)|instead,? (?:you (?:must|should|will|need)|please|do the following|say|print|output|write|reply|respond|answer)|your (?:only|sole|primary) (?:task|job|goal|purpose) is|(?:important|attention)!{2,}"
            }
            Self::SystemPrompt => {
                r"(?:reveal|show|print|repeat|display|output|leak|expose|disclose|tell me|give me|what(?: is|'s| are| were| was)|write(?: out| down)?|share|spell[- ]?check|summari[sz]e|return|translate|recite|copy|list|dump|say|begin with|start with|encode)[ :](?:[a-z0-9_]+[ ,']+){0,6}?(?:(?:system|initial|original|hidden|secret|full|first|entire|complete|previous|prior|above|internal|confidential|own)[ -](?:[a-z0-9_]+ )?(?:prompt|instruction|message|rules|text|guideline|directive|configuration)|your (?:prompt|instructions|rules|guidelines|programming|configuration)|prompt (?:text|above|instructions|verbatim)|instructions above)|(?:system|initial|original|secret) prompt"
            }
            Self::ExecInjection => {
                r"(?:curl|wget|iwr|fetch)\b[^\n|]{0,200}\| ?(?:sudo )?(?:ba|z|da)?sh\b|base64 (?:-d|-D|--decode)[^\n|]{0,60}\| ?(?:sudo )?(?:ba|z)?sh\b|(?:run|execute|paste|enter) (?:(?:the|this|that|these|following|exactly|below) ?){1,3}(?:shell |bash |terminal |system )?(?:command|script|code)s?(?: in (?:your|the|a) (?:terminal|shell)| ?:| now| immediately| first)|os\.system\(|powershell(?:\.exe)? -e(?:nc|p)?\b|nc -e /bin|/dev/tcp/"
            }
            Self::Elevation => {
                r#""?elevated"? ?[=:] ?"?(?:true|on|full|1|yes)|"?(?:security|ask)"? ?[=:] ?"?(?:full|off)\b|--dangerously|--yolo|sudo mode|with (?:root|admin|administrator|elevated) (?:privileges|access|permissions) (?:and|to|now)"#
            }
            Self::ForcedRemoval => {
                r"\brm -(?:rf|fr|r -f|f -r)\b|\bdel /[sfq]|format c:|mkfs\.|dd if=/dev/(?:zero|random)|drop (?:table|database)\b|git push --force"
            }
            Self::MassDeletion => {
                r"(?:delete|erase|remove|wipe|destroy|purge|shred|trash) (?:(?:all|every|everything|each|any|the|my|your|of|user|users|single|entire|their|unread|whole|his|her) ?){1,4}(?:files?|e-?mails?|messages?|data|documents?|records?|contacts?|backups?|folders?|director|events?|accounts?|repositor|inbox|drive|database)"
            }
            Self::SystemTag => {
                r"</?(?:system|assistant|instructions?|admin|important|information|sys|system[-_ ](?:message|prompt|note|reminder)|human|untrusted|tool_result|data)>|\[/?(?:system|inst|admin|assistant|system (?:message|prompt|note))\]|<</?sys>>|\bsystem (?:override|alert|notice|update)\b ?[:!]"
            }
            Self::RoleDelimiter => {
                r"(?:^|\n)[ #*>]{0,6}(?:system|assistant|human|developer|ai|chatgpt|gpt)\*{0,2} ?:|### ?(?:system|instruction|assistant|human)|<\|[a-z_]{2,20}\|>|-{3,} ?(?:begin|end|start) (?:of )?(?:system|admin|new|user)|={3,} ?(?:system|end|new)"
            }
            Self::Authority => {
                r"(?:this is (?:an? )?(?:[a-z0-9_]+ ){0,2}(?:message|instruction|request|order|notice|command) (?:from|by) (?:me|your|the|us)|(?:i am|i'm|as|from) your (?:creator|developer|administrator|admin|owner|boss|user|maker|programmer)|message (?:to|for) (?:the )?(?:ai|assistant|agent|model|bot|llm)|(?:dear|hey|hello|attention|note to),? (?:ai|assistant|agent|llm|language model|chatbot)\b|(?:openai|anthropic|google) (?:has|requires|policy|employee|staff)|to you,? the (?:ai|assistant|model))"
            }
            Self::Concealment => {
                r"(?:do not|don't|dont|never|without) (?:tell|mention|inform|reveal|show|notify|alert|telling|informing|notifying|asking|mentioning|alerting|let)(?:ing)? ?(?:(?:this|anything|it|about|to|the|your|any|of|that) ?){0,4}(?:user|owner|human|anyone|anybody|them|him|her|operator)|keep (?:this|it) (?:a )?(?:secret|hidden|between us)|(?:silently|secretly|quietly) (?:send|forward|run|execute|delete|upload|add|copy|install|post)|delete (?:the|this) (?:sent )?(?:e-?mail|message|instruction|text) (?:after|once|when)"
            }
            Self::Exfiltration => {
                r"(?:send|forward|post|upload|exfiltrate|e-?mail|transmit|leak|submit|share|give)[ a-z0-9_',:]{1,80}(?:api[- ]?keys?|passwords?|credentials?|secrets?|tokens?|\.env|private keys?|ssh keys?|security code|credit card|passport|bank account|bank details|contents? of)[ a-z0-9_',.:]{0,80}(?: to | at |https?:)"
            }
        }
    }
}

/// All families at once, to know which are worth a second look.
static ANY: LazyLock<Option<RegexSet>> =
    LazyLock::new(|| RegexSet::new(Family::ALL.map(ascii)).ok());
static EACH: LazyLock<Vec<Option<Regex>>> = LazyLock::new(|| {
    Family::ALL
        .iter()
        .map(|family| Regex::new(&ascii(*family)).ok())
        .collect()
});

/// Plain text is as good as ASCII, and ASCII is faster. A phrase may be broken into lines.
fn ascii(family: Family) -> String {
    family
        .pattern()
        .replace(r"\b", r"(?-u:\b)")
        .replace(' ', r"[ \n]")
}

/// At most this many phrases of a family are looked at.
const MOST_EACH: usize = 8;

/// The phrases in a plain text, in order.
pub fn find(text: &str) -> Vec<Phrase> {
    let mut found = Vec::new();
    let Some(any) = ANY.as_ref() else {
        return found;
    };
    for at in any.matches(text) {
        if let (Some(family), Some(Some(regex))) = (Family::ALL.get(at), EACH.get(at)) {
            let phrases = regex.find_iter(text).take(MOST_EACH);
            found.extend(phrases.map(|phrase| Phrase {
                family: *family,
                range: phrase.range(),
            }));
        }
    }
    found.sort_by_key(|phrase| phrase.range.start);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_is_one() {
        for family in Family::ALL {
            assert!(
                Regex::new(&ascii(family)).is_ok(),
                "{}: {:?}",
                family.as_str(),
                Regex::new(&ascii(family))
            );
        }
        assert!(ANY.is_some());
    }
}
