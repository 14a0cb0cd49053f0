//! The log as it grows, for a client that follows it.

use std::path::Path;

use chela_core::ok_or_debug;
use chela_log::{LogFollower, LogLevel, LogQuery};
use serde_json::{Value, json};

/// Most lines told at once: what a burst brings besides is in the file.
const MOST_LINES: usize = 200;

/// Lines from now on.
#[derive(Debug)]
pub(super) struct LogTail(LogFollower);

impl LogTail {
    pub fn from_now(file: &Path, level: LogLevel) -> Result<Self, std::io::Error> {
        let query = LogQuery {
            level,
            ..LogQuery::default()
        };
        LogFollower::from_now(file, query).map(Self)
    }

    /// What was written since the last look, redacted as it stands in the file.
    pub fn read_more(&mut self) -> Vec<Value> {
        let lines = ok_or_debug!(self.0.read_more(), "the log cannot be followed");
        let lines = lines.unwrap_or_default();
        let left_out = lines.len().saturating_sub(MOST_LINES);
        let newest = lines.iter().skip(left_out);
        let told =
            newest.map(|line| serde_json::from_str(&line.to_json()).unwrap_or_else(|_| json!({})));
        told.collect()
    }
}
