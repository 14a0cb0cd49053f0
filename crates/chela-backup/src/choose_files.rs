//! What of a home is copied: everything but what only the running process needs, what can be made
//! again, and what is secret.

use std::ffi::OsStr;
use std::path::{Component, Path};

use chela_files::is_leftover;

use crate::manifest::EntryKind;

/// What is done with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathChoice {
    Take(EntryKind),
    /// Of no use to anybody: not even told.
    PassOver,
    LeaveOut(&'static str),
    Secret,
}

/// Folders that are passed over whole, by their place in the home.
const PASSED: [&str; 4] = [
    "state/commands",
    "state/questions",
    "state/watchers",
    "state/file-locks",
];
const REMADE: [(&str, &str); 3] = [
    ("logs", "logs"),
    ("sandboxes", "scratch folders of sandboxed commands"),
    ("state/memory", "the search index: it is made again"),
];
/// Files that hold keys, tokens or the proof of who wrote the audit chain.
const SECRETS: [&str; 7] = [
    ".env",
    "state/.env",
    "state/gateway.token",
    "state/installation.key",
    "state/owner-secret",
    "state/last-good.json",
    "state/canary.json",
];
/// What of the home's own folder holds no secret although it ends like a part of the config.
const PLAIN: [&str; 4] = [
    "chela.json",
    "exec-approvals.json",
    "folders.json",
    "stopped.json",
];

/// Decides by the place of a file or folder in the home.
pub(crate) fn choose(path: &str, is_folder: bool) -> PathChoice {
    let name = path.rsplit('/').next().unwrap_or(path);
    if PASSED.contains(&path) {
        return PathChoice::PassOver;
    }
    if let Some((_, why)) = REMADE.iter().find(|(folder, _)| *folder == path) {
        return PathChoice::LeaveOut(why);
    }
    if is_folder {
        return PathChoice::Take(EntryKind::Folder);
    }
    let is_state = path.starts_with("state/") || path.starts_with("agents/");
    let is_process = name.ends_with(".lock") || name == ".lane" || path == "state/gateway.json";
    let is_side = [".sqlite-wal", ".sqlite-shm", ".sqlite-journal"];
    if (is_state && is_process)
        || path == "state/sandbox-probe.json"
        || is_side.iter().any(|end| name.ends_with(end)) && is_state
        || is_leftover(OsStr::new(name))
    {
        return PathChoice::PassOver;
    }
    // Earlier versions of the config and its parts may hold keys as well.
    let is_of_config = !path.contains('/')
        && (name.ends_with(".json") || name.ends_with(".json5") || name.starts_with("chela.json"))
        && !PLAIN.contains(&name);
    if SECRETS.contains(&path) || is_of_config {
        return PathChoice::Secret;
    }
    match is_state && name.ends_with(".sqlite") {
        true => PathChoice::Take(EntryKind::Database),
        false => PathChoice::Take(EntryKind::File),
    }
}

/// A path below a home as the list writes it; `None` for one that leads elsewhere, or whose name
/// is no text.
pub(crate) fn plain_path(path: &Path) -> Option<String> {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(part) => parts.push(part.to_str()?),
            _ => return None,
        }
    }
    (!parts.is_empty()).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::{PathChoice, choose};
    use crate::manifest::EntryKind;

    #[test]
    fn what_is_secret_or_of_the_moment_stays_behind() {
        for path in [
            ".env",
            "chela.json.bak.1",
            "keys.json5",
            "state/gateway.token",
            "state/installation.key",
        ] {
            assert_eq!(choose(path, false), PathChoice::Secret, "{path}");
        }
        for path in [
            "state/gateway.lock",
            "state/gateway.json",
            "state/runtime.sqlite-wal",
            "agents/main/records.lock",
        ] {
            assert_eq!(choose(path, false), PathChoice::PassOver, "{path}");
        }
        let database = PathChoice::Take(EntryKind::Database);
        assert_eq!(choose("agents/main/sessions.sqlite", false), database);
        let file = PathChoice::Take(EntryKind::File);
        for path in [
            "chela.json",
            "workspace/Cargo.lock",
            "workspace/data.sqlite",
            "workspace/package.json",
            "state/ledger.head",
        ] {
            assert_eq!(choose(path, false), file, "{path}");
        }
        assert!(matches!(choose("logs", true), PathChoice::LeaveOut(_)));
    }
}
