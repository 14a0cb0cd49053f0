//! Where a skill came from.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A repository, and the part of it that is meant.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct GitSource {
    pub url: String,
    /// A folder inside.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folder: Option<String>,
    /// A branch, a tag or a commit.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
}

/// Where a skill that lies here came from: enough to ask for a newer version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum SkillOrigin {
    Path {
        path: PathBuf,
    },
    Git {
        #[serde(flatten)]
        source: GitSource,
        commit: String,
    },
    Web {
        address: String,
    },
    Registry {
        registry: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        owner: Option<String>,
        name: String,
        version: String,
    },
}

impl std::fmt::Display for SkillOrigin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Path { path } => write!(f, "{}", path.display()),
            Self::Git { source, commit } => {
                write!(f, "{source} at {}", commit.get(..12).unwrap_or(commit))
            }
            Self::Web { address } => f.write_str(address),
            Self::Registry {
                registry,
                owner,
                name,
                version,
            } => {
                let owner = owner.as_ref().map(|owner| format!("@{owner}/"));
                let owner = owner.unwrap_or_default();
                write!(f, "{owner}{name} {version} of {registry}")
            }
        }
    }
}

impl std::fmt::Display for GitSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.url)?;
        if let Some(reference) = &self.reference {
            write!(f, "@{reference}")?;
        }
        match &self.folder {
            Some(folder) => write!(f, "#{folder}"),
            None => Ok(()),
        }
    }
}
