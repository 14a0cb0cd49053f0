//! Whether the owner's own words hold something that a page could want to know.
//!
//! What the owner writes is theirs as much as their files are. A bare request ("summarise this
//! page") tells nothing that the page does not know; a number, a password or a long letter does.

use super::link::links_in;

/// Words of a session's requests that tell nothing.
pub(super) const FEW_WORDS: usize = 50;

/// What announces that something secret follows.
const ANNOUNCING: &[&str] = &[
    "password",
    "passwort",
    "passphrase",
    "passcode",
    "pin",
    "secret",
    "credentials",
];

/// What the owner told in one text, the addresses in it left out.
pub(super) struct OwnerTelling {
    pub words: usize,
    /// It holds a number, a name for a machine or a word that announces a secret.
    pub has_fact: bool,
}

pub(super) fn told_in(text: &str) -> OwnerTelling {
    let mut rest = String::with_capacity(text.len());
    let mut from = 0;
    for link in links_in(text) {
        rest.push_str(text.get(from..link.range.start).unwrap_or_default());
        rest.push(' ');
        from = from.max(link.range.end);
    }
    rest.push_str(text.get(from..).unwrap_or_default());
    let words = rest.split_whitespace();
    OwnerTelling {
        words: words.clone().count(),
        has_fact: words.into_iter().any(is_fact),
    }
}

fn is_fact(word: &str) -> bool {
    let word = word.trim_matches(|c: char| c.is_ascii_punctuation());
    let digits = word.chars().filter(char::is_ascii_digit).count();
    let letters = word.chars().filter(|c| c.is_alphabetic()).count();
    digits >= 4
        || digits > 0 && letters > 0 && word.chars().count() >= 6
        || word.contains('@') && letters > 0
        || ANNOUNCING.contains(&word.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_tells_nothing_and_a_number_does() {
        for text in [
            "Summarise http://localhost:8123/list/2024-11-05?id=12345 please",
            "Read https://example.com/a1b2c3 and the 3 pages it links to",
            "what is new?",
        ] {
            assert!(!told_in(text).has_fact, "{text}");
        }
        for text in [
            "my PIN is 4711",
            "log in as ann with hunter2",
            "write to ann@example.com",
            "The password: see below",
        ] {
            assert!(told_in(text).has_fact, "{text}");
        }
        assert_eq!(told_in("Summarise http://x.example/a b").words, 2);
    }
}
