//! Families of phrases with which instructions are injected, in plain lower-case text.
//!
//! All beginnings of all phrases are looked for at once; where one stands, the rest of its rule
//! (module `rules`) is tried right behind it. Text without beginnings costs next to nothing.

mod rules;

use std::ops::Range;
use std::sync::{LazyLock, OnceLock};

use aho_corasick::AhoCorasick;
use regex::Regex;
use unicode_normalization::UnicodeNormalization;

use super::plain::alike;
use rules::{PhrasePlace, PhraseRule, QUIET, RULES};

/// What a phrase tries.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum PhraseFamily {
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
    RolePlay,
}

/// A phrase in a plain text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundPhrase {
    pub family: PhraseFamily,
    pub range: Range<usize>,
}

impl PhraseFamily {
    pub const ALL: [Self; 16] = [
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
        Self::RolePlay,
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
            Self::RolePlay => "role-play",
        }
    }

    /// Whether it says something by itself: a role name before a colon does not.
    pub fn is_telling(self) -> bool {
        !matches!(
            self,
            Self::RoleDelimiter | Self::ForcedRemoval | Self::RolePlay
        )
    }
}

/// The beginnings of all rules, the rules of each, and the rest of each rule: made when its
/// beginning is first met, as most never are and all together take longer than any text.
struct Finder {
    rules: &'static [PhraseRule],
    starts: AhoCorasick,
    rules_of: Vec<Vec<usize>>,
    rests: Vec<OnceLock<Option<Regex>>>,
}

static FINDER: LazyLock<Option<Finder>> = LazyLock::new(|| Finder::of(RULES));
static QUIET_FINDER: LazyLock<Option<Finder>> = LazyLock::new(|| Finder::of(QUIET));

impl Finder {
    fn of(rules: &'static [PhraseRule]) -> Option<Self> {
        let mut starts: Vec<String> = Vec::new();
        let mut rules_of: Vec<Vec<usize>> = Vec::new();
        for (number, rule) in rules.iter().enumerate() {
            for start in rule.starts {
                let start = plain_letters(start);
                let at = starts.iter().position(|known| *known == start);
                let at = at.unwrap_or_else(|| {
                    starts.push(start);
                    rules_of.push(Vec::new());
                    starts.len() - 1
                });
                if let Some(known) = rules_of.get_mut(at) {
                    known.push(number);
                }
            }
        }
        Some(Self {
            starts: AhoCorasick::new(&starts).ok()?,
            rules_of,
            rests: rules.iter().map(|_| OnceLock::new()).collect(),
            rules,
        })
    }
}

/// The rest of a rule, right behind its beginning. A phrase may be broken into lines; words end
/// where ASCII words end, which is faster.
fn rest_of(rest: &str) -> Result<Regex, regex::Error> {
    let rest = plain_letters(rest)
        .replace(r"\b", r"(?-u:\b)")
        .replace(' ', r"[ \n]");
    Regex::new(&format!(r"\A(?:{rest})"))
}

/// Plain text has letters without accents, and Latin ones where those of other alphabets look
/// like them.
fn plain_letters(text: &str) -> String {
    text.nfkd()
        .filter(|c| !('\u{300}'..='\u{36F}').contains(c))
        .map(|c| if c.is_ascii() { c } else { alike(c) })
        .collect()
}

/// At most this many phrases of a family are looked at.
const MOST_EACH: usize = 8;

/// The phrases in a plain text, in order.
pub fn find(text: &str) -> Vec<FoundPhrase> {
    FINDER
        .as_ref()
        .map(|finder| finder.find(text))
        .unwrap_or_default()
}

/// Phrases in a plain text that are noted and not weighed.
pub fn find_quiet(text: &str) -> Vec<FoundPhrase> {
    QUIET_FINDER
        .as_ref()
        .map(|finder| finder.find(text))
        .unwrap_or_default()
}

impl Finder {
    fn find(&self, text: &str) -> Vec<FoundPhrase> {
        let mut found: Vec<FoundPhrase> = Vec::new();
        let mut each = [0; PhraseFamily::ALL.len()];
        // A beginning of several words may be broken into lines.
        let flat = text.replace('\n', " ");
        for start in self.starts.find_overlapping_iter(&flat) {
            let rules = self.rules_of.get(start.pattern().as_usize());
            for number in rules.into_iter().flatten() {
                let Some(rule) = self.rules.get(*number) else {
                    continue;
                };
                let Some(count) = each.get_mut(rule.family as usize) else {
                    continue;
                };
                if *count == MOST_EACH
                    || rule.place == PhrasePlace::Line && !begins_line(text, start.start())
                {
                    continue;
                }
                let rest = text.get(start.end()..);
                let regex = self.rests.get(*number);
                let regex = regex.map(|regex| regex.get_or_init(|| rest_of(rule.rest).ok()));
                let regex = regex.and_then(Option::as_ref);
                if let Some(rest) = rest.and_then(|rest| regex?.find(rest)) {
                    let range = start.start()..start.end() + rest.end();
                    let known = |phrase: &&FoundPhrase| {
                        phrase.family == rule.family && phrase.range.end > range.start
                    };
                    if !found.iter().rev().any(|phrase| known(&phrase)) {
                        *count += 1;
                        found.push(FoundPhrase {
                            family: rule.family,
                            range,
                        });
                    }
                }
            }
        }
        found.sort_by_key(|phrase| phrase.range.start);
        found
    }
}

/// Whether nothing but the signs of a heading or a quotation stands before it in its line.
fn begins_line(text: &str, at: usize) -> bool {
    let before = text
        .get(..at)
        .unwrap_or_default()
        .trim_end_matches([' ', '#', '*', '>']);
    before.is_empty() || before.ends_with('\n')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_is_one_and_every_family_has_one() {
        for rule in RULES.iter().chain(QUIET) {
            assert!(rest_of(rule.rest).is_ok(), "{:?}", rest_of(rule.rest));
            assert!(!rule.starts.is_empty());
        }
        for (number, family) in PhraseFamily::ALL.into_iter().enumerate() {
            assert_eq!(family as usize, number);
            assert!(
                RULES.iter().any(|rule| rule.family == family),
                "{}",
                family.as_str()
            );
        }
        assert!(FINDER.is_some() && QUIET_FINDER.is_some());
    }
}
