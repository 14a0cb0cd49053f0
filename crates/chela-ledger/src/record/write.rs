//! Putting a request on record before it is sent, and its outcome after.

use std::ops::Range;
use std::sync::Arc;

use chela_core::ContentHash;
use chela_store::Durability;
use rusqlite::{Connection, OptionalExtension, params};
use serde_json::{Value, json};

use super::recent::{Before, Recent};
use super::sealed::{SEALED_COLUMNS, outcome_seal_of_row, reseal_session, seal_of_row};
use super::{Outcome, RecordId, RequestRecord};
use crate::audit::{AuditKind, Chain};
use crate::blob::{self, Blob, Known};
use crate::cache::{Reuse, Rewrite, Seen, compare};
use crate::manifest;
use crate::mark::{SectionMark, ToolMark};
use crate::pieces::pieces;
use crate::redact::{Redaction, redact};
use crate::spend::{Reservation, ReserveAsk, ReserveError, take_room};
use crate::store::{Ledger, LedgerError, LedgerFuture, Trouble};

impl Ledger {
    /// Puts a request on record and into the audit chain, and compares it with the one before it
    /// in its session. Survives the death of the process once it is answered.
    pub async fn begin(
        &self,
        request: &RequestRecord<'_>,
    ) -> Result<(RecordId, Reuse), LedgerError> {
        let (draft, recent) = self.draft(request);
        let stored = self
            .chained(Durability::Process, move |tx, chain| {
                draft.store(tx, chain, recent)
            })
            .await?;
        Ok(self.remember(stored))
    }

    /// Takes room for a call and puts its request on record, in one commit.
    /// That the request could not be recorded gives no room back. Queued when this returns,
    /// whatever becomes of the future; `durability` says what it is safe from once it is answered.
    pub fn open_request(
        self: &Arc<Self>,
        ask: &ReserveAsk,
        request: &RequestRecord<'_>,
        durability: Durability,
    ) -> impl Future<Output = Result<OpenedRequest, ReserveError>> + Send + use<> {
        let (draft, recent) = self.draft(request);
        let (asked, now) = (ask.clone(), self.host.unix_millis());
        let taken = self.chained(durability, move |tx, chain| {
            let id = match take_room(tx, &asked, now)? {
                Ok(id) => id,
                Err(reached) => return Ok(Err(reached)),
            };
            tx.execute_batch("SAVEPOINT request")?;
            let stored = draft.store(tx, chain, recent);
            tx.execute_batch(match &stored {
                Ok(_) => "RELEASE request",
                Err(_) => "ROLLBACK TO request; RELEASE request",
            })?;
            Ok(Ok((id, stored)))
        });
        let (ledger, ask) = (Arc::clone(self), ask.clone());
        async move {
            let (id, stored) = taken.await??;
            Ok(OpenedRequest {
                reservation: Reservation { id, ask },
                record: stored
                    .map(|stored| ledger.remember(stored))
                    .map_err(|trouble| ledger.explained(trouble)),
            })
        }
    }

    fn draft(&self, request: &RequestRecord<'_>) -> (Draft, Option<Arc<Recent>>) {
        let redactor = self.redactor();
        let (stored, redactions) = redact(request.body, &redactor);
        let draft = Draft {
            agent: request.agent.as_str().to_owned(),
            session_key: request.session_key.to_string(),
            session: request.session.to_owned(),
            turn: request.turn.to_owned(),
            step: request.step,
            model: request.model.to_owned(),
            // Some endpoints take their key in the address.
            url: redactor.redact(request.url).into_owned(),
            length: request.body.len(),
            sections: request.sections.to_vec(),
            tools: request.tools.to_vec(),
            rewrite: request.rewrite,
            stored_hash: (!redactions.is_empty()).then(|| ContentHash::of(&stored)),
            sent: ContentHash::of(request.body),
            cuts: pieces(&stored),
            redactions,
            stored,
            at: self.host.unix_millis(),
        };
        (draft, self.recent.of(request.session))
    }

    fn remember(&self, request: StoredRequest) -> (RecordId, Reuse) {
        let StoredRequest {
            id,
            reuse,
            known,
            draft,
        } = request;
        self.recent.keep(
            &draft.session,
            Recent {
                record: id,
                body: draft.stored,
                known,
                model: draft.model,
                url: draft.url,
                sections: draft.sections,
            },
        );
        (id, reuse)
    }

