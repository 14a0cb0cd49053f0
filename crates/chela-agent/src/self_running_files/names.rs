//! What a file is to programs besides what its own path says: other names by which links lead to
//! it, and its part in a repository.

use std::collections::VecDeque;
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};

use chela_files::{FolderEntryKind, RootedFolder};

use super::repository::{RepositoryFiles, is_repository, led_to, place_below};
use super::walk::LookLimits;

/// Links that are followed before a name counts as leading nowhere.
const MOST_LINKS: usize = 40;
/// Names git looks for in a folder, and those of its two folders.
const REPOSITORY_NAMES: &[&str] = &["HEAD", "config", "config.worktree", "commondir", "gitdir"];
const REPOSITORY_FOLDERS: &[&str] = &["objects", "refs"];

/// The names by which links lead to files.
#[derive(Debug, Default)]
pub(crate) struct OtherNames {
    pub(crate) names: Vec<PathBuf>,
    /// There is more than was looked through: a file may have names that are not known.
    pub(crate) is_cut: bool,
}

impl OtherNames {
    /// By which links of these folders lead to files that are or will be there.
    pub(super) fn of(roots: &[RootedFolder], files: &[PathBuf], limits: LookLimits) -> Self {
        let mut found = Self::default();
        let tops = 0..roots.len();
        let mut folders: VecDeque<(usize, PathBuf)> = tops.map(|at| (at, PathBuf::new())).collect();
        let (mut folders_seen, mut entries_seen) = (0, 0);
        while let Some((at, folder)) = folders.pop_front() {
            folders_seen += 1;
            if folders_seen > limits.folders || entries_seen > limits.entries {
                found.is_cut = true;
                break;
            }
            let Some(root) = roots.get(at) else {
                continue;
            };
            // What cannot be read, or is no folder any more, leads nowhere.
            let entries = root.entries(&folder).unwrap_or_default();
            entries_seen += entries.len();
            for entry in entries {
                let inner = folder.join(&entry.name);
                match entry.kind {
                    FolderEntryKind::Folder if entry.name != OsStr::new(".git") => {
                        folders.push_back((at, inner));
                    }
                    FolderEntryKind::Link => found.take(&root.path().join(inner), files),
                    _ => {}
                }
            }
        }
        found
    }

    fn take(&mut self, link: &Path, files: &[PathBuf]) {
        let Some(target) = leads_to(link) else {
            return;
        };
        for rest in files
            .iter()
            .filter_map(|file| file.strip_prefix(&target).ok())
        {
            self.names.push(match rest.as_os_str().is_empty() {
                true => link.to_owned(),
                false => link.join(rest),
            });
        }
    }
}

/// Where a name leads in the end, whether or not anything is there yet.
fn leads_to(link: &Path) -> Option<PathBuf> {
    let mut reached = PathBuf::new();
    let mut ahead: VecDeque<PathBuf> = parts_of(link).collect();
    let mut links = 0;
    while let Some(part) = ahead.pop_front() {
        match part.components().next() {
            None | Some(Component::CurDir) => continue,
            Some(Component::ParentDir) => {
                reached.pop();
                continue;
            }
            Some(_) => {}
        }
        let next = reached.join(&part);
        match std::fs::read_link(&next) {
            Ok(target) => {
                links += 1;
                if links > MOST_LINKS {
                    return None;
                }
                for part in parts_of(&target).collect::<Vec<_>>().into_iter().rev() {
                    ahead.push_front(part);
                }
            }
            Err(_) => reached = next,
        }
    }
    Some(reached)
}

fn parts_of(path: &Path) -> impl Iterator<Item = PathBuf> {
    path.components()
        .map(|part| PathBuf::from(part.as_os_str()))
}

/// Whether writing these files makes a folder a repository, or changes what one obeys.
pub(super) fn shapes_repository(roots: &[RootedFolder], files: &[PathBuf]) -> bool {
    files.iter().any(|file| {
        let completes = completed_by(file).any(|folder| {
            is_repository(|name| {
                let path = folder.join(name);
                path.symlink_metadata().is_ok() || files.iter().any(|file| file.starts_with(&path))
            })
        });
        completes || is_obeyed(roots, file)
    })
}

/// The folders that this file would be a piece of, if they were repositories.
fn completed_by(file: &Path) -> impl Iterator<Item = &Path> {
    let is_piece = move |path: &&Path| {
        let names = match *path == file {
            true => REPOSITORY_NAMES,
            false => REPOSITORY_FOLDERS,
        };
        let name = path.file_name().and_then(OsStr::to_str);
        name.is_some_and(|name| names.iter().any(|known| known.eq_ignore_ascii_case(name)))
    };
    file.ancestors().filter(is_piece).filter_map(Path::parent)
}

/// Whether a repository around a file names it in its config.
fn is_obeyed(roots: &[RootedFolder], file: &Path) -> bool {
    let Some((at, _)) = place_below(roots, file) else {
        return false;
    };
    let Some(root) = roots.get(at) else {
        return false;
    };
    let around = file.ancestors().skip(1);
    let around = around.take_while(|folder| folder.starts_with(root.path()));
    around.into_iter().any(|folder| {
        let git = folder.join(".git");
        let repository = match git.is_dir() {
            true => Some(git),
            false => led_to(roots, &git),
        };
        let Some((at, inner)) = repository.and_then(|git| place_below(roots, &git)) else {
            return false;
        };
        let root = roots.get(at);
        root.is_some_and(|root| RepositoryFiles::of(roots, root, &inner).has(roots, file))
    })
}
