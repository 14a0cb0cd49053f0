//! Which files a command writes, told by its own system calls.
//!
//! What changed while a command ran may be somebody else's doing: an editor, a download, a program
//! that syncs folders. So every call that can make a file another one waits for a moment while the
//! supervisor notes the path, and then goes on as if nobody had looked. Nothing is changed or
//! refused here, and what cannot be noted is simply not known to be the command's.
//!
//! Filters of system calls belong to threads: one thread of the supervisor takes this one and
//! starts the command, another answers.

mod call_path;
mod listener;

use std::io::{self, Write as _};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use chela_files::FileFacts as _;
use rustix::io::{FdFlags, fcntl_setfd};

use crate::order::WRITES_VARIABLE;
use crate::written::{MOST_MOVED, WriteNote};

use call_path::{WatchedCall, watched_call};
use listener::{CallListener, CallNotice};

/// Where the notes go. Opened before the walls stand: what is inside never sees the file.
#[derive(Debug)]
pub struct NotesFile(std::fs::File);

impl NotesFile {
    pub fn open(path: &Path) -> io::Result<Self> {
        std::fs::OpenOptions::new()
            .append(true)
            .open(path)
            .map(Self)
    }

    /// Hands the open file to the program this process becomes, and says under which number.
    pub fn hand_on(self, command: &mut std::process::Command) -> io::Result<()> {
        fcntl_setfd(&self.0, FdFlags::empty())?;
        command.env(WRITES_VARIABLE, self.0.as_raw_fd().to_string());
        // It stays open until the program is another one.
        std::mem::forget(self.0);
        Ok(())
    }

    /// The file that was handed to this process.
    pub fn handed() -> Option<io::Result<Self>> {
        let number = std::env::var(WRITES_VARIABLE).ok()?;
        let number: u32 = number.parse().ok()?;
        Some(Self::open(Path::new(&format!("/proc/self/fd/{number}"))))
    }
}

/// Runs `start` on a thread whose calls, and those of all it starts, are noted. Where the kernel
/// has no such filter, `start` runs all the same and nothing is noted.
pub fn start_watched<T: Send + 'static>(
    notes: Option<NotesFile>,
    start: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let Some(notes) = notes else {
        return Some(start());
    };
    let started = std::thread::Builder::new().spawn(move || {
        if let Ok(listener) = CallListener::install() {
            let noting = std::thread::Builder::new().spawn(move || note_calls(&listener, notes));
            // Nobody would answer the calls: they fail then, and so does the command.
            drop(noting);
        }
        start()
    });
    started.ok()?.join().ok()
}

/// Answers until the last of those who are watched is gone.
fn note_calls(listener: &CallListener, notes: NotesFile) {
    let mut noting = CallNotes {
        file: notes.0,
        last: Vec::new(),
    };
    // It is known from here on that calls are noted.
    noting.note(&WriteNote::Began);
    while let Some(notice) = listener.next() {
        noting.note_call(&notice);
        listener.go_on(&notice);
    }
}

struct CallNotes {
    file: std::fs::File,
    /// The newest note: the same once more says nothing new.
    last: Vec<u8>,
}

impl CallNotes {
    fn note_call(&mut self, notice: &CallNotice) {
        match watched_call(notice) {
            // Such a call fails where something is there already.
            Some(WatchedCall::Made(path)) if path.symlink_metadata().is_err() => {
                self.note(&WriteNote::Written(path));
            }
            Some(WatchedCall::Replaced(path)) => self.note(&WriteNote::Written(path)),
            Some(WatchedCall::Changed(path)) => self.note_change(path),
            Some(WatchedCall::Renamed { from, to }) => self.note_moved(from, to),
            Some(WatchedCall::Linked { from, to }) if to.symlink_metadata().is_err() => {
                self.note_moved(from, to);
            }
            Some(WatchedCall::Swapped(one, other)) => {
                let aside = PathBuf::new();
                self.note_moved(one.clone(), aside.clone());
                self.note_moved(other.clone(), one);
                self.note_moved(aside, other);
            }
            Some(WatchedCall::Made(_) | WatchedCall::Linked { .. }) | None => {}
        }
    }

    /// What a file keeps counts along with what is added.
    fn note_change(&mut self, path: PathBuf) {
        match path.symlink_metadata() {
            Ok(facts) => self.note(&WriteNote::Changed {
                changed: facts.stamp().changed,
                path,
            }),
            Err(_) => self.note(&WriteNote::Written(path)),
        }
    }

    fn note_moved(&mut self, from: PathBuf, to: PathBuf) {
        let mut left = vec![(from, to)];
        let mut most = MOST_MOVED;
        while let Some((from, to)) = left.pop() {
            let facts = from.symlink_metadata();
            let changed = facts
                .as_ref()
                .map_or(i128::MAX, |facts| facts.stamp().changed);
            if facts.is_ok_and(|facts| facts.is_dir()) {
                let entries = std::fs::read_dir(&from).into_iter().flatten().flatten();
                for entry in entries.take(most) {
                    most = most.saturating_sub(1);
                    left.push((entry.path(), to.join(entry.file_name())));
                }
            }
            self.note(&WriteNote::Moved { from, changed, to });
        }
    }

    fn note(&mut self, note: &WriteNote) {
        let line = note.to_bytes();
        if line != self.last {
            // What cannot be noted is not known to be the command's.
            let _ = self.file.write_all(&line);
            self.last = line;
        }
    }
}
