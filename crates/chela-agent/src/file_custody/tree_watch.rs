//! What changes in a tree, as the system tells it: looking at ten thousand files before and after
//! every command would cost more than most commands do.

#[cfg(target_os = "linux")]
pub(super) use linux::TreeWatch;
#[cfg(not(target_os = "linux"))]
pub(super) use nowhere::TreeWatch;

#[cfg(target_os = "linux")]
mod linux {
    use std::collections::{BTreeSet, HashMap};
    use std::ffi::OsStr;
    use std::mem::MaybeUninit;
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStrExt as _;
    use std::path::{Path, PathBuf};

    use chela_core::ok_or_debug;
    use rustix::fs::inotify::{self, CreateFlags, ReadFlags, WatchFlags};
    use rustix::io::Errno;

    /// Everything that can make a file another one. A program that writes through memory is seen
    /// when it closes the file.
    const EVENTS: WatchFlags = WatchFlags::CREATE
        .union(WatchFlags::MODIFY)
        .union(WatchFlags::CLOSE_WRITE)
        .union(WatchFlags::ATTRIB)
        .union(WatchFlags::MOVED_FROM)
        .union(WatchFlags::MOVED_TO)
        .union(WatchFlags::DELETE)
        .union(WatchFlags::ONLYDIR)
        .union(WatchFlags::DONT_FOLLOW);
    const MOST_FOLDERS: usize = 8_192;

    /// A tree under watch since it was begun.
    #[derive(Debug)]
    pub(in crate::file_custody) struct TreeWatch {
        events: OwnedFd,
        root: PathBuf,
        folders: HashMap<i32, PathBuf>,
        changed: BTreeSet<PathBuf>,
        /// Something was missed.
        lost: bool,
    }

    impl TreeWatch {
        /// `None` where the system watches no more.
        pub(in crate::file_custody) fn begin(root: &Path) -> Option<Self> {
            let events = inotify::init(CreateFlags::CLOEXEC | CreateFlags::NONBLOCK);
            let mut watch = Self {
                events: ok_or_debug!(events, "no tree is watched")?,
                root: root.to_owned(),
                folders: HashMap::new(),
                changed: BTreeSet::new(),
                lost: false,
            };
            watch.add_tree(root.to_owned());
            // What is there at the beginning has not changed.
            watch.changed.clear();
            (!watch.lost).then_some(watch)
        }

        /// What changed since it was last asked; `None` when something was missed.
        pub(in crate::file_custody) fn take_changed(&mut self) -> Option<BTreeSet<PathBuf>> {
            self.read_events();
            let changed = std::mem::take(&mut self.changed);
            (!self.lost).then_some(changed)
        }

        /// Each folder is watched before it is looked into, so that nothing falls in between.
        fn add_tree(&mut self, folder: PathBuf) {
            let mut folders = vec![folder];
            while let Some(folder) = folders.pop() {
                if self.folders.len() >= MOST_FOLDERS {
                    self.lost = true;
                    return;
                }
                match inotify::add_watch(&self.events, &folder, EVENTS) {
                    Ok(id) => drop(self.folders.insert(id, folder.clone())),
                    // Gone meanwhile.
                    Err(Errno::NOENT | Errno::NOTDIR) => continue,
                    Err(error) => {
                        tracing::debug!(%error, "a folder is not watched");
                        self.lost = true;
                        return;
                    }
                }
                let Ok(entries) = std::fs::read_dir(&folder) else {
                    continue;
                };
                for entry in entries.flatten() {
                    if entry.file_name() == OsStr::new(".git") {
                        continue;
                    }
                    self.changed.insert(entry.path());
                    if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                        folders.push(entry.path());
                    }
                }
            }
        }

        fn read_events(&mut self) {
            let mut room = [MaybeUninit::uninit(); 16 << 10];
            let mut seen: Vec<(i32, ReadFlags, Option<PathBuf>)> = Vec::new();
            let mut reader = inotify::Reader::new(&self.events, &mut room);
            loop {
                match reader.next() {
                    Ok(event) => {
                        let name = event
                            .file_name()
                            .map(|name| OsStr::from_bytes(name.to_bytes()));
                        seen.push((event.wd(), event.events(), name.map(PathBuf::from)));
                    }
                    Err(Errno::AGAIN) => break,
                    Err(Errno::INTR) => {}
                    Err(error) => {
                        tracing::debug!(%error, "what changed in a tree cannot be read");
                        self.lost = true;
                        break;
                    }
                }
            }
            for (folder, events, name) in seen {
                self.take_event(folder, events, name.as_deref());
            }
        }

        fn take_event(&mut self, folder: i32, events: ReadFlags, name: Option<&Path>) {
            if events.contains(ReadFlags::QUEUE_OVERFLOW) {
                self.lost = true;
                return;
            }
            if events.contains(ReadFlags::IGNORED) {
                self.folders.remove(&folder);
                return;
            }
            let (Some(known), Some(name)) = (self.folders.get(&folder), name) else {
                return;
            };
            // What git keeps for itself in the workspace is not the agent's text.
            if name == Path::new(".git") && *known == self.root {
                return;
            }
            let path = known.join(name);
            self.changed.insert(path.clone());
            let is_folder = events.contains(ReadFlags::ISDIR);
            if is_folder && events.intersects(ReadFlags::CREATE | ReadFlags::MOVED_TO) {
                self.add_tree(path);
            }
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod nowhere {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    /// There is nothing to watch with: trees are looked through each time.
    #[derive(Debug)]
    pub(in crate::file_custody) enum TreeWatch {}

    impl TreeWatch {
        pub(in crate::file_custody) fn begin(_: &Path) -> Option<Self> {
            None
        }

        pub(in crate::file_custody) fn take_changed(&mut self) -> Option<BTreeSet<PathBuf>> {
            match *self {}
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::TreeWatch;

    #[test]
    fn whatever_changes_is_told_once() {
        let dir = tempfile::TempDir::new().unwrap();
        let root = dir.path().canonicalize().unwrap();
        std::fs::create_dir_all(root.join("a/b")).unwrap();
        std::fs::write(root.join("a/old.md"), "old").unwrap();
        let mut watch = TreeWatch::begin(&root).unwrap();
        assert!(watch.take_changed().unwrap().is_empty());
        std::fs::write(root.join("a/old.md"), "other").unwrap();
        std::fs::create_dir_all(root.join("c/d")).unwrap();
        std::fs::write(root.join("c/d/new.md"), "new").unwrap();
        std::fs::rename(root.join("a/old.md"), root.join("a/b/moved.md")).unwrap();
        let changed = watch.take_changed().unwrap();
        for name in ["a/old.md", "c", "c/d", "c/d/new.md", "a/b/moved.md"] {
            assert!(changed.contains(&root.join(name)), "{name}: {changed:?}");
        }
        assert!(watch.take_changed().unwrap().is_empty());
    }

    #[test]
    fn one_change_among_ten_thousand_files_is_told_alone() {
        let dir = tempfile::TempDir::new().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for folder in 0..100 {
            let folder = root.join(format!("f{folder}"));
            std::fs::create_dir(&folder).unwrap();
            for file in 0..100 {
                std::fs::write(folder.join(file.to_string()), "x").unwrap();
            }
        }
        let mut watch = TreeWatch::begin(&root).unwrap();
        std::fs::write(root.join("f7/made.md"), "made").unwrap();
        let changed = watch.take_changed().unwrap();
        assert_eq!(Vec::from_iter(changed), [root.join("f7/made.md")]);
        assert!(watch.take_changed().unwrap().is_empty());
    }
}
