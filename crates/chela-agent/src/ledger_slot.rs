//! The ledger of a process: opened when it is first needed, tried again while it cannot be.

use std::sync::{Arc, Mutex, MutexGuard};

use chela_core::lock;
use chela_ledger::{Ledger, LedgerError};

#[derive(Debug, Default)]
pub(crate) struct LedgerSlot(Mutex<SlotState>);

#[derive(Debug, Default)]
struct SlotState {
    ledger: Option<Arc<Ledger>>,
    /// Why there is none. Opening one may take seconds, so it is not tried at every question.
    trouble: Option<String>,
    told: bool,
}

impl LedgerSlot {
    /// The ledger, opened if that was not tried yet; `None` when it cannot be opened.
    pub fn get(&self, open: impl FnOnce() -> Result<Ledger, LedgerError>) -> Option<Arc<Ledger>> {
        let mut state = self.locked();
        if state.ledger.is_none() && state.trouble.is_none() {
            match open() {
                Ok(ledger) => state.ledger = Some(Arc::new(ledger)),
                Err(error) => state.trouble = Some(error.to_string()),
            }
        }
        state.ledger.clone()
    }

    /// A new turn is a new chance.
    pub fn try_again(&self) {
        self.locked().trouble = None;
    }

    pub fn trouble(&self) -> Option<String> {
        self.locked().trouble.clone()
    }

    /// The same for whoever tells the owner, which is done once.
    pub fn untold_trouble(&self) -> Option<String> {
        let mut state = self.locked();
        match state.told {
            true => None,
            false => {
                state.told = state.trouble.is_some();
                state.trouble.clone()
            }
        }
    }

    fn locked(&self) -> MutexGuard<'_, SlotState> {
        lock(&self.0)
    }
}
