//! Which files are watched, for a report about all of them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use chela_core::ok_or_debug;
use serde::Serialize;

use super::Custody;
use crate::core_file::{BOOT_FILE, CoreFile, file_name};
use crate::glob::expand;
use crate::spelling::CoreSpelling;
use crate::trust::{AbsentFile, FileEntry, HeldVersion, JudgedVersion};

/// Hooks are few and lie close to the top.
const DEEPEST: usize = 4;
const MOST_HOOKS: usize = 500;

/// What a watched file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum WatchedKind {
    /// In the prompt of every session, or of some; or what the agent is asked to do at the start.
    Bootstrap,
    /// Called up from memory.
    Note,
    /// A file of a skill. The lock of the skills decides about it.
    Skill,
    /// Runs when something happens.
    Hook,
    /// A text of the config, known by its key.
    Setting,
}

/// A file that shapes the agent, as it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchedFile {
    pub kind: WatchedKind,
    pub path: PathBuf,
    /// Relative to the workspace where it lies in it.
    pub shown: String,
    /// `None` when it is on record and no longer there.
    pub judged: Option<JudgedVersion>,
    /// Where its absence stands, when it is not there.
    pub absent: Option<AbsentFile>,
    pub entry: Option<FileEntry>,
}

impl WatchedFile {
    /// Whether the owner has something to look at.
    pub fn waits(&self) -> bool {
        let judged = self.judged.as_ref().map(|judged| judged.judgement);
        let judgement = judged.or(self.absent.map(|absent| absent.judgement));
        judgement.is_some_and(|judgement| judgement.waits()) || self.proposed().is_some()
    }

    /// What the agent would have written.
    pub fn proposed(&self) -> Option<&HeldVersion> {
        self.entry.as_ref()?.proposed.as_ref()
    }
}

impl Custody {
    /// What the policy lets pass is on record as such, so that nobody is asked about it.
    pub fn let_pass_what_may(&self, files: &[WatchedFile]) {
        for file in files {
            if file.judged.as_ref().is_some_and(|judged| judged.is_allowed) {
                self.let_pass(&file.path);
            }
            if file.absent.is_some_and(|absent| absent.is_allowed) {
                self.let_go(&file.path);
            }
        }
    }

    /// The watched files: those that are there, and those that are only on record.
    pub fn survey(&self, extra_files: &[String]) -> Vec<WatchedFile> {
        let records = self.records();
        let root = self.root();
        let mut paths = BTreeSet::new();
        for name in CoreFile::names() {
            paths.insert(root.join(name));
        }
        paths.insert(root.join(BOOT_FILE));
        let spelling = CoreSpelling::of(root);
        paths.extend(CoreFile::ALL.map(|core| root.join(spelling.name(core))));
        let extra = expand(root, extra_files).into_iter();
        paths.extend(extra.filter(|path| CoreFile::of(&file_name(path)).is_some()));
        for hooks in [root.join("hooks"), self.shared_hooks()] {
            gather(&hooks, DEEPEST, &mut paths);
        }
        let recorded = records.files().map(|(path, _)| path);
        paths.extend(
            recorded
                .filter(|path| path.starts_with(root))
                .map(Path::to_owned),
        );
        paths
            .into_iter()
            .filter_map(|path| {
                let judged = self.look(&path).map(|(judged, _)| judged);
                let entry = records.entry(&self.resolved(&path)).cloned();
                (judged.is_some() || entry.is_some()).then(|| WatchedFile {
                    kind: self.kind_of(&path),
                    shown: self.shown(&path),
                    absent: self.missed(&path),
                    path,
                    judged,
                    entry,
                })
            })
            .collect()
    }

    /// What a path is for; `None` for a file that shapes nothing.
    pub fn kind(&self, path: &Path) -> Option<WatchedKind> {
        if path.starts_with(self.shared_hooks()) {
            return Some(WatchedKind::Hook);
        }
        let inside = path.strip_prefix(self.root()).ok()?;
        let first = inside.components().next()?.as_os_str().to_string_lossy();
        match &*first {
            "hooks" => Some(WatchedKind::Hook),
            "skills" | ".agents" => Some(WatchedKind::Skill),
            "memory" => Some(WatchedKind::Note),
            _ if CoreFile::of(&file_name(path)).is_some() => Some(WatchedKind::Bootstrap),
            first if inside.components().count() == 1 && first.eq_ignore_ascii_case(BOOT_FILE) => {
                Some(WatchedKind::Bootstrap)
            }
            _ => None,
        }
    }

    fn kind_of(&self, path: &Path) -> WatchedKind {
        self.kind(path).unwrap_or(WatchedKind::Bootstrap)
    }

    /// A path as a person types it.
    pub fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(self.root()) {
            Ok(inside) => inside.display().to_string(),
            Err(_) => self.host().compact(path),
        }
    }
}

fn gather(dir: &Path, depth: usize, paths: &mut BTreeSet<PathBuf>) {
    let read = std::fs::read_dir(dir);
    let Some(entries) = ok_or_debug!(read, "no hooks in a folder", dir = %dir.display()) else {
        return;
    };
    for entry in entries.flatten() {
        if paths.len() > MOST_HOOKS {
            tracing::warn!(dir = %dir.display(), "more files than are watched");
            return;
        }
        match entry.file_type() {
            Ok(kind) if kind.is_file() => {
                paths.insert(entry.path());
            }
            Ok(kind) if kind.is_dir() && depth > 0 => gather(&entry.path(), depth - 1, paths),
            _ => {}
        }
    }
}
