//! Saying that it is oneself who writes a file, to whoever watches it meanwhile.
//!
//! A process that puts back what others write into a file cannot see who wrote it. So the one that
//! may write says so first, over a socket: the kernel tells the listener which process speaks, and
//! a note in a file, which anybody could leave, counts for nothing.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::io::{self, Read as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use chela_core::{lock, ok_or_debug};

use crate::create_private_folder;

/// A watcher that does not answer within this is not waited for.
const ANSWER_WAIT: Duration = Duration::from_secs(2);
/// Nor are all of them together for longer than this.
const ALL_ANSWERS_WAIT: Duration = Duration::from_secs(6);
/// A writer that was heard writes within this.
const WRITE_WAIT: Duration = Duration::from_secs(10);
/// No file that is watched is larger.
const MOST_BYTES: u64 = 16 << 20;
/// No path is longer.
const LONGEST_PATH: usize = 4096;

const HEARD: u8 = b'+';
const WRITTEN: u8 = b'w';

/// A file that is about to be written, by somebody who said so.
#[derive(Debug)]
pub struct AnnouncedWrite(Vec<UnixStream>);

/// Tells whoever watches a file of this home that this process is about to write it.
pub fn announce_write(state_dir: &Path, file: &Path) -> AnnouncedWrite {
    announce(state_dir, file, |_| true)
}

/// Tells only watchers in other processes: within this one it is known.
pub fn announce_elsewhere(state_dir: &Path, file: &Path) -> AnnouncedWrite {
    let own = format!("{}-", std::process::id());
    announce(state_dir, file, |name| {
        !name.as_bytes().starts_with(own.as_bytes())
    })
}

fn announce(state_dir: &Path, file: &Path, to: impl Fn(&OsStr) -> bool) -> AnnouncedWrite {
    let watchers = std::fs::read_dir(folder_of(state_dir));
    let watchers = watchers.into_iter().flatten().flatten();
    let watchers = watchers.filter(|entry| to(&entry.file_name()));
    let began = Instant::now();
    let heard = watchers
        .take_while(|_| began.elapsed() < ALL_ANSWERS_WAIT)
        .filter_map(|entry| tell(&entry.path(), file));
    AnnouncedWrite(heard.collect())
}

impl AnnouncedWrite {
    /// It is written, and holds this. Dropping it instead means that it was not.
    pub fn finish(self, bytes: &[u8]) {
        for mut watcher in self.0 {
            let told = watcher
                .write_all(&[WRITTEN])
                .and_then(|()| watcher.write_all(bytes))
                .and_then(|()| watcher.shutdown(std::net::Shutdown::Write));
            if ok_or_debug!(told, "a watcher of a file did not hear what was written").is_some() {
                // It has heard everything when it hangs up.
                let heard = watcher.read(&mut [0]);
                ok_or_debug!(heard, "a watcher of a file did not say that it heard");
            }
        }
    }
}

fn tell(socket: &Path, file: &Path) -> Option<UnixStream> {
    let mut watcher = match UnixStream::connect(socket) {
        Ok(watcher) => watcher,
        Err(error) => {
            tracing::debug!(%error, socket = %socket.display(), "a watcher of files is gone");
            if error.kind() == io::ErrorKind::ConnectionRefused {
                ok_or_debug!(std::fs::remove_file(socket), "and its socket stays");
            }
            return None;
        }
    };
    let mut line = file.as_os_str().as_bytes().to_vec();
    line.push(b'\n');
    let mut answer = [0];
    let heard = watcher
        .set_read_timeout(Some(ANSWER_WAIT))
        .and_then(|()| watcher.set_write_timeout(Some(ANSWER_WAIT)))
        .and_then(|()| watcher.write_all(&line))
        .and_then(|()| watcher.read_exact(&mut answer));
    ok_or_debug!(heard, "a watcher of files does not listen")?;
    (answer == [HEARD]).then_some(watcher)
}

fn folder_of(state_dir: &Path) -> PathBuf {
    state_dir.join("state").join("watchers")
}

/// Whether a process, by its number, may write what is watched.
pub type MayWrite = dyn Fn(i32) -> bool + Send + Sync;

/// Hears who writes some files, for as long as it is kept.
#[derive(Debug)]
pub struct WriteWitness {
    socket: PathBuf,
    listener: UnixListener,
    heard: Arc<HeardWrites>,
}

#[derive(Debug, Default)]
struct HeardWrites {
    state: Mutex<HeardState>,
    settled: Condvar,
}

#[derive(Debug, Default)]
struct HeardState {
    files: Vec<PathBuf>,
    /// Writers that were heard and have not ended.
    under_way: usize,
    /// What was last written.
    written: BTreeMap<PathBuf, Vec<u8>>,
}

