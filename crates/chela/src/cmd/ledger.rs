//! The ledger, for the commands that read it.

use chela_core::Host;
use chela_ledger::{Ledger, LedgerError};
use chela_model::{Models, Prices};
use chela_store::block_on;

use super::Outcome;
use crate::fail::{Exit, Fail};
use crate::screen::Screen;

impl From<LedgerError> for Fail {
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

/// Runs a command on the ledger; where there is none, says so.
pub fn with(
    host: &Host,
    screen: &mut Screen,
    run: impl FnOnce(&Ledger, &mut Screen) -> Outcome,
) -> Outcome {
    match Ledger::open_existing(host)? {
        Some(ledger) => run(&ledger, screen),
        None => tell_none(screen),
    }
}

pub fn tell_none(screen: &mut Screen) -> Outcome {
    screen.line("Nothing is on record yet: the first message to a model begins it.")?;
    Ok(Exit::Fine)
}

/// The id of the session that is meant.
pub fn session(ledger: &Ledger, given: Option<&str>) -> Result<String, Fail> {
    block_on(ledger.find_session(given))?.ok_or_else(|| {
        let what = given.unwrap_or("of any conversation");
        Fail::new(format!("nothing is on record for `{what}`"))
            .hint("chela turn list shows what is on record")
    })
}

/// What a model costs, as far as the config or the table knows.
pub fn prices(models: &Models, model: &str) -> Option<Prices> {
    models.resolve(model).ok()?.info().cost
}
