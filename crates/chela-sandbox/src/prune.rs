//! Sandboxes nobody uses any more.
//!
//! Beside every folder lies a note of who uses it and since when, out of reach from inside. What
//! goes is the sandbox's home and its temporary files. What commands left in its `work` folder
//! is somebody's work: it goes only when that is said.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use chela_config::LoadedConfig;
use chela_config::model::Sandbox;
use chela_core::{AgentId, Host, SessionKey, ok_or_debug, ok_or_warn};
use chela_files::{FileMode, write_file};
use serde::{Deserialize, Serialize};

use super::folder::SandboxFolder;

const HOUR: u64 = 3_600_000;
const DAY: u64 = 24 * HOUR;

/// Who uses a folder, and since when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FolderUsage {
    /// Milliseconds since 1970.
    pub made: u64,
    pub used: u64,
    pub session: String,
}

/// A sandbox that is to go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StaleSandbox {
    pub folder: PathBuf,
    /// The session that used it last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// Hours since it was used.
    pub idle_hours: u64,
    pub age_days: u64,
    /// Files of commands are in its work folder.
    pub has_work: bool,
    /// Something is there besides those.
    pub has_rest: bool,
}

/// Whether what commands left in their folder goes too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkFate {
    Stays,
    Goes,
}

impl SandboxFolder {
    fn note(&self) -> PathBuf {
        let name = self.root.file_name().unwrap_or_default().to_string_lossy();
        self.root.with_file_name(format!(".{name}.json"))
    }

    /// Notes that it is used now.
    pub(super) fn note_use(&self, now: u64, session: &str) {
        let made = usage(&self.note()).map_or(now, |usage| usage.made);
        let usage = FolderUsage {
            made,
            used: now,
            session: session.to_owned(),
        };
        let written = serde_json::to_vec(&usage)
            .map_err(std::io::Error::from)
            .and_then(|text| Ok(write_file(&self.note(), &text, FileMode::KeepOrUsual)?));
        // Without a note the times of the folder itself count.
        ok_or_debug!(written, "the use of a sandbox is not noted");
    }
}

fn usage(note: &Path) -> Option<FolderUsage> {
    serde_json::from_slice(&std::fs::read(note).ok()?).ok()
}

/// Removes all of them, but for what commands left. What cannot go now goes another day.
pub fn prune(host: &Host, loaded: &LoadedConfig) {
    for stale in stale(host, loaded) {
        if stale.has_rest {
            ok_or_warn!(remove(&stale, WorkFate::Stays), "a stale sandbox stays");
        }
    }
}

/// The sandboxes of sessions and agents that were idle too long or are too old, as
/// `sandbox.prune` says. One that all agents share stays.
pub fn stale(host: &Host, loaded: &LoadedConfig) -> Vec<StaleSandbox> {
    let now = host.unix_millis();
    let mut found = Vec::new();
    for root in roots(host, loaded) {
        let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
        for entry in entries {
            let name = entry.file_name().to_string_lossy().into_owned();
            let is_one = name.starts_with("agent-") || name.starts_with("session-");
            let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
            if is_one && is_folder {
                let folder = SandboxFolder { root: entry.path() };
                found.extend(judge(&folder, &name, now, loaded));
            }
        }
    }
    found.sort_by(|a, b| a.folder.cmp(&b.folder));
    found
}

/// Removes one.
pub fn remove(stale: &StaleSandbox, work: WorkFate) -> std::io::Result<()> {
    let folder = SandboxFolder {
        root: stale.folder.clone(),
    };
    let gone = |path: PathBuf| match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    };
    gone(folder.temporary())?;
    gone(folder.home())?;
    if work == WorkFate::Goes || !stale.has_work {
        gone(folder.root.clone())?;
        ok_or_debug!(
            std::fs::remove_file(folder.note()),
            "the note of a sandbox stays behind"
        );
    }
    Ok(())
}

/// Where sandboxes are, for all agents.
fn roots(host: &Host, loaded: &LoadedConfig) -> BTreeSet<PathBuf> {
    let defaults = &loaded.config.agents.defaults.sandbox;
    let views = loaded.agents().into_iter();
    let own = views
        .filter_map(|agent| loaded.agent(&agent))
        .map(|view| SandboxFolder::all(host, &view.sandbox.value));
    own.chain([SandboxFolder::all(host, defaults)]).collect()
}

fn judge(
    folder: &SandboxFolder,
    name: &str,
    now: u64,
    loaded: &LoadedConfig,
) -> Option<StaleSandbox> {
    let known = usage(&folder.note());
    let (made, used) = match &known {
        Some(usage) => (usage.made, usage.used),
        None => {
            let millis = |time: std::io::Result<std::time::SystemTime>| {
                let since = time.ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
                u64::try_from(since.as_millis()).ok()
            };
            let parts = [
                folder.root.clone(),
                folder.work(),
                folder.home(),
                folder.temporary(),
            ];
            let changed = parts
                .iter()
                .filter_map(|path| millis(path.metadata().and_then(|found| found.modified())));
            let used = changed.max()?;
            (used, used)
        }
    };
    let settings = settings_of(name, known.as_ref(), loaded);
    let (idle, age) = (now.saturating_sub(used), now.saturating_sub(made));
    let prune = &settings.prune;
    let over = |limit: u64, unit: u64, is: u64| limit > 0 && is >= limit.saturating_mul(unit);
    // A command may still run in it for as long as commands may run.
    let in_use = idle
        <= loaded
            .config
            .tools
            .exec
            .timeout_seconds
            .saturating_mul(1_000);
    let too_long = over(prune.idle_hours, HOUR, idle) || over(prune.max_age_days, DAY, age);
    if in_use || !too_long {
        return None;
    }
    let has_work = std::fs::read_dir(folder.work()).is_ok_and(|mut inside| inside.next().is_some());
    Some(StaleSandbox {
        folder: folder.root.clone(),
        session: known.map(|usage| usage.session),
        idle_hours: idle / HOUR,
        age_days: age / DAY,
        has_work,
        has_rest: folder.home().exists() || folder.temporary().exists() || !has_work,
    })
}

/// The settings of the agent whose sandbox it is.
fn settings_of(name: &str, usage: Option<&FolderUsage>, loaded: &LoadedConfig) -> Sandbox {
    let named = name.strip_prefix("agent-").map(str::to_owned);
    let agent = named.or_else(|| SessionKey::parse(&usage?.session).ok()?.agent);
    agent
        .and_then(|agent| loaded.agent(&AgentId::parse(&agent).ok()?))
        .map_or_else(
            || loaded.config.agents.defaults.sandbox.clone(),
            |view| view.sandbox.value,
        )
}

#[cfg(test)]
mod tests;
