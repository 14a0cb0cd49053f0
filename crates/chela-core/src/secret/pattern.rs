//! What an owner wants hidden besides: regular expressions of the config.

use regex::bytes::{Regex, RegexBuilder};

use super::shape::ShapedSecret;

/// What its finds are called.
const KIND: &str = "pattern";
/// A pattern that would need more memory is refused.
const MOST_BYTES: usize = 1 << 20;

/// A regular expression for secrets. Capital letters do not matter unless it is written as
/// `/expression/flags` without the flag `i`.
#[derive(Debug, Clone)]
pub struct SecretPattern(Regex);

/// Why a text is no pattern.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadPattern {
    #[error("it is empty")]
    Empty,
    #[error("there is no flag `{0}`; there are i, m, s, g and u")]
    Flag(char),
    #[error("{0}")]
    Expression(String),
    #[error("it matches the empty text, so it would hide nothing or everything")]
    MatchesNothing,
}

impl SecretPattern {
    pub fn parse(text: &str) -> Result<Self, BadPattern> {
        let (expression, flags) = match text
            .strip_prefix('/')
            .and_then(|rest| rest.rsplit_once('/'))
        {
            Some((expression, flags)) if flags.chars().all(|c| c.is_ascii_alphabetic()) => {
                (expression, flags)
            }
            _ => (text, "i"),
        };
        if expression.trim().is_empty() {
            return Err(BadPattern::Empty);
        }
        if let Some(flag) = flags.chars().find(|flag| !"imsgu".contains(*flag)) {
            return Err(BadPattern::Flag(flag));
        }
        let regex = RegexBuilder::new(expression)
            .case_insensitive(flags.contains('i'))
            .multi_line(flags.contains('m'))
            .dot_matches_new_line(flags.contains('s'))
            .size_limit(MOST_BYTES)
            .build()
            .map_err(|error| BadPattern::Expression(last_line(&error.to_string())))?;
        match regex.is_match(b"") {
            true => Err(BadPattern::MatchesNothing),
            false => Ok(Self(regex)),
        }
    }

    /// Its finds. With groups, the last one that took part is the secret and the rest says so.
    pub(super) fn find(&self, text: &[u8], found: &mut Vec<ShapedSecret>) {
        for captures in self.0.captures_iter(text) {
            let groups: Vec<_> = captures
                .iter()
                .flatten()
                .map(|group| group.range())
                .collect();
            if let Some(range) = groups.last().filter(|range| !range.is_empty()) {
                found.push(ShapedSecret {
                    range: range.clone(),
                    kind: KIND,
                });
            }
        }
    }
}

fn last_line(text: &str) -> String {
    let line = text.lines().last().unwrap_or_default();
    line.trim().trim_start_matches("error: ").to_owned()
}

#[cfg(test)]
mod tests {
    use super::{BadPattern, SecretPattern};
    use crate::secret::Redactor;

    fn hidden(pattern: &str, text: &str) -> String {
        let pattern = SecretPattern::parse(pattern).unwrap();
        let redactor = Redactor::default().with_patterns(vec![pattern]);
        redactor.redact(text).into_owned()
    }

    #[test]
    fn what_the_owner_names_is_hidden() {
        assert_eq!(
            hidden("proj-[0-9]{4}", "see PROJ-1234."),
            "see [secret:pattern]."
        );
        assert_eq!(
            hidden("/proj-[0-9]{4}/", "see PROJ-1234."),
            "see PROJ-1234."
        );
        assert_eq!(
            hidden("/badge: (\\w+)/g", "my badge: abc and badge: def"),
            "my badge: [secret:pattern] and badge: [secret:pattern]"
        );
        assert_eq!(hidden("/^x.y$/ms", "a\nx\ny\nb"), "a\n[secret:pattern]\nb");
        assert_eq!(hidden("ü+", "aüüb"), "a[secret:pattern]b");
    }

    #[test]
    fn what_is_no_pattern_is_said() {
        let why = |text: &str| SecretPattern::parse(text).unwrap_err();
        assert_eq!(why(" "), BadPattern::Empty);
        assert_eq!(why("/a/x"), BadPattern::Flag('x'));
        assert_eq!(why("a*"), BadPattern::MatchesNothing);
        assert!(
            matches!(why("a("), BadPattern::Expression(text) if text.contains("unclosed group"))
        );
        assert!(matches!(why("a{1000}{1000}"), BadPattern::Expression(_)));
    }
}
