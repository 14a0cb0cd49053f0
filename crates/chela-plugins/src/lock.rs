//! What is installed: each plugin by the hash of its files, and how it fared.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use chela_core::{ContentHash, Host};
use chela_files::{FileMode, LockFile, announce_write, read_if_there, write_file};
use chela_skills::SkillOrigin;
use serde::{Deserialize, Serialize};

/// Others hold the lock for the time of one write.
const PATIENCE: Duration = Duration::from_secs(20);
/// So many faults in a row, and a plugin is not asked any more.
const MOST_FAULTS: u32 = 3;

/// All installed plugins.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PluginLock {
    #[serde(default)]
    pub plugins: BTreeMap<String, LockedPlugin>,
    /// What another version of the program keeps here.
    #[serde(flatten)]
    other: serde_json::Map<String, serde_json::Value>,
}

/// One of them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LockedPlugin {
    /// Of all its files.
    pub hash: ContentHash,
    /// Of each file.
    pub files: BTreeMap<String, ContentHash>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    pub from: SkillOrigin,
    /// Seconds since 1970.
    pub since: u64,
    /// What it asked for when the owner looked.
    #[serde(default)]
    pub asked: Vec<String>,
    /// MCP servers it brought, by their names in the config.
    #[serde(default)]
    pub servers: Vec<String>,
    #[serde(default, skip_serializing_if = "PluginFaults::is_fine")]
    pub faults: PluginFaults,
}

/// How often a plugin failed in a row.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PluginFaults {
    #[serde(default)]
    pub in_a_row: u32,
    /// Why it failed the last time, and when.
    #[serde(default)]
    pub last: String,
    #[serde(default)]
    pub at: u64,
}

impl PluginFaults {
    fn is_fine(&self) -> bool {
        self.in_a_row == 0
    }

    /// Whether it is not asked any more.
    pub fn is_quarantined(&self) -> bool {
        self.in_a_row >= MOST_FAULTS
    }
}

/// Why the lock cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PluginLockError {
    #[error("{} cannot be read: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    #[error("{} is damaged ({why}); move it away, and add the plugins again", path.display())]
    Damaged { path: PathBuf, why: String },
    #[error("{} cannot be written: {why}", path.display())]
    Write { path: PathBuf, why: String },
}

impl PluginLock {
    pub fn path(host: &Host) -> PathBuf {
        host.state_dir().join("state").join("plugins.json")
    }

    /// What is installed. Nothing where nothing ever was.
    pub fn load(host: &Host) -> Result<Self, PluginLockError> {
        Self::read(&Self::path(host))
    }

    fn read(path: &Path) -> Result<Self, PluginLockError> {
        let text = read_if_there(path).map_err(|source| PluginLockError::Read {
            path: path.to_owned(),
            source,
        })?;
        let Some(text) = text else {
            return Ok(Self::default());
        };
        serde_json::from_str(&text).map_err(|error| PluginLockError::Damaged {
            path: path.to_owned(),
            why: error.to_string(),
        })
    }

    /// Changes the lock, one at a time over all processes.
    pub fn change<T>(
        host: &Host,
        change: impl FnOnce(&mut Self) -> T,
    ) -> Result<T, PluginLockError> {
        let path = Self::path(host);
        let failed = |why: String| PluginLockError::Write {
            path: path.clone(),
            why,
        };
        let lock = path.with_extension("json.lock");
        let _lock = LockFile::take(&lock, PATIENCE).map_err(|error| failed(error.to_string()))?;
        let mut all = Self::read(&path)?;
        let before = all.clone();
        let outcome = change(&mut all);
        if all == before {
            return Ok(outcome);
        }
        let text = serde_json::to_string_pretty(&all).map_err(|error| failed(error.to_string()))?;
        let bytes = format!("{text}\n").into_bytes();
        let announced = announce_write(&host.state_dir(), &path);
        write_file(&path, &bytes, FileMode::Private).map_err(|error| failed(error.to_string()))?;
        announced.finish(&bytes);
        Ok(outcome)
    }

    /// Notes that a plugin failed; says how it stands now.
    pub fn note_fault(host: &Host, id: &str, why: &str) -> Result<PluginFaults, PluginLockError> {
        let now = host.unix_time();
        Self::change(host, |lock| {
            let Some(plugin) = lock.plugins.get_mut(id) else {
                return PluginFaults::default();
            };
            plugin.faults = PluginFaults {
                in_a_row: plugin.faults.in_a_row.saturating_add(1),
                last: why.chars().take(300).collect(),
                at: now,
            };
            plugin.faults.clone()
        })
    }

    /// A plugin works again, or its owner wants it tried again.
    pub fn forget_faults(host: &Host, id: &str) -> Result<(), PluginLockError> {
        Self::change(host, |lock| {
            if let Some(plugin) = lock.plugins.get_mut(id) {
                plugin.faults = PluginFaults::default();
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use chela_core::{ContentHash, Host};
    use chela_skills::SkillOrigin;

    use super::{LockedPlugin, MOST_FAULTS, PluginFaults, PluginLock};

    #[test]
    fn faults_in_a_row_lead_to_quarantine_and_are_forgotten() {
        let home = tempfile::tempdir().unwrap();
        let host = Host::fixed(home.path());
        std::fs::create_dir_all(host.state_dir().join("state")).unwrap();
        let plugin = LockedPlugin {
            hash: ContentHash::of("x"),
            files: BTreeMap::new(),
            version: None,
            from: SkillOrigin::Path { path: "/x".into() },
            since: 1,
            asked: Vec::new(),
            servers: Vec::new(),
            faults: PluginFaults::default(),
        };
        PluginLock::change(&host, |lock| lock.plugins.insert("a".to_owned(), plugin)).unwrap();
        for round in 1..=MOST_FAULTS {
            let faults = PluginLock::note_fault(&host, "a", "it hangs").unwrap();
            assert_eq!(faults.is_quarantined(), round == MOST_FAULTS);
        }
        assert!(
            PluginLock::load(&host).unwrap().plugins["a"]
                .faults
                .is_quarantined()
        );
        PluginLock::forget_faults(&host, "a").unwrap();
        assert_eq!(
            PluginLock::load(&host).unwrap().plugins["a"]
                .faults
                .in_a_row,
            0
        );
        assert!(
            !PluginLock::note_fault(&host, "gone", "x")
                .unwrap()
                .is_quarantined()
        );
        std::fs::write(PluginLock::path(&host), "{").unwrap();
        assert!(PluginLock::load(&host).is_err());
    }
}
