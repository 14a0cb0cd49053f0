//! A root of its own, without bubblewrap: what is not mounted is not there.
//!
//! Landlock alone says nothing about modes, owners and times of files, and it shows whether a
//! file exists. In a namespace of mounts there is nothing to ask about, and what is there to be
//! read is mounted read-only.

use std::collections::BTreeSet;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, StatVfsMountFlags, statvfs};
use rustix::io::Errno;
use rustix::mount::{
    MountFlags, MountPropagationFlags, UnmountFlags, mount, mount_bind_recursive, mount_change,
    mount_remount, unmount,
};
use rustix::process::{chdir, pivot_root};

use super::enclose::DEVICES;
use crate::PathAccess;
use crate::mount_table::MountTable;

/// The kernel's tables. Landlock says which of them are read.
const TABLES: &str = "/proc";

/// Where the new root is put together. What this hides is open already, and no folder that is
/// shown lies in it.
const BASE: &str = "/dev";

/// Leaves the root of the machine for one that has the walls and nothing else.
pub fn enter(walls: &PathAccess, egress: Option<&Path>) -> Result<(), String> {
    let failed = |what: &Path, error: &dyn std::fmt::Display| {
        format!("the sandbox cannot show {}: {error}", what.display())
    };
    let root = Path::new("/");
    let here = std::env::current_dir().map_err(|error| failed(root, &error))?;
    let base = Path::new(BASE);
    let parts = parts(walls, egress).map_err(|(path, error)| failed(&path, &error))?;
    own_tree(base).map_err(|error| failed(base, &error))?;
    for part in &parts {
        part.show(base).map_err(|error| failed(&part.at, &error))?;
    }
    let writable: Vec<PathBuf> = walls.write.iter().map(|path| within(base, path)).collect();
    let kept: Vec<PathBuf> = walls.keep.iter().map(|path| within(base, path)).collect();
    let untouched = within(base, Path::new(TABLES));
    for point in mount_points(base).map_err(|error| failed(root, &error))? {
        let open = writable.iter().any(|path| point.starts_with(path))
            && !kept.iter().any(|path| point.starts_with(path));
        let is_device = DEVICES
            .iter()
            .any(|path| point == within(base, Path::new(path)));
        if !point.starts_with(&untouched) && !open && !is_device {
            read_only(&point).map_err(|error| failed(&point, &error))?;
        }
    }
    chdir(base)
        .and_then(|()| pivot_root(".", "."))
        .and_then(|()| unmount(".", UnmountFlags::DETACH))
        .and_then(|()| chdir(&here))
        .map_err(|error| failed(&here, &error))
}

/// Everything stays where it is, but what is kept cannot be changed, and what is hidden is empty.
/// What lies in a kept folder and may be written stays as it is.
pub fn keep(walls: &PathAccess, over: &[(PathBuf, PathBuf)]) -> Result<(), String> {
    let failed = |what: &Path, error: &dyn std::fmt::Display| {
        format!(
            "the command cannot be kept from {}: {error}",
            what.display()
        )
    };
    let root = Path::new("/");
    let here = std::env::current_dir().map_err(|error| failed(root, &error))?;
    let open = |path: &Path| rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
    // Before anything lies on top of it.
    let writable = walls.write.iter().map(|path| Ok((path, open(path)?)));
    let writable: Vec<(&PathBuf, OwnedFd)> = writable
        .collect::<Result<_, Errno>>()
        .map_err(|error| failed(root, &error))?;
    mount_change(
        "/",
        MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC,
    )
    .map_err(|error| failed(root, &error))?;
    // Where something is mounted nobody can move a folder away and put another in its place.
    for folder in walls.folders_above_kept() {
        mount_bind_recursive(&folder, &folder).map_err(|error| failed(&folder, &error))?;
    }
    for path in &walls.keep {
        mount_bind_recursive(path, path).map_err(|error| failed(path, &error))?;
        for point in mount_points(path).map_err(|error| failed(path, &error))? {
            read_only(&point).map_err(|error| failed(&point, &error))?;
        }
    }
    for (path, open) in writable {
        let from = format!("/proc/self/fd/{}", open.as_raw_fd());
        mount_bind_recursive(from, path).map_err(|error| failed(path, &error))?;
    }
    for path in &walls.hide {
        mount_bind_recursive("/dev/null", path).map_err(|error| failed(path, &error))?;
    }
    for (from, over) in over {
        mount_bind_recursive(from, over).map_err(|error| failed(over, &error))?;
    }
    // Where this stands is below the new mounts only when it is looked up anew.
    chdir(&here).map_err(|error| failed(&here, &error))
}

/// Whether mounts can be made in this namespace. Spoils it: for trying only.
pub fn can_be_made() -> io::Result<()> {
    own_tree(Path::new("/"))
}

/// Mounts made from here on stay inside, the first of them an empty folder.
fn own_tree(base: &Path) -> io::Result<()> {
    mount_change(
        "/",
        MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC,
    )?;
    let flags = MountFlags::NOSUID | MountFlags::NODEV;
    mount("tmpfs", base, "tmpfs", flags, c"mode=0755,size=1m")?;
    Ok(())
}

