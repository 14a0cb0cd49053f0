//! What the tools of a server do, as their owner judges it.

use chela_config::model::McpEffect;
use globset::{Glob, GlobMatcher};

/// The owner's word on tools, by their names. The most exact one counts: a name before a pattern, a
/// longer pattern before a shorter one.
#[derive(Debug, Clone, Default)]
pub struct ToolEffects(Vec<EffectRow>);

#[derive(Debug, Clone)]
struct EffectRow {
    pattern: String,
    matcher: GlobMatcher,
    effect: McpEffect,
}

impl ToolEffects {
    /// Reads what is written; patterns that are none are given back.
    pub fn of(written: impl IntoIterator<Item = (String, McpEffect)>) -> (Self, Vec<String>) {
        let mut rows = Vec::new();
        let mut wrong = Vec::new();
        for (pattern, effect) in written {
            match Glob::new(&pattern) {
                Ok(glob) => rows.push(EffectRow {
                    matcher: glob.compile_matcher(),
                    pattern,
                    effect,
                }),
                Err(_) => wrong.push(pattern),
            }
        }
        rows.sort_by_key(|row| (has_wildcard(&row.pattern), usize::MAX - row.pattern.len()));
        (Self(rows), wrong)
    }

    /// What a tool does; `None` where the owner said nothing.
    pub fn of_tool(&self, name: &str) -> Option<McpEffect> {
        let mut rows = self.0.iter();
        rows.find(|row| row.matcher.is_match(name))
            .map(|row| row.effect)
    }
}

fn has_wildcard(pattern: &str) -> bool {
    pattern.contains(['*', '?', '[', '{'])
}

#[cfg(test)]
mod tests {
    use super::{McpEffect, ToolEffects};

    #[test]
    fn the_most_exact_word_counts() {
        let (effects, wrong) = ToolEffects::of([
            ("*".to_owned(), McpEffect::WriteOutward),
            ("read_*".to_owned(), McpEffect::Read),
            ("read_secret".to_owned(), McpEffect::Irreversible),
            ("[".to_owned(), McpEffect::Read),
        ]);
        assert_eq!(wrong, ["["]);
        assert_eq!(effects.of_tool("read_file"), Some(McpEffect::Read));
        assert_eq!(
            effects.of_tool("read_secret"),
            Some(McpEffect::Irreversible)
        );
        assert_eq!(effects.of_tool("send"), Some(McpEffect::WriteOutward));
        assert_eq!(ToolEffects::default().of_tool("send"), None);
    }
}
