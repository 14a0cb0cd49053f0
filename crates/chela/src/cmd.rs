//! What each command does.

mod reference;

use chela_core::Host;

use crate::cli::Command;
use crate::fail::{Exit, Fail};
use crate::screen::Screen;

/// A command either ends or says why it could not.
pub type Outcome = Result<Exit, Fail>;

pub fn run(_host: &Host, screen: &mut Screen, command: Option<Command>) -> Outcome {
    match command {
        Some(Command::Completion { shell }) => reference::completion(screen, shell),
        Some(Command::Man) => reference::man(screen),
        Some(Command::Docs { dir }) => reference::write_pages(&dir),
        _ => Err(Fail::new("not built yet")),
    }
}
