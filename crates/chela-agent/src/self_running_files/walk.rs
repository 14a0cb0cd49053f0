//! Every way to a file that programs run.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::ffi::OsStr;
use std::fs::DirEntry;
use std::path::{Path, PathBuf};

use chela_guard::{RunsWhen, runs_when};
use chela_tools::approvals::is_plain_config;

use super::{HELD, KnownFile, MOST_BYTES};

/// Folders of the workspace that are looked into, those near its top first, and what is in them.
const MOST_FOLDERS: usize = 20_000;
const MOST_ENTRIES: usize = 400_000;
/// Folders that links lead to outside of it.
const MOST_OUTSIDE: usize = 500;
/// Entries that are looked at for links to one file.
const MOST_ENTRIES_FOR_NAMES: usize = 5_000;
/// Links that are followed one after the other.
const MOST_LINKS: u8 = 3;
/// Folders that others fill: of what runs at a build there is too much in them to tell of.
const FILLED_BY_OTHERS: &[&str] = &["node_modules", "target", ".venv", "venv", "__pycache__"];

/// A folder to be looked into.
struct WalkedFolder {
    path: PathBuf,
    /// The way to it from the workspace, which is what programs go by.
    shown: PathBuf,
    is_filled_by_others: bool,
    links: u8,
    /// The link it was reached by.
    via: Option<PathBuf>,
}

struct Walk {
    files: BTreeMap<PathBuf, KnownFile>,
    folders: VecDeque<WalkedFolder>,
    /// Where links led already, and by which name.
    linked: HashSet<(PathBuf, PathBuf)>,
}

/// Such files of a workspace, and whether it is too large to look at all of it.
pub(super) fn look(workspace: &Path) -> (BTreeMap<PathBuf, KnownFile>, bool) {
    let mut walk = Walk {
        files: BTreeMap::new(),
        folders: VecDeque::from([WalkedFolder {
            path: workspace.to_owned(),
            shown: PathBuf::new(),
            is_filled_by_others: false,
            links: 0,
            via: None,
        }]),
        linked: HashSet::new(),
    };
    let (mut folders, mut entries_seen, mut outside) = (0, 0, 0);
    while let Some(folder) = walk.folders.pop_front() {
        match folder.path.starts_with(workspace) {
            true => folders += 1,
            false => outside += 1,
        }
        if folders > MOST_FOLDERS || entries_seen > MOST_ENTRIES {
            tracing::warn!("the workspace is too large to look at every file programs run");
            return (walk.files, true);
        }
        // What lies elsewhere is the owner's, and mostly out of a command's reach.
        if outside > MOST_OUTSIDE && !folder.path.starts_with(workspace) {
            continue;
        }
        let entries = std::fs::read_dir(&folder.path);
        let entries: Vec<DirEntry> = entries.into_iter().flatten().flatten().collect();
        entries_seen += entries.len();
        // A folder with these two is a repository, whatever it is called.
        let has = |name: &str| entries.iter().any(|entry| entry.file_name() == name);
        if has("HEAD") && has("config") {
            walk.take_repository(&folder.path);
        }
        for entry in &entries {
            walk.take(&folder, entry);
        }
    }
    (walk.files, false)
}

impl Walk {
    fn take(&mut self, folder: &WalkedFolder, entry: &DirEntry) {
        let (Ok(kind), name, path) = (entry.file_type(), entry.file_name(), entry.path()) else {
            return;
        };
        let shown = folder.shown.join(&name);
        let is_repository = name == OsStr::new(".git");
        if kind.is_dir() && is_repository {
            self.take_repository(&path);
        } else if kind.is_dir() {
            self.folders.push_back(WalkedFolder {
                path,
                shown,
                is_filled_by_others: folder.is_filled_by_others || is_filled_by_others(&name),
                links: folder.links,
                via: folder.via.clone(),
            });
        } else if is_repository {
            // It leads git to a repository elsewhere.
            self.note(&path, RunsWhen::Opened, None);
        } else if kind.is_symlink() && path.is_dir() {
            self.follow(folder, &path, shown);
        } else if kind.is_file() || kind.is_symlink() {
            let when = when_run(&shown);
            if when == Some(RunsWhen::Opened) || !folder.is_filled_by_others {
                when.into_iter()
                    .for_each(|when| self.note(&path, when, folder.via.as_ref()));
            }
        }
    }

