//! What a prompt was made of, as the ledger keeps it.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use chela_core::{ContentHash, Origin, Trust};
use serde::{Deserialize, Serialize};

/// Marks of what a request begins with: shared by all that begin alike, and written out once for
/// all of them. Cheap to clone.
#[derive(Debug)]
pub struct MarkList<T>(Arc<ListedMarks<T>>);

#[derive(Debug)]
struct ListedMarks<T> {
    marks: Vec<T>,
    text: OnceLock<String>,
}

impl<T: Serialize> MarkList<T> {
    /// As it is kept.
    pub(crate) fn text(&self) -> Result<&str, serde_json::Error> {
        if let Some(text) = self.0.text.get() {
            return Ok(text);
        }
        let text = serde_json::to_string(&self.0.marks)?;
        Ok(self.0.text.get_or_init(|| text))
    }
}

impl<T> Clone for MarkList<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Default for MarkList<T> {
    fn default() -> Self {
        Vec::new().into()
    }
}

impl<T> Deref for MarkList<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        &self.0.marks
    }
}

impl<T> From<Vec<T>> for MarkList<T> {
    fn from(marks: Vec<T>) -> Self {
        Self(Arc::new(ListedMarks {
            marks,
            text: OnceLock::new(),
        }))
    }
}

impl<T> FromIterator<T> for MarkList<T> {
    fn from_iter<I: IntoIterator<Item = T>>(marks: I) -> Self {
        marks.into_iter().collect::<Vec<T>>().into()
    }
}

impl<T: PartialEq> PartialEq for MarkList<T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0) || self.0.marks == other.0.marks
    }
}

/// What a prompt is made of.
pub type SectionList = MarkList<SectionMark>;
/// The tools a request offers.
pub type ToolList = MarkList<ToolMark>;

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