impl WriteWitness {
    /// Listens. `None` where that cannot be done: then nobody is heard.
    pub fn listen(state_dir: &Path, files: Vec<PathBuf>, may_write: Box<MayWrite>) -> Option<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = folder_of(state_dir);
        ok_or_debug!(create_private_folder(&folder), "nobody hears who writes")?;
        let socket = folder.join(format!("{}-{number}", std::process::id()));
        let listener = UnixListener::bind(&socket);
        let listener = ok_or_debug!(listener, "nobody hears who writes")?;
        let heard = Arc::new(HeardWrites::default());
        heard.lock().files = files;
        let ear = ok_or_debug!(listener.try_clone(), "nobody hears who writes")?;
        let (state, may_write) = (Arc::clone(&heard), Arc::<MayWrite>::from(may_write));
        let started = std::thread::Builder::new()
            .name("write witness".to_owned())
            .spawn(move || state.hear_all(&ear, &may_write));
        ok_or_debug!(started, "nobody hears who writes")?;
        Some(Self {
            socket,
            listener,
            heard,
        })
    }

    /// What was last written to a file by somebody who may, once those who are at it have ended.
    pub fn last_written(&self, file: &Path) -> Option<Vec<u8>> {
        let state = self.heard.lock();
        let settled = self
            .heard
            .settled
            .wait_timeout_while(state, WRITE_WAIT, |state| state.under_way > 0);
        let (state, _) = settled.unwrap_or_else(PoisonError::into_inner);
        state.written.get(file).cloned()
    }

    /// Whether somebody who may said that they write this. Nobody is waited for.
    pub fn has_heard(&self, file: &Path) -> bool {
        self.heard.lock().written.contains_key(file)
    }
}

impl Drop for WriteWitness {
    fn drop(&mut self) {
        // A listener that is shut down wakes whoever waits at it.
        let shut = rustix::net::shutdown(&self.listener, rustix::net::Shutdown::Both);
        ok_or_debug!(shut, "a witness of writes goes on listening");
        ok_or_debug!(std::fs::remove_file(&self.socket), "its socket stays");
    }
}

impl HeardWrites {
    fn lock(&self) -> MutexGuard<'_, HeardState> {
        lock(&self.state)
    }

    fn hear_all(self: Arc<Self>, listener: &UnixListener, may_write: &Arc<MayWrite>) {
        while let Ok((writer, _)) = listener.accept() {
            let (state, may_write) = (Arc::clone(&self), Arc::clone(may_write));
            let started = std::thread::Builder::new()
                .name("write witness".to_owned())
                .spawn(move || {
                    let heard = state.hear(writer, &*may_write);
                    ok_or_debug!(heard, "who writes a file was not heard to the end");
                });
            ok_or_debug!(started, "a writer is not heard");
        }
    }

    fn hear(&self, mut writer: UnixStream, may_write: &MayWrite) -> io::Result<()> {
        // Before anything is read: as long as it waits for the answer, it lives.
        let peer = rustix::net::sockopt::socket_peercred(&writer)?;
        if !may_write(peer.pid.as_raw_nonzero().get()) {
            tracing::warn!(pid = ?peer.pid, "a process that may not write announced a write");
            return Ok(());
        }
        writer.set_read_timeout(Some(WRITE_WAIT))?;
        writer.set_write_timeout(Some(ANSWER_WAIT))?;
        let file = read_path(&mut writer)?;
        let _under_way = match self.begin(&file) {
            Some(under_way) => under_way,
            None => return Ok(()),
        };
        writer.write_all(&[HEARD])?;
        let mut told = Vec::new();
        (&writer).take(MOST_BYTES + 2).read_to_end(&mut told)?;
        if let Some((&WRITTEN, bytes)) = told.split_first()
            && bytes.len() as u64 <= MOST_BYTES
        {
            self.lock().written.insert(file, bytes.to_vec());
        }
        Ok(())
    }

    /// One more writer of a file that is watched.
    fn begin(&self, file: &Path) -> Option<WriteUnderWay<'_>> {
        let mut state = self.lock();
        // What is said to lie in a file is a part of it.
        if !state.files.iter().any(|watched| file.starts_with(watched)) {
            return None;
        }
        state.under_way += 1;
        Some(WriteUnderWay(self))
    }
}

/// A writer that was heard, until it has ended.
struct WriteUnderWay<'a>(&'a HeardWrites);

impl Drop for WriteUnderWay<'_> {
    fn drop(&mut self) {
        self.0.lock().under_way -= 1;
        self.0.settled.notify_all();
    }
}

fn read_path(writer: &mut UnixStream) -> io::Result<PathBuf> {
    let mut line = Vec::new();
    let mut byte = [0];
    while line.len() < LONGEST_PATH {
        writer.read_exact(&mut byte)?;
        match byte {
            [b'\n'] => return Ok(PathBuf::from(OsStr::from_bytes(&line))),
            [other] => line.push(other),
        }
    }
    Err(io::ErrorKind::InvalidInput.into())
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{WriteWitness, announce_write};

    #[test]
    fn who_may_write_is_heard_and_nobody_else() {
        let home = tempfile::tempdir().unwrap();
        let state = home.path();
        let file = state.join("chela.json");
        let listen = |may: bool| {
            let me = i32::try_from(std::process::id()).unwrap();
            let judge = Box::new(move |pid: i32| may && pid == me);
            WriteWitness::listen(state, vec![file.clone()], judge).unwrap()
        };
        let (owner, nobody) = (listen(true), listen(false));
        announce_write(state, &file).finish(b"new");
        assert_eq!(owner.last_written(&file).as_deref(), Some(&b"new"[..]));
        assert_eq!(nobody.last_written(&file), None);
        // What was not written, and what nobody watches.
        drop(announce_write(state, &file));
        announce_write(state, Path::new("/other")).finish(b"x");
        assert_eq!(owner.last_written(&file).as_deref(), Some(&b"new"[..]));
        assert_eq!(owner.last_written(Path::new("/other")), None);
        drop((owner, nobody));
        let left = std::fs::read_dir(state.join("state/watchers")).unwrap();
        assert_eq!(left.count(), 0);
        announce_write(state, &file).finish(b"newer");
    }
}
