//! The audit chain: what was decided and done, each entry bound to the one before it.
//!
//! An entry's hash covers its place, its time, its content and the hash before it; the newest one
//! also lies in a small file beside the ledger. So an entry cannot be changed, left out, moved or
//! cut off without that being seen, and where.

mod end;
mod export;
mod head;
mod verify;

use chela_core::ContentHash;
use chela_core::secret::Redactor;
use chela_store::Durability;
use rusqlite::{Connection, OptionalExtension, Row, params};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::seal::Seal;
use crate::store::{Ledger, LedgerError, LedgerFuture, Trouble};

pub(crate) use end::ChainEnd;
pub use export::{ExportError, verify_export};
pub(crate) use head::{Found, Head};
pub use verify::{Damage, DamagedPlace, Verdict, What, verify_absent};

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
pub type Seq = u64;

/// One entry of the chain, as it is stored and exported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditEntry {
    pub seq: Seq,
    /// Milliseconds since 1970.
    pub at: u64,
    /// See [`AuditKind`]; a newer version may know more.
    pub kind: String,
    /// JSON, exactly as it was hashed.
    pub body: String,
    pub prev: ContentHash,
    pub hash: ContentHash,
}

impl AuditEntry {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or(Value::Null)
    }

    /// The hash its content ought to have.
    fn true_hash(&self) -> ContentHash {
        Seal::new("chela audit 1")
            .number(self.seq)
            .number(self.at)
            .text(&self.kind)
            .text(&self.body)
            .bytes(self.prev.as_bytes())
            .hash()
    }
}

/// Which entries to show.
#[derive(Debug, Clone, Default)]
pub struct AuditFilter {
    pub kind: Option<AuditKind>,
    pub since: Option<Seq>,
    /// Text the body contains, such as a session id.
    pub about: Option<String>,
    /// The newest so many; all when `None`.
    pub limit: Option<usize>,
}

impl Ledger {
    /// Adds an entry. On the disk when this is answered: wait for it before the effect it is
    /// about.
    pub fn append(&self, kind: AuditKind, body: &Value) -> LedgerFuture<Seq> {
        self.added(Durability::Disk, kind, body)
    }

    /// Adds an entry about something that has happened already. Whoever does not wait for the
    /// answer finds it in the chain before anything that is asked for later.
    pub fn note(&self, kind: AuditKind, body: &Value) -> LedgerFuture<Seq> {
        self.added(Durability::Process, kind, body)
    }

    fn added(&self, durability: Durability, kind: AuditKind, body: &Value) -> LedgerFuture<Seq> {
        let body = body.clone();
        self.chained(durability, move |tx, chain| chain.add(tx, kind, &body))
    }

    /// Entries in order.
    pub async fn audit(&self, filter: &AuditFilter) -> Result<Vec<AuditEntry>, LedgerError> {
        let filter = filter.clone();
        self.scan(move |tx| {
            let limit = filter
                .limit
                .and_then(|limit| i64::try_from(limit).ok())
                .unwrap_or(-1);
            let mut statement = tx.prepare_cached(
                "SELECT seq, at, kind, body, prev, hash FROM audit \
                 WHERE (?1 IS NULL OR kind = ?1) AND seq >= ?2 \
                 AND (?3 IS NULL OR instr(body, ?3)) ORDER BY seq DESC LIMIT ?4",
            )?;
            let rows = statement.query_map(
                params![
                    filter.kind.map(AuditKind::as_str),
                    filter.since.unwrap_or(0),
                    filter.about,
                    limit
                ],
                entry_of,
            )?;
            let mut entries = rows
                .map(|row| row?.map_err(Trouble::Damaged))
                .collect::<Result<Vec<_>, _>>()?;
            entries.reverse();
            Ok(entries)
        })
        .await
    }

    /// A transaction that may add to the chain. The head is written before anybody else can add.
    pub(crate) fn chained<T: Send + 'static>(
        &self,
        durability: Durability,
        work: impl FnOnce(&Connection, &mut Chain) -> Result<T, Trouble> + Send + 'static,
    ) -> LedgerFuture<T> {
        let (end, now, redactor) = (self.chain_end(), self.host.unix_millis(), self.redactor());
        self.write(durability, move |tx| {
            end.extend(now, redactor, |chain| work(tx, chain))
        })
    }

    /// What `work` would do; all of it is taken back.
    pub(crate) async fn tried<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection, &mut Chain) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, LedgerError> {
        let (end, now, redactor) = (self.chain_end(), self.host.unix_millis(), self.redactor());
        self.write(Durability::Process, move |tx| {
            tx.execute_batch("SAVEPOINT trial")?;
            let tried = end.pretend(now, redactor, |chain| work(tx, chain));
            tx.execute_batch("ROLLBACK TO trial; RELEASE trial")?;
            tried
        })
        .await
    }
}

