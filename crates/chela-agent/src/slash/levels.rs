//! The words of settings, and what people write for them.

use super::table::{Id, find};

/// The level meant, in its proper spelling. `default` clears the setting.
pub fn level(id: Id, word: &str) -> Option<&'static str> {
    let word = word.trim().to_ascii_lowercase();
    let word = alias(id, &word);
    let words = match id {
        Id::Think => find("think"),
        Id::Reasoning => find("reasoning"),
        Id::Verbose => find("verbose"),
        Id::Elevated => find("elevated"),
        Id::Usage => find("usage"),
        _ => None,
    }?
    .words;
    words.iter().copied().find(|known| *known == word)
}

/// A level of thinking, as people write it.
pub fn thinking_level(word: &str) -> Option<&'static str> {
    level(Id::Think, word).filter(|level| *level != "default")
}

fn alias(id: Id, word: &str) -> &str {
    match (id, word) {
        (_, "reset" | "inherit" | "clear") => "default",
        (Id::Think, "none" | "no" | "0") => "off",
        (Id::Think, "min" | "think") => "minimal",
        (Id::Think, "on" | "1") => "low",
        (Id::Think, "med" | "mid") => "medium",
        (Id::Think, "max" | "highest" | "x-high" | "extra-high" | "ultra") => "xhigh",
        (Id::Reasoning | Id::Verbose, "true" | "yes" | "1") => "on",
        (Id::Reasoning | Id::Verbose | Id::Usage, "false" | "no" | "none" | "0") => "off",
        (Id::Elevated, "false" | "no" | "none" | "0") => "off",
        (Id::Elevated, "true" | "yes" | "1") => "on",
        (Id::Verbose, "all") => "full",
        (Id::Reasoning, "live") => "stream",
        (Id::Usage, "on") => "tokens",
        _ => word,
    }
}
