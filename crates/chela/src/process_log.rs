//! The log of this process: what was typed, the environment and the config decide what goes where.

use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use chela_config::LoadedConfig;
use chela_config::model::{ConsoleStyle as WrittenStyle, LogLevel as WrittenLevel, Logging};
use chela_core::secret::{Redactor, SecretPattern};
use chela_core::{Host, vars};
use chela_log::{
    ConsoleSettings, ConsoleStyle, LogFilter, LogHandle, LogRedaction, LogSettings, set_panic_hook,
};
use tracing::level_filters::LevelFilter;

use crate::cli::ColorWhen;
use crate::fail::CommandError;
use crate::screen::print_beside;

/// One per process, as what listens to `tracing` is.
static LOG: OnceLock<ProcessLog> = OnceLock::new();

struct ProcessLog {
    handle: LogHandle,
    host: Host,
    /// What was asked for on the command line or in the environment.
    asked: Option<LogFilter>,
    colour: bool,
}

/// Begins to listen. Where lines go is decided when the config is known.
pub fn begin(host: &Host, typed: Option<&str>, colour: ColorWhen) -> Result<(), CommandError> {
    let asked = match (typed, host.var(vars::LOG)) {
        (Some(typed), _) => {
            let filter = LogFilter::parse(typed)
                .map_err(|error| CommandError::usage(format!("--log: {error}")));
            Some(filter?)
        }
        (None, Some(set)) => match LogFilter::parse(set) {
            Ok(filter) => Some(filter),
            // Set somewhere for good: no reason to refuse every command.
            Err(error) => {
                print_beside(format_args!("warning: {}: {error}", vars::LOG));
                None
            }
        },
        (None, None) => None,
    };
    let colour = match colour {
        ColorWhen::Always => true,
        ColorWhen::Never => false,
        ColorWhen::Auto => {
            std::io::stderr().is_terminal()
                && !host.env.contains_key(vars::NO_COLOR)
                && host.var("TERM") != Some("dumb")
        }
    };
    let standard = settings_of(host, asked.as_ref(), colour, &Logging::default());
    let for_secrets = host.clone();
    let redaction = LogRedaction::new(move || redactor_of_config(&for_secrets));
    // Somebody who listens already listens instead, and there is one log in a process.
    if let Ok(handle) = LogHandle::install(host, standard, redaction) {
        set_panic_hook(&handle, env!("CARGO_PKG_VERSION"));
        let _ = LOG.set(ProcessLog {
            handle,
            host: host.clone(),
            asked,
            colour,
        });
    }
    Ok(())
}

/// The config is known: lines go where it says.
pub fn configure(loaded: &LoadedConfig) {
    if let Some(log) = LOG.get() {
        let logging = &loaded.config.logging;
        let settings = settings_of(&log.host, log.asked.as_ref(), log.colour, logging);
        log.handle.configure(settings);
    }
}

/// Hides what the agents of this process know, and what they learn.
pub fn hide_with(redactor: Arc<Redactor>) {
    if let Some(log) = LOG.get() {
        log.handle.hide_with(redactor);
    }
}

/// The terminal is drawn on from here on: lines go to the file alone, unless standard error leads
/// somewhere else.
pub fn leave_terminal() {
    if let Some(log) = LOG.get()
        && std::io::stderr().is_terminal()
    {
        log.handle.leave_terminal();
    }
}

/// Whether lines are shown where a chat would draw.
pub fn is_on_terminal() -> bool {
    let shown = LOG.get().is_some_and(|log| log.handle.is_shown());
    shown && std::io::stderr().is_terminal()
}

/// Lets out what waits.
pub fn finish() {
    if let Some(log) = LOG.get() {
        log.handle.finish();
    }
}

/// The file lines are kept in.
pub fn file_of(host: &Host, loaded: &LoadedConfig) -> PathBuf {
    settings_of(host, None, false, &loaded.config.logging)
        .file
        .path
}

fn settings_of(
    host: &Host,
    asked: Option<&LogFilter>,
    colour: bool,
    logging: &Logging,
) -> LogSettings {
    let mut settings = LogSettings::standard(host);
    let kept = LogFilter::level(level_of(logging.level));
    // What is looked for closely is worth keeping, unless nothing is to be kept.
    let also = asked.filter(|_| !kept.is_off()).cloned();
    settings.file.filters = [kept].into_iter().chain(also).collect();
    if let Some(file) = &logging.file {
        settings.file.path = host.expand_from(file, &host.state_dir());
    }
    settings.file.most = logging.max_file_bytes.unwrap_or(settings.file.most);
    let written = logging
        .console_level
        .map(|level| LogFilter::level(level_of(level)));
    let filter = asked.cloned().or(written).filter(|filter| !filter.is_off());
    settings.console = filter.map(|filter| ConsoleSettings {
        filter,
        style: match logging.console_style {
            Some(WrittenStyle::Compact) => ConsoleStyle::Compact,
            Some(WrittenStyle::Json) => ConsoleStyle::Json,
            Some(WrittenStyle::Pretty) | None => ConsoleStyle::Pretty,
        },
        colour,
    });
    settings
}

fn level_of(level: WrittenLevel) -> LevelFilter {
    match level {
        WrittenLevel::Silent => LevelFilter::OFF,
        WrittenLevel::Fatal | WrittenLevel::Error => LevelFilter::ERROR,
        WrittenLevel::Warn => LevelFilter::WARN,
        WrittenLevel::Info => LevelFilter::INFO,
        WrittenLevel::Debug => LevelFilter::DEBUG,
        WrittenLevel::Trace => LevelFilter::TRACE,
    }
}

/// Every secret the installation holds, for a command that opens no agents. Made when the first
/// line needs it.
fn redactor_of_config(host: &Host) -> Redactor {
    let loaded = chela_config::load(host);
    let patterns = loaded.config.logging.redact_patterns.iter();
    let patterns = patterns
        .filter_map(|text| SecretPattern::parse(text).ok())
        .collect();
    Redactor::new(None, chela_agent::known_secrets(host, &loaded)).with_patterns(patterns)
}