    /// Notes what came of a request. Under way when this returns.
    pub fn finish(&self, id: RecordId, outcome: &Outcome) -> LedgerFuture<()> {
        let redactor = self.redactor();
        let text =
            serde_json::to_string(outcome).map(|text| redactor.redact_json(&text).into_owned());
        let error = outcome
            .error
            .as_ref()
            .map(|error| redactor.redact(error).into_owned());
        let (usage, cost, now) = (outcome.usage, outcome.cost, self.host.unix_millis());
        self.chained(Durability::Process, move |tx, chain| {
            let blob = blob::put(tx, text?.as_bytes())?;
            let changed = tx
                .prepare_cached(
                    "UPDATE records SET ended = ?2, outcome = ?3, input = ?4, output = ?5, \
                     cache_read = ?6, cache_write = ?7, reasoning = ?8, estimated = ?9, \
                     cost = ?10, error = ?11 WHERE id = ?1",
                )?
                .execute(params![
                    id.0,
                    now,
                    blob.id,
                    usage.map(|usage| usage.input),
                    usage.map(|usage| usage.output),
                    usage.map(|usage| usage.cache_read),
                    usage.map(|usage| usage.cache_write),
                    usage.map(|usage| usage.reasoning),
                    usage.map(|usage| usage.estimated),
                    cost,
                    error,
                ])?;
            if changed == 0 {
                return Err(Trouble::Absent(id.0));
            }
            let seal = sealed(tx, id, outcome_seal_of_row)?;
            let body = json!({ "record": id.0, "seal": seal });
            chain.add(tx, AuditKind::RequestEnd, &body)?;
            Ok(())
        })
    }
}

/// A call whose room is taken.
#[derive(Debug)]
pub struct OpenedRequest {
    pub reservation: Reservation,
    /// Its request on record, or why it is not.
    pub record: Result<(RecordId, Reuse), LedgerError>,
}

/// A request in the store.
struct StoredRequest {
    id: RecordId,
    reuse: Reuse,
    known: Known,
    draft: Draft,
}

/// A request on its way into the store.
struct Draft {
    agent: String,
    session_key: String,
    session: String,
    turn: String,
    step: u32,
    model: String,
    url: String,
    /// Bytes that are sent.
    length: usize,
    sections: Vec<SectionMark>,
    tools: Vec<ToolMark>,
    rewrite: Option<Rewrite>,
    /// The body without secrets.
    stored: Vec<u8>,
    /// Where that is not what was sent.
    stored_hash: Option<ContentHash>,
    sent: ContentHash,
    redactions: Vec<Redaction>,
    cuts: Vec<Range<usize>>,
    at: u64,
}

impl Draft {
    fn store(
        self,
        tx: &Connection,
        chain: &mut Chain,
        recent: Option<Arc<Recent>>,
    ) -> Result<StoredRequest, Trouble> {
        let session = self.session_row(tx)?;
        let before = Before::find(tx, session, &self.session_key, recent)?;
        let mut blobs = Vec::with_capacity(self.cuts.len());
        let mut known = Known::with_capacity(self.cuts.len());
        for cut in &self.cuts {
            let content = &self.stored[cut.clone()];
            let hash = ContentHash::of(content);
            let stored = [
                Some(&known),
                before.as_ref().map(|before| &before.request.known),
            ]
            .into_iter()
            .flatten()
            .find_map(|known| known.get(&hash));
            let blob = match stored {
                Some(blob) => *blob,
                None => blob::put_as(tx, hash, content)?,
            };
            known.insert(hash, blob);
            blobs.push(blob);
        }
        let reuse = self.compared(before.as_ref(), &blobs);
        let ids: Vec<i64> = blobs.iter().map(|blob| blob.id).collect();
        let manifest = manifest::store(tx, &ids)?;
        let sections = serde_json::to_string(&self.sections)?;
        let tools = serde_json::to_string(&self.tools)?;
        let redactions = match self.redactions.as_slice() {
            [] => None,
            redactions => Some(serde_json::to_string(redactions)?),
        };
        tx.prepare_cached(
            "INSERT INTO records (session, at, turn, step, model, url, length, sent, stored, \
             manifest, redactions, sections, tools, tokens, reused, reread, bytes, reused_bytes, \
             broken, cause) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, \
             ?15, ?16, ?17, ?18, ?19, ?20)",
        )?
        .execute(params![
            session,
            self.at,
            self.turn,
            self.step,
            self.model,
            self.url,
            self.length,
            self.sent.as_bytes(),
            self.stored_hash.map(|hash| *hash.as_bytes()),
            manifest,
            redactions,
            blob::put(tx, sections.as_bytes())?.id,
            blob::put(tx, tools.as_bytes())?.id,
            reuse.total_tokens,
            reuse.tokens,
            reuse.reread_tokens,
            reuse.total_bytes,
            reuse.bytes,
            reuse
                .broken
                .as_ref()
                .map(serde_json::to_string)
                .transpose()?,
            reuse.broken.as_ref().map(|broken| broken.cause.word()),
        ])?;
        let id = RecordId(tx.last_insert_rowid());
        self.audit(tx, chain, session, id)?;
        Ok(StoredRequest {
            id,
            reuse,
            known,
            draft: self,
        })
    }

