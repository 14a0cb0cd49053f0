//! A panic becomes a report beside the log, a line in it, and a note for whoever catches it.

use std::backtrace::Backtrace;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::panic::PanicHookInfo;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use chela_core::panics::{PanicReport, note_panic, panic_message};
use chela_core::secret::Redactor;
use serde_json::{Map, Value};

use crate::file::make_private_folder;
use crate::handle::{LogHandle, LogState};
use crate::layer::spans_here;
use crate::line::{LogLevel, LogLine};
use crate::log_silence::LogSilence;

/// Longest wait for the report to be written.
const PATIENCE: Duration = Duration::from_secs(5);

/// From now on nothing is printed at a panic: it is reported, and whoever catches it speaks.
pub fn set_panic_hook(log: &LogHandle, version: &'static str) {
    let shared = Arc::clone(log.shared());
    std::panic::set_hook(Box::new(move |info| {
        // A panic in what writes the log is not reported by the same means.
        let hush = LogSilence::begin();
        let told = Told::of(info, version);
        let written = match hush {
            Some(_) => told.clone().write_elsewhere(&shared),
            None => None,
        };
        let (report, message) = written.unwrap_or_else(|| (None, without_shapes(&told.message)));
        note_panic(PanicReport {
            message,
            place: told.place,
            report,
        });
    }));
}

/// What the hook sees.
#[derive(Clone)]
struct Told {
    version: &'static str,
    message: String,
    place: Option<String>,
    thread: String,
    stack: String,
    spans: Vec<String>,
    ids: Map<String, Value>,
}

impl Told {
    fn of(info: &PanicHookInfo<'_>, version: &'static str) -> Self {
        let (spans, ids) = spans_here();
        let message = info.payload_as_str().unwrap_or(panic_message(&()));
        Self {
            version,
            message: message.to_owned(),
            place: info.location().map(ToString::to_string),
            thread: std::thread::current()
                .name()
                .unwrap_or("unnamed")
                .to_owned(),
            stack: Backtrace::force_capture().to_string(),
            spans,
            ids,
        }
    }

    /// Writes on a thread of its own: whatever goes wrong there does not end the process, which a
    /// second panic on this thread would.
    fn write_elsewhere(self, shared: &Arc<LogState>) -> Option<(Option<PathBuf>, String)> {
        let shared = Arc::clone(shared);
        let (done, written) = mpsc::channel();
        let writer = std::thread::Builder::new().spawn(move || {
            let _hush = LogSilence::begin();
            // The one who waits may have gone.
            let _ = done.send(self.write(&shared));
        });
        writer.ok()?;
        written.recv_timeout(PATIENCE).ok()
    }

    /// Where the report is, and what may be said about it.
    fn write(self, shared: &LogState) -> (Option<PathBuf>, String) {
        let clean = shared.redaction.clean_text(self.message.clone());
        let report = self.write_report(shared);
        let mut fields = Map::new();
        fields.insert("thread".to_owned(), self.thread.into());
        if let Some(place) = self.place {
            fields.insert("at".to_owned(), place.into());
        }
        match &report {
            Ok(path) => fields.insert("report".to_owned(), path.display().to_string().into()),
            Err(error) => fields.insert("unreported".to_owned(), error.to_string().into()),
        };
        shared.deliver(
            None,
            LogLine {
                time: shared.now(),
                level: LogLevel::Error,
                target: "chela_log::panic_hook".to_owned(),
                pid: std::process::id(),
                spans: self.spans,
                ids: self.ids,
                message: format!("panic: {}", self.message),
                fields,
            },
        );
        (report.ok(), clean)
    }

    fn write_report(&self, shared: &LogState) -> io::Result<PathBuf> {
        let time = shared.now();
        let stamp: String = time.chars().filter(char::is_ascii_digit).take(14).collect();
        let name = format!("panic-{stamp}-{}.txt", shared.host.random_hex(4));
        let path = shared.folder().join(name);
        make_private_folder(&path)?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        chela_files::restrict_to_owner(&mut options);
        let text = shared.redaction.clean_text(self.in_words(&time));
        options.open(&path)?.write_all(text.as_bytes())?;
        Ok(path)
    }

    fn in_words(&self, time: &str) -> String {
        let place = self.place.as_deref().unwrap_or("unknown");
        let ids: Vec<String> = self
            .ids
            .iter()
            .map(|(name, id)| format!("{name}={id}"))
            .collect();
        let spans = match self.spans.is_empty() {
            true => "none".to_owned(),
            false => format!("{} {}", self.spans.join(" > "), ids.join(" ")),
        };
        format!(
            "Chela {} hit a bug in its own code.\n\ntime     {time}\nprocess  {}\nthread   \
                {}\nmessage  {}\nplace    {place}\nwithin   {spans}\n\n{}",
            self.version,
            std::process::id(),
            self.thread,
            self.message,
            self.stack,
        )
    }
}

/// Where the values the installation holds could not be looked up.
fn without_shapes(message: &str) -> String {
    Redactor::default().redact(message).into_owned()
}
