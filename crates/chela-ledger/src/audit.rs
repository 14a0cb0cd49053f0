//! The audit chain: what was decided and done, each entry bound to the one before it.
//!
//! An entry's hash covers its place, its time, its content and the hash before it; the newest one
//! is also noted apart from the chain. So an entry cannot be changed, left out, moved or cut off
//! without that being seen, and where. Every agent or node that writes has a chain of its own. Who
//! wrote an entry is shown by a proof under the installation's key (`installation_key.rs`).

mod check;
mod export;
mod proof;

use std::sync::Arc;

use chela_core::ContentHash;
use chela_core::secret::Redactor;
use chela_store::{
    AuditEntry, ChainHead, ChainId, EntryQuery, LedgerTransaction, NotedHead, WriteDurability,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::installation_key::InstallationKey;
use crate::ledger::{Ledger, LedgerError, LedgerFuture};

pub(crate) use check::ChainCheck;
pub use check::{DamageKind, DamagedPlace, LedgerDamage};
pub use export::{ExportError, ExportReport, verify_export};

/// What an entry is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AuditKind {
    /// A request was made: which sections, from where, how far trusted.
    PromptBuild,
    /// A request came to its end.
    RequestEnd,
    ToolDecision,
    ToolOutcome,
    Approval,
    ConfigChange,
    TrustChange,
    Spawn,
    Compaction,
    /// Changes to files were taken back, or brought back.
    Undo,
    /// Records were deleted, by age, size or wish.
    Forgotten,
    /// A secret or a canary was taken out of a result, or a call that carried one was refused.
    Secret,
    /// Text from outside reads like an injected instruction.
    Finding,
    /// A hook changed something in a turn, or broke.
    Hook,
    /// The file with the newest hash was gone.
    HeadMissing,
}

impl AuditKind {
    pub const ALL: [Self; 15] = [
        Self::PromptBuild,
        Self::RequestEnd,
        Self::ToolDecision,
        Self::ToolOutcome,
        Self::Approval,
        Self::ConfigChange,
        Self::TrustChange,
        Self::Spawn,
        Self::Compaction,
        Self::Undo,
        Self::Forgotten,
        Self::Secret,
        Self::Finding,
        Self::Hook,
        Self::HeadMissing,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            Self::PromptBuild => "prompt-build",
            Self::RequestEnd => "request-end",
            Self::ToolDecision => "tool-decision",
            Self::ToolOutcome => "tool-outcome",
            Self::Approval => "approval",
            Self::ConfigChange => "config-change",
            Self::TrustChange => "trust-change",
            Self::Spawn => "spawn",
            Self::Compaction => "compaction",
            Self::Undo => "undo",
            Self::Forgotten => "forgotten",
            Self::Secret => "secret",
            Self::Finding => "finding",
            Self::Hook => "hook",
            Self::HeadMissing => "head-missing",
        }
    }

    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == word)
    }
}

/// The number of an entry, from 1.
pub type EntrySeq = u64;

/// The hash the content of an entry ought to have. Each value has its length before it: no two
/// entries give the same bytes.
fn true_hash(entry: &AuditEntry) -> ContentHash {
    let values: [&[u8]; 6] = [
        b"chela audit 1",
        &entry.seq.to_be_bytes(),
        &entry.at.to_be_bytes(),
        entry.kind.as_bytes(),
        entry.body.as_bytes(),
        entry.prev.as_bytes(),
    ];
    let mut bytes = Vec::new();
    for value in values {
        bytes.extend((value.len() as u64).to_be_bytes());
        bytes.extend(value);
    }
    ContentHash::of(bytes)
}

/// What the first entry of a chain is bound to. An entry of one chain fits into no other.
fn beginning_of(chain: &ChainId) -> ChainHead {
    let hash = match chain.is_default() {
        true => ContentHash::of("chela audit: the beginning"),
        false => ContentHash::of(format!("chela audit: the beginning of {chain}")),
    };
    ChainHead { seq: 0, hash }
}

/// Which entries to show.
#[derive(Debug, Clone, Default)]
pub struct AuditFilter {
    pub kind: Option<AuditKind>,
    pub since: Option<EntrySeq>,
    /// Text the body contains, such as a session id.
    pub about: Option<String>,
    /// The newest so many; all when `None`.
    pub limit: Option<usize>,
}

