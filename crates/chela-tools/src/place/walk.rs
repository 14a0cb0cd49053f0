//! The walk along a path, one name at a time.

use std::ffi::{OsStr, OsString};
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use chela_core::{ok_or_debug, sanitize};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, fstat, mkdirat, openat, readlinkat, statat,
};
use rustix::io::Errno;

use super::spot::{EntryKind, FolderOwner, OpenPlace};
use super::{FilePlaces, FileReach, PlaceAccess, PlaceError};

/// What happens when a folder on the way is missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MissingFolder {
    Fails,
    IsMade,
    /// It is taken to be there, and nothing is made.
    IsImagined,
}

/// Longer paths are refused before the system sees them.
const LONGEST_PATH: usize = 4096;
/// As many links as Linux itself follows.
const MOST_LINKS: u32 = 40;

/// Folders are opened to walk through them, nothing more: no right to list them is needed.
#[cfg(any(target_os = "linux", target_os = "android"))]
const WALK: OFlags = OFlags::PATH;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const WALK: OFlags = OFlags::RDONLY;

pub(super) fn walk(
    places: &FilePlaces,
    given: &str,
    access: PlaceAccess,
    missing: MissingFolder,
) -> Result<OpenPlace, PlaceError> {
    let given = given.trim();
    if given.is_empty() {
        return Err(PlaceError::Empty);
    }
    if given.contains('\0') {
        return Err(PlaceError::Nul);
    }
    if given.len() > LONGEST_PATH {
        return Err(PlaceError::TooLong { most: LONGEST_PATH });
    }
    let mut walk = Walk {
        places,
        given,
        map: Map::of(places),
        access,
        missing,
        frames: Vec::new(),
        pending: Vec::new(),
        links: 0,
    };
    walk.start(&expanded(places, given))?;
    walk.run()
}

/// `~` is the home folder; relative paths start at the workspace.
fn expanded(places: &FilePlaces, given: &str) -> PathBuf {
    match given.strip_prefix('~') {
        Some("") => places.user_home.clone(),
        Some(rest) if rest.starts_with('/') => places.user_home.join(rest.trim_start_matches('/')),
        _ => PathBuf::from(given),
    }
}

/// What tells a folder apart, wherever it is reached from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Id {
    device: u64,
    inode: u64,
}

impl Id {
    fn of(stat: &rustix::fs::Stat) -> Self {
        #[allow(clippy::unnecessary_cast, reason = "the widths differ between systems")]
        Self {
            device: stat.st_dev as u64,
            inode: stat.st_ino as u64,
        }
    }
}

/// Roots and protected places as they are on disk now.
struct Map {
    roots: Vec<Located>,
    protected: Vec<Id>,
    /// Protected names in their folders: they are closed also before they exist.
    protected_names: Vec<(Id, OsString)>,
}

struct Located {
    index: usize,
    given: PathBuf,
    real: PathBuf,
    id: Id,
}

impl Map {
    fn of(places: &FilePlaces) -> Self {
        let roots = places.roots().enumerate();
        let roots = roots.filter_map(|(index, root)| {
            let found = std::fs::canonicalize(&root.path)
                .and_then(|real| Ok((Id::of(&rustix::fs::stat(&real)?), real)));
            let (id, real) =
                ok_or_debug!(found, "a folder is not there", path = %root.path.display())?;
            let given = root.path.clone();
            Some(Located {
                index,
                given,
                real,
                id,
            })
        });
        let mut map = Self {
            roots: roots.collect(),
            protected: Vec::new(),
            protected_names: Vec::new(),
        };
        for path in &places.protected {
            if let Ok(stat) = rustix::fs::stat(path) {
                map.protected.push(Id::of(&stat));
            }
            if let (Some(parent), Some(name)) = (path.parent(), path.file_name())
                && let Ok(stat) = rustix::fs::stat(parent)
            {
                map.protected_names.push((Id::of(&stat), name.to_owned()));
            }
        }
        map
    }

    /// The outermost root an absolute path lies in, and what is left of the path: those inside
    /// it are met on the way.
    fn root_of<'p>(&self, path: &'p Path) -> Option<(&Located, &'p Path)> {
        self.roots
            .iter()
            .flat_map(|root| [(root, &root.real), (root, &root.given)])
            .filter_map(|(root, start)| {
                let rest = path.strip_prefix(start).ok()?;
                Some((start.as_os_str().len(), root, rest))
            })
            .min_by_key(|(length, ..)| *length)
            .map(|(_, root, rest)| (root, rest))
    }
}