    fn session_row(&self, tx: &Connection) -> Result<i64, Trouble> {
        let known = tx
            .prepare_cached("SELECT row FROM sessions WHERE id = ?1")?
            .query_row([&self.session], |row| row.get(0))
            .optional()?;
        if let Some(row) = known {
            return Ok(row);
        }
        tx.prepare_cached("INSERT INTO sessions (id, key, agent) VALUES (?1, ?2, ?3)")?
            .execute(params![self.session, self.session_key, self.agent])?;
        Ok(tx.last_insert_rowid())
    }

    fn compared(&self, before: Option<&Before>, blobs: &[Blob]) -> Reuse {
        let after = Seen {
            body: &self.stored,
            model: &self.model,
            url: &self.url,
            sections: &self.sections,
        };
        let seen = before.map(|before| Seen {
            body: &before.request.body,
            model: &before.request.model,
            url: &before.request.url,
            sections: &before.request.sections,
        });
        let began_anew = before
            .filter(|before| before.another_session)
            .map(|_| Rewrite::Reset);
        let weigh = |range: Range<usize>| self.weigh(&range, blobs);
        compare(seen.as_ref(), &after, self.rewrite.or(began_anew), &weigh)
    }

    /// What a part of the body costs: the pieces in it, and of those cut by its ends a share.
    fn weigh(&self, range: &Range<usize>, blobs: &[Blob]) -> u64 {
        let first = self.cuts.partition_point(|cut| cut.end <= range.start);
        let tokens: f64 = self.cuts[first..]
            .iter()
            .zip(&blobs[first..])
            .take_while(|(cut, _)| cut.start < range.end)
            .map(|(cut, blob)| {
                let inside = cut.end.min(range.end) - cut.start.max(range.start);
                blob.tokens as f64 * inside as f64 / cut.len() as f64
            })
            .sum();
        tokens.round() as u64
    }

    /// The entry about this prompt. The list of sections is written out when it is a new one for
    /// the session; after that its place is named.
    fn audit(
        &self,
        tx: &Connection,
        chain: &mut Chain,
        session: i64,
        id: RecordId,
    ) -> Result<(), Trouble> {
        let hash = ContentHash::of(serde_json::to_string(&self.sections)?);
        let written: Option<u64> = tx
            .prepare_cached("SELECT sections_seq FROM sessions WHERE row = ?1 AND sections = ?2")?
            .query_row(params![session, hash.as_bytes()], |row| row.get(0))
            .optional()?
            .flatten();
        let sections = match written {
            Some(seq) => json!({ "asIn": seq }),
            None => listed(&self.sections),
        };
        let body = json!({
            "record": id.0,
            "seal": sealed(tx, id, |row| seal_of_row(row).map(Some))?,
            "session": self.session,
            "request": self.sent.to_string(),
            "sections": sections,
        });
        let seq = chain.add(tx, AuditKind::PromptBuild, &body)?;
        if written.is_none() {
            tx.prepare_cached(
                "UPDATE sessions SET sections = ?2, sections_seq = ?3 WHERE row = ?1",
            )?
            .execute(params![session, hash.as_bytes(), seq])?;
            reseal_session(tx, session)?;
        }
        Ok(())
    }
}

fn listed(sections: &[SectionMark]) -> Value {
    sections
        .iter()
        .map(|mark| {
            let mut line = json!({
                "section": mark.id,
                "origin": mark.origin.to_string(),
                "trust": mark.trust.as_str(),
                "hash": mark.hash.to_string(),
                "bytes": mark.bytes,
            });
            if let Some(contributor) = &mark.contributor {
                line["contributor"] = contributor.as_str().into();
            }
            line
        })
        .collect()
}

fn sealed(
    tx: &Connection,
    id: RecordId,
    seal: impl FnOnce(&rusqlite::Row<'_>) -> rusqlite::Result<Option<ContentHash>>,
) -> Result<String, Trouble> {
    let seal = tx
        .prepare_cached(&format!(
            "SELECT {SEALED_COLUMNS} FROM records JOIN sessions ON sessions.row = records.session \
             WHERE records.id = ?1"
        ))?
        .query_row([id.0], seal)?;
    Ok(seal.map_or_else(String::new, |seal| seal.to_string()))
}
