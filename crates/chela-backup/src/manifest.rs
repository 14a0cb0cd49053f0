//! The list of what an archive holds: its last file, and what everything in it is checked against.

use chela_core::ContentHash;
use serde::{Deserialize, Serialize};

/// Where the list lies in an archive.
pub(crate) const MANIFEST: &str = "chela-backup.json";
/// The folder all files of the home lie in.
pub(crate) const HOME: &str = "home";
pub(crate) const FORMAT: u32 = 1;

/// What an archive holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BackupManifest {
    pub format: u32,
    /// The version that made it.
    pub version: String,
    /// Milliseconds since 1970.
    pub made: u64,
    pub has_secrets: bool,
    /// Keys of the config whose values were left out, each with the variable that stands there.
    #[serde(default)]
    pub blanked: Vec<BlankedKey>,
    pub entries: Vec<BackupEntry>,
    pub left_out: Vec<LeftOut>,
}

/// Something that was not copied, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    pub path: String,
    pub why: String,
}

/// A secret of the config that was left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlankedKey {
    pub key: String,
    pub variable: String,
}

/// One thing in an archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackupEntry {
    /// Below the home, with `/` between the parts.
    pub path: String,
    pub kind: EntryKind,
    pub bytes: u64,
    /// Of what it holds; of a link, of where it leads.
    pub sha256: ContentHash,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryKind {
    Folder,
    File,
    /// A file of records, copied by the engine.
    Database,
    Link,
}
