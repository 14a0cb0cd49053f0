//! What a program printed: its beginning and its end in memory, all of it in a file up to a cap.
//!
//! Secrets are taken out before anything is kept, so that neither holds one.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chela_core::secret::{Redactor, SecretStream};
use chela_core::{ok_or_debug, ok_or_warn};
use chela_files::restrict_to_owner;

/// At least so many of the last bytes stay in memory, and at most twice as many.
const TAIL: usize = 128 * 1024;

/// Once the file is full, so much of what comes is all that is looked at: the rest is dropped.
const LATE: usize = 2 * TAIL + BLIND;
/// What begins where the middle of a secret may be is dropped, too. None is longer than this.
const BLIND: usize = 64 * 1024;

/// The output of one command. Memory and disk it takes are bounded whatever it prints.
#[derive(Debug)]
pub struct OutputSpool {
    path: PathBuf,
    /// Made when there is more output than memory keeps; `None` also when it cannot be written.
    file: Option<File>,
    file_bytes: u64,
    most_in_file: u64,
    tail: Vec<u8>,
    total: u64,
    state: FileState,
    redactor: Arc<Redactor>,
    stream: SecretStream,
    /// What came after the file was full and was not looked at yet.
    late: Vec<u8>,
    /// Whether something before that was dropped unseen.
    skipped: bool,
    /// The file belongs to somebody else now.
    handed_over: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum FileState {
    NotYet,
    Writing,
    /// Full, or the disk is: from here on bytes are only counted.
    Closed,
}

/// What a command printed, wherever it is kept.
pub trait PrintedOutput {
    /// How many bytes there were.
    fn total(&self) -> u64;

    /// At most `most` bytes from the byte `from` on.
    fn read(&self, from: u64, most: usize) -> OutputPart;
}

/// Part of the output.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OutputPart {
    pub bytes: Vec<u8>,
    /// Bytes between what was asked for and what is still there.
    pub lost: u64,
}

impl OutputSpool {
    pub fn new(path: PathBuf, most_in_file: u64, redactor: &Arc<Redactor>) -> Self {
        Self {
            path,
            file: None,
            file_bytes: 0,
            most_in_file,
            tail: Vec::new(),
            total: 0,
            state: FileState::NotYet,
            redactor: Arc::clone(redactor),
            stream: SecretStream::new(Arc::clone(redactor)),
            late: Vec::new(),
            skipped: false,
            handed_over: false,
        }
    }

    /// Bytes kept so far; what may yet become a secret is not among them.
    pub fn total(&self) -> u64 {
        self.total + self.late.len() as u64
    }

    /// The file with everything, once there is one.
    pub fn file(&self) -> Option<&Path> {
        self.file.as_ref().map(|_| self.path.as_path())
    }

    pub fn push(&mut self, bytes: &[u8]) {
        if self.state == FileState::Closed {
            self.late.extend_from_slice(bytes);
            if self.late.len() > 4 * LATE {
                let dropped = self.late.len() - LATE;
                self.late.drain(..dropped);
                self.total += dropped as u64;
                self.tail.clear();
                self.skipped = true;
            }
            return;
        }
        let clean = self.stream.push(bytes);
        self.keep(&clean);
    }

    /// Nothing has come for a while, or somebody looks.
    pub fn settle(&mut self) {
        self.catch_up();
        let clean = self.stream.settle();
        self.keep(&clean);
    }

    /// Looks at what came late.
    fn catch_up(&mut self) {
        let late = std::mem::take(&mut self.late);
        if !std::mem::take(&mut self.skipped) {
            let clean = self.stream.push(&late);
            return self.keep(&clean);
        }
        self.total += self.stream.finish().len() as u64;
        self.stream = SecretStream::new(Arc::clone(&self.redactor));
        let clean = self.stream.push(&late);
        let blind = BLIND.min(clean.len());
        self.total += blind as u64;
        self.keep(clean.get(blind..).unwrap_or_default());
    }

    /// There is no more.
    pub fn finish(&mut self) {
        self.catch_up();
        let clean = self.stream.finish();
        self.keep(&clean);
    }

