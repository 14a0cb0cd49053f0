//! What lies in the workspace and leads outside: repositories, whose config and hooks the owner's
//! git runs, and sockets, behind which programs outside listen.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use chela_files::name_of_kind;

/// What the folder of a repository without files of its own has in it.
const BARE: [&str; 3] = ["HEAD", "objects", "refs"];

/// What was found below a folder.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkspaceDoors {
    /// `.git` of every repository, at any depth, be it a folder or a file that names one; and
    /// repositories without files of their own.
    pub repositories: Vec<PathBuf>,
    /// `.git` that is a link. Nothing holds a link in place.
    pub links: Vec<PathBuf>,
    pub sockets: Vec<PathBuf>,
}

impl WorkspaceDoors {
    /// Looks through a folder without following links. What cannot be read cannot be written
    /// from inside either.
    pub fn below(root: &Path) -> Self {
        let mut found = Self::default();
        let mut waiting = vec![root.to_owned()];
        while let Some(folder) = waiting.pop() {
            let inner = waiting.len();
            let mut bare = 0;
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                let Ok(kind) = entry.file_type() else {
                    continue;
                };
                let name = entry.file_name();
                bare += usize::from(BARE.iter().any(|part| name == OsStr::new(part)));
                match name == OsStr::new(".git") {
                    true if kind.is_symlink() => found.links.push(entry.path()),
                    true => found.repositories.push(entry.path()),
                    false if kind.is_dir() => waiting.push(entry.path()),
                    false if name_of_kind(kind) == "a socket" => found.sockets.push(entry.path()),
                    false => {}
                }
            }
            if bare == BARE.len() && folder != root {
                found.repositories.push(folder);
                waiting.truncate(inner);
            }
        }
        found.repositories.sort();
        found.links.sort();
        found.sockets.sort();
        found
    }

    /// The folders between `root` and the repositories, outermost first. Mounted on themselves
    /// they can be neither renamed nor removed, so that nobody puts another repository there.
    pub fn ways_from(&self, root: &Path) -> Vec<PathBuf> {
        let ways: BTreeSet<PathBuf> = self
            .repositories
            .iter()
            .flat_map(|repository| repository.ancestors().skip(1))
            .filter(|folder| folder.starts_with(root) && *folder != root)
            .map(Path::to_owned)
            .collect();
        ways.into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::WorkspaceDoors;

    #[test]
    fn repositories_and_sockets_are_found_at_any_depth() {
        let home = tempfile::tempdir().unwrap();
        let root = home.path();
        for folder in [
            ".git/hooks",
            "a/b/.git/modules/x",
            "a/c/d",
            "bare/objects",
            "bare/refs",
        ] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        std::fs::write(root.join("bare/HEAD"), "").unwrap();
        std::fs::write(root.join("a/c/.git"), "gitdir: elsewhere").unwrap();
        symlink("../b/.git", root.join("a/c/d/.git")).unwrap();
        symlink(root, root.join("a/loop")).unwrap();
        let _listener = UnixListener::bind(root.join("a/c/door")).unwrap();
        let found = WorkspaceDoors::below(root);
        let all = |names: &[&str]| -> Vec<_> { names.iter().map(|name| root.join(name)).collect() };
        assert_eq!(
            found.repositories,
            all(&[".git", "a/b/.git", "a/c/.git", "bare"])
        );
        assert_eq!(found.links, all(&["a/c/d/.git"]));
        assert_eq!(found.sockets, all(&["a/c/door"]));
        assert_eq!(found.ways_from(root), all(&["a", "a/b", "a/c"]));
    }
}
