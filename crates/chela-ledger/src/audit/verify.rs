//! Whether everything on record is as it was written.

mod chain;

use std::collections::{BTreeMap, HashSet};

use chela_core::{ContentHash, Host};
use rusqlite::Connection;
use serde::Serialize;

use super::head::{self, Found};
use super::{AuditEntry, AuditKind, Head, Seq, entry_of};
use crate::blob;
use crate::manifest::{self, StoredList};
use crate::record::{RecordId, outcome_seal_of_row, seal_of_row};
use crate::store::{Ledger, LedgerError, Trouble, ledger_file};

pub(super) use chain::ChainCheck;

/// What a look at everything found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Verdict {
    pub entries: u64,
    pub requests: u64,
    pub contents: u64,
    /// The newest entry, by its number and hash: worth keeping elsewhere.
    pub newest: Option<(Seq, ContentHash)>,
    /// Nothing when all is sound.
    pub damage: Vec<Damage>,
}

impl Verdict {
    pub fn is_sound(&self) -> bool {
        self.damage.is_empty()
    }
}

/// One thing that is not as it was written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Damage {
    pub place: DamagedPlace,
    pub what: What,
    pub words: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum DamagedPlace {
    /// An entry of the audit chain.
    Entry(Seq),
    /// A request on record.
    Request(RecordId),
    /// A stored content, by its number.
    Content(i64),
    /// A reservation or a settled call.
    Call(i64),
    /// What is noted of a session, by its number.
    Session(i64),
    /// The file with the newest hash.
    Head,
    /// The file as a whole.
    File,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum What {
    Edited,
    Missing,
    Reordered,
    Truncated,
    HeadMismatch,
    Unreadable,
}

impl Ledger {
    /// Reads everything and says what is not as it was written, and where.
    pub async fn verify(&self) -> Result<Verdict, LedgerError> {
        let path = self.path().to_owned();
        self.scan(move |tx| {
            // Before the chain, which only grows: what it knows of must be there.
            let head = head::Lock::look(&path);
            let mut check = Check::default();
            check.file(tx);
            check.chain(tx, head)?;
            check.contents(tx)?;
            check.requests(tx)?;
            check.calls(tx)?;
            Ok(check.verdict)
        })
        .await
    }

    /// Whether the newest hash beside the ledger fits the end of the chain: of [`Self::verify`]
    /// the part that costs the same however much is on record.
    pub async fn check_head(&self) -> Result<Vec<Damage>, LedgerError> {
        let path = self.path().to_owned();
        self.read(move |tx| {
            // Before the chain, as above.
            let head = head::Lock::look(&path);
            let last = super::last(tx)?.map_or(0, |last| last.seq);
            let known = match head {
                Found::Head(head) => super::head_at(tx, head.seq)?,
                Found::Missing | Found::Unreadable => None,
            };
            Ok(ChainCheck::of_end(head, last, known).finish())
        })
        .await
    }
}

/// The verdict where there is no ledger: a head without one means that it was taken away.
pub fn verify_absent(host: &Host) -> Verdict {
    let path = ledger_file(host);
    let head = head::Lock::look_at(&path);
    let mut verdict = Verdict::default();
    if head != Found::Missing {
        verdict.damage.push(Damage {
            place: DamagedPlace::File,
            what: What::Missing,
            words: format!("the ledger {} is gone", path.display()),
        });
        verdict.damage.extend(ChainCheck::new(head).finish());
    }
    verdict
}

#[derive(Default)]
struct Check {
    verdict: Verdict,
    /// What the chain says of each request: its seals, the later ones counting.
    sealed: BTreeMap<RecordId, Sealed>,
    blobs: HashSet<i64>,
    /// Runs of contents that were looked at.
    runs: HashSet<i64>,
}

#[derive(Default)]
struct Sealed {
    begun: Option<String>,
    ended: Option<String>,
    forgotten: bool,
}

impl Check {
    fn found(&mut self, place: DamagedPlace, what: What, words: impl Into<String>) {
        self.verdict.damage.push(Damage {
            place,
            what,
            words: words.into(),
        });
    }

    /// What SQLite itself can tell.
    fn file(&mut self, tx: &Connection) {
        let verdict = tx.query_row("PRAGMA integrity_check(1)", [], |row| {
            row.get::<_, String>(0)
        });
        match verdict {
            Ok(verdict) if verdict == "ok" => {}
            Ok(verdict) => self.found(DamagedPlace::File, What::Unreadable, verdict),
            Err(error) => self.found(DamagedPlace::File, What::Unreadable, error.to_string()),
        }
    }

    fn chain(&mut self, tx: &Connection, head: Found) -> Result<(), Trouble> {
        let mut chain = ChainCheck::new(head);
        let mut statement =
            tx.prepare("SELECT seq, at, kind, body, prev, hash FROM audit ORDER BY seq")?;
        let mut rows = statement.query([])?;
        loop {
            match rows.next() {
                Ok(Some(row)) => {
                    let seq: Seq = match row.get(0) {
                        Ok(seq) => seq,
                        Err(error) => {
                            let words = error.to_string();
                            self.found(DamagedPlace::File, What::Unreadable, words);
                            continue;
                        }
                    };
                    match entry_of(row)? {
                        Ok(entry) => {
                            self.learn(&entry);
                            chain.take(entry);
                        }
                        Err(words) => chain.unreadable(seq, words),
                    }
                }
                Ok(None) => break,
                Err(error) => {
                    self.found(DamagedPlace::File, What::Unreadable, error.to_string());
                    break;
                }
            }
        }
        self.verdict.entries = chain.entries();
        self.verdict.newest = chain.newest().map(|head| (head.seq, head.hash));
        self.verdict.damage.extend(chain.finish());
        Ok(())
    }

    /// Remembers what an entry says about requests.
    fn learn(&mut self, entry: &AuditEntry) {
        let body = entry.json();
        let seal = || body["seal"].as_str().map(str::to_owned);
        match AuditKind::named(&entry.kind) {
            Some(AuditKind::PromptBuild) => {
                if let Some(record) = body["record"].as_i64() {
                    self.sealed.entry(RecordId(record)).or_default().begun = seal();
                }
            }
            Some(AuditKind::RequestEnd) => {
                if let Some(record) = body["record"].as_i64() {
                    self.sealed.entry(RecordId(record)).or_default().ended = seal();
                }
            }
            Some(AuditKind::Forgotten) => {
                for id in crate::retain::forgotten_ids(&body) {
                    self.sealed.entry(RecordId(id)).or_default().forgotten = true;
                }
            }
            _ => {}
        }
    }

    fn contents(&mut self, tx: &Connection) -> Result<(), Trouble> {
        let mut statement =
            tx.prepare("SELECT id, hash, length, tokens, data, seal FROM blobs ORDER BY id")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let id: i64 = row.get(0)?;
            self.blobs.insert(id);
            self.verdict.contents += 1;
            let stored = || -> rusqlite::Result<blob::Stored> {
                Ok(blob::Stored {
                    id,
                    hash: row.get(1)?,
                    length: row.get(2)?,
                    tokens: row.get(3)?,
                    data: row.get(4)?,
                    seal: row.get(5)?,
                })
            };
            let wrong = match stored() {
                Ok(stored) => blob::wrong_with(&stored),
                Err(_) => Some("its row cannot be read"),
            };
            if let Some(wrong) = wrong {
                let words = format!("content {id} is not what was stored: {wrong}");
                self.found(DamagedPlace::Content(id), What::Edited, words);
            }
        }
        Ok(())
    }

    fn requests(&mut self, tx: &Connection) -> Result<(), Trouble> {
        let mut statement = tx.prepare(&format!(
            "SELECT {} FROM records LEFT JOIN sessions ON sessions.row = records.session \
             ORDER BY records.id",
            crate::record::SEALED_COLUMNS
        ))?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let id = RecordId(row.get(0)?);
            self.verdict.requests += 1;
            let sealed = self.sealed.remove(&id).unwrap_or_default();
            let place = DamagedPlace::Request(id);
            let hex = |hash: ContentHash| Some(hash.to_string());
            match seal_of_row(row) {
                Ok(seal) if hex(seal) == sealed.begun => {}
                Ok(_) if sealed.begun.is_none() => {
                    self.found(
                        place,
                        What::Edited,
                        format!("no audit entry knows request {id}"),
                    );
                }
                _ => self.found(place, What::Edited, format!("request {id} was changed")),
            }
            match outcome_seal_of_row(row) {
                Ok(seal) if seal.and_then(hex) == sealed.ended => {}
                _ => {
                    let words = format!("the outcome of request {id} was changed");
                    self.found(place, What::Edited, words);
                }
            }
            if let Ok(parts) = crate::record::blobs_of_row(row) {
                self.parts(tx, id, parts);
            }
        }
        for (id, sealed) in std::mem::take(&mut self.sealed) {
            if sealed.begun.is_some() && !sealed.forgotten {
                let words = format!("request {id} is gone, and nothing says that it was deleted");
                self.found(DamagedPlace::Request(id), What::Missing, words);
            }
        }
        Ok(())
    }

    /// Whether everything a request is made of is there.
    fn parts(&mut self, tx: &Connection, id: RecordId, parts: StoredList) {
        let mut all = parts.rest;
        for run in parts.runs {
            all.push(run);
            // What many requests begin with is looked at once.
            if self.runs.insert(run) {
                all.extend(manifest::run_of(tx, run).unwrap_or_default());
            }
        }
        for part in all {
            if !self.blobs.contains(&part) {
                let words = format!("content {part} of request {id} is gone");
                self.found(DamagedPlace::Content(part), What::Missing, words);
            }
        }
    }

    fn calls(&mut self, tx: &Connection) -> Result<(), Trouble> {
        for id in crate::spend::damaged_calls(tx)? {
            let words = format!("the accounting of call {id} was changed");
            self.found(DamagedPlace::Call(id), What::Edited, words);
        }
        for row in crate::record::damaged_sessions(tx)? {
            let words = format!("what is noted of session {row} was changed");
            self.found(DamagedPlace::Session(row), What::Edited, words);
        }
        Ok(())
    }
}