    /// A link to a folder gives its files a second name, and may be what makes them run.
    fn follow(&mut self, folder: &WalkedFolder, link: &Path, shown: PathBuf) {
        if when_run(&shown.join("x")) == Some(RunsWhen::Opened) {
            self.note(link, RunsWhen::Opened, None);
        }
        let Ok(target) = link.canonicalize() else {
            return;
        };
        let is_new = self.linked.insert((shown.clone(), target.clone()));
        if is_new && folder.links < MOST_LINKS && !folder.path.starts_with(&target) {
            self.folders.push_back(WalkedFolder {
                path: target,
                shown,
                is_filled_by_others: folder.is_filled_by_others,
                links: folder.links + 1,
                via: Some(link.to_owned()),
            });
        }
    }

    /// What git obeys: the config of a repository, its hooks, and those of the ones inside it.
    fn take_repository(&mut self, repository: &Path) {
        for name in ["config", "config.worktree", "commondir"] {
            let path = repository.join(name);
            self.note(&path, RunsWhen::Opened, None);
            let is_harmless = name == "config" && says_nothing(&path);
            if let Some(known) = self.files.get_mut(&path) {
                known.is_harmless = is_harmless;
            }
        }
        let entries = |folder: &str| {
            let entries = std::fs::read_dir(repository.join(folder));
            entries.into_iter().flatten().flatten()
        };
        for hook in entries("hooks").map(|hook| hook.path()) {
            if hook.extension() != Some(OsStr::new("sample")) {
                self.note(&hook, RunsWhen::Opened, None);
            }
        }
        for inner in entries("modules").map(|inner| inner.path()) {
            if inner.join("config").is_file() {
                self.take_repository(&inner);
            }
        }
    }

    fn note(&mut self, path: &Path, when: RunsWhen, via: Option<&PathBuf>) {
        if path.extension() == Some(OsStr::new(HELD)) {
            return;
        }
        let is_graver = |known: &KnownFile| known.when == RunsWhen::Opened;
        if self.files.get(path).is_some_and(is_graver) {
            return;
        }
        if let Some(known) = KnownFile::read(path, when) {
            let via = via.cloned();
            self.files
                .insert(path.to_owned(), KnownFile { via, ..known });
        }
    }
}

/// The names by which links of a workspace lead to a file that is or will be there.
pub(super) fn other_names(workspace: &Path, file: &Path) -> Vec<PathBuf> {
    let mut names = Vec::new();
    let mut folders = VecDeque::from([workspace.to_owned()]);
    let mut left = MOST_ENTRIES_FOR_NAMES;
    while let Some(folder) = folders.pop_front() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            left = left.saturating_sub(1);
            let (Ok(kind), path) = (entry.file_type(), entry.path()) else {
                continue;
            };
            if kind.is_dir() && entry.file_name() != OsStr::new(".git") {
                folders.push_back(path);
            } else if kind.is_symlink()
                && let Ok(target) = path.canonicalize()
                && let Ok(rest) = file.strip_prefix(&target)
            {
                names.push(match rest.as_os_str().is_empty() {
                    true => path,
                    false => path.join(rest),
                });
            }
        }
        if left == 0 {
            break;
        }
    }
    names
}

fn when_run(shown: &Path) -> Option<RunsWhen> {
    runs_when(&shown.to_string_lossy())
}

fn is_filled_by_others(name: &OsStr) -> bool {
    let name = name.to_str();
    name.is_some_and(|name| FILLED_BY_OTHERS.contains(&name))
}

fn says_nothing(config: &Path) -> bool {
    let is_small = |path: &Path| {
        let found = path.symlink_metadata();
        found.is_ok_and(|found| found.is_file() && found.len() <= MOST_BYTES)
    };
    is_small(config) && std::fs::read_to_string(config).is_ok_and(|text| is_plain_config(&text))
}
