//! Whole phrases: a name, a recipient, a path stands in a text, or it does not.

use std::borrow::Cow;

use super::atom;

/// How a phrase is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PhraseCase {
    /// Names of people and things: NFKC, lower case.
    Folded,
    /// Paths: as they are.
    Exact,
}

/// A phrase in the form in which it is looked for. Nothing is cut off it.
pub(super) fn folded(phrase: &str, case: PhraseCase) -> Cow<'_, str> {
    match case {
        PhraseCase::Folded => atom::fold(phrase),
        PhraseCase::Exact => Cow::Borrowed(phrase),
    }
}

/// A text in the form in which phrases are looked for in it: one blank for any number of them.
pub(super) fn compared(text: &str, case: PhraseCase) -> String {
    let folded = folded(text, case);
    let mut compared = String::with_capacity(folded.len());
    for word in folded.split_whitespace() {
        if !compared.is_empty() {
            compared.push(' ');
        }
        compared.push_str(word);
    }
    compared
}

/// Whether a phrase stands in a text as a whole: neither end is inside of a word, nor of
/// something words are joined to, such as an address, a key or a path.
pub(super) fn stands_in(phrase: &str, text: &str) -> bool {
    if phrase.is_empty() {
        return false;
    }
    text.match_indices(phrase).any(|(at, _)| {
        let before = text.get(..at).unwrap_or_default();
        let after = text.get(at + phrase.len()..).unwrap_or_default();
        let ends_here =
            phrase.chars().next_back().is_some_and(is_outside) || !goes_on(after.chars());
        let begins_here =
            phrase.chars().next().is_some_and(is_outside) || !goes_on(before.chars().rev());
        begins_here && ends_here
    })
}

/// Whether characters go on with a word, or join another to it.
fn goes_on(mut chars: impl Iterator<Item = char>) -> bool {
    match chars.next() {
        Some(c) if is_joint(c) => chars
            .next()
            .is_some_and(|c| c.is_alphanumeric() || is_joint(c)),
        Some(c) => c.is_alphanumeric(),
        None => false,
    }
}

fn is_joint(c: char) -> bool {
    matches!(
        c,
        '.' | '-' | '_' | ':' | '@' | '/' | '\\' | '+' | '&' | '=' | '%' | '~' | '#' | '$'
    )
}

/// A quote or a bracket belongs to no word.
fn is_outside(c: char) -> bool {
    !c.is_alphanumeric() && !is_joint(c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phrase_stands_whole_or_not_at_all() {
        let text = compared(
            "Write to Ann  Smith\n(ann@home.example), then agent:main:other. See ~/Notes/a.md!",
            PhraseCase::Folded,
        );
        for whole in [
            "ann smith",
            "ann",
            "ann@home.example",
            "agent:main:other",
            "~/notes/a.md",
            "smith (ann@home.example)",
        ] {
            assert!(stands_in(whole, &text), "{whole}");
        }
        for part in [
            "an",
            "home.example",
            "agent:main",
            "main:other",
            "other",
            "a.md",
            "notes/a.md",
            "ann smith ann",
            "",
        ] {
            assert!(!stands_in(part, &text), "{part}");
        }
    }
}
