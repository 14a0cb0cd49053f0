//! What a server prints and reports, kept for whoever looks for what is wrong with it.
//!
//! It is text of a stranger: cleaned, without secrets, a line at a time, and bounded. No model reads it.

use std::collections::VecDeque;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use chela_core::{Host, lock, ok_or_debug};
use chela_files::{create_private_folder, open_plain};

use crate::secret_desk::SecretDesk;

/// A log of one server is at most so long; the one before is kept beside it.
const MOST_BYTES: u64 = 256 << 10;
const LONGEST_LINE: usize = 2_000;
/// Lines kept at hand for an error.
const LAST_LINES: usize = 5;

/// The log of one server. Cheap to clone.
#[derive(Clone)]
pub struct ServerLog(Arc<Mutex<LogState>>);

struct LogState {
    path: PathBuf,
    host: Host,
    desk: Arc<SecretDesk>,
    file: Option<(File, u64)>,
    last: VecDeque<String>,
}

impl std::fmt::Debug for ServerLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("ServerLog")
    }
}

impl ServerLog {
    /// The log of a server, opened with its first line.
    pub fn of(host: &Host, prefix: &str, desk: Arc<SecretDesk>) -> Self {
        Self(Arc::new(Mutex::new(LogState {
            path: log_path(host, prefix),
            host: host.clone(),
            desk,
            file: None,
            last: VecDeque::new(),
        })))
    }

    /// Notes a line.
    pub fn note(&self, line: &str) {
        let mut state = lock(&self.0);
        let short: String = line.trim_end().chars().take(LONGEST_LINE).collect();
        let clean = state.desk.redact(&short);
        let clean = chela_core::sanitize::literal(&clean).into_owned();
        if clean.trim().is_empty() {
            return;
        }
        if state.last.len() == LAST_LINES {
            state.last.pop_front();
        }
        state.last.push_back(clean.clone());
        ok_or_debug!(state.write(&clean), "the log of a server is not written");
    }

    /// The newest lines.
    pub fn last_lines(&self) -> Vec<String> {
        lock(&self.0).last.iter().cloned().collect()
    }
}

impl LogState {
    fn write(&mut self, line: &str) -> std::io::Result<()> {
        let path = self.path.clone();
        let now = self.host.unix_time();
        let line = format!("{now} {line}\n");
        if self.file.is_none() {
            self.file = Some(open_log(&path)?);
        }
        let Some((file, length)) = &mut self.file else {
            return Ok(());
        };
        file.write_all(line.as_bytes())?;
        *length += line.len() as u64;
        if *length > MOST_BYTES {
            self.file = None;
            std::fs::rename(&path, older(&path))?;
        }
        Ok(())
    }
}

fn open_log(path: &Path) -> std::io::Result<(File, u64)> {
    if let Some(folder) = path.parent() {
        create_private_folder(folder)?;
    }
    let file = open_plain(path, OpenOptions::new().append(true).create(true))?;
    chela_files::make_private(path)?;
    let length = file.metadata()?.len();
    Ok((file, length))
}

fn older(path: &Path) -> PathBuf {
    path.with_extension("log.1")
}

/// Where the log of a server lies.
pub fn log_path(host: &Host, prefix: &str) -> PathBuf {
    let folder = host.state_dir().join("logs").join("mcp");
    folder.join(format!("{prefix}.log"))
}

/// What a log says, the oldest line first: seconds since 1970, and what was printed.
pub fn read_log(path: &Path) -> std::io::Result<Vec<(u64, String)>> {
    let mut lines = Vec::new();
    for path in [older(path), path.to_owned()] {
        let text = chela_files::read_if_there(&path)?;
        for line in text.unwrap_or_default().lines() {
            if let Some((at, line)) = line.split_once(' ')
                && let Ok(at) = at.parse()
            {
                lines.push((at, line.to_owned()));
            }
        }
    }
    Ok(lines)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use chela_core::Host;

    use super::{MOST_BYTES, ServerLog, log_path, read_log};
    use crate::secret_desk::SecretDesk;

    #[test]
    fn a_log_is_clean_bounded_and_without_secrets() {
        let home = tempfile::tempdir().unwrap();
        let host = Host::fixed(home.path());
        let desk = SecretDesk::new(Arc::default());
        desk.learn("key", "very-secret-value-1234567890");
        let log = ServerLog::of(&host, "docs", desk);
        log.note("started \u{1b}[31mred\u{1b}[0m with very-secret-value-1234567890");
        log.note("   ");
        let path = log_path(&host, "docs");
        let lines = read_log(&path).unwrap();
        assert_eq!(lines.len(), 1);
        assert!(!lines[0].1.contains("very-secret"), "{lines:?}");
        assert!(!lines[0].1.contains('\u{1b}'), "{lines:?}");
        for _ in 0..400 {
            log.note(&"x".repeat(5_000));
        }
        let on_disk = std::fs::metadata(&path).map_or(0, |file| file.len());
        assert!(on_disk <= MOST_BYTES);
        assert_eq!(log.last_lines().len(), 5);
    }
}
