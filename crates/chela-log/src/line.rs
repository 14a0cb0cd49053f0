//! One line of the log.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tracing::Level;

/// Longest text of one field, in bytes: a line is for reading.
const MOST_TEXT: usize = 4_096;

/// How much a line matters, the most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogLevel {
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

impl LogLevel {
    pub const ALL: [Self; 5] = [
        Self::Error,
        Self::Warn,
        Self::Info,
        Self::Debug,
        Self::Trace,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }
}

impl From<Level> for LogLevel {
    fn from(level: Level) -> Self {
        match level {
            Level::ERROR => Self::Error,
            Level::WARN => Self::Warn,
            Level::INFO => Self::Info,
            Level::DEBUG => Self::Debug,
            Level::TRACE => Self::Trace,
        }
    }
}

/// One statement, as it is kept: one JSON object on one line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LogLine {
    /// RFC 3339, in UTC, to the millisecond.
    pub time: String,
    pub level: LogLevel,
    /// The module that says it.
    pub target: String,
    pub pid: u32,
    /// What it is part of, the outermost first: `turn`, `step`, `call`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spans: Vec<String>,
    /// Their ids, by the names the ledger has for them: `turn`, `call`, `session`.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub ids: Map<String, Value>,
    pub message: String,
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub fields: Map<String, Value>,
}

impl LogLine {
    /// The line as the file keeps it, without the line's end.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Cuts what is longer than anybody reads; says whether anything was.
    pub(crate) fn shorten(&mut self) -> bool {
        let values = self.ids.values_mut().chain(self.fields.values_mut());
        let texts = values.filter_map(|value| match value {
            Value::String(text) => Some(text),
            _ => None,
        });
        let mut cut = false;
        for text in texts.chain([&mut self.message]) {
            if text.len() > MOST_TEXT {
                text.truncate(text.floor_char_boundary(MOST_TEXT));
                text.push('…');
                cut = true;
            }
        }
        cut
    }

    /// `None` for what is no line of a log.
    pub fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }
}
