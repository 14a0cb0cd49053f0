//! What processes that died in the middle of a write left in the home and the workspaces.

use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use chela_config::LoadedConfig;
use chela_core::{Host, ok_or_debug, ok_or_warn};
use chela_files::{FileMode, leftovers_below, write_file};

/// No write takes this long: what is older belongs to nobody any more.
const OLD: Duration = Duration::from_secs(60 * 60);
/// How often a start looks.
const EVERY: Duration = Duration::from_secs(24 * 60 * 60);

/// Drafts of files, and folders of skills that were being fetched.
pub fn leftovers(host: &Host, loaded: &LoadedConfig) -> Vec<PathBuf> {
    let now = host.clock.now();
    let home = host.state_dir();
    let mut found = Vec::new();
    for (folder, levels) in [
        (home.clone(), 0),
        (home.join("state"), 4),
        (home.join("agents"), 3),
        (home.join("skills"), 2),
        (home.join("skills-bundled"), 2),
    ] {
        found.extend(leftovers_below(&folder, levels, OLD, now));
    }
    for agent in loaded.agents() {
        let workspace = loaded.workspace_dir(&agent).value;
        found.extend(leftovers_below(&workspace, 8, OLD, now));
    }
    found.extend(fetched(&home.join("quarantine"), now));
    found.sort();
    found.dedup();
    found
}

/// Removes them; gives those that went.
pub fn sweep(host: &Host, loaded: &LoadedConfig) -> Vec<PathBuf> {
    let mut found = leftovers(host, loaded);
    found.retain(|path| {
        let gone = match path.is_dir() {
            true => std::fs::remove_dir_all(path),
            false => std::fs::remove_file(path),
        };
        ok_or_warn!(gone, "a leftover stays", path = %path.display()).is_some()
    });
    found
}

/// The same, once a day.
pub(crate) fn sweep_daily(host: &Host, loaded: &LoadedConfig) {
    let note = host.state_dir().join("state").join("swept");
    let last = std::fs::metadata(&note).and_then(|facts| facts.modified());
    let age = last.map(|last| host.clock.now().duration_since(last).unwrap_or_default());
    if age.is_ok_and(|age| age < EVERY) {
        return;
    }
    sweep(host, loaded);
    // Without the note it is looked again with the next start, and no harm is done.
    ok_or_debug!(
        write_file(&note, b"", FileMode::Private),
        "the sweep is not noted"
    );
}

/// Where a skill is put together before it is shown to the owner.
fn fetched(quarantine: &Path, now: SystemTime) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(quarantine)
        .into_iter()
        .flatten()
        .flatten();
    entries
        .filter(|entry| {
            entry
                .file_name()
                .to_string_lossy()
                .starts_with(".incoming-")
        })
        .filter(|entry| {
            entry.metadata().is_ok_and(|facts| {
                let written = facts.modified().unwrap_or(now);
                facts.is_dir() && now.duration_since(written).unwrap_or_default() >= OLD
            })
        })
        .map(|entry| entry.path())
        .collect()
}
