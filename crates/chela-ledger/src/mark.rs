//! What a prompt was made of, as the ledger keeps it.

use chela_core::{ContentHash, Origin, Trust};
use serde::{Deserialize, Serialize};

/// One section of a prompt, or one file inside a section, in prompt order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SectionMark {
    pub id: String,
    pub origin: Origin,
    pub trust: Trust,
    pub hash: ContentHash,
    pub bytes: u64,
    /// Who put it there, when that is not Chela itself: a plugin, a hook.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub contributor: Option<String>,
    /// What it lists by name, such as the skills of the skills section.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub lists: Vec<String>,
}

impl SectionMark {
    /// Which section it is, whatever it says at the moment.
    pub(crate) fn is_same_place(&self, other: &Self) -> bool {
        self.id == other.id && self.origin.to_string() == other.origin.to_string()
    }
}

/// A tool as it was offered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolMark {
    pub name: String,
    pub hash: ContentHash,
    /// Of its name, description and schema together.
    pub bytes: u64,
}
