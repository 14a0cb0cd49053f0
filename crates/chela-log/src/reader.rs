//! Reading the log again: the newest lines, and those that come.

use std::collections::VecDeque;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use chela_files::open_plain;

use crate::file::{GENERATIONS, generation, is_same};
use crate::line::{LogLevel, LogLine};

/// Which lines are wanted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogQuery {
    /// This level and what matters more.
    pub level: LogLevel,
    /// Not before this moment, in milliseconds since 1970.
    pub since: Option<i64>,
    /// Of the turn whose id begins like this.
    pub turn: Option<String>,
}

impl Default for LogQuery {
    fn default() -> Self {
        Self {
            level: LogLevel::Trace,
            since: None,
            turn: None,
        }
    }
}

impl LogQuery {
    pub fn wants(&self, line: &LogLine) -> bool {
        let in_time = self.since.is_none_or(|since| {
            let time = line.time.parse::<jiff::Timestamp>();
            time.is_ok_and(|time| time.as_millisecond() >= since)
        });
        let of_turn = self.turn.as_deref().is_none_or(|turn| {
            let id = line.ids.get("turn").and_then(|id| id.as_str());
            id.is_some_and(|id| id.starts_with(turn))
        });
        line.level <= self.level && in_time && of_turn
    }

    /// A line of the file, if it is wanted.
    fn taken(&self, text: &str) -> Option<LogLine> {
        // Most lines are not of the turn, and need not be read to see that.
        if self
            .turn
            .as_deref()
            .is_some_and(|turn| !text.contains(turn))
        {
            return None;
        }
        LogLine::parse(text).filter(|line| self.wants(line))
    }
}

/// Most bytes of one file that are looked through, from its end: several times what a log may
/// grow to.
const MOST_BYTES: u64 = 64 << 20;
/// Bytes that are read at once.
const STRETCH: u64 = 1 << 16;
/// Longest line of a log, by far.
const MOST_LINE: u64 = 1 << 20;

/// The newest lines that are wanted, at most `most`, the oldest first. A log that is not there
/// yet has none.
pub fn read_newest(path: &Path, query: &LogQuery, most: usize) -> io::Result<Vec<LogLine>> {
    let mut found = VecDeque::new();
    for older in 0..=GENERATIONS {
        let Some(log) = OpenLog::open(&generation(path, older))? else {
            continue;
        };
        read_backwards(log.file, |line| {
            if found.len() < most
                && let Some(line) = query.taken(line)
            {
                found.push_front(line);
            }
            found.len() < most
        })?;
    }
    Ok(found.into())
}

/// Gives the lines of a file from its end on, as long as they are wanted.
fn read_backwards(mut file: File, mut each: impl FnMut(&str) -> bool) -> io::Result<()> {
    let mut at = file.metadata()?.len();
    let end = at.saturating_sub(MOST_BYTES);
    // What is read of a line whose beginning lies before.
    let mut rest: Vec<u8> = Vec::new();
    while at > end {
        let from = at.saturating_sub(STRETCH).max(end);
        file.seek(SeekFrom::Start(from))?;
        let mut bytes = Vec::new();
        (&mut file).take(at - from).read_to_end(&mut bytes)?;
        let first_end = bytes.iter().position(|byte| *byte == b'\n');
        bytes.append(&mut rest);
        at = from;
        let begins = match (at > 0, first_end) {
            (false, _) => 0,
            (true, Some(first)) => first + 1,
            (true, None) => bytes.len(),
        };
        let text = String::from_utf8_lossy(bytes.get(begins..).unwrap_or_default());
        if !text.lines().rev().all(&mut each) {
            return Ok(());
        }
        bytes.truncate(begins);
        // A line that long is none.
        match bytes.len() as u64 <= MOST_LINE {
            true => rest = bytes,
            false => rest.clear(),
        }
    }
    Ok(())
}

/// Follows a log from its present end on, also when it is renamed.
#[derive(Debug)]
pub struct LogFollower {
    path: PathBuf,
    query: LogQuery,
    /// The file that is read, and those before it that a slow process may still append to.
    open: VecDeque<OpenLog>,
    /// Every file that was there at the beginning or was opened since: it is no news, whatever it
    /// is called by now.
    known: Vec<Metadata>,
}

#[derive(Debug)]
struct OpenLog {
    file: File,
    /// A line whose end is not there yet.
    begun: Vec<u8>,
}

impl LogFollower {
    /// Lines written from now on.
    pub fn from_now(path: &Path, query: LogQuery) -> io::Result<Self> {
        let mut follower = Self {
            path: path.to_owned(),
            query,
            open: VecDeque::new(),
            known: Vec::new(),
        };
        for older in 0..=GENERATIONS {
            let Some(mut log) = OpenLog::open(&generation(path, older))? else {
                continue;
            };
            follower.known.push(log.file.metadata()?);
            if older == 0 {
                log.file.seek(SeekFrom::End(0))?;
                follower.open.push_back(log);
            }
        }
        Ok(follower)
    }

    /// The lines that came since the last look.
    pub fn read_more(&mut self) -> io::Result<Vec<LogLine>> {
        self.open_new_files()?;
        let mut lines = Vec::new();
        for log in &mut self.open {
            log.read_into(&self.query, &mut lines)?;
        }
        // Whoever had the file before last open has noticed by now.
        while self.open.len() > 2 {
            self.open.pop_front();
        }
        Ok(lines)
    }

    /// Opens what was begun since the last look.
    fn open_new_files(&mut self) -> io::Result<()> {
        let mut fresh = VecDeque::new();
        for older in 0..=GENERATIONS {
            let Some(log) = OpenLog::open(&generation(&self.path, older))? else {
                continue;
            };
            let about = log.file.metadata()?;
            // A number is given again when its file is gone, a time of birth is not.
            let is_known = |known: &Metadata| {
                is_same(known, &about) && known.created().ok() == about.created().ok()
            };
            if self.known.iter().any(is_known) {
                break;
            }
            self.known.push(about);
            fresh.push_front(log);
        }
        self.open.extend(fresh);
        Ok(())
    }
}

impl OpenLog {
    fn open(path: &Path) -> io::Result<Option<Self>> {
        match open_plain(path, OpenOptions::new().read(true)) {
            Ok(file) => Ok(Some(Self {
                file,
                begun: Vec::new(),
            })),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    fn read_into(&mut self, query: &LogQuery, lines: &mut Vec<LogLine>) -> io::Result<()> {
        self.file.read_to_end(&mut self.begun)?;
        let Some(end) = self.begun.iter().rposition(|byte| *byte == b'\n') else {
            return Ok(());
        };
        let rest = self.begun.split_off(end + 1);
        let whole = std::mem::replace(&mut self.begun, rest);
        let text = String::from_utf8_lossy(&whole);
        lines.extend(text.lines().filter_map(|line| query.taken(line)));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
