//! Every way to a file that programs run.

use std::collections::{BTreeMap, HashSet, VecDeque};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use chela_files::{FolderEntry, FolderEntryKind, RootedFolder};
use chela_guard::{RunsWhen, may_run_somewhere, runs_when_made};

use super::repository::{RepositoryFiles, is_repository, place_below};
use super::{HELD, KnownFile};

/// Links that are followed one after the other.
const MOST_LINKS: u8 = 3;
/// Folders that others fill: of what runs at a build there is too much in them to tell of.
const FILLED_BY_OTHERS: &[&str] = &["node_modules", "target", ".venv", "venv", "__pycache__"];

/// How much is looked at, what is near the top first.
#[derive(Debug, Clone, Copy)]
pub(super) struct LookLimits {
    pub(super) folders: usize,
    pub(super) entries: usize,
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
    /// Whether whatever lies in it is run.
    runs_whole: bool,
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
        runs_whole: false,
    };
    let mut walk = Walk {
        roots,
        files: BTreeMap::new(),
        folders: (0..roots.len()).map(top).collect(),
        linked: HashSet::new(),
    };
    let (mut folders, mut entries_seen) = (0, 0);
    while let Some(mut folder) = walk.folders.pop_front() {
        folder.runs_whole = runs_whole(&folder.shown);
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
        // A folder may be a repository, whatever it is called.
        if is_repository(|name| entries.iter().any(|entry| entry.name == name)) {
            walk.take_repository(root, &folder.inner);
        }
        for entry in &entries {
            walk.take(root, &folder, entry);
        }
    }
    (walk.files, false)
}

/// The same of these paths alone, wherever they lie.
pub(super) fn look_at(
    roots: &[RootedFolder],
    paths: &HashSet<PathBuf>,
) -> BTreeMap<PathBuf, KnownFile> {
    let mut folders: BTreeMap<&Path, HashSet<&OsStr>> = BTreeMap::new();
    for path in paths {
        if let (Some(folder), Some(name)) = (path.parent(), path.file_name()) {
            folders.entry(folder).or_default().insert(name);
        }
    }
    let mut walk = Walk {
        roots,
        files: BTreeMap::new(),
        folders: VecDeque::new(),
        linked: HashSet::new(),
    };
    for (folder, names) in folders {
        let Some((at, inner)) = place_below(roots, folder) else {
            continue;
        };
        let Some(root) = roots.get(at) else {
            continue;
        };
        let entries = root.entries(&inner).unwrap_or_default();
        if is_repository(|name| entries.iter().any(|entry| entry.name == name)) {
            walk.take_repository(root, &inner);
        }
        let is_filled_by_others = inner.iter().any(is_filled_by_others);
        let shown = inner.clone();
        let runs_whole = runs_whole(&shown);
        let folder = WalkedFolder {
            root: at,
            inner,
            shown,
            is_filled_by_others,
            links: 0,
            via: None,
            runs_whole,
        };
        for entry in &entries {
            if names.contains(entry.name.as_os_str()) {
                walk.take(root, &folder, entry);
            }
        }
    }
    walk.files
}

impl Walk<'_> {
    fn take(&mut self, root: &RootedFolder, folder: &WalkedFolder, entry: &FolderEntry) {
        let is_plain = entry.kind == FolderEntryKind::File && !folder.runs_whole;
        if is_plain && !may_run_somewhere(&entry.name.to_string_lossy()) && entry.name != ".git" {
            return;
        }
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
                runs_whole: false,
            }),
            // It leads git to a repository elsewhere.
            _ if is_repository => self.note(root, &inner, RunsWhen::Opened, None),
            FolderEntryKind::Link if root.path().join(&inner).is_dir() => {
                self.follow(root, folder, &inner, shown);
            }
            FolderEntryKind::File | FolderEntryKind::Link => {
                let is_link = entry.kind == FolderEntryKind::Link;
                // What a link leads to may be a folder by and by.
                let within = || when_run(&shown.join("x")).filter(|_| is_link);
                let when = when_run(&shown).or_else(within);
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
        let Some((at, inner)) = place_below(self.roots, &target) else {
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
                runs_whole: false,
            });
        }
    }

    /// What git obeys: the config of a repository, its hooks, and those of the ones inside it.
    fn take_repository(&mut self, root: &RootedFolder, repository: &Path) {
        let roots = self.roots;
        for file in RepositoryFiles::of(roots, root, repository).files {
            let Some(root) = roots.get(file.root) else {
                continue;
            };
            let found = root.metadata(&file.inner);
            let path = root.path().join(&file.inner);
            if self.files.contains_key(&path) || !found.is_ok_and(|found| !found.is_dir()) {
                continue;
            }
            self.note(root, &file.inner, RunsWhen::Opened, None);
            if let Some(known) = self.files.get_mut(&path) {
                known.is_harmless = file.is_harmless;
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

fn when_run(shown: &Path) -> Option<RunsWhen> {
    runs_when_made(&shown.to_string_lossy())
}

/// Whether programs run whatever lies in a folder of this name.
fn runs_whole(shown: &Path) -> bool {
    when_run(&shown.join("x")).is_some()
}

fn is_filled_by_others(name: &OsStr) -> bool {
    let name = name.to_str();
    name.is_some_and(|name| FILLED_BY_OTHERS.contains(&name))
}
