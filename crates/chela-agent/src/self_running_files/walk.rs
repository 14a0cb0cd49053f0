//! Every way to a file that programs run.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use chela_files::{FolderEntry, FolderEntryKind, RootedFolder};
use chela_guard::{RunsWhen, runs_when};
use chela_tools::approvals::is_plain_config;

use super::{HELD, KnownFile, MOST_BYTES};

/// Entries that are looked at for links to one file.
const MOST_ENTRIES_FOR_NAMES: usize = 100_000;
/// Links that are followed one after the other.
const MOST_LINKS: u8 = 3;
/// Folders that others fill: of what runs at a build there is too much in them to tell of.
const FILLED_BY_OTHERS: &[&str] = &["node_modules", "target", ".venv", "venv", "__pycache__"];

/// How much is looked at, what is near the top first.
#[derive(Debug, Clone, Copy)]
pub(super) struct LookLimits {
    folders: usize,
    entries: usize,
}

impl LookLimits {
    pub(super) const USUAL: Self = Self {
        folders: 20_000,
        entries: 400_000,
    };
    /// For what a command may have made in order not to be seen.
    pub(super) const WIDE: Self = Self {
        folders: 200_000,
        entries: 2_000_000,
    };

    #[cfg(test)]
    pub(super) fn for_tests(folders: usize) -> Self {
        Self {
            folders,
            ..Self::USUAL
        }
    }
}

/// A folder to be looked into.
struct WalkedFolder {
    /// Which of the roots it is in, and the way to it from there.
    root: usize,
    inner: PathBuf,
    /// The way by which it was reached, which is what programs go by.
    shown: PathBuf,
    is_filled_by_others: bool,
    links: u8,
    /// The link it was reached by.
    via: Option<PathBuf>,
}

struct Walk<'r> {
    roots: &'r [RootedFolder],
    files: BTreeMap<PathBuf, KnownFile>,
    folders: VecDeque<WalkedFolder>,
    /// Where links led already, and by which name.
    linked: HashSet<(PathBuf, PathBuf)>,
}

/// Such files below these folders, and whether there is too much to look at all of it.
pub(super) fn look(
    roots: &[RootedFolder],
    limits: LookLimits,
) -> (BTreeMap<PathBuf, KnownFile>, bool) {
    let top = |root| WalkedFolder {
        root,
        inner: PathBuf::new(),
        shown: PathBuf::new(),
        is_filled_by_others: false,
        links: 0,
        via: None,
    };
    let mut walk = Walk {
        roots,
        files: BTreeMap::new(),
        folders: (0..roots.len()).map(top).collect(),
        linked: HashSet::new(),
    };
    let (mut folders, mut entries_seen) = (0, 0);
    while let Some(folder) = walk.folders.pop_front() {
        folders += 1;
        if folders > limits.folders || entries_seen > limits.entries {
            tracing::warn!("the workspace is too large to look at every file programs run");
            return (walk.files, true);
        }
        let Some(root) = roots.get(folder.root) else {
            continue;
        };
        // A folder that cannot be read, or is none any more, has nothing a program could run.
        let entries = root.entries(&folder.inner).unwrap_or_default();
        entries_seen += entries.len();
        // A folder with `HEAD` and one of these is a repository, whatever it is called.
        let has = |name: &str| entries.iter().any(|entry| entry.name == name);
        let parts = ["config", "config.worktree", "commondir", "objects"];
        if has("HEAD") && parts.into_iter().any(has) {
            walk.take_repository(root, &folder.inner);
        }
        for entry in &entries {
            walk.take(root, &folder, entry);
        }
    }
    (walk.files, false)
}

