//! The walls as mounts: what is not mounted is not there.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use super::PathAccess;

/// Where the helper is, inside.
pub const HELPER: &str = "/run/chela/helper";
/// Where the socket of the proxy is, inside.
pub const EGRESS: &str = "/run/chela/egress";

/// Folders in memory that are always there. What is written there counts for no process, so
/// each has a part of what the command may use.
const ALWAYS: &[&str] = &["/dev/shm", "/run"];

/// A memory file system for bubblewrap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryMount {
    pub path: String,
    /// Bytes, where it says so.
    pub most: Option<u64>,
}

/// What a sandbox of bubblewrap is made of.
#[derive(Debug, Clone, Copy)]
pub struct BubblewrapMounts<'a> {
    pub walls: &'a PathAccess,
    pub helper: &'a Path,
    /// The socket of the proxy.
    pub egress: Option<&'a Path>,
    /// Where the command starts.
    pub folder: &'a Path,
    /// Folders in memory besides those that are always there.
    pub scratch: &'a [MemoryMount],
    /// Most bytes of all file systems in memory.
    pub memory: u64,
}

/// The arguments of `bwrap`, up to the program.
pub fn arguments(mounts: &BubblewrapMounts<'_>) -> Vec<OsString> {
    let mut list = List::default();
    for word in [
        "--unshare-user",
        "--unshare-pid",
        "--unshare-ipc",
        "--unshare-uts",
        "--unshare-net",
        "--unshare-cgroup-try",
        "--die-with-parent",
        // The helper is the first process: one of bubblewrap's own would have no filter, and
        // its memory could be written.
        "--as-pid-1",
        "--cap-drop",
        "ALL",
        "--hostname",
        "sandbox",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
    ] {
        list.word(word);
    }
    let parts = (ALWAYS.len() + mounts.scratch.len()) as u64;
    let part = mounts.memory / parts;
    let scratch = mounts.scratch.iter().map(|scratch| {
        (
            scratch.path.as_str(),
            scratch.most.unwrap_or(part).min(part),
        )
    });
    for (folder, most) in ALWAYS.iter().map(|folder| (*folder, part)).chain(scratch) {
        let most = most.max(4_096).to_string();
        list.words(["--perms", "1777", "--size", &most, "--tmpfs", folder]);
    }
    for path in &mounts.walls.read {
        list.show("--ro-bind", path);
    }
    for path in &mounts.walls.write {
        list.pair("--bind", path, path);
    }
    for path in &mounts.walls.keep {
        list.pair("--ro-bind", path, path);
    }
    for path in &mounts.walls.hide {
        match path.is_dir() {
            true => {
                for word in ["--size", "4096", "--tmpfs"] {
                    list.word(word);
                }
                list.0.push(path.into());
                list.word("--remount-ro");
                list.0.push(path.into());
            }
            false => list.pair("--ro-bind", Path::new("/dev/null"), path),
        }
    }
    list.pair("--ro-bind", mounts.helper, Path::new(HELPER));
    if let Some(socket) = mounts.egress {
        list.pair("--bind", socket, Path::new(EGRESS));
    }
    // What is left of the root and of /dev is memory too, and stays as it is.
    list.words(["--remount-ro", "/dev", "--remount-ro", "/run"]);
    // Root owns the settings of the kernel there, and needs no capability to write them.
    list.words(["--remount-ro", "/proc"]);
    list.words(["--remount-ro", "/", "--chdir"]);
    list.0.push(mounts.folder.into());
    list.word("--");
    list.0
}

/// What a tree is made of in which everything is there and some of it cannot be changed.
#[derive(Debug, Clone, Copy)]
pub struct FenceMounts<'a> {
    pub access: &'a PathAccess,
    /// A folder that is shown over another one.
    pub over: Option<&'a (PathBuf, PathBuf)>,
    /// Ends with the thread that starts it.
    pub tied: bool,
}

/// The arguments of `bwrap` for it, up to the program. It changes nothing but mounts.
pub fn fence_arguments(mounts: &FenceMounts<'_>) -> Vec<OsString> {
    let access = mounts.access;
    let mut list = List::default();
    list.words(["--unshare-user", "--cap-drop", "ALL"]);
    if mounts.tied {
        list.word("--die-with-parent");
    }
    list.pair("--dev-bind", Path::new("/"), Path::new("/"));
    for folder in access.folders_above_kept() {
        list.pair("--dev-bind", &folder, &folder);
    }
    for path in &access.keep {
        list.pair("--ro-bind", path, path);
    }
    for path in &access.write {
        list.pair("--bind", path, path);
    }
    for path in &access.hide {
        list.pair("--ro-bind", Path::new("/dev/null"), path);
    }
    if let Some((from, over)) = mounts.over {
        list.pair("--ro-bind", from, over);
    }
    list.word("--");
    list.0
}

#[derive(Default)]
struct List(Vec<OsString>);

impl List {
    fn word(&mut self, word: &str) {
        self.0.push(word.into());
    }

    fn words<const N: usize>(&mut self, words: [&str; N]) {
        for word in words {
            self.word(word);
        }
    }

    fn pair(&mut self, option: &str, from: &Path, to: &Path) {
        self.word(option);
        self.0.push(from.into());
        self.0.push(to.into());
    }

    /// A path of the system. Links such as `/bin` stay links: their target is shown by itself.
    fn show(&mut self, option: &str, path: &Path) {
        match std::fs::read_link(path) {
            Ok(target) if path.parent() == Some(Path::new("/")) => {
                self.pair("--symlink", &target, path);
            }
            Ok(_) => {
                let real: PathBuf = path.canonicalize().unwrap_or_else(|_| path.to_owned());
                self.pair(option, &real, path);
            }
            Err(_) => self.pair(option, path, path),
        }
    }
}
