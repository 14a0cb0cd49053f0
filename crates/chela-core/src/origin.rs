//! Where a piece of text comes from, how far it is trusted, who may see it and where it lies.

use serde::{Deserialize, Serialize};

use crate::ContentHash;

/// How far a piece of text is trusted. Ordered: what an `External` source says never counts as
/// much as what the `Operator` configured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Trust {
    External,
    Plugin,
    Agent,
    Owner,
    Operator,
}

impl Trust {
    /// The trust of two texts taken together: the lower of the two.
    #[must_use]
    pub fn join(self, other: Self) -> Self {
        self.min(other)
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::External => "external",
            Self::Plugin => "plugin",
            Self::Agent => "agent",
            Self::Owner => "owner",
            Self::Operator => "operator",
        }
    }
}

/// Who may see a piece of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Audience {
    /// The owner alone: MEMORY.md, USER.md, owner ids.
    Private,
    /// Everyone in the conversation, a group chat included.
    Shared,
}

impl Audience {
    /// Whether text with this label may be placed before that audience.
    pub fn may_reach(self, session: Self) -> bool {
        self == Self::Shared || session == Self::Private
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Private => "private",
            Self::Shared => "shared",
        }
    }
}

/// On which side of the cache boundary a piece of the prompt lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Zone {
    /// Byte-identical from turn to turn within a session.
    Stable,
    /// May change with every turn, so it lies below the boundary.
    Volatile,
}

impl Zone {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Stable => "stable",
            Self::Volatile => "volatile",
        }
    }
}

/// Where a piece of text comes from. Prints as a short label such as `file:SOUL.md`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum Origin {
    /// Chela's own text, compiled in.
    BuiltIn,
    /// A value the operator set, by its key.
    Config { key: String },
    /// A fact the runtime found out: host, operating system, model.
    Runtime,
    /// A file, by the path shown to the model.
    File { path: String, hash: ContentHash },
    /// The result of a tool call.
    Tool { call: String, hash: ContentHash },
    /// A message that arrived through a channel.
    Channel {
        channel: String,
        message: String,
        hash: ContentHash,
    },
    /// What a plugin contributed.
    Plugin { id: String, hash: ContentHash },
    /// What the model provider's family contributed.
    Provider { id: String, hash: ContentHash },
}

impl Origin {
    pub fn file(path: impl Into<String>, content: &str) -> Self {
        Self::File {
            path: path.into(),
            hash: ContentHash::of(content),
        }
    }

    pub fn config(key: impl Into<String>) -> Self {
        Self::Config { key: key.into() }
    }

    /// The hash of the content this origin stands for, where it has one.
    pub fn hash(&self) -> Option<ContentHash> {
        match self {
            Self::BuiltIn | Self::Config { .. } | Self::Runtime => None,
            Self::File { hash, .. }
            | Self::Tool { hash, .. }
            | Self::Channel { hash, .. }
            | Self::Plugin { hash, .. }
            | Self::Provider { hash, .. } => Some(*hash),
        }
    }
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::BuiltIn => f.write_str("chela"),
            Self::Config { key } => write!(f, "config:{key}"),
            Self::Runtime => f.write_str("runtime"),
            Self::File { path, .. } => write!(f, "file:{path}"),
            Self::Tool { call, .. } => write!(f, "tool:{call}"),
            Self::Channel {
                channel, message, ..
            } => write!(f, "channel:{channel}/{message}"),
            Self::Plugin { id, .. } => write!(f, "plugin:{id}"),
            Self::Provider { id, .. } => write!(f, "provider:{id}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Audience, Trust};

    #[test]
    fn joining_takes_the_lower_trust() {
        let order = [
            Trust::Operator,
            Trust::Owner,
            Trust::Agent,
            Trust::Plugin,
            Trust::External,
        ];
        assert!(order.windows(2).all(|pair| pair[0] > pair[1]));
        assert_eq!(Trust::Operator.join(Trust::External), Trust::External);
        assert_eq!(Trust::Agent.join(Trust::Agent), Trust::Agent);
    }

    #[test]
    fn private_text_reaches_only_private_sessions() {
        assert!(Audience::Private.may_reach(Audience::Private));
        assert!(!Audience::Private.may_reach(Audience::Shared));
        assert!(Audience::Shared.may_reach(Audience::Shared));
    }
}