impl Walk<'_> {
    fn take(&mut self, root: &RootedFolder, folder: &WalkedFolder, entry: &FolderEntry) {
        let inner = folder.inner.join(&entry.name);
        let shown = folder.shown.join(&entry.name);
        let is_repository = entry.name == OsStr::new(".git");
        match entry.kind {
            FolderEntryKind::Folder if is_repository => self.take_repository(root, &inner),
            FolderEntryKind::Folder => self.folders.push_back(WalkedFolder {
                root: folder.root,
                inner,
                shown,
                is_filled_by_others: folder.is_filled_by_others || is_filled_by_others(&entry.name),
                links: folder.links,
                via: folder.via.clone(),
            }),
            // It leads git to a repository elsewhere.
            _ if is_repository => self.note(root, &inner, RunsWhen::Opened, None),
            FolderEntryKind::Link if root.path().join(&inner).is_dir() => {
                self.follow(root, folder, &inner, shown);
            }
            FolderEntryKind::File | FolderEntryKind::Link => {
                let when = when_run(&shown);
                if when == Some(RunsWhen::Opened) || !folder.is_filled_by_others {
                    when.into_iter()
                        .for_each(|when| self.note(root, &inner, when, folder.via.as_ref()));
                }
            }
            FolderEntryKind::Other => {}
        }
    }

    /// A link to a folder gives its files a second name, and may be what makes them run. What lies
    /// outside of the roots is the owner's and was not written by a command: there the link alone
    /// counts.
    fn follow(&mut self, root: &RootedFolder, folder: &WalkedFolder, inner: &Path, shown: PathBuf) {
        if when_run(&shown.join("x")) == Some(RunsWhen::Opened) {
            self.note(root, inner, RunsWhen::Opened, None);
        }
        let link = root.path().join(inner);
        let Ok(target) = link.canonicalize() else {
            return;
        };
        let mut roots = self.roots.iter().enumerate();
        let Some((at, inner)) = roots.find_map(|(at, root)| {
            let inner = target.strip_prefix(root.path()).ok()?;
            Some((at, inner.to_owned()))
        }) else {
            return;
        };
        let leads_up = at == folder.root && folder.inner.starts_with(&inner);
        let is_new = self.linked.insert((shown.clone(), target));
        if is_new && folder.links < MOST_LINKS && !leads_up {
            self.folders.push_back(WalkedFolder {
                root: at,
                inner,
                shown,
                is_filled_by_others: folder.is_filled_by_others,
                links: folder.links + 1,
                via: Some(link),
            });
        }
    }

    /// What git obeys: the config of a repository, its hooks, and those of the ones inside it.
    fn take_repository(&mut self, root: &RootedFolder, repository: &Path) {
        for name in ["config", "config.worktree", "commondir"] {
            let inner = repository.join(name);
            self.note(root, &inner, RunsWhen::Opened, None);
            let is_harmless = name == "config" && says_nothing(root, &inner);
            if let Some(known) = self.files.get_mut(&root.path().join(&inner)) {
                known.is_harmless = is_harmless;
            }
        }
        let inside = |folder: &str| {
            let folder = repository.join(folder);
            let entries = root.entries(&folder).unwrap_or_default().into_iter();
            entries.map(move |entry| folder.join(entry.name))
        };
        for hook in inside("hooks") {
            if hook.extension() != Some(OsStr::new("sample")) {
                self.note(root, &hook, RunsWhen::Opened, None);
            }
        }
        for inner in inside("modules") {
            let config = root.metadata(&inner.join("config"));
            if config.is_ok_and(|found| found.is_file()) {
                self.take_repository(root, &inner);
            }
        }
    }

    fn note(&mut self, root: &RootedFolder, inner: &Path, when: RunsWhen, via: Option<&PathBuf>) {
        if inner.extension() == Some(OsStr::new(HELD)) {
            return;
        }
        let path = root.path().join(inner);
        let is_graver = |known: &KnownFile| known.when == RunsWhen::Opened;
        if self.files.get(&path).is_some_and(is_graver) {
            return;
        }
        if let Some(known) = KnownFile::read(root, inner, when) {
            let via = via.cloned();
            self.files.insert(path, KnownFile { via, ..known });
        }
    }
}

/// The names by which links of a workspace lead to a file that is or will be there.
pub(super) fn other_names(roots: &[PathBuf], file: &Path) -> Vec<PathBuf> {
    let mut names = Vec::new();
    let mut folders: VecDeque<PathBuf> = roots.iter().cloned().collect();
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
                && let Some(target) = leads_to(&path)
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

/// Where a link leads, also to what is not there yet.
fn leads_to(link: &Path) -> Option<PathBuf> {
    if let Ok(target) = link.canonicalize() {
        return Some(target);
    }
    let mut path = link.parent()?.canonicalize().ok()?;
    let text = std::fs::read_link(link).ok()?;
    for part in text.components() {
        match part {
            Component::ParentDir => drop(path.pop()),
            Component::CurDir => {}
            part => path.push(part),
        }
        path = path.canonicalize().unwrap_or(path);
    }
    Some(path)
}

fn when_run(shown: &Path) -> Option<RunsWhen> {
    runs_when(&shown.to_string_lossy())
}

fn is_filled_by_others(name: &OsStr) -> bool {
    let name = name.to_str();
    name.is_some_and(|name| FILLED_BY_OTHERS.contains(&name))
}

fn says_nothing(root: &RootedFolder, config: &Path) -> bool {
    let text = root.read_plain(config, MOST_BYTES).ok();
    let text = text.and_then(|bytes| String::from_utf8(bytes).ok());
    text.is_some_and(|text| is_plain_config(&text))
}
