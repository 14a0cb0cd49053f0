//! Where the chain ends at the moment, for everybody who adds to it in one group.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use chela_core::secret::Redactor;
use chela_store::Durability;
use chela_store::engine::{GroupWatch, SqliteEngine};

use super::Chain;
use super::head::{Found, Head, Lock};
use crate::store::Trouble;

/// The end of a chain while a group of entries is added to it: the lock between processes is
/// held from before the transaction until the head is written.
#[derive(Debug, Clone)]
pub(crate) struct ChainEnd(Arc<Mutex<Group>>);

#[derive(Debug)]
struct Group {
    lock: Option<Lock>,
    head: Found,
    /// The newest entry of this group.
    end: Option<Head>,
}

impl ChainEnd {
    /// Follows every group that is written.
    pub fn watching(engine: &SqliteEngine) -> Self {
        let end = Self(Arc::new(Mutex::new(Group {
            lock: None,
            head: Found::Missing,
            end: None,
        })));
        engine.watch(Box::new(HeadKeeper {
            ledger: engine.path().to_owned(),
            end: end.clone(),
        }));
        end
    }

    /// Lets `work` add to the chain. What it added counts if it succeeds.
    pub fn extend<T>(
        &self,
        now: u64,
        redactor: Arc<Redactor>,
        work: impl FnOnce(&mut Chain) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        let mut group = self.locked();
        let mut chain = group.chain(now, redactor);
        let value = work(&mut chain)?;
        group.end = chain.end;
        Ok(value)
    }

    /// The same for what is taken back.
    pub fn pretend<T>(
        &self,
        now: u64,
        redactor: Arc<Redactor>,
        work: impl FnOnce(&mut Chain) -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        let mut chain = self.locked().chain(now, redactor);
        work(&mut chain)
    }

    fn locked(&self) -> MutexGuard<'_, Group> {
        // Work that panicked has not changed it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Group {
    fn chain(&self, now: u64, redactor: Arc<Redactor>) -> Chain {
        Chain {
            end: self.end,
            head: self.head,
            now,
            redactor,
        }
    }
}

struct HeadKeeper {
    ledger: PathBuf,
    end: ChainEnd,
}

impl GroupWatch for HeadKeeper {
    fn begin(&mut self) -> Result<(), Trouble> {
        let lock = Lock::take(&self.ledger)?;
        *self.end.locked() = Group {
            head: lock.read(),
            lock: Some(lock),
            end: None,
        };
        Ok(())
    }

    fn committed(&mut self, _: Durability) -> Result<(), Trouble> {
        let group = self.end.locked();
        match (&group.lock, group.end) {
            (Some(lock), Some(end)) => lock.write(end),
            _ => Ok(()),
        }
    }

    fn end(&mut self) {
        self.end.locked().lock = None;
    }
}
