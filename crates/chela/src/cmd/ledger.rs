//! The ledger, for the commands that read it.

use chela_core::Host;
use chela_ledger::{Ledger, LedgerError, ledger_file};
use chela_model::{Models, Prices};
use chela_session::{RecordFile, RecordLoss};
use chela_store::{FileState, block_on};

use super::CommandOutcome;
use crate::fail::{CommandError, CommandExit};
use crate::screen::Screen;

impl From<LedgerError> for CommandError {
    fn from(error: LedgerError) -> Self {
        let words = error.to_string();
        let cause = std::error::Error::source(&error)
            .map(ToString::to_string)
            .filter(|cause| !words.contains(cause));
        Self::new(match cause {
            Some(cause) => format!("{words}: {cause}"),
            None => words,
        })
    }
}

const NAME: &str = "the ledger";

/// Says so when there was a ledger that is empty or gone now: it is on the list of files that
/// were ever made, or what was written with it still lies beside it.
pub fn ledger_loss(host: &Host) -> Option<RecordLoss> {
    let path = ledger_file(host);
    let found = FileState::of(&path);
    let beside = ["head", "lock"].map(|extension| path.with_extension(extension));
    match beside.iter().any(|file| file.exists()) {
        true => RecordLoss::of(NAME, &path, found),
        false => RecordFile::look(NAME, &path).missing(found),
    }
}

/// Puts the ledger on the list of files that were ever made, if there is one.
pub fn note_ledger(host: &Host) {
    let path = ledger_file(host);
    if FileState::of(&path) == FileState::Present {
        RecordFile::look(NAME, &path).note_opened(FileState::Present);
    }
}

/// Runs a command on the ledger; where there is none, says so.
pub fn with_ledger(
    host: &Host,
    screen: &mut Screen,
    run: impl FnOnce(&Ledger, &mut Screen) -> CommandOutcome,
) -> CommandOutcome {
    if let Some(loss) = ledger_loss(host) {
        return Err(CommandError::new(loss.words_before_new_one()));
    }
    match Ledger::open_existing(host)? {
        Some(ledger) => run(&ledger, screen),
        None => tell_none(screen),
    }
}

pub fn tell_none(screen: &mut Screen) -> CommandOutcome {
    screen.line("Nothing is recorded yet: the first message to a model starts it.")?;
    Ok(CommandExit::Fine)
}

/// The id of the session that is meant.
pub fn resolve_session(ledger: &Ledger, given: Option<&str>) -> Result<String, CommandError> {
    block_on(ledger.find_session(given))?.ok_or_else(|| match given {
        Some(session) => CommandError::new(format!("nothing is recorded for `{session}`"))
            .hint("`chela turn list` shows what is recorded"),
        None => CommandError::new("nothing is recorded yet")
            .hint("the first message to a model starts the record: `chela chat`"),
    })
}

/// What a model costs, as far as the config or the table knows.
pub fn model_prices(models: &Models, model: &str) -> Option<Prices> {
    models.resolve(model).ok()?.info().cost
}
