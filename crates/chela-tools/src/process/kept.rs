//! What commands printed, for whoever asks after the process that ran them is gone.
//!
//! A result may promise more output by a command's name, and the transcript keeps the promise for
//! ever. So a name is given once in the life of a session, and what was promised lies beside the
//! session, the oldest making room for the newest. A name that is asked for later leads to its own
//! output, or to the answer that it is gone; never to another command's.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use chela_core::{Host, ok_or_debug, ok_or_warn};
use chela_files::{FileMode, LockFile, read_if_there, write_file};
use serde::{Deserialize, Serialize};

use super::job::{CommandEnd, CommandJob};
use super::report;
use super::spool::{OutputPart, PrintedOutput};

/// All kept output of a session together.
const MOST_BYTES: u64 = 256 << 20;
/// Commands whose output is kept.
const MOST_COMMANDS: usize = 200;
/// How long another process is waited for that is giving a name.
const PATIENCE: Duration = Duration::from_millis(500);

/// The names a session has given to commands, and what of their output is kept.
#[derive(Debug, Clone)]
pub struct KeptCommands {
    folder: PathBuf,
    most_bytes: u64,
}

/// A command of an earlier process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct KeptCommand {
    pub id: String,
    pub command: String,
    /// How it ended, for the model.
    pub status: String,
    /// Whether what it printed comes from another machine.
    pub fetches: bool,
    pub well: bool,
}

/// The kept output of one command.
#[derive(Debug)]
pub struct KeptOutput {
    file: File,
    length: u64,
}

impl KeptCommands {
    /// In a folder of the session's own. Nothing is made before it is needed.
    pub fn new(session: &Path) -> Self {
        Self {
            folder: session.join("commands"),
            most_bytes: MOST_BYTES,
        }
    }

    #[cfg(test)]
    pub fn at_most(self, most_bytes: u64) -> Self {
        Self { most_bytes, ..self }
    }

    /// A name that no command of this session has had. Where the session's folder cannot be
    /// written it is one that nobody can guess.
    pub fn next_id(&self, host: &Host) -> String {
        match self.next_number() {
            Ok(number) => format!("p{number}"),
            Err(error) => {
                tracing::warn!(%error, "commands of this session are not counted");
                format!("p-{}", host.random_hex(4))
            }
        }
    }

    fn next_number(&self) -> io::Result<u64> {
        let counter = self.counter();
        let _held = LockFile::take(&counter.with_extension("lock"), PATIENCE)?;
        let text = read_if_there(&counter)?.unwrap_or_default();
        // A counter that was lost must not give the names of what is still there again.
        let known = self.numbers().last().copied().unwrap_or(0);
        let number = text.trim().parse::<u64>().unwrap_or(0).max(known) + 1;
        write_file(&counter, number.to_string().as_bytes(), FileMode::Private)?;
        Ok(number)
    }

    /// Whether a name was given to some command of this session.
    pub fn was_given(&self, id: &str) -> bool {
        let given = read_if_there(&self.counter());
        let given = ok_or_warn!(given, "commands of this session are not counted").flatten();
        let given = given.and_then(|text| text.trim().parse::<u64>().ok());
        number_of(id).is_some_and(|number| given.is_some_and(|last| (1..=last).contains(&number)))
    }

    /// Keeps what a command printed, the oldest making room.
    pub fn keep(&self, job: &CommandJob) -> io::Result<()> {
        chela_files::create_private_folder(&self.folder)?;
        let state = job.state();
        let command = KeptCommand {
            id: job.id.clone(),
            command: job.command.clone(),
            status: match state.ended {
                Some(_) => report::status(job),
                None => "Ended with the program that had started it.".to_owned(),
            },
            fetches: job.fetches.is_some(),
            well: state.ended == Some(CommandEnd::Code(0)),
        };
        job.spool().hand_over(&self.output_file(&job.id))?;
        let record = serde_json::to_vec(&command).map_err(io::Error::other)?;
        write_file(&self.record_file(&job.id), &record, FileMode::Private)?;
        self.make_room(&job.id);
        Ok(())
    }

    /// A command of an earlier process and its output, where they are kept.
    pub fn find(&self, id: &str) -> Option<(KeptCommand, KeptOutput)> {
        number_of(id)?;
        let read = || {
            let record = std::fs::read(self.record_file(id))?;
            let command = serde_json::from_slice(&record)?;
            let file = File::open(self.output_file(id))?;
            let length = file.metadata()?.len();
            Ok::<_, io::Error>((command, KeptOutput { file, length }))
        };
        ok_or_debug!(read(), "what a command printed is not there", id)
    }

    /// The names of all that is kept, the oldest first.
    pub fn ids(&self) -> Vec<String> {
        let numbers = self.numbers().into_iter();
        numbers.map(|number| format!("p{number}")).collect()
    }

    /// Forgets one. Says whether there was one.
    pub fn forget(&self, id: &str) -> bool {
        if number_of(id).is_none() {
            return false;
        }
        let gone = std::fs::remove_file(self.record_file(id)).is_ok();
        let output = std::fs::remove_file(self.output_file(id)).is_ok();
        gone || output
    }

    fn make_room(&self, newest: &str) {
        let size =
            |id: &str| std::fs::metadata(self.output_file(id)).map_or(0, |metadata| metadata.len());
        let ids = self.ids();
        let mut bytes: u64 = ids.iter().map(|id| size(id)).sum();
        let mut count = ids.len();
        for id in ids.iter().filter(|id| *id != newest) {
            if bytes <= self.most_bytes && count <= MOST_COMMANDS {
                return;
            }
            bytes = bytes.saturating_sub(size(id));
            count -= 1;
            self.forget(id);
        }
    }

    /// The numbers of what is kept, the smallest first.
    fn numbers(&self) -> Vec<u64> {
        let entries = std::fs::read_dir(&self.folder).into_iter().flatten();
        let mut numbers: Vec<u64> = entries
            .flatten()
            .filter_map(|entry| {
                let name = entry.file_name();
                number_of(name.to_str()?.strip_suffix(".json")?)
            })
            .collect();
        numbers.sort_unstable();
        numbers
    }

    fn counter(&self) -> PathBuf {
        self.folder.join("last")
    }

    fn record_file(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }

    /// Where what a command prints is written, and stays if it is kept.
    pub fn output_file(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.out"))
    }
}

/// The number in a name, written as names are: whatever else a caller says is no path to a file.
fn number_of(id: &str) -> Option<u64> {
    let number: u64 = id.strip_prefix('p')?.parse().ok()?;
    (format!("p{number}") == id).then_some(number)
}

impl PrintedOutput for KeptOutput {
    fn total(&self) -> u64 {
        self.length
    }

    fn read(&self, from: u64, most: usize) -> OutputPart {
        let mut file = &self.file;
        let mut bytes = Vec::new();
        let read = file
            .seek(SeekFrom::Start(from.min(self.length)))
            .and_then(|_| file.take(most as u64).read_to_end(&mut bytes));
        if read.is_err() {
            bytes.clear();
        }
        OutputPart { bytes, lost: 0 }
    }
}
