//! What the process holds: where lines go, and how much of them.

use std::io::Write;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use chela_core::secret::Redactor;
use chela_core::{Host, lock};
use tracing::Metadata;
use tracing::level_filters::LevelFilter;

use crate::console::{ConsoleStyle, for_console};
use crate::file::LogFile;
use crate::filter::LogFilter;
use crate::line::LogLine;
use crate::log_silence::LogSilence;
use crate::redaction::{CleanLine, LogRedaction};

/// Lines that wait for the config at most; with more the defaults count.
const MOST_WAITING: usize = 256;
/// Size of the file unless the config names one.
const FILE_BYTES: u64 = 5 * 1024 * 1024;

/// Where lines go, and how much of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogSettings {
    pub file: FileSettings,
    /// `None`: nothing is shown.
    pub console: Option<ConsoleSettings>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSettings {
    pub path: PathBuf,
    /// What any of these lets through is kept.
    pub filters: Vec<LogFilter>,
    /// Largest file, in bytes.
    pub most: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConsoleSettings {
    pub filter: LogFilter,
    pub style: ConsoleStyle,
    pub colour: bool,
}

impl LogSettings {
    /// Everything worth knowing later into `logs/chela.log`, nothing on the terminal.
    pub fn standard(host: &Host) -> Self {
        Self {
            file: FileSettings {
                path: host.state_dir().join("logs").join("chela.log"),
                filters: vec![LogFilter::level(LevelFilter::INFO)],
                most: FILE_BYTES,
            },
            console: None,
        }
    }
}

/// The log of this process.
#[derive(Debug, Clone)]
pub struct LogHandle(Arc<LogState>);

impl LogHandle {
    pub(crate) fn new(host: &Host, standard: LogSettings, redaction: LogRedaction) -> Self {
        Self(Arc::new(LogState {
            host: host.clone(),
            filters: RwLock::new(Filters::of(&standard)),
            outlets: Mutex::new(Outlets::Waiting {
                lines: Vec::new(),
                standard,
            }),
            redaction,
        }))
    }

    /// Says where lines go; those that waited go there too.
    pub fn configure(&self, settings: LogSettings) {
        self.0.open(settings);
        tracing::callsite::rebuild_interest_cache();
    }

    /// Hides what this redactor knows, and what it learns.
    pub fn hide_with(&self, redactor: Arc<Redactor>) {
        self.0.redaction.share(redactor);
    }

    /// Shows nothing on standard error any more: a chat draws there.
    pub fn leave_terminal(&self) {
        if let Outlets::Open(open) = &mut *self.0.outlets() {
            open.console = None;
        }
    }

    /// Whether lines are shown on standard error.
    pub fn is_shown(&self) -> bool {
        match &*self.0.outlets() {
            Outlets::Waiting { standard, .. } => standard.console.is_some(),
            Outlets::Open(open) => open.console.is_some(),
        }
    }

    /// Lets out what waits, at the end of the process.
    pub fn finish(&self) {
        self.0.open_standard();
    }

    pub(crate) fn shared(&self) -> &Arc<LogState> {
        &self.0
    }
}

/// What the layer and the handle share.
#[derive(Debug)]
pub(crate) struct LogState {
    pub host: Host,
    pub redaction: LogRedaction,
    filters: RwLock<Filters>,
    outlets: Mutex<Outlets>,
}

#[derive(Debug)]
struct Filters {
    file: Vec<LogFilter>,
    console: Option<LogFilter>,
}

impl Filters {
    fn of(settings: &LogSettings) -> Self {
        Self {
            file: settings.file.filters.clone(),
            console: settings.console.as_ref().map(|one| one.filter.clone()),
        }
    }

    fn in_file(&self, metadata: &Metadata<'_>) -> bool {
        self.file.iter().any(|filter| filter.allows(metadata))
    }

    fn on_console(&self, metadata: &Metadata<'_>) -> bool {
        self.console
            .as_ref()
            .is_some_and(|filter| filter.allows(metadata))
    }
}

/// Which ways out a line takes.
#[derive(Debug, Clone, Copy)]
struct GoesTo {
    file: bool,
    console: bool,
}

#[derive(Debug)]
enum Outlets {
    Waiting {
        lines: Vec<(LogLine, GoesTo)>,
        standard: LogSettings,
    },
    Open(OpenOutlets),
}

#[derive(Debug)]
struct OpenOutlets {
    file: LogFile,
    console: Option<(ConsoleStyle, bool)>,
    /// Why the file cannot be written, once told.
    told: bool,
}

impl LogState {
    pub fn now(&self) -> String {
        let millis = i64::try_from(self.host.unix_millis()).unwrap_or(i64::MAX);
        let stamp =
            jiff::Timestamp::from_millisecond(millis).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        format!("{stamp:.3}")
    }

    pub fn allows(&self, metadata: &Metadata<'_>) -> bool {
        let filters = self.filters.read().unwrap_or_else(PoisonError::into_inner);
        filters.in_file(metadata) || filters.on_console(metadata)
    }

    pub fn most(&self) -> LevelFilter {
        let filters = self.filters.read().unwrap_or_else(PoisonError::into_inner);
        let all = filters.file.iter().chain(&filters.console);
        all.map(LogFilter::most).max().unwrap_or(LevelFilter::OFF)
    }

    /// Takes a line to where lines go. Without metadata it goes wherever anything goes.
    pub fn deliver(&self, metadata: Option<&Metadata<'_>>, line: LogLine) {
        let goes = {
            let filters = self.filters.read().unwrap_or_else(PoisonError::into_inner);
            GoesTo {
                file: match metadata {
                    Some(metadata) => filters.in_file(metadata),
                    None => filters.file.iter().any(|filter| !filter.is_off()),
                },
                console: metadata.is_none_or(|metadata| filters.on_console(metadata)),
            }
        };
        let written = match &mut *self.outlets() {
            Outlets::Waiting { lines, .. } => {
                lines.push((line, goes));
                if lines.len() < MOST_WAITING {
                    return;
                }
                None
            }
            Outlets::Open(_) => Some(line),
        };
        match written {
            Some(line) => self.write(line, goes),
            None => self.open_standard(),
        }
    }

    /// Every way out leads past the redaction. It may have to read the config first, so nothing
    /// is locked meanwhile.
    fn write(&self, line: LogLine, goes: GoesTo) {
        let line = self.redaction.clean(line);
        if let Outlets::Open(open) = &mut *self.outlets() {
            open.write(&line, goes);
        }
    }

    /// Where reports of panics go: beside the log.
    pub fn folder(&self) -> PathBuf {
        let path = match &*self.outlets() {
            Outlets::Waiting { standard, .. } => standard.file.path.clone(),
            Outlets::Open(open) => open.file.path().to_owned(),
        };
        path.parent().map(PathBuf::from).unwrap_or_default()
    }

    pub fn open_standard(&self) {
        let standard = match &*self.outlets() {
            Outlets::Waiting { standard, .. } => standard.clone(),
            Outlets::Open(_) => return,
        };
        self.open(standard);
    }

    fn open(&self, settings: LogSettings) {
        // What makes the redactor for the lines that wait may have something to say itself.
        let _hush = LogSilence::begin();
        *self.filters.write().unwrap_or_else(PoisonError::into_inner) = Filters::of(&settings);
        let console = settings.console.map(|one| (one.style, one.colour));
        let open = OpenOutlets {
            file: LogFile::new(settings.file.path, settings.file.most),
            console,
            told: false,
        };
        let before = std::mem::replace(&mut *self.outlets(), Outlets::Open(open));
        if let Outlets::Waiting { lines, .. } = before {
            for (line, goes) in lines {
                self.write(line, goes);
            }
        }
    }

    fn outlets(&self) -> MutexGuard<'_, Outlets> {
        lock(&self.outlets)
    }
}

impl OpenOutlets {
    fn write(&mut self, line: &CleanLine, goes: GoesTo) {
        if let Some((style, colour)) = self.console.filter(|_| goes.console) {
            let text = for_console(&line.line, &line.json, style, colour);
            // Nobody reads it: then nobody misses it.
            let _ = writeln!(std::io::stderr().lock(), "{text}");
        }
        if goes.file
            && let Err(error) = self.file.append(&line.json)
            && self.console.is_some()
            && !std::mem::replace(&mut self.told, true)
        {
            let path = self.file.path().display();
            let _ = writeln!(
                std::io::stderr().lock(),
                "the log cannot be written to {path}: {error}"
            );
        }
    }
}

#[cfg(test)]
mod tests;
