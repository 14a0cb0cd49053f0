//! The words of settings, and what people write for them.

use super::table::{CommandId, find};

/// The level meant, in its proper spelling. `default` clears the setting.
pub fn level(id: CommandId, word: &str) -> Option<&'static str> {
    let word = word.trim().to_ascii_lowercase();
    let word = alias(id, &word);
    let words = match id {
        CommandId::Think => find("think"),
        CommandId::Reasoning => find("reasoning"),
        CommandId::Verbose => find("verbose"),
        CommandId::Elevated => find("elevated"),
        CommandId::Usage => find("usage"),
        _ => None,
    }?
    .words;
    words.iter().copied().find(|known| *known == word)
}

/// A level of thinking, as people write it.
pub fn thinking_level(word: &str) -> Option<&'static str> {
    level(CommandId::Think, word).filter(|level| *level != "default")
}

fn alias(id: CommandId, word: &str) -> &str {
    match (id, word) {
        (_, "reset" | "inherit" | "clear") => "default",
        (CommandId::Think, "none" | "no" | "0") => "off",
        (CommandId::Think, "min" | "think") => "minimal",
        (CommandId::Think, "on" | "1") => "low",
        (CommandId::Think, "med" | "mid") => "medium",
        (CommandId::Think, "max" | "highest" | "x-high" | "extra-high" | "ultra") => "xhigh",
        (CommandId::Reasoning | CommandId::Verbose, "true" | "yes" | "1") => "on",
        (
            CommandId::Reasoning | CommandId::Verbose | CommandId::Usage,
            "false" | "no" | "none" | "0",
        ) => "off",
        (CommandId::Elevated, "false" | "no" | "none" | "0") => "off",
        (CommandId::Elevated, "true" | "yes" | "1") => "on",
        (CommandId::Verbose, "all") => "full",
        (CommandId::Reasoning, "live") => "stream",
        (CommandId::Usage, "on") => "tokens",
        _ => word,
    }
}