/// Something that will be there.
struct Part {
    at: PathBuf,
    what: What,
}

enum What {
    Folder(OwnedFd),
    File(OwnedFd),
    /// A link such as `/bin`, whose target is shown by itself.
    Link(PathBuf),
    /// Nothing, in the place of a socket.
    Nothing(OwnedFd),
    /// Nothing, in the place of a folder.
    EmptyFolder,
}

/// What is shown, opened before anything is hidden. What comes later lies on top.
fn parts(walls: &PathAccess, egress: Option<&Path>) -> Result<Vec<Part>, (PathBuf, io::Error)> {
    let fixed = DEVICES.iter().chain([&TABLES]).map(Path::new);
    let paths = walls.read.iter().map(PathBuf::as_path).chain(fixed);
    let paths = paths
        .chain(walls.write.iter().chain(&walls.keep).map(PathBuf::as_path))
        .chain(egress);
    let parts = paths.filter_map(|path| match part(path) {
        Ok(what) => Some(Ok(Part {
            at: path.to_owned(),
            what,
        })),
        // What is gone since, or is not for this user, is not there.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied
            ) && !walls.keep.iter().any(|kept| kept == path) =>
        {
            None
        }
        Err(error) => Some(Err((path.to_owned(), error))),
    });
    let hidden = walls.hide.iter().map(|path| {
        if path.is_dir() {
            return Ok(Part {
                at: path.clone(),
                what: What::EmptyFolder,
            });
        }
        let nothing = rustix::fs::open("/dev/null", OFlags::PATH | OFlags::CLOEXEC, Mode::empty());
        match nothing {
            Ok(nothing) => Ok(Part {
                at: path.clone(),
                what: What::Nothing(nothing),
            }),
            Err(error) => Err((path.clone(), error.into())),
        }
    });
    parts.chain(hidden).collect()
}

fn part(path: &Path) -> io::Result<What> {
    if let Ok(target) = std::fs::read_link(path)
        && path.parent() == Some(Path::new("/"))
    {
        return Ok(What::Link(target));
    }
    let open = rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?;
    Ok(match path.metadata()?.is_dir() {
        true => What::Folder(open),
        false => What::File(open),
    })
}

impl Part {
    fn show(&self, base: &Path) -> io::Result<()> {
        let at = within(base, &self.at);
        if let Some(parent) = at.parent() {
            std::fs::create_dir_all(parent)?;
        }
        let open = match &self.what {
            What::Link(target) => return std::os::unix::fs::symlink(target, &at),
            What::Folder(open) => {
                std::fs::create_dir_all(&at)?;
                open
            }
            What::File(open) => {
                if !at.exists() {
                    std::fs::File::create(&at)?;
                }
                open
            }
            // One that is gone since needs no hiding.
            What::Nothing(_) if at.symlink_metadata().is_err() => return Ok(()),
            What::Nothing(open) => open,
            What::EmptyFolder => {
                let flags = MountFlags::NOSUID | MountFlags::NODEV | MountFlags::RDONLY;
                return Ok(mount("tmpfs", &at, "tmpfs", flags, c"mode=0555,size=4k")?);
            }
        };
        mount_bind_recursive(format!("/proc/self/fd/{}", open.as_raw_fd()), &at)?;
        Ok(())
    }
}

fn within(base: &Path, path: &Path) -> PathBuf {
    base.join(path.strip_prefix("/").unwrap_or(path))
}

/// What a mount is besides stays: the kernel allows nothing else here.
fn read_only(point: &Path) -> io::Result<()> {
    let now = match statvfs(point) {
        // Nobody inside can get there either.
        Err(Errno::ACCESS) => return Ok(()),
        other => other?.f_flag,
    };
    let mut flags = MountFlags::BIND | MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV;
    for (is, stays) in [
        (StatVfsMountFlags::NOEXEC, MountFlags::NOEXEC),
        (StatVfsMountFlags::NOATIME, MountFlags::NOATIME),
        (StatVfsMountFlags::NODIRATIME, MountFlags::NODIRATIME),
        (StatVfsMountFlags::RELATIME, MountFlags::RELATIME),
    ] {
        if now.contains(is) {
            flags |= stays;
        }
    }
    mount_remount(point, flags, "")?;
    Ok(())
}

/// Where something is mounted on the new root. What the machine had there lies beneath.
fn mount_points(base: &Path) -> io::Result<Vec<PathBuf>> {
    let mounts = MountTable::read()?.rows;
    // The newest lies on top.
    let root = mounts.iter().rfind(|mount| mount.point == base);
    let mut ours: BTreeSet<&[u8]> = root.map(|mount| &*mount.id).into_iter().collect();
    loop {
        let before = ours.len();
        let children = mounts.iter().filter(|mount| ours.contains(&*mount.parent));
        let children: Vec<&[u8]> = children.map(|mount| &*mount.id).collect();
        ours.extend(children);
        if ours.len() == before {
            break;
        }
    }
    let ours = mounts.iter().filter(|mount| ours.contains(&*mount.id));
    Ok(ours.map(|mount| mount.point.clone()).collect())
}
