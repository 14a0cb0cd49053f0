//! The walk along a path, one name at a time.

use std::ffi::{OsStr, OsString};
use std::io::{self, ErrorKind};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use chela_core::{ok_or_debug, sanitize};
use chela_files::{FileIdentity, FolderEntryKind, HeldFolder};

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

/// Roots and protected places as they are on disk now.
struct Map {
    roots: Vec<Located>,
    protected: Vec<FileIdentity>,
    /// Protected names in their folders: they are closed also before they exist.
    protected_names: Vec<(FileIdentity, OsString)>,
}

struct Located {
    index: usize,
    given: PathBuf,
    real: PathBuf,
    id: FileIdentity,
}

impl Map {
    fn of(places: &FilePlaces) -> Self {
        let roots = places.roots().enumerate();
        let roots = roots.filter_map(|(index, root)| {
            let found = std::fs::canonicalize(&root.path)
                .and_then(|real| Ok((FileIdentity::at(&real)?, real)));
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
            if let Ok(id) = FileIdentity::at(path) {
                map.protected.push(id);
            }
            if let (Some(parent), Some(name)) = (path.parent(), path.file_name())
                && let Ok(id) = FileIdentity::at(parent)
            {
                map.protected_names.push((id, name.to_owned()));
            }
        }
        map
    }

    fn has_root(&self, id: FileIdentity) -> bool {
        self.roots.iter().any(|root| root.id == id)
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
    folder: HeldFolder,
    id: FileIdentity,
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
        let names: Vec<OsString> = rest.components().filter_map(name_of_part).collect();
        self.pending.extend(names.into_iter().rev());
        let folder = HeldFolder::open_to_walk(&real).map_err(|error| self.io(error))?;
        let id = folder.identity().map_err(|error| self.io(error))?;
        let owner = root.map_or(FolderOwner::Nobody, FolderOwner::Root);
        self.enter(folder, id, real, owner);
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
        let mut made = false;
        loop {
            let top = self.top()?;
            let error = match top.folder.enter(name) {
                Ok(folder) => {
                    let id = folder.identity().map_err(|error| self.io(error))?;
                    let (path, owner) = (top.path.join(name), top.owner);
                    self.enter(folder, id, path, owner);
                    return Ok(Entered::Folder);
                }
                Err(error) => error,
            };
            match (error.kind(), self.missing) {
                (ErrorKind::NotADirectory, _) => {
                    return match self.follow(name)? {
                        Followed::Link => Ok(Entered::Folder),
                        Followed::NotALink => Err(PlaceError::NotFolder {
                            path: self.given.to_owned(),
                        }),
                    };
                }
                (ErrorKind::NotFound, MissingFolder::IsMade) if !made => {
                    self.may(name)?;
                    match self.top()?.folder.create_folder(name) {
                        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                            return Err(self.io(error));
                        }
                        Ok(()) | Err(_) => made = true,
                    }
                }
                (ErrorKind::NotFound, MissingFolder::IsImagined) => {
                    self.may(name)?;
                    return Ok(Entered::Missing);
                }
                _ => return Err(self.io(error)),
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
        let found = match self.top()?.folder.look(name) {
            Ok(found) => found,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return Ok(Some(EntryKind::Absent));
            }
            Err(error) => return Err(self.io(error)),
        };
        let id = found.identity;
        if self.map.protected.contains(&id) && !self.map.has_root(id) {
            return Err(self.protected());
        }
        match found.kind {
            FolderEntryKind::Link => match self.follow(name)? {
                Followed::Link => Ok(None),
                Followed::NotALink => Err(PlaceError::Changed {
                    path: self.given.to_owned(),
                }),
            },
            FolderEntryKind::Folder => {
                // Entered, so that what stands inside is seen: a root or something protected.
                self.folder(name)?;
                Ok(None)
            }
            kind => Ok(Some(kind.into())),
        }
    }

    /// Puts what a link says in front of the names still to walk.
    fn follow(&mut self, name: &OsStr) -> Result<Followed, PlaceError> {
        let target = match self.top()?.folder.link_target(name) {
            Ok(target) => target,
            Err(error) if error.kind() == ErrorKind::InvalidInput => {
                return Ok(Followed::NotALink);
            }
            Err(error) => return Err(self.io(error)),
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
        let names: Vec<OsString> = target.components().filter_map(name_of_part).collect();
        self.pending.extend(names.into_iter().rev());
        Ok(Followed::Link)
    }

    fn enter(
        &mut self,
        folder: HeldFolder,
        id: FileIdentity,
        path: PathBuf,
        inherited: FolderOwner,
    ) {
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
            folder,
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
            dir: Arc::new(top.folder),
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

    fn io(&self, error: io::Error) -> PlaceError {
        PlaceError::io(self.given, error)
    }
}

/// A part of a path to walk; `.` and doubled slashes are none.
fn name_of_part(part: Component<'_>) -> Option<OsString> {
    match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
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
    pub(crate) fn around(&self, folder: &HeldFolder) -> ClosedPart<'_> {
        let Ok(id) = folder.identity() else {
            return ClosedPart::Whole;
        };
        if self.0.protected.contains(&id) && !self.0.has_root(id) {
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
