//! What is on record about one file.

use chela_core::{ContentHash, Trust};
use serde::{Deserialize, Serialize};

/// Earlier versions that stay on record, and can be put back.
pub(super) const KEPT: usize = 20;

/// What is on record about one file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileEntry {
    /// The version that counts; `None` when none ever did, or trust in it was withdrawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trusted: Option<FileVersion>,
    /// Those before it, the newest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<FileVersion>,
    /// What is there, or no longer there, and waits for the owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub held: Option<HeldVersion>,
    /// What the agent would have written, had somebody been there to ask. The file is as it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub proposed: Option<HeldVersion>,
    /// Who deleted it, where that is settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gone: Option<DeletedFile>,
    /// A version was seen that was not the owner's: a later edit does not make its words theirs.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub doubted: bool,
    /// When the owner withdrew trust: seconds since 1970.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revoked: Option<u64>,
    /// The version trust was withdrawn from. Nothing puts it back but the owner's own word.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub withdrawn: Option<FileVersion>,
}

/// A version of a file, and how it came about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FileVersion {
    pub hash: ContentHash,
    #[serde(flatten)]
    pub writer: VersionWriter,
    /// Seconds since 1970.
    pub at: u64,
    /// In words: the command, the tool, the policy.
    pub how: String,
    /// How far its text is trusted wherever it is read.
    pub trust: Trust,
    /// What the scan found in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<ScanFinding>,
}

/// Who wrote a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "lowercase")]
pub enum VersionWriter {
    /// Chela itself: a text of this build.
    Chela,
    Owner,
    /// The agent, in a turn.
    Agent {
        turn: String,
        /// The question to which the owner said yes, where one was asked, by its id in the audit
        /// chain.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        question: Option<String>,
    },
    /// Nobody Chela knows of; the policy lets it pass.
    Someone,
}

/// A version that is not used before the owner has looked at it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct HeldVersion {
    /// `None`: the file is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hash: Option<ContentHash>,
    /// The turn that wrote it, or during which it was written.
    pub turn: String,
    /// Seconds since 1970.
    pub at: u64,
    /// The tool.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub how: String,
    /// The question the owner was asked, by its id in the audit chain.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub question: Option<String>,
}

/// A file that is no longer there, and who took it away.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DeletedFile {
    #[serde(flatten)]
    pub writer: VersionWriter,
    /// Seconds since 1970.
    pub at: u64,
    pub how: String,
}

/// A folder the owner took for their own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootEntry {
    pub since: u64,
    /// The commit a checkout stood at when the owner said yes to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub head: Option<String>,
}

/// What a scan found in a text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScanFinding {
    pub severity: SuspicionLevel,
    /// For the owner, in a line.
    pub what: String,
}

/// How much a text reads like an instruction that somebody slipped in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SuspicionLevel {
    Low,
    Medium,
    High,
}

impl FileEntry {
    /// A new version counts from now on; the one before stays on record.
    pub(crate) fn trust(&mut self, version: FileVersion) {
        if let Some(before) = self.trusted.replace(version)
            && self.trusted.as_ref().map(|now| now.hash) != Some(before.hash)
        {
            self.earlier.retain(|known| known.hash != before.hash);
            self.earlier.insert(0, before);
            self.earlier.truncate(KEPT);
        }
        let now = self.trusted.as_ref().map(|version| version.hash);
        self.proposed.take_if(|proposed| proposed.hash == now);
        self.held = None;
        self.gone = None;
        self.doubted = false;
        self.revoked = None;
        self.withdrawn = None;
    }

    /// The file is gone, and that is settled.
    pub(crate) fn delete(&mut self, gone: DeletedFile) {
        self.proposed.take_if(|proposed| proposed.hash.is_none());
        self.held = None;
        self.gone = Some(gone);
    }

    /// The version that counted counts no more; one before it is put back rather than this one.
    pub(crate) fn revoke(&mut self, at: u64) {
        if let Some(before) = self.trusted.take() {
            self.earlier.retain(|known| known.hash != before.hash);
            self.withdrawn = Some(before);
        }
        self.held = None;
        self.proposed = None;
        self.revoked = Some(at);
    }

    /// What the owner can put back: the versions on record, the newest first, and at last the one
    /// they withdrew trust from.
    pub fn restorable(&self) -> impl Iterator<Item = &FileVersion> {
        self.versions().chain(&self.withdrawn)
    }

    /// Every version on record, the newest first.
    pub fn versions(&self) -> impl Iterator<Item = &FileVersion> {
        self.trusted.iter().chain(&self.earlier)
    }

    /// The hashes of every text that is kept for this file.
    pub(crate) fn kept(&self) -> impl Iterator<Item = ContentHash> {
        let waiting = self.held.iter().chain(&self.proposed);
        self.restorable()
            .map(|version| version.hash)
            .chain(waiting.filter_map(|held| held.hash))
    }
}

impl VersionWriter {
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Chela => "chela",
            Self::Owner => "owner",
            Self::Agent { .. } => "agent",
            Self::Someone => "someone else",
        }
    }
}

impl SuspicionLevel {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}