    fn keep(&mut self, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if self.state == FileState::NotYet && self.tail.len() + bytes.len() > TAIL {
            self.open();
        }
        if self.state == FileState::Writing {
            self.append(bytes);
        }
        self.total += bytes.len() as u64;
        let keep = bytes.last_chunk::<TAIL>().map_or(bytes, |last| last);
        if self.tail.len() + keep.len() > 2 * TAIL {
            let over = (self.tail.len() + keep.len()).saturating_sub(TAIL);
            self.tail.drain(..over.min(self.tail.len()));
        }
        self.tail.extend_from_slice(keep);
    }

    /// At most `most` bytes from the byte `from` on.
    pub fn read(&self, from: u64, most: usize) -> OutputPart {
        let from = from.min(self.total);
        let tail_start = self.total - self.tail.len() as u64;
        if from >= tail_start {
            let skip = usize::try_from(from - tail_start).unwrap_or(usize::MAX);
            let rest = self.tail.get(skip..).unwrap_or_default();
            let bytes = rest.get(..most).unwrap_or(rest).to_vec();
            return OutputPart { bytes, lost: 0 };
        }
        let Some(file) = self.file.as_ref().filter(|_| from < self.file_bytes) else {
            let part = self.read(tail_start, most);
            return OutputPart {
                lost: tail_start - from,
                ..part
            };
        };
        let available = usize::try_from(self.file_bytes - from).unwrap_or(usize::MAX);
        let mut bytes = vec![0; most.min(available)];
        let read = read_at(file, &mut bytes, from);
        let read = ok_or_warn!(read, "what a command printed cannot be read again");
        bytes.truncate(read.unwrap_or(0));
        OutputPart { bytes, lost: 0 }
    }

    /// At most the last `most` bytes.
    pub fn end(&self, most: usize) -> OutputPart {
        let most = most.min(self.tail.len());
        let from = self.total - most as u64;
        OutputPart {
            lost: from,
            ..self.read(from, most)
        }
    }

    /// Leaves all that is kept in a file of this name, which outlives it.
    pub fn hand_over(&mut self, to: &Path) -> io::Result<()> {
        self.finish();
        match &mut self.file {
            Some(file) => {
                let after = self.total - self.tail.len() as u64;
                if self.file_bytes < self.total && !self.handed_over {
                    let lost = after.saturating_sub(self.file_bytes);
                    let known = usize::try_from(self.file_bytes.saturating_sub(after));
                    let rest = known.ok().and_then(|known| self.tail.get(known..));
                    write!(file, "\n[{lost} bytes were not kept]\n")?;
                    file.write_all(rest.unwrap_or_default())?;
                }
                if self.path != to {
                    std::fs::rename(&self.path, to)?;
                    self.path = to.to_owned();
                }
                self.handed_over = true;
            }
            None => {
                let mut options = File::options();
                options.write(true).create(true).truncate(true);
                let mut file = restrict_to_owner(&mut options).open(to)?;
                file.write_all(&self.tail)?;
            }
        }
        self.state = FileState::Closed;
        Ok(())
    }

    fn open(&mut self) {
        self.state = FileState::Closed;
        if let Some(folder) = self.path.parent() {
            ok_or_debug!(
                chela_files::create_private_folder(folder),
                "no folder for the output of a command"
            );
        }
        let mut options = File::options();
        options.read(true).append(true).create_new(true);
        let opened = restrict_to_owner(&mut options).open(&self.path);
        if let Some(file) = ok_or_warn!(opened, "the output of a command is not kept") {
            self.file = Some(file);
            self.state = FileState::Writing;
            let so_far = std::mem::take(&mut self.tail);
            self.append(&so_far);
            self.tail = so_far;
        }
    }

    fn append(&mut self, bytes: &[u8]) {
        let room = usize::try_from(self.most_in_file - self.file_bytes).unwrap_or(usize::MAX);
        let fitting = bytes.get(..room).unwrap_or(bytes);
        let written = self
            .file
            .as_mut()
            .map_or(Ok(()), |file| file.write_all(fitting));
        match written {
            Ok(()) => self.file_bytes += fitting.len() as u64,
            Err(error) => {
                tracing::warn!(%error, "the output of a command is kept no further");
                self.state = FileState::Closed;
            }
        }
        if fitting.len() < bytes.len() {
            self.state = FileState::Closed;
        }
    }
}

