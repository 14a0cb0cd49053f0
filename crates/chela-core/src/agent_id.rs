//! Agent ids: short lower-case names that are safe in paths, keys and prompts.

use serde::{Deserialize, Serialize};

/// The id of one configured agent, for example `main` or `research`.
///
/// Always 1 to 64 characters of `a-z 0-9 _ -`, starting with a letter or a digit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct AgentId(String);

/// Why a string is no agent id.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{given}` is not an agent id: use 1 to 64 of a-z, 0-9, `_`, `-`, starting with a letter or digit (for example `{}`)", AgentId::normalize(.given))]
pub struct AgentIdError {
    given: String,
}

impl AgentId {
    /// The agent that exists when nothing is configured.
    pub const MAIN: &'static str = "main";
    const MAX_LEN: usize = 64;

    pub fn main() -> Self {
        Self(Self::MAIN.to_owned())
    }

    /// Accepts exactly the canonical form.
    pub fn parse(text: &str) -> Result<Self, AgentIdError> {
        if Self::is_canonical(text) {
            Ok(Self(text.to_owned()))
        } else {
            Err(AgentIdError {
                given: text.to_owned(),
            })
        }
    }

    /// The nearest id to what a person typed: lower case, other characters become `-`.
    /// Text with nothing usable in it becomes `main`.
    pub fn normalize(text: &str) -> Self {
        let mut id = String::with_capacity(text.len());
        for c in text.trim().chars().flat_map(char::to_lowercase) {
            if id.len() == Self::MAX_LEN {
                break;
            }
            let kept = if is_id_char(c) { c } else { '-' };
            let separator = kept == '-' || kept == '_';
            if separator && (id.is_empty() || (kept == '-' && id.ends_with('-'))) {
                continue;
            }
            id.push(kept);
        }
        let end = id.trim_end_matches('-').len();
        id.truncate(end);
        if id.is_empty() {
            Self::main()
        } else {
            Self(id)
        }
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }

    fn is_canonical(text: &str) -> bool {
        text.len() <= Self::MAX_LEN
            && text.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
            && text.chars().all(is_id_char)
    }
}

fn is_id_char(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_' || c == '-'
}

impl std::fmt::Display for AgentId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for AgentId {
    type Error = AgentIdError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        Self::parse(&text)
    }
}

impl From<AgentId> for String {
    fn from(id: AgentId) -> Self {
        id.0
    }
}

#[cfg(test)]
mod tests {
    use super::AgentId;

    #[test]
    fn canonical_ids_parse_and_others_say_what_would() {
        for good in ["main", "a", "0x", "home-lab_2"] {
            assert_eq!(AgentId::parse(good).unwrap().as_str(), good);
        }
        for bad in ["", "Main", "-a", "_a", "a b", "a/b", "é", &"a".repeat(65)] {
            assert!(AgentId::parse(bad).is_err(), "{bad:?}");
        }
        let message = AgentId::parse("Home Lab").unwrap_err().to_string();
        assert!(message.contains("`home-lab`"), "{message}");
    }

    #[test]
    fn normalizing_always_gives_a_canonical_id() {
        for (given, id) in [
            ("Main", "main"),
            ("  Home Lab! ", "home-lab"),
            ("../../etc/passwd", "etc-passwd"),
            ("___", "main"),
            ("日本", "main"),
            ("a--b", "a-b"),
        ] {
            assert_eq!(AgentId::normalize(given).as_str(), id);
            assert!(AgentId::parse(AgentId::normalize(given).as_str()).is_ok());
        }
    }
}
