//! Patterns, compiled when first needed.

use std::sync::OnceLock;

use regex::Regex;
use regex::bytes;

/// A pattern over a line in lower case. A test holds that every one of them compiles.
pub(super) struct Pattern {
    text: &'static str,
    compiled: OnceLock<Option<Regex>>,
    /// The same over bytes, which is made in a tenth of the time: most patterns only ever answer
    /// no. Where a pattern counts letters that take several bytes, it says so.
    over_bytes: OnceLock<Option<bytes::Regex>>,
}

impl Pattern {
    pub(super) const fn new(text: &'static str) -> Self {
        Self {
            text,
            compiled: OnceLock::new(),
            over_bytes: OnceLock::new(),
        }
    }

    pub(super) fn regex(&self) -> Option<&Regex> {
        self.compiled
            .get_or_init(|| Regex::new(self.text).ok())
            .as_ref()
    }

    /// What the first group that took part holds.
    pub(super) fn captured(&self, text: &str) -> Option<String> {
        let groups = self.regex()?.captures(text)?;
        let first = groups.iter().skip(1).flatten().next()?;
        Some(first.as_str().to_owned())
    }

    pub(super) fn is_in(&self, line: &str) -> bool {
        let quick = self.over_bytes.get_or_init(|| {
            bytes::RegexBuilder::new(self.text)
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

/// Declares patterns, and a test that they compile.
macro_rules! patterns {
    ($($name:ident = $text:expr;)+) => {
        $(static $name: $crate::inspect::rules::pattern::Pattern =
            $crate::inspect::rules::pattern::Pattern::new($text);)+

        #[cfg(test)]
        #[test]
        fn every_pattern_compiles() {
            $(assert!($name.regex().is_some(), stringify!($name));)+
        }
    };
}

pub(super) use patterns;
