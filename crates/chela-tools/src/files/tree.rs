//! Everything below a folder, without what `.gitignore` leaves out.
//!
//! Like all of the file tools it goes from one open folder to the next and follows no link.

use std::ffi::OsStr;
use std::io::Read;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use chela_core::{ok_or_debug, sanitize};
use chela_files::HeldFolder;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::blocking::StopFlag;
use crate::place::{ClosedPart, ClosedPlaces, EntryKind, FilePlaces, OpenPlace, PlaceAccess, list};

/// What to do with files that `.gitignore` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum IgnoredFiles {
    LeftOut,
    Included,
}

/// One entry on the way.
pub(super) struct TreeVisit<'v> {
    folder: &'v HeldFolder,
    name: &'v OsStr,
    pub(super) kind: EntryKind,
    pub(super) modified: SystemTime,
    /// From the folder the walk began in, with slashes.
    pub(super) relative: &'v Path,
    /// Where it really is.
    pub(super) path: &'v Path,
}

impl TreeVisit<'_> {
    /// The path as the other tools take it.
    pub(super) fn shown(&self, base: &OpenPlace) -> String {
        let path = match base.shown() {
            "." => self.relative.display().to_string(),
            base => Path::new(base).join(self.relative).display().to_string(),
        };
        // One entry is one line, whatever its name.
        sanitize::literal(&path).into_owned()
    }

    /// The file, when it still is one.
    pub(super) fn open(&self) -> Option<std::fs::File> {
        self.folder.open_plain(self.name).ok()
    }
}

/// How a walk ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WalkEnd {
    Whole,
    /// The visitor had enough.
    Early,
    /// There are too many files.
    TooMany,
}

const DEEPEST: usize = 64;
const MOST_ENTRIES: usize = 500_000;
const MOST_IN_FOLDER: usize = 100_000;
const MOST_IGNORE_BYTES: u64 = 1024 * 1024;

pub(super) struct FileTree<'t> {
    pub(super) places: &'t FilePlaces,
    pub(super) ignored: IgnoredFiles,
    pub(super) stop: &'t StopFlag,
}

type Visitor<'v> = &'v mut dyn FnMut(&TreeVisit<'_>) -> ControlFlow<()>;

impl FileTree<'_> {
    /// Visits every file and folder below, folders before what is in them, by name.
    pub(super) fn walk(&self, base: &OpenPlace, visit: Visitor<'_>) -> WalkEnd {
        let mut walk = Walk {
            tree: self,
            fence: ClosedPlaces::of(self.places),
            rules: Vec::new(),
            left: MOST_ENTRIES,
            visit,
        };
        if self.ignored == IgnoredFiles::LeftOut {
            walk.rules_above(base);
        }
        let at = At {
            shown: inside(base),
            relative: PathBuf::new(),
            path: base.path().to_owned(),
            depth: 0,
        };
        match walk.folder(base.folder(), &at) {
            ControlFlow::Continue(()) => WalkEnd::Whole,
            ControlFlow::Break(ended) => ended,
        }
    }
}

/// Where the walk is.
struct At {
    /// From the workspace, for rules of the folders above.
    shown: PathBuf,
    relative: PathBuf,
    path: PathBuf,
    depth: usize,
}

struct Walk<'t, 'v> {
    tree: &'t FileTree<'t>,
    fence: ClosedPlaces,
    /// One set of rules per folder on the way that has any.
    rules: Vec<Gitignore>,
    left: usize,
    visit: Visitor<'v>,
}

impl Walk<'_, '_> {
    fn folder(&mut self, dir: &HeldFolder, at: &At) -> ControlFlow<WalkEnd> {
        let closed = match self.fence.around(dir) {
            ClosedPart::Whole => return ControlFlow::Continue(()),
            ClosedPart::Names(names) => names.into_iter().map(OsStr::to_owned).collect::<Vec<_>>(),
        };
        let before = self.rules.len();
        if self.tree.ignored == IgnoredFiles::LeftOut {
            let rules = rules_in(dir, &at.shown);
            self.rules.extend(rules);
        }
        let Ok((entries, _)) = list(dir, MOST_IN_FOLDER) else {
            return ControlFlow::Continue(());
        };
        for entry in entries {
            if self.tree.stop.is_set() {
                return ControlFlow::Break(WalkEnd::Early);
            }
            if self.left == 0 {
                return ControlFlow::Break(WalkEnd::TooMany);
            }
            self.left -= 1;
            if entry.name == ".git" || closed.contains(&entry.name) {
                continue;
            }
            let inner = At {
                shown: at.shown.join(&entry.name),
                relative: at.relative.join(&entry.name),
                path: at.path.join(&entry.name),
                depth: at.depth + 1,
            };
            if self.ignores(&inner.shown, entry.kind) {
                continue;
            }
            let visit = TreeVisit {
                folder: dir,
                name: &entry.name,
                kind: entry.kind,
                modified: entry.modified,
                relative: &inner.relative,
                path: &inner.path,
            };
            if (self.visit)(&visit).is_break() {
                return ControlFlow::Break(WalkEnd::Early);
            }
            if entry.kind == EntryKind::Folder
                && inner.depth < DEEPEST
                && let Ok(folder) = dir.enter(&entry.name)
            {
                self.folder(&folder, &inner)?;
            }
        }
        self.rules.truncate(before);
        ControlFlow::Continue(())
    }

    /// The nearest rule that says something decides.
    fn ignores(&self, shown: &Path, kind: EntryKind) -> bool {
        let folder = kind == EntryKind::Folder;
        self.rules
            .iter()
            .rev()
            .map(|rules| rules.matched(anchored(shown), folder))
            .find(|matched| !matched.is_none())
            .is_some_and(|matched| matched.is_ignore())
    }

    /// The rules of the workspace folders above the one the walk begins in.
    fn rules_above(&mut self, base: &OpenPlace) {
        let shown = inside(base);
        let mut above: Vec<&Path> = shown.ancestors().skip(1).collect();
        above.reverse();
        for folder in above {
            let name = match folder.as_os_str().is_empty() {
                true => ".".into(),
                false => folder.to_string_lossy(),
            };
            if let Ok(spot) = self.tree.places.locate(&name, PlaceAccess::Read) {
                self.rules.extend(rules_in(spot.folder(), folder));
            }
        }
    }
}

/// A folder's path inside the workspace; empty for the workspace itself and for other places.
fn inside(spot: &OpenPlace) -> PathBuf {
    let shown = Path::new(spot.shown());
    match shown.is_absolute() || spot.shown() == "." {
        true => PathBuf::new(),
        false => shown.to_owned(),
    }
}

/// Rules are matched against paths from one made-up root.
fn anchored(shown: &Path) -> PathBuf {
    Path::new("/").join(shown)
}

fn rules_in(dir: &HeldFolder, shown: &Path) -> Option<Gitignore> {
    let file = dir.open_plain(OsStr::new(".gitignore")).ok()?;
    let mut text = Vec::new();
    file.take(MOST_IGNORE_BYTES).read_to_end(&mut text).ok()?;
    let mut builder = GitignoreBuilder::new(anchored(shown));
    for line in String::from_utf8_lossy(&text).lines() {
        // A rule that cannot be read is no rule.
        ok_or_debug!(
            builder.add_line(None, line),
            "a line of .gitignore does not count"
        );
    }
    ok_or_debug!(builder.build(), "a .gitignore does not count")
}