impl PrintedOutput for OutputSpool {
    fn total(&self) -> u64 {
        OutputSpool::total(self)
    }

    fn read(&self, from: u64, most: usize) -> OutputPart {
        OutputSpool::read(self, from, most)
    }
}

impl Drop for OutputSpool {
    fn drop(&mut self) {
        if self.file.is_some() && !self.handed_over {
            ok_or_debug!(
                std::fs::remove_file(&self.path),
                "the output of a command stays behind"
            );
        }
    }
}

/// Of a file that is only ever added to: where the next byte goes is not changed by it.
fn read_at(file: &File, bytes: &mut [u8], from: u64) -> io::Result<usize> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::read_at(file, bytes, from);
    #[cfg(windows)]
    return std::os::windows::fs::FileExt::seek_read(file, bytes, from);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use chela_core::secret::{KnownSecret, Redactor};

    use super::{OutputPart, OutputSpool, TAIL};

    #[test]
    fn little_output_needs_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let mut spool = OutputSpool::new(folder.path().join("s"), 1 << 20, &Arc::default());
        spool.push(b"hello ");
        spool.push(b"world");
        spool.settle();
        assert_eq!(spool.read(6, 100).bytes, b"world");
        assert_eq!(spool.read(0, 5).bytes, b"hello");
        assert_eq!(spool.read(99, 5), OutputPart::default());
        assert!(spool.file().is_none() && !folder.path().join("s").exists());
    }

    #[test]
    fn much_output_is_bounded_in_memory_and_on_disk() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let cap = 1 << 20;
        let mut spool = OutputSpool::new(path.clone(), cap, &Arc::default());
        let block: Vec<u8> = (0..=u8::MAX).cycle().take(100_000).collect();
        for _ in 0..40 {
            spool.push(&block);
        }
        spool.finish();
        assert_eq!(spool.total(), 4_000_000);
        assert_eq!(std::fs::metadata(&path).unwrap().len(), cap);
        assert!((TAIL..=2 * TAIL).contains(&spool.tail.len()));
        assert_eq!(spool.read(100_000, 4).bytes, [0, 1, 2, 3]);
        let lost = spool.read(2_000_000, 10);
        assert_eq!(lost.lost, 2_000_000 - spool.tail.len() as u64);
        assert_eq!(spool.end(2).bytes, block[block.len() - 2..]);
        drop(spool);
        assert!(!path.exists());
    }

    #[test]
    fn no_secret_lies_in_the_file_however_it_was_printed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("s");
        let value = "value of the forge, in words";
        let secret = KnownSecret {
            name: "forge".to_owned(),
            value: value.to_owned(),
        };
        let redactor = Arc::new(Redactor::new(None, vec![secret]));
        let mut spool = OutputSpool::new(path.clone(), 1 << 24, &redactor);
        let line = format!("{} {value} {}\n", "-".repeat(500), "=".repeat(470));
        let all = line.repeat(400);
        // Every piece ends somewhere else in the line.
        for piece in all.as_bytes().chunks(997) {
            spool.push(piece);
        }
        spool.finish();
        assert!(spool.file().is_some());
        let kept = std::fs::read_to_string(&path).unwrap();
        assert_eq!(kept, all.replace(value, "[secret:forge]"));
        assert_eq!(spool.total(), kept.len() as u64);
        let tail = String::from_utf8(spool.end(TAIL).bytes).unwrap();
        assert!(!tail.contains(value) && tail.contains("[secret:forge]"));
        // Nor in what is kept of much more.
        let mut spool = OutputSpool::new(folder.path().join("t"), 1 << 16, &redactor);
        for piece in all.repeat(8).as_bytes().chunks(61_003) {
            spool.push(piece);
        }
        spool.finish();
        let tail = String::from_utf8(spool.end(TAIL).bytes).unwrap();
        assert!(tail.len() == TAIL && !tail.contains("of the forge"));
        assert!(tail.contains("[secret:forge]"));
    }
}
