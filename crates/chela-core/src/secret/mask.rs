//! A text as others may see it, and the way back.
//!
//! Whoever changes a text saw it without its secrets. What they write is put back into the text
//! as it is: where they left a stand-in, the secret stays.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use super::{Redactor, SecretHit};

/// A text without its secrets, line for line the same.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct MaskedText {
    pub text: String,
    hidden: Vec<Hidden>,
}

#[derive(Clone, PartialEq, Eq)]
struct Hidden {
    shown: String,
    value: String,
    /// `None`: what looks like a stand-in is the text itself.
    kind: Option<Arc<str>>,
}

/// A changed text with its secrets in their places.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct RestoredText {
    pub text: String,
    /// Kinds of the secrets that are no longer in it.
    pub gone: Vec<Arc<str>>,
    /// Stand-ins nothing stands behind: of another text, or copied. They are plain text now.
    pub empty: Vec<String>,
}

impl std::fmt::Debug for MaskedText {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Masked({:?})", self.text)
    }
}

impl std::fmt::Debug for RestoredText {
    /// Leaves the text out: it holds the secrets.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Restored")
            .field("gone", &self.gone)
            .field("empty", &self.empty)
            .finish_non_exhaustive()
    }
}

impl Redactor {
    /// The text without its secrets, line for line the same.
    pub fn mask(&self, text: &str) -> MaskedText {
        let hits = self.find(text.as_bytes());
        let mut masked = MaskedText::default();
        let mut at = 0;
        for hit in &hits {
            masked.keep(text.get(at..hit.range.start).unwrap_or_default());
            let value = text.get(hit.range.clone()).unwrap_or_default();
            let shown = self.stand_in(hit, text.as_bytes());
            masked.text += &shown;
            masked.text += &line_ends(value);
            masked.hidden.push(Hidden {
                shown,
                value: value.to_owned(),
                kind: Some(Arc::clone(&hit.name)),
            });
            at = hit.range.end;
        }
        masked.keep(text.get(at..).unwrap_or_default());
        masked
    }

    /// What stands for a secret in a text whose lines are counted.
    pub(super) fn stand_in_by_line(&self, hit: &SecretHit, text: &[u8]) -> Vec<u8> {
        let value = text.get(hit.range.clone()).unwrap_or_default();
        let ends = value.iter().filter(|byte| **byte == b'\n').count();
        let mut shown = self.stand_in(hit, text).into_bytes();
        shown.resize(shown.len() + ends, b'\n');
        shown
    }
}

impl MaskedText {
    /// Whether there was anything to hide.
    pub fn is_plain(&self) -> bool {
        self.hidden.iter().all(|hidden| hidden.kind.is_none())
    }

    /// Text that is no secret, with what looks like a stand-in in it.
    fn keep(&mut self, plain: &str) {
        self.text += plain;
        self.hidden.extend(stand_ins(plain).map(|shown| Hidden {
            shown: shown.to_owned(),
            value: shown.to_owned(),
            kind: None,
        }));
    }

    /// A text that was made from this one, with the secrets behind its stand-ins.
    pub fn restore(&self, changed: &str) -> RestoredText {
        let mut behind: BTreeMap<&str, VecDeque<&Hidden>> = BTreeMap::new();
        for hidden in &self.hidden {
            behind.entry(&hidden.shown).or_default().push_back(hidden);
        }
        let mut restored = RestoredText::default();
        let mut rest = changed;
        while let Some(shown) = stand_ins(rest).next() {
            let start = rest.find(shown).unwrap_or_default();
            restored.text += &rest[..start];
            rest = &rest[start + shown.len()..];
            match behind.get_mut(shown).and_then(VecDeque::pop_front) {
                Some(hidden) => {
                    restored.text += &hidden.value;
                    let lines = line_ends(&hidden.value).len();
                    let blank = rest.bytes().take_while(|byte| *byte == b'\n').count();
                    // A literal stands for itself alone.
                    let ends = if hidden.kind.is_some() {
                        lines.min(blank)
                    } else {
                        0
                    };
                    rest = &rest[ends..];
                }
                None => {
                    restored.text += shown;
                    restored.empty.push(shown.to_owned());
                }
            }
        }
        restored.text += rest;
        let gone = behind.into_values().flatten();
        restored.gone = gone.filter_map(|hidden| hidden.kind.clone()).collect();
        restored
    }
}

fn line_ends(value: &str) -> String {
    "\n".repeat(value.matches('\n').count())
}

/// What looks like a stand-in, in order.
fn stand_ins(text: &str) -> impl Iterator<Item = &str> {
    const OPENING: &str = "[secret:";
    const LONGEST: usize = 200;
    text.match_indices(OPENING).filter_map(|(at, _)| {
        let inside = &text[at + OPENING.len()..];
        let end = inside.find([']', '[', '\n'])?;
        let whole = inside.as_bytes()[end] == b']' && end > 0 && end <= LONGEST;
        whole.then(|| &text[at..at + OPENING.len() + end + 1])
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::secret::{KnownSecret, Redactor};

    fn redactor() -> Redactor {
        let secret = |name: &str, value: &str| KnownSecret {
            name: name.to_owned(),
            value: value.to_owned(),
        };
        Redactor::new(
            Some("key".to_owned()),
            vec![
                secret("one", "value-of-one-1"),
                secret("two", "first\nsecond\nthird"),
            ],
        )
    }

    #[test]
    fn what_is_left_in_place_is_put_back() {
        let redactor = redactor();
        let text = "a value-of-one-1 b\nfirst\nsecond\nthird\nend [secret:docs] value-of-one-1\n";
        let masked = redactor.mask(text);
        assert_eq!(masked.text.lines().count(), text.lines().count());
        assert!(redactor.find(masked.text.as_bytes()).is_empty() && !masked.is_plain());
        let back = masked.restore(&masked.text);
        assert_eq!(back.text, text);
        assert!(back.gone.is_empty() && back.empty.is_empty());
        let changed = masked.restore(&masked.text.replace("end", "END").replace(" b", ""));
        assert_eq!(changed.text, text.replace("end", "END").replace(" b", ""));
        // Taken out, copied, and of another text.
        let one = masked.text.split_whitespace().nth(1).unwrap().to_owned();
        let out = masked.restore(&masked.text.replacen(&one, "-", 1));
        assert_eq!(out.gone.len(), 1);
        let more = masked.restore(&format!("{}{one}[secret:x:1a2b]", masked.text));
        assert_eq!(more.empty, [one, "[secret:x:1a2b]".to_owned()]);
        assert!(more.text.ends_with("[secret:x:1a2b]"));
        assert!(redactor.mask("[secret:docs]").is_plain());
    }

    proptest! {
        #[test]
        fn nothing_changed_is_nothing_changed(
            parts in proptest::collection::vec(
                prop_oneof![
                    "[a-z \n\\[\\]:]{0,12}",
                    Just("value-of-one-1".to_owned()),
                    Just("first\nsecond\nthird".to_owned()),
                    Just("[secret:one]".to_owned()),
                ],
                0..12,
            ),
        ) {
            let text = parts.concat();
            let masked = redactor().mask(&text);
            prop_assert_eq!(masked.text.matches('\n').count(), text.matches('\n').count());
            prop_assert_eq!(masked.restore(&masked.text).text, text);
        }
    }
}
