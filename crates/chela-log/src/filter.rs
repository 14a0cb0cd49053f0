//! How much is let through: `debug`, or `info,model=debug,h2=debug`.

use chela_core::suggest;
use tracing::Metadata;
use tracing::level_filters::LevelFilter;

/// The words for levels, and what they mean. `fatal` and `silent` are words of the config.
const LEVELS: [(&str, LevelFilter); 9] = [
    ("off", LevelFilter::OFF),
    ("silent", LevelFilter::OFF),
    ("fatal", LevelFilter::ERROR),
    ("error", LevelFilter::ERROR),
    ("warn", LevelFilter::WARN),
    ("warning", LevelFilter::WARN),
    ("info", LevelFilter::INFO),
    ("debug", LevelFilter::DEBUG),
    ("trace", LevelFilter::TRACE),
];

/// What begins the target of everything Chela says.
const OWN: &str = "chela";

/// Which statements are let through: a level for Chela's own, and more or less for some by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogFilter {
    own: LevelFilter,
    /// By the beginning of the target, the longest first.
    named: Vec<(String, LevelFilter)>,
}

/// Why a filter cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    #[error("`{word}` is not a log level; {hint}")]
    Level { word: String, hint: String },
    #[error("`{part}` has no name before the `=`; write it like `model=debug`")]
    Name { part: String },
}

impl LogFilter {
    pub const OFF: Self = Self {
        own: LevelFilter::OFF,
        named: Vec::new(),
    };

    /// Chela's own statements up to a level.
    pub fn level(own: LevelFilter) -> Self {
        Self {
            own,
            named: Vec::new(),
        }
    }

    /// Reads `LEVEL`, `NAME=LEVEL` or several of them with commas between. A name is a crate or a
    /// module, for Chela's own crates with or without `chela_` before it.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        let mut filter = Self::OFF;
        for part in text
            .split(',')
            .map(str::trim)
            .filter(|part| !part.is_empty())
        {
            match part.split_once('=') {
                None => filter.own = level_named(part)?,
                Some((name, level)) => {
                    let name = name.trim().replace('-', "_");
                    if name.is_empty() {
                        return Err(FilterError::Name {
                            part: part.to_owned(),
                        });
                    }
                    filter.named.push((name, level_named(level.trim())?));
                }
            }
        }
        filter
            .named
            .sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        Ok(filter)
    }

    pub fn is_off(&self) -> bool {
        self.most() == LevelFilter::OFF
    }

    /// The most that any target gets.
    pub fn most(&self) -> LevelFilter {
        let named = self.named.iter().map(|(_, level)| *level);
        named.chain([self.own]).max().unwrap_or(self.own)
    }

    pub fn allows(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= self.level_of(metadata.target())
    }

    fn level_of(&self, target: &str) -> LevelFilter {
        let named = self.named.iter().find(|(name, _)| is_below(target, name));
        match named {
            Some((_, level)) => *level,
            None if is_own(target) => self.own,
            // Others speak a lot; what they warn of is worth a line.
            None => self.own.min(LevelFilter::WARN),
        }
    }
}

fn is_own(target: &str) -> bool {
    target
        .strip_prefix(OWN)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with(['_', ':']))
}

/// Whether a target is what was named, or inside it.
fn is_below(target: &str, name: &str) -> bool {
    let inside = |target: &str| {
        target
            .strip_prefix(name)
            .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    inside(target) || target.strip_prefix("chela_").is_some_and(inside)
}

fn level_named(word: &str) -> Result<LevelFilter, FilterError> {
    let lower = word.to_ascii_lowercase();
    if let Some((_, level)) = LEVELS.iter().find(|(name, _)| *name == lower) {
        return Ok(*level);
    }
    let words = LEVELS.iter().map(|(name, _)| *name);
    Err(FilterError::Level {
        word: word.to_owned(),
        hint: match suggest::nearest(&lower, words) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "use error, warn, info, debug, trace or off".to_owned(),
        },
    })
}

#[cfg(test)]
mod tests {
    use super::{FilterError, LogFilter};
    use tracing::level_filters::LevelFilter;

    #[test]
    fn a_level_is_for_chela_and_names_are_for_the_rest() {
        let filter =
            LogFilter::parse("info, model=debug ,chela_model::chain=trace,h2=error").unwrap();
        assert_eq!(filter.most(), LevelFilter::TRACE);
        for (target, level) in [
            ("chela", LevelFilter::INFO),
            ("chela_agent::turn", LevelFilter::INFO),
            ("chela_model::call", LevelFilter::DEBUG),
            ("chela_model::chain::pick", LevelFilter::TRACE),
            ("chela_models", LevelFilter::INFO),
            ("h2::client", LevelFilter::ERROR),
            ("hyper", LevelFilter::WARN),
            ("chelation", LevelFilter::WARN),
        ] {
            assert_eq!(filter.level_of(target), level, "{target}");
        }
        assert!(LogFilter::parse("silent").unwrap().is_off());
        assert!(LogFilter::parse("").unwrap().is_off());
    }

    #[test]
    fn what_cannot_be_read_is_told() {
        let why = LogFilter::parse("inof").unwrap_err().to_string();
        assert_eq!(why, "`inof` is not a log level; did you mean `info`?");
        let why = LogFilter::parse("model=loud").unwrap_err();
        assert!(matches!(why, FilterError::Level { .. }), "{why}");
        let why = LogFilter::parse("=debug").unwrap_err();
        assert!(matches!(why, FilterError::Name { .. }), "{why}");
    }
}
