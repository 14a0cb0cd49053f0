//! The last config that worked, for the day the file does not.
//!
//! Kept in the state folder as one piece: includes in place, but `${VAR}` as written, so that no
//! secret moves from the environment to the disk.

use std::path::PathBuf;

use chela_core::{ContentHash, Host};
use serde::Serialize;
use serde_json::Value;

use super::{ConfigStore, StoreError, write};
use crate::diagnostic::{ConfigDiagnostic, Severity};
use crate::node::FileId;
use crate::sources::{self, GatheredConfig, MainFile, read_text};
use crate::text;

/// A config that was good once.
#[derive(Debug, Clone, PartialEq)]
pub struct LastGood {
    /// The file that keeps it.
    pub path: PathBuf,
    /// When it was found good, in seconds since 1970.
    pub saved_at: u64,
    pub hash: ContentHash,
    source: String,
}

/// The file: a note for people, when and what, and the copy.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Kept<'a> {
    note: &'static str,
    saved_at: u64,
    hash: ContentHash,
    #[serde(flatten)]
    content: &'a Content,
}

/// The part that is the same as long as the config is. It stands last, so that it can be
/// compared as text, at every start, without reading the copy as a config.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Content {
    config_file: PathBuf,
    config: Value,
}

/// The key of the config in the file.
const CONFIG: &str = "config";

impl LastGood {
    /// The config in it, with today's environment filled in.
    pub fn gather(&self, host: &Host) -> GatheredConfig {
        sources::gather_piece(host, self.path.clone(), self.source.clone(), CONFIG)
    }
}

impl ConfigStore {
    /// Where the last good config is kept.
    pub fn last_good_path(&self) -> PathBuf {
        self.host.state_dir().join("state").join("last-good.json")
    }

    /// Keeps a config that was read from the config file without errors. Writes only if it
    /// differs from the one kept. Failing to keep it is worth a warning, not an error: the config
    /// itself is fine.
    pub fn remember_good(&self, gathered: &GatheredConfig) -> Option<ConfigDiagnostic> {
        let own = gathered
            .files
            .first()
            .is_some_and(|file| file.path == self.path());
        if !own || gathered.main != MainFile::Read || gathered.has_errors() {
            return None;
        }
        let error = self.keep(gathered.unsubstituted()).err()?;
        Some(ConfigDiagnostic::whole(
            Severity::Warning,
            "last-good",
            format!("the config is fine, but no copy of it can be kept: {error}"),
            "without a copy, a broken config file has no fallback at the next start",
        ))
    }

    /// Whether this very config is the one that is kept.
    pub fn is_kept(&self, gathered: &GatheredConfig) -> bool {
        let wanted = self.content(gathered.unsubstituted());
        self.holds(&wanted).is_ok_and(|is_kept| is_kept)
    }

    /// The last config that was good, if one was kept for this config file and is intact.
    pub fn last_good(&self) -> Option<LastGood> {
        let path = self.last_good_path();
        let source = match read_text(&path) {
            Ok(source) => source,
            Err(problem) => {
                tracing::debug!(?problem, "no last good config is read");
                return None;
            }
        };
        // Read by our own reader: it gives back every number exactly, so that the hash holds.
        let kept = text::parse(&source, FileId(0)).root?.to_json();
        let hash = ContentHash::of(kept.get(CONFIG)?.to_string());
        let intact = kept.get("hash")?.as_str() == Some(hash.to_string().as_str());
        let ours = kept.get("configFile")?.as_str()? == self.path().to_string_lossy();
        let saved_at = kept.get("savedAt")?.as_u64()?;
        (intact && ours).then_some(LastGood {
            path,
            saved_at,
            hash,
            source,
        })
    }

    /// Keeps a config, unless it is the one that is kept.
    fn keep(&self, config: Value) -> Result<(), StoreError> {
        let path = self.last_good_path();
        let failed = |error: serde_json::Error| StoreError::Io {
            what: "write",
            path: path.clone(),
            source: error.into(),
        };
        let content = self.content(config);
        if self.holds(&content).map_err(failed)? {
            return Ok(());
        }
        let kept = Kept {
            note: "The last config Chela could use. Written by Chela; edits here are lost.",
            saved_at: self.host.unix_time(),
            hash: ContentHash::of(content.config.to_string()),
            content: &content,
        };
        write::make_folder_of(&path)?;
        let kept = serde_json::to_string_pretty(&kept).map_err(failed)? + "\n";
        Ok(write::prepare(&path, &kept)?.put_in_place()?)
    }

    fn content(&self, config: Value) -> Content {
        Content {
            config_file: self.path(),
            config,
        }
    }

    /// Whether this very config is kept, by the text it is kept as.
    fn holds(&self, content: &Content) -> Result<bool, serde_json::Error> {
        let same = serde_json::to_string_pretty(content)? + "\n";
        let kept = read_text(&self.last_good_path());
        Ok(kept.is_ok_and(|kept| kept.ends_with(same.trim_start_matches('{'))))
    }
}