/// A folder the walk has entered.
struct Frame {
    fd: OwnedFd,
    id: Id,
    /// Where it really is.
    path: PathBuf,
    owner: FolderOwner,
}

struct Walk<'a> {
    places: &'a FilePlaces,
    given: &'a str,
    map: Map,
    access: PlaceAccess,
    missing: MissingFolder,
    frames: Vec<Frame>,
    /// Names still to walk, the next one last.
    pending: Vec<OsString>,
    links: u32,
}

impl Walk<'_> {
    /// Sets out for a path: relative to the workspace, or absolute.
    fn start(&mut self, path: &Path) -> Result<(), PlaceError> {
        if path.is_relative() {
            let workspace = self.map.roots.iter().find(|root| root.index == 0);
            let workspace = workspace.map(|root| root.real.clone());
            let workspace = workspace.ok_or_else(|| PlaceError::Missing {
                path: self.places.workspace.path.display().to_string(),
            })?;
            let project = self.places.started_in.as_ref();
            let project = project.map(|root| (root.path.as_path(), root.access));
            let start = super::start_of(project, &workspace, path);
            return self.start(&start.join(path));
        }
        let entrance = match (self.places.reach, self.map.root_of(path)) {
            (FileReach::Everything, _) => (PathBuf::from("/"), path, None),
            (FileReach::Granted, Some((root, rest))) => (root.real.clone(), rest, Some(root.index)),
            (FileReach::Granted, None) if self.frames.is_empty() => {
                let roots = self.map.roots.iter().filter(|root| root.index > 0);
                return Err(PlaceError::Outside {
                    path: self.given.to_owned(),
                    roots: roots.map(|root| root.given.display().to_string()).collect(),
                });
            }
            (FileReach::Granted, None) => return Err(self.escapes()),
        };
        let (real, rest, root) = entrance;
        self.frames.clear();
        // The text of `Path::components` drops `.` and doubled slashes, never `..`.
        let names = rest.components().filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some(OsString::from("..")),
            _ => None,
        });
        let names: Vec<OsString> = names.collect();
        self.pending.extend(names.into_iter().rev());
        let flags = WALK | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let fd = openat(CWD, &real, flags, Mode::empty()).map_err(|errno| self.io(errno))?;
        let id = Id::of(&fstat(&fd).map_err(|errno| self.io(errno))?);
        let owner = root.map_or(FolderOwner::Nobody, FolderOwner::Root);
        self.enter(fd, id, real, owner);
        Ok(())
    }

    fn run(mut self) -> Result<OpenPlace, PlaceError> {
        while let Some(name) = self.pending.pop() {
            if name == ".." {
                self.up()?;
                continue;
            }
            match self.pending.is_empty() {
                false => {
                    if self.folder(&name)? == Entered::Missing {
                        return self.imagine(name);
                    }
                }
                true => {
                    if let Some(kind) = self.last(&name)? {
                        return self.arrive(name, kind);
                    }
                }
            }
        }
        self.arrive(OsString::from("."), EntryKind::Folder)
    }

    fn up(&mut self) -> Result<(), PlaceError> {
        match (self.frames.len(), self.places.reach) {
            (0 | 1, FileReach::Granted) => Err(self.escapes()),
            // As everywhere, the parent of `/` is `/`.
            (0 | 1, FileReach::Everything) => Ok(()),
            _ => {
                self.frames.pop();
                Ok(())
            }
        }
    }

    /// Enters a folder on the way.
    fn folder(&mut self, name: &OsStr) -> Result<Entered, PlaceError> {
        let flags = WALK | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
        let mut made = false;
        loop {
            let top = self.top()?;
            match openat(&top.fd, name, flags, Mode::empty()) {
                Ok(fd) => {
                    let id = Id::of(&fstat(&fd).map_err(|errno| self.io(errno))?);
                    let (path, owner) = (top.path.join(name), top.owner);
                    self.enter(fd, id, path, owner);
                    return Ok(Entered::Folder);
                }
                // Systems differ in how they say that a name is a link.
                Err(Errno::NOTDIR | Errno::LOOP | Errno::MLINK) => {
                    return match self.follow(name)? {
                        Followed::Link => Ok(Entered::Folder),
                        Followed::NotALink => Err(PlaceError::NotFolder {
                            path: self.given.to_owned(),
                        }),
                    };
                }
                Err(Errno::NOENT) if self.missing == MissingFolder::IsMade && !made => {
                    self.may(name)?;
                    match mkdirat(&self.top()?.fd, name, Mode::from_raw_mode(0o777)) {
                        Ok(()) | Err(Errno::EXIST) => made = true,
                        Err(errno) => return Err(self.io(errno)),
                    }
                }
                Err(Errno::NOENT) if self.missing == MissingFolder::IsImagined => {
                    self.may(name)?;
                    return Ok(Entered::Missing);
                }
                Err(errno) => return Err(self.io(errno)),
            }
        }
    }

    /// The end of a walk through folders that are not there. The spot holds the last folder that
    /// is, and the way from there: nothing can be written through it.
    fn imagine(mut self, first: OsString) -> Result<OpenPlace, PlaceError> {
        let rest: Vec<OsString> = self.pending.drain(..).rev().collect();
        if rest.iter().any(|name| name == "..") {
            return Err(PlaceError::Missing {
                path: self.given.to_owned(),
            });
        }
        let git = |name: &OsString| name.eq_ignore_ascii_case(".git");
        if self.access == PlaceAccess::Write && rest.iter().any(git) {
            return Err(PlaceError::Git {
                path: self.given.to_owned(),
            });
        }
        let way: PathBuf = std::iter::once(first).chain(rest).collect();
        self.arrive(way.into_os_string(), EntryKind::Absent)
    }

    /// Looks at the last name; `None` when it is a link, which is walked next.
    fn last(&mut self, name: &OsStr) -> Result<Option<EntryKind>, PlaceError> {
        let stat = match statat(&self.top()?.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return Ok(Some(EntryKind::Absent)),
            Err(errno) => return Err(self.io(errno)),
        };
        if self.map.protected.contains(&Id::of(&stat)) && self.root_by_id(&stat).is_none() {
            return Err(self.protected());
        }
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Symlink => match self.follow(name)? {
                Followed::Link => Ok(None),
                Followed::NotALink => Err(PlaceError::Changed {
                    path: self.given.to_owned(),
                }),
            },
            FileType::Directory => {
                // Entered, so that what stands inside is seen: a root or something protected.
                self.folder(name)?;
                Ok(None)
            }
            FileType::RegularFile => Ok(Some(EntryKind::File)),
            _ => Ok(Some(EntryKind::Other)),
        }
    }

    /// Puts what a link says in front of the names still to walk.
    fn follow(&mut self, name: &OsStr) -> Result<Followed, PlaceError> {
        let target = match readlinkat(&self.top()?.fd, name, Vec::new()) {
            Ok(target) => OsString::from_vec(target.into_bytes()),
            Err(Errno::INVAL) => return Ok(Followed::NotALink),
            Err(errno) => return Err(self.io(errno)),
        };
        self.links += 1;
        if self.links > MOST_LINKS {
            return Err(PlaceError::TooManyLinks {
                path: self.given.to_owned(),
            });
        }
        let target = Path::new(&target);
        if target.is_absolute() {
            self.start(target)?;
            return Ok(Followed::Link);
        }
        let names: Vec<OsString> = target
            .as_os_str()
            .as_bytes()
            .split(|byte| *byte == b'/')
            .filter(|part| !part.is_empty() && *part != b".")
            .map(|part| OsStr::from_bytes(part).to_owned())
            .collect();
        self.pending.extend(names.into_iter().rev());
        Ok(Followed::Link)
    }

    fn enter(&mut self, fd: OwnedFd, id: Id, path: PathBuf, inherited: FolderOwner) {
        let root = self.map.roots.iter().find(|root| root.id == id);
        let protected = self.map.protected.contains(&id);
        let owner = match (inherited, root) {
            // A folder that may only be read, inside one that may be written, stays writable.
            (FolderOwner::Root(outer), Some(inner)) => match self.access_of(outer) {
                PlaceAccess::Write => FolderOwner::Root(outer),
                PlaceAccess::Read => FolderOwner::Root(inner.index),
            },
            (_, Some(inner)) => FolderOwner::Root(inner.index),
            (_, None) if protected => FolderOwner::Protected,
            (inherited, None) => inherited,
        };
        self.frames.push(Frame {
            fd,
            id,
            path,
            owner,
        });
    }

    /// The end of the walk: may this be used as asked?
    fn arrive(mut self, name: OsString, kind: EntryKind) -> Result<OpenPlace, PlaceError> {
        self.may(&name)?;
        let Some(top) = self.frames.pop() else {
            return Err(self.escapes());
        };
        let real = match name == "." {
            true => top.path.clone(),
            false => top.path.join(&name),
        };
        let workspace = self.map.roots.iter().find(|root| root.index == 0);
        let shown = workspace
            .and_then(|root| real.strip_prefix(&root.real).ok())
            .map_or_else(|| real.display().to_string(), shown_inside);
        // A name may hold line breaks and worse; what is said of it may not.
        let shown = sanitize::literal(&shown).into_owned();
        let trust = match top.owner {
            FolderOwner::Root(index) => self.places.root(index).map(|root| root.trust.clone()),
            FolderOwner::Nobody | FolderOwner::Protected => None,
        };
        Ok(OpenPlace {
            dir: top.fd,
            name,
            kind,
            path: real,
            shown,
            trust,
        })
    }

    /// Whether what is asked may be done with this name in the folder the walk is in.
    fn may(&self, name: &OsStr) -> Result<(), PlaceError> {
        let top = self.top()?;
        let closed = self
            .map
            .protected_names
            .iter()
            .any(|(folder, closed)| *folder == top.id && closed == name);
        if closed {
            return Err(self.protected());
        }
        // Hooks and settings in there are run, by whoever calls git next.
        let mut names = top.path.iter().chain([name]);
        if self.access == PlaceAccess::Write && names.any(|name| name.eq_ignore_ascii_case(".git"))
        {
            return Err(PlaceError::Git {
                path: self.given.to_owned(),
            });
        }
        match (top.owner, self.access) {
            (FolderOwner::Protected, _) => Err(self.protected()),
            (FolderOwner::Root(index), PlaceAccess::Write)
                if self.access_of(index) == PlaceAccess::Read =>
            {
                Err(PlaceError::ReadOnly {
                    path: self.given.to_owned(),
                })
            }
            _ => Ok(()),
        }
    }

    fn access_of(&self, index: usize) -> PlaceAccess {
        self.places
            .root(index)
            .map_or(PlaceAccess::Read, |root| root.access)
    }

    fn root_by_id(&self, stat: &rustix::fs::Stat) -> Option<&Located> {
        let id = Id::of(stat);
        self.map.roots.iter().find(|root| root.id == id)
    }

    fn top(&self) -> Result<&Frame, PlaceError> {
        self.frames.last().ok_or_else(|| self.escapes())
    }

    fn escapes(&self) -> PlaceError {
        PlaceError::Escapes {
            path: self.given.to_owned(),
        }
    }

    fn protected(&self) -> PlaceError {
        PlaceError::Protected {
            path: self.given.to_owned(),
        }
    }

    fn io(&self, errno: Errno) -> PlaceError {
        PlaceError::io(self.given, errno)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Entered {
    /// It, or a link that is walked next.
    Folder,
    /// There is none, and none is made.
    Missing,
}

enum Followed {
    Link,
    NotALink,
}

fn shown_inside(path: &Path) -> String {
    match path.as_os_str().is_empty() {
        true => ".".to_owned(),
        false => path.display().to_string(),
    }
}

/// What stays closed, for walks below a [`OpenPlace`].
pub(crate) struct ClosedPlaces(Map);

impl ClosedPlaces {
    pub(crate) fn of(places: &FilePlaces) -> Self {
        Self(Map::of(places))
    }

    /// Whether a folder may not be entered, and which of its names may not be opened.
    pub(crate) fn around(&self, folder: BorrowedFd<'_>) -> ClosedPart<'_> {
        let Ok(stat) = fstat(folder) else {
            return ClosedPart::Whole;
        };
        let id = Id::of(&stat);
        let root = self.0.roots.iter().any(|root| root.id == id);
        if self.0.protected.contains(&id) && !root {
            return ClosedPart::Whole;
        }
        let names = self.0.protected_names.iter();
        ClosedPart::Names(
            names
                .filter(|(folder, _)| *folder == id)
                .map(|(_, name)| name.as_os_str())
                .collect(),
        )
    }
}

pub(crate) enum ClosedPart<'f> {
    Whole,
    Names(Vec<&'f OsStr>),
}
