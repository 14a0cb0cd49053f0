//! Patterns, compiled when first needed.

use std::sync::OnceLock;

use chela_core::ok_or_warn;
use regex::Regex;
use regex::bytes;

use crate::inspect::tables::RuleTable;

/// A pattern over a line in lower case. A test holds that every one of them compiles.
pub(super) struct LinePattern {
    text: PatternText,
    compiled: OnceLock<Option<Regex>>,
    /// The same over bytes, which is made in a tenth of the time: most patterns only ever answer
    /// no. Where a pattern counts letters that take several bytes, it says so.
    over_bytes: OnceLock<Option<bytes::Regex>>,
}

/// Where the text of a pattern is from.
enum PatternText {
    Named(&'static RuleTable, &'static str),
    Given(String),
}

impl LinePattern {
    pub(super) const fn named(table: &'static RuleTable, name: &'static str) -> Self {
        Self::new(PatternText::Named(table, name))
    }

    pub(super) const fn given(text: String) -> Self {
        Self::new(PatternText::Given(text))
    }

    const fn new(text: PatternText) -> Self {
        Self {
            text,
            compiled: OnceLock::new(),
            over_bytes: OnceLock::new(),
        }
    }

    pub(super) fn regex(&self) -> Option<&Regex> {
        self.compiled
            .get_or_init(|| ok_or_warn!(Regex::new(&self.text()?), "a rule is never met"))
            .as_ref()
    }

    fn text(&self) -> Option<String> {
        match &self.text {
            PatternText::Named(table, name) => table.pattern(name),
            PatternText::Given(text) => Some(text.clone()),
        }
    }

    /// What the first group that took part holds.
    pub(super) fn captured(&self, text: &str) -> Option<String> {
        let groups = self.regex()?.captures(text)?;
        let first = groups.iter().skip(1).flatten().next()?;
        Some(first.as_str().to_owned())
    }

    pub(super) fn is_in(&self, line: &str) -> bool {
        let quick = self.over_bytes.get_or_init(|| {
            bytes::RegexBuilder::new(&self.text()?)
                .unicode(false)
                .build()
                .ok()
        });
        match quick {
            Some(quick) => quick.is_match(line.as_bytes()),
            // One with foreign letters in a set.
            None => self.regex().is_some_and(|regex| regex.is_match(line)),
        }
    }
}

/// Declares the patterns of a table, and a test that these are the ones it holds and all compile.
macro_rules! patterns {
    ($file:literal: $($name:ident),+ $(,)?) => {
        static PATTERNS: $crate::inspect::tables::RuleTable =
            $crate::inspect::tables::rule_table!($file);
        $(static $name: $crate::inspect::rules::pattern::LinePattern =
            $crate::inspect::rules::pattern::LinePattern::named(&PATTERNS, stringify!($name));)+

        #[cfg(test)]
        #[test]
        fn every_pattern_is_used_and_compiles() {
            let heads: Vec<&str> = PATTERNS.blocks().iter().map(|block| block.head).collect();
            assert_eq!(heads, [$(stringify!($name)),+], $file);
            $(assert!($name.regex().is_some(), stringify!($name));)+
        }
    };
}

pub(super) use patterns;
