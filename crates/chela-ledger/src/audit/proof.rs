//! Whether the proofs of a chain's entries are this installation's.

use chela_store::{AuditEntry, ChainId};

use super::EntrySeq;
use crate::installation_key::InstallationKey;

/// Looks at the proofs of a chain's entries, in order.
#[derive(Default)]
pub(super) struct ProofCheck {
    key: Option<InstallationKey>,
    /// Entries that carry one, where there is no key to check it with.
    unchecked: Option<EntrySeq>,
    wrong: OddEntries,
    missing: OddEntries,
}

#[derive(Default)]
struct OddEntries {
    first: Option<EntrySeq>,
    count: u64,
}

impl OddEntries {
    fn add(&mut self, seq: EntrySeq) {
        self.first.get_or_insert(seq);
        self.count += 1;
    }

    fn told(&self, does: &str) -> Option<(EntrySeq, String)> {
        let first = self.first?;
        let words = match self.count {
            1 => format!("entry {first} {does}"),
            count => format!("from entry {first} on, {count} entries: each {does}"),
        };
        Some((first, words))
    }
}

impl ProofCheck {
    pub fn with(key: Option<InstallationKey>) -> Self {
        Self {
            key,
            ..Self::default()
        }
    }

    pub fn take(&mut self, chain: &ChainId, entry: &AuditEntry) {
        match (&self.key, entry.proof) {
            (None, None) => {}
            (None, Some(_)) => {
                self.unchecked.get_or_insert(entry.seq);
            }
            (Some(key), Some(proof)) if key.prove(chain, entry) == proof => {}
            (Some(_), Some(_)) => self.wrong.add(entry.seq),
            (Some(key), None) if key.covers(chain, entry.seq) => self.missing.add(entry.seq),
            (Some(_), None) => {}
        }
    }

    /// What does not fit, and from where on.
    pub fn finish(&self) -> Vec<(EntrySeq, String)> {
        let gone = self.unchecked.map(|seq| {
            (
                seq,
                format!(
                    "the installation's key is missing, so nothing proves that entry {seq} and \
                        later ones were written here"
                ),
            )
        });
        let wrong = self.wrong.told("was not written by this installation");
        let missing = self
            .missing
            .told("has no proof that this installation wrote it");
        gone.into_iter().chain(wrong).chain(missing).collect()
    }
}
