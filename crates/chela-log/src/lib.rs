//! What a process did, line by line, for whoever has to find out later.
//!
//! The crates of Chela say with `tracing` what they decide, start, retry, swallow and drop, in
//! spans whose ids are those of the ledger. Here that becomes lines: taken past one redaction,
//! written into a file that several processes share and that does not grow without end, shown on
//! standard error when somebody asks for it, and read again. A panic becomes a report and a line.
//!
//! Whoever runs the process installs it once ([`LogHandle::install`]); it costs nothing before the
//! first statement that is let through. Until the config is known ([`LogHandle::configure`]) lines
//! wait in memory, so that none goes to the wrong file.

// This crate reads bytes of others: none of them may end a turn.
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::string_slice))]

mod console;
mod file;
mod filter;
mod handle;
mod layer;
mod line;
mod log_silence;
mod panic_hook;
mod reader;
mod redaction;

pub use console::{ConsoleStyle, pretty};
pub use file::{GENERATIONS, LogFile, generation};
pub use filter::{FilterError, LogFilter};
pub use handle::{ConsoleSettings, FileSettings, LogHandle, LogSettings};
pub use line::{LogLevel, LogLine};
pub use panic_hook::set_panic_hook;
pub use reader::{LogFollower, LogQuery, read_newest};
pub use redaction::LogRedaction;