impl Ledger {
    /// Adds an entry. On the disk when this is answered: wait for it before the effect it is
    /// about.
    pub fn append(&self, kind: AuditKind, body: &Value) -> LedgerFuture<EntrySeq> {
        self.added(WriteDurability::Disk, kind, body)
    }

    /// Adds an entry about something that has happened already. Whoever does not wait for the
    /// answer finds it in the chain before anything that is asked for later.
    pub fn note(&self, kind: AuditKind, body: &Value) -> LedgerFuture<EntrySeq> {
        self.added(WriteDurability::Process, kind, body)
    }

    fn added(
        &self,
        durability: WriteDurability,
        kind: AuditKind,
        body: &Value,
    ) -> LedgerFuture<EntrySeq> {
        let body = body.clone();
        self.chained(durability, move |tx, entries| entries.add(tx, kind, &body))
    }

    /// Entries in order.
    pub async fn audit(&self, filter: &AuditFilter) -> Result<Vec<AuditEntry>, LedgerError> {
        let entries = self.store.entries(EntryQuery {
            chain: self.chain.clone(),
            kind: filter.kind.map(|kind| kind.as_str().to_owned()),
            since: filter.since,
            about: filter.about.clone(),
            limit: filter.limit,
        });
        Ok(entries.await?)
    }

    /// A transaction that may add to the chain. The newest entry is noted before anybody else can
    /// add.
    pub(crate) fn chained<T: Send + 'static>(
        &self,
        durability: WriteDurability,
        work: impl FnOnce(&mut dyn LedgerTransaction, &EntryWriter) -> Result<T, LedgerError>
        + Send
        + 'static,
    ) -> LedgerFuture<T> {
        let entries = self.entry_writer();
        self.write(durability, move |tx| work(tx, &entries))
    }

    pub(crate) fn entry_writer(&self) -> EntryWriter {
        EntryWriter {
            chain: self.chain.clone(),
            now: self.host.unix_millis(),
            redactor: self.redactor(),
            key: self.key.clone(),
        }
    }
}

/// Adds entries to a chain.
#[derive(Debug)]
pub(crate) struct EntryWriter {
    pub chain: ChainId,
    now: u64,
    redactor: Arc<Redactor>,
    key: Option<Arc<InstallationKey>>,
}

impl EntryWriter {
    pub fn add(
        &self,
        tx: &mut dyn LedgerTransaction,
        kind: AuditKind,
        body: &Value,
    ) -> Result<EntrySeq, LedgerError> {
        let end = self.end(tx)?;
        Ok(self.push(tx, end, kind, body)?.seq)
    }

    /// Where the next entry is bound to. What is noted apart from the chain has the last word:
    /// when it knows of entries that are gone, the gap stays visible for ever.
    fn end(&self, tx: &mut dyn LedgerTransaction) -> Result<ChainHead, LedgerError> {
        let end = tx.chain_end(&self.chain)?;
        match (end.noted, end.newest) {
            (NotedHead::Head(noted), Some(newest)) if noted.seq < newest.seq => {
                tracing::debug!(
                    noted = noted.seq,
                    newest = newest.seq,
                    "the chain has entries after the one that is noted as its newest"
                );
                Ok(newest)
            }
            (NotedHead::Head(noted), newest) => {
                if newest != Some(noted) {
                    tracing::warn!(chain = %self.chain, "the end of the audit chain is not the one noted");
                }
                Ok(noted)
            }
            (_, None) => Ok(beginning_of(&self.chain)),
            (_, Some(newest)) => {
                tracing::warn!(chain = %self.chain, "the newest hash of the audit chain was gone");
                let body = serde_json::json!({ "entries": newest.seq });
                self.push(tx, newest, AuditKind::HeadMissing, &body)
            }
        }
    }

    fn push(
        &self,
        tx: &mut dyn LedgerTransaction,
        end: ChainHead,
        kind: AuditKind,
        body: &Value,
    ) -> Result<ChainHead, LedgerError> {
        let mut entry = AuditEntry {
            seq: end.seq + 1,
            at: self.now,
            kind: kind.as_str().to_owned(),
            body: self.redactor.redact_json(&body.to_string()).into_owned(),
            prev: end.hash,
            hash: end.hash,
            proof: None,
        };
        entry.hash = true_hash(&entry);
        let key = self.key.as_ref();
        entry.proof = key.map(|key| key.prove(&self.chain, &entry));
        tx.add_entry(&self.chain, &entry)?;
        Ok(entry.head())
    }
}

#[cfg(test)]
mod tests;
