//! The file of the record.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chela_core::{ContentHash, Host};
use chela_files::{FileMode, LockFile, announce_write, read_if_there, write_file};
use serde::{Deserialize, Serialize};

use super::ServerRecord;

/// Others hold the record for the time of one write.
const PATIENCE: Duration = Duration::from_secs(20);

/// All servers on record, by the prefixes of their tools.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct McpRecord {
    #[serde(default)]
    pub servers: BTreeMap<String, ServerRecord>,
    /// Files of projects whose servers were asked about, and the text they had.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    offered: BTreeMap<String, ContentHash>,
    /// What another version of the program keeps here.
    #[serde(flatten)]
    other: serde_json::Map<String, serde_json::Value>,
}

/// Why the record cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    #[error("{} cannot be read: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is damaged ({why}); move it away, and the servers are looked at again", path.display())]
    Damaged { path: PathBuf, why: String },
    #[error("{} cannot be written: {why}", path.display())]
    Write { path: PathBuf, why: String },
}

impl McpRecord {
    /// Whether the owner was asked about the servers that a file names, as it is.
    pub fn was_offered(&self, file: &str, hash: ContentHash) -> bool {
        self.offered.get(file) == Some(&hash)
    }

    /// The owner was asked about them.
    pub fn note_offered(&mut self, file: &str, hash: ContentHash) {
        self.offered.insert(file.to_owned(), hash);
    }

    pub fn path(host: &Host) -> PathBuf {
        host.state_dir().join("state").join("mcp.json")
    }

    /// What is on record. Nothing where there is no record yet.
    pub fn load(host: &Host) -> Result<Self, RecordError> {
        Self::read(&Self::path(host))
    }

    fn read(path: &Path) -> Result<Self, RecordError> {
        let text = read_if_there(path).map_err(|source| RecordError::Read {
            path: path.to_owned(),
            source,
        })?;
        let Some(text) = text else {
            return Ok(Self::default());
        };
        serde_json::from_str(&text).map_err(|error| RecordError::Damaged {
            path: path.to_owned(),
            why: error.to_string(),
        })
    }

    /// Changes the record, one at a time over all processes.
    pub fn change<T>(host: &Host, change: impl FnOnce(&mut Self) -> T) -> Result<T, RecordError> {
        let path = Self::path(host);
        let failed = |why: String| RecordError::Write {
            path: path.clone(),
            why,
        };
        let lock = path.with_extension("json.lock");
        let _lock = LockFile::take(&lock, PATIENCE).map_err(|error| failed(error.to_string()))?;
        let mut record = Self::read(&path)?;
        let before = record.clone();
        let outcome = change(&mut record);
        if record == before {
            return Ok(outcome);
        }
        let text =
            serde_json::to_string_pretty(&record).map_err(|error| failed(error.to_string()))?;
        let bytes = format!("{text}\n").into_bytes();
        let announced = announce_write(&host.state_dir(), &path);
        write_file(&path, &bytes, FileMode::Private).map_err(|error| failed(error.to_string()))?;
        announced.finish(&bytes);
        Ok(outcome)
    }
}
