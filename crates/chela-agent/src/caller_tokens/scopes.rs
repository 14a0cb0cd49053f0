//! What a caller may have.

use serde::{Deserialize, Serialize};

/// One thing that can be opened to a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ServedScope {
    /// Notes: MEMORY.md, USER.md, memory/*.md.
    Memory,
    /// The skills in the prompt.
    Skills,
    /// What the context is made of and what it costs.
    Context,
    /// What was said, by session; in searches, too.
    Sessions,
    /// To ask the agent, as a stranger.
    Ask,
}

/// What is opened to one caller.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ServedScopes(Vec<ServedScope>);

/// A word that opens nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{word}` is not a scope: use memory, skills, context, sessions or ask")]
pub struct ScopeFault {
    word: String,
}

impl ServedScope {
    pub const ALL: [Self; 5] = [
        Self::Memory,
        Self::Skills,
        Self::Context,
        Self::Sessions,
        Self::Ask,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Skills => "skills",
            Self::Context => "context",
            Self::Sessions => "sessions",
            Self::Ask => "ask",
        }
    }
}

impl ServedScopes {
    /// As they are typed.
    pub fn parse<'w>(words: impl IntoIterator<Item = &'w str>) -> Result<Self, ScopeFault> {
        let mut scopes = Vec::new();
        for word in words {
            let word = word.trim();
            let mut all = ServedScope::ALL.into_iter();
            match all.find(|scope| scope.as_str() == word) {
                Some(scope) => scopes.push(scope),
                None => {
                    let word = chela_core::sanitize::literal(word).into_owned();
                    return Err(ScopeFault { word });
                }
            }
        }
        scopes.sort_unstable();
        scopes.dedup();
        Ok(Self(scopes))
    }

    pub fn has(&self, scope: ServedScope) -> bool {
        self.0.contains(&scope)
    }

    /// For people.
    pub fn in_words(&self) -> String {
        let words: Vec<&str> = self.0.iter().map(|scope| scope.as_str()).collect();
        match words.is_empty() {
            true => "nothing".to_owned(),
            false => words.join(", "),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{ServedScope, ServedScopes};

    #[test]
    fn scopes_are_read_as_they_are_typed() {
        let scopes = ServedScopes::parse(["skills", " memory", "skills"]).unwrap();
        assert_eq!(scopes.in_words(), "memory, skills");
        assert!(!scopes.has(ServedScope::Ask));
        assert!(ServedScopes::parse(["everything"]).is_err());
        assert_eq!(ServedScopes::default().in_words(), "nothing");
    }
}