/// The end of the chain while something is added to it.
#[derive(Debug)]
pub(crate) struct Chain {
    /// Known once something was added.
    end: Option<Head>,
    head: Found,
    now: u64,
    redactor: std::sync::Arc<Redactor>,
}

impl Chain {
    pub fn add(&mut self, tx: &Connection, kind: AuditKind, body: &Value) -> Result<Seq, Trouble> {
        let end = match self.end {
            Some(end) => end,
            None => self.begin(tx)?,
        };
        self.push(tx, end, kind, body)
    }

    /// Where the next entry is bound to. The file beside the ledger has the last word: when it
    /// knows of entries that are gone, the gap stays visible for ever.
    fn begin(&mut self, tx: &Connection) -> Result<Head, Trouble> {
        let last = last(tx)?;
        match (self.head, last) {
            (Found::Head(head), Some(last)) if head.seq < last.seq => Ok(last),
            (Found::Head(head), _) => Ok(head),
            (_, None) => Ok(Head::start()),
            (_, Some(last)) => {
                let body = serde_json::json!({ "entries": last.seq });
                self.push(tx, last, AuditKind::HeadMissing, &body)?;
                Ok(self.end.unwrap_or(last))
            }
        }
    }

    fn push(
        &mut self,
        tx: &Connection,
        end: Head,
        kind: AuditKind,
        body: &Value,
    ) -> Result<Seq, Trouble> {
        let mut entry = AuditEntry {
            seq: end.seq + 1,
            at: self.now,
            kind: kind.as_str().to_owned(),
            body: self.redactor.redact_json(&body.to_string()).into_owned(),
            prev: end.hash,
            hash: end.hash,
        };
        entry.hash = entry.true_hash();
        tx.prepare_cached(
            "INSERT INTO audit (seq, at, kind, body, prev, hash) VALUES (?1, ?2, ?3, ?4, ?5, ?6)",
        )?
        .execute(params![
            entry.seq,
            entry.at,
            entry.kind,
            entry.body,
            entry.prev.as_bytes(),
            entry.hash.as_bytes()
        ])?;
        self.end = Some(Head {
            seq: entry.seq,
            hash: entry.hash,
        });
        Ok(entry.seq)
    }
}

/// The newest entry there is.
fn last(tx: &Connection) -> Result<Option<Head>, Trouble> {
    let newest = "SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1";
    Ok(tx
        .prepare_cached(newest)?
        .query_row([], head_of)
        .optional()?)
}

/// The entry of a number.
fn head_at(tx: &Connection, seq: Seq) -> Result<Option<Head>, Trouble> {
    Ok(tx
        .prepare_cached("SELECT seq, hash FROM audit WHERE seq = ?1")?
        .query_row([seq], head_of)
        .optional()?)
}

fn head_of(row: &Row<'_>) -> rusqlite::Result<Head> {
    Ok(Head {
        seq: row.get(0)?,
        // A hash that is none fits nothing, which is what is to be found out.
        hash: hash_of(&row.get::<_, Vec<u8>>(1)?).unwrap_or(Head::start().hash),
    })
}

/// A row as an entry; or what cannot be read of it.
fn entry_of(row: &Row<'_>) -> rusqlite::Result<Result<AuditEntry, String>> {
    let seq: Seq = row.get(0)?;
    let read = || -> rusqlite::Result<Option<AuditEntry>> {
        let hash = |at| Ok::<_, rusqlite::Error>(hash_of(&row.get::<_, Vec<u8>>(at)?));
        let (Some(prev), Some(own)) = (hash(4)?, hash(5)?) else {
            return Ok(None);
        };
        Ok(Some(AuditEntry {
            seq,
            at: row.get(1)?,
            kind: row.get(2)?,
            body: row.get(3)?,
            prev,
            hash: own,
        }))
    };
    Ok(read()
        .ok()
        .flatten()
        .ok_or_else(|| format!("audit entry {seq} cannot be read")))
}

pub(crate) fn hash_of(bytes: &[u8]) -> Option<ContentHash> {
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    ContentHash::from_hex(&hex)
}

#[cfg(test)]
mod tests;
