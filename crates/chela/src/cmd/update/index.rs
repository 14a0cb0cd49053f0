//! The index: which version each channel offers, and where its archives are.

use std::collections::BTreeMap;

use chela_core::suggest;
use serde::Deserialize;

use crate::fail::CommandError;

/// The one format there is. A later one says so, and is for a later Chela.
const FORMAT: u32 = 1;

#[derive(Debug, Deserialize)]
pub struct ReleaseIndex {
    format: u32,
    channels: BTreeMap<String, ReleaseEntry>,
}

/// What a channel offers.
#[derive(Debug, Clone, Deserialize)]
pub struct ReleaseEntry {
    pub version: String,
    /// A sentence or two about it.
    #[serde(default)]
    pub notes: Option<String>,
    /// By target, such as `x86_64-unknown-linux-gnu`.
    archives: BTreeMap<String, ArchiveEntry>,
}

#[derive(Debug, Clone, Deserialize)]
pub struct ArchiveEntry {
    /// Whole, or as seen from the index.
    pub url: String,
    pub sha256: String,
    pub size: u64,
}

impl ReleaseIndex {
    /// Only for bytes whose signature was checked.
    pub fn parse(bytes: &[u8]) -> Result<Self, CommandError> {
        #[derive(Deserialize)]
        struct FormatOnly {
            format: u32,
        }
        let unreadable = |error: serde_json::Error| {
            CommandError::new(format!("the index cannot be read: {error}"))
        };
        let named: FormatOnly = serde_json::from_slice(bytes).map_err(unreadable)?;
        if named.format != FORMAT {
            return Err(CommandError::new(format!(
                "the index has format {}, and this Chela reads format {FORMAT}",
                named.format
            ))
            .hint("install the newest version by hand this once"));
        }
        serde_json::from_slice(bytes).map_err(unreadable)
    }

    pub fn channel(mut self, name: &str) -> Result<ReleaseEntry, CommandError> {
        debug_assert_eq!(self.format, FORMAT);
        if let Some(entry) = self.channels.remove(name) {
            return Ok(entry);
        }
        let known: Vec<&str> = self.channels.keys().map(String::as_str).collect();
        let hint = match suggest::nearest(name, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => format!("there is {}", known.join(", ")),
        };
        Err(CommandError::new(format!("the index has no channel `{name}`")).hint(hint))
    }
}

impl ReleaseEntry {
    pub fn archive_for(&self, target: &str) -> Result<&ArchiveEntry, CommandError> {
        self.archives.get(target).ok_or_else(|| {
            let known: Vec<&str> = self.archives.keys().map(String::as_str).collect();
            CommandError::new(format!(
                "version {} has no archive for {target}",
                self.version
            ))
            .hint(format!("there is one for {}", known.join(", ")))
        })
    }
}
