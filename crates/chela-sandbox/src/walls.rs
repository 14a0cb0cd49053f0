//! What is within reach inside.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Programs and their libraries.
const SYSTEM: &[&str] = &[
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/opt",
    "/nix/store",
    "/gnu/store",
    "/sys/devices/system/cpu",
];

/// What programs read of `/etc`. Not all of it: keys and password hashes are there too.
const SETTINGS: &[&str] = &[
    "/etc/alternatives",
    "/etc/bash.bashrc",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/crypto-policies",
    "/etc/debian_version",
    "/etc/fonts",
    "/etc/gitconfig",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/inputrc",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/ld.so.preload",
    "/etc/locale.alias",
    "/etc/localtime",
    "/etc/lsb-release",
    "/etc/magic",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/pki/ca-trust",
    "/etc/pki/tls/certs",
    "/etc/profile",
    "/etc/profile.d",
    "/etc/protocols",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/shells",
    "/etc/ssl/cert.pem",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/terminfo",
    "/etc/timezone",
];

/// Folders and files a command reaches. Everything else is out of reach.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PathAccess {
    /// For reading and running.
    pub read: Vec<PathBuf>,
    /// For everything.
    pub write: Vec<PathBuf>,
    /// Not to be changed, though the folder around it may be.
    pub keep: Vec<PathBuf>,
    /// Sockets of others: there, and nobody behind them. Folders that stay closed: there, and empty.
    #[serde(default)]
    pub hide: Vec<PathBuf>,
}

impl PathAccess {
    /// What every command needs, where it exists. A folder of the system that has `hidden`
    /// inside is left out: walls have no holes.
    pub fn of_the_system(hidden: &[&Path]) -> Self {
        let read = SYSTEM
            .iter()
            .chain(SETTINGS)
            .map(PathBuf::from)
            .filter(|path| path.exists())
            .filter(|path| !hidden.iter().any(|hidden| hidden.starts_with(path)))
            .collect();
        Self {
            read,
            ..Self::default()
        }
    }

    /// Whether a path is one that every command is shown.
    pub(super) fn is_of_the_system(path: &Path) -> bool {
        let mut system = SYSTEM.iter().chain(SETTINGS);
        system.any(|name| path == Path::new(name))
    }

    /// The same for rules that only ever add: a folder with something to be kept is read, and
    /// what is in it besides may be changed. Nothing can be added to such a folder.
    pub fn beside_what_is_kept(&self) -> Self {
        let mut walls = Self {
            read: self.read.clone(),
            ..Self::default()
        };
        for folder in &self.write {
            match self.keep.iter().any(|kept| kept.starts_with(folder)) {
                true => walls.open_beside(folder, &self.keep),
                false => walls.write.push(folder.clone()),
            }
        }
        walls
    }

    fn open_beside(&mut self, folder: &Path, keep: &[PathBuf]) {
        self.read.push(folder.to_owned());
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        for entry in entries {
            let path = entry.path();
            // A link would open what it points to.
            if keep.contains(&path) || entry.file_type().is_ok_and(|kind| kind.is_symlink()) {
                continue;
            }
            match keep.iter().any(|kept| kept.starts_with(&path)) {
                true => self.open_beside(&path, keep),
                false => self.write.push(path),
            }
        }
    }

    /// The folders that lead to what is kept, the outer ones first. Whoever can move one of them
    /// away can put another in its place.
    pub fn folders_above_kept(&self) -> Vec<PathBuf> {
        let above = self.keep.iter().flat_map(|kept| kept.ancestors().skip(1));
        let above: BTreeSet<&Path> = above.filter(|folder| folder.parent().is_some()).collect();
        above.into_iter().map(Path::to_owned).collect()
    }

    /// A folder that is reached through links has its real name inside as well.
    pub fn name_both_ways(&mut self) {
        for paths in [&mut self.read, &mut self.write] {
            let real: Vec<PathBuf> = paths
                .iter()
                .filter(|path| !Self::is_of_the_system(path))
                .filter_map(|path| path.canonicalize().ok())
                .filter(|real| !paths.contains(real))
                .collect();
            paths.extend(real);
        }
    }

    /// What can be read inside, by every name it has now.
    pub(super) fn shown(&self) -> ShownPaths {
        let mut names: Vec<PathBuf> = self.read.iter().chain(&self.write).cloned().collect();
        let real = names.iter().filter_map(|path| path.canonicalize().ok());
        let real: Vec<PathBuf> = real.collect();
        names.extend(real);
        ShownPaths(names)
    }

    /// Takes the folders out of PATH that are not there inside.
    pub fn narrow_path(&self, env: &mut BTreeMap<String, String>) {
        if let Some(path) = env.get_mut("PATH") {
            let shown = self.shown();
            let seen: Vec<&str> = path
                .split(':')
                .filter(|folder| shown.has(Path::new(folder)))
                .collect();
            *path = seen.join(":");
        }
    }
}

/// What can be read inside. Links are looked up once, however many paths are asked about.
pub(super) struct ShownPaths(Vec<PathBuf>);

impl ShownPaths {
    /// Whether a path, with its links followed, is among them.
    pub(super) fn has(&self, path: &Path) -> bool {
        let real = path.canonicalize();
        let real = real.as_deref().unwrap_or(path);
        self.0.iter().any(|shown| real.starts_with(shown))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::PathAccess;

    #[test]
    fn the_system_is_shown_and_what_is_hidden_is_not() {
        let shown = PathAccess::of_the_system(&[]).shown();
        assert!(shown.has(Path::new("/bin/sh")));
        for secret in ["/etc/shadow", "/etc/ssh", "/root", "/home", "/proc/1", "/"] {
            assert!(!shown.has(Path::new(secret)), "{secret}");
        }
        let walls = PathAccess::of_the_system(&[Path::new("/usr/home/me")]);
        assert!(!walls.read.iter().any(|path| path == Path::new("/usr")));
    }

    #[test]
    fn beside_what_is_kept_everything_is_open_but_links() {
        let home = tempfile::tempdir().unwrap();
        let work = home.path().join("work");
        for folder in [".git/hooks", "src/deep", "own"] {
            std::fs::create_dir_all(work.join(folder)).unwrap();
        }
        std::fs::write(work.join("notes.md"), "").unwrap();
        std::os::unix::fs::symlink("/etc", work.join("link")).unwrap();
        let own = home.path().join("own");
        let walls = PathAccess {
            read: vec!["/usr".into()],
            write: vec![own.clone(), work.clone()],
            keep: vec![work.join(".git"), work.join("src/deep")],
            ..PathAccess::default()
        };
        let mut beside = walls.beside_what_is_kept();
        beside.write.sort();
        assert_eq!(beside.write, [own, work.join("notes.md"), work.join("own")]);
        assert_eq!(beside.read, [Path::new("/usr"), &work, &work.join("src")]);
        assert!(beside.keep.is_empty());
    }

    #[test]
    fn folders_that_are_not_there_leave_the_path() {
        let walls = PathAccess::of_the_system(&[]);
        let path = "/root/.local/bin:/usr/bin:/nowhere".to_owned();
        let mut env = [("PATH".to_owned(), path)].into();
        walls.narrow_path(&mut env);
        assert_eq!(env["PATH"], "/usr/bin");
    }
}
