//! What is within reach inside.

use std::collections::BTreeMap;
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
pub struct Walls {
    /// For reading and running.
    pub read: Vec<PathBuf>,
    /// For everything.
    pub write: Vec<PathBuf>,
}

impl Walls {
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
            write: Vec::new(),
        }
    }

    /// Whether a path, with its links followed, can be read inside.
    pub fn shows(&self, path: &Path) -> bool {
        let real = path.canonicalize();
        let real = real.as_deref().unwrap_or(path);
        self.read.iter().chain(&self.write).any(|seen| {
            let seen_real = seen.canonicalize();
            real.starts_with(seen) || seen_real.is_ok_and(|seen| real.starts_with(seen))
        })
    }

    /// Takes the folders out of PATH that are not there inside.
    pub fn narrow_path(&self, env: &mut BTreeMap<String, String>) {
        if let Some(path) = env.get_mut("PATH") {
            let seen: Vec<&str> = path
                .split(':')
                .filter(|folder| self.shows(Path::new(folder)))
                .collect();
            *path = seen.join(":");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::Walls;

    #[test]
    fn the_system_is_shown_and_what_is_hidden_is_not() {
        let walls = Walls::of_the_system(&[]);
        assert!(walls.shows(Path::new("/bin/sh")));
        for secret in ["/etc/shadow", "/etc/ssh", "/root", "/home", "/proc/1", "/"] {
            assert!(!walls.shows(Path::new(secret)), "{secret}");
        }
        let walls = Walls::of_the_system(&[Path::new("/usr/home/me")]);
        assert!(!walls.read.iter().any(|path| path == Path::new("/usr")));
    }

    #[test]
    fn folders_that_are_not_there_leave_the_path() {
        let walls = Walls::of_the_system(&[]);
        let path = "/root/.local/bin:/usr/bin:/nowhere".to_owned();
        let mut env = [("PATH".to_owned(), path)].into();
        walls.narrow_path(&mut env);
        assert_eq!(env["PATH"], "/usr/bin");
    }
}
