//! Putting a request on record before it is sent, and its outcome after.

use std::ops::Range;
use std::sync::Arc;

use chela_core::ContentHash;
use rusqlite::{OptionalExtension, Transaction, params};
use serde_json::{Value, json};

use super::recent::{Before, Recent};
use super::sealed::{SEALED_COLUMNS, outcome_seal_of_row, reseal_session, seal_of_row};
use super::{Outcome, RecordId, RequestRecord};
use crate::audit::{AuditKind, Chain};
use crate::blob::{self, Blob, Known};
use crate::cache::{Reuse, Rewrite, Seen, compare};
use crate::manifest;
use crate::mark::SectionMark;
use crate::pieces::pieces;
use crate::redact::{Redaction, redact};
use crate::store::{Durable, Ledger, LedgerError, Trouble};

impl Ledger {
    /// Puts a request on record and into the audit chain, and compares it with the one before it
    /// in its session. Survives the death of the process from here on.
    pub fn begin(&self, request: &RequestRecord<'_>) -> Result<(RecordId, Reuse), LedgerError> {
        let redactor = self.redactor();
        let (stored, redactions) = redact(request.body, &redactor);
        // Some endpoints take their key in the address.
        let url = redactor.redact(request.url);
        let request = &RequestRecord {
            url: &url,
            ..*request
        };
        let sent = ContentHash::of(request.body);
        let draft = Draft {
            request,
            stored: &stored,
            stored_hash: (!redactions.is_empty()).then(|| ContentHash::of(&stored)),
            sent,
            redactions: &redactions,
            cuts: pieces(&stored),
            at: self.host.unix_millis(),
        };
        let recent = self.recent.of(request.session);
        let (id, reuse, known) =
            self.chained(Durable::Process, |tx, chain| draft.store(tx, chain, recent))?;
        self.recent.keep(
            request.session,
            Recent {
                record: id,
                body: stored,
                known,
                model: request.model.to_owned(),
                url: request.url.to_owned(),
                sections: request.sections.to_vec(),
            },
        );
        Ok((id, reuse))
    }

    /// Notes what came of a request.
    pub fn finish(&self, id: RecordId, outcome: &Outcome) -> Result<(), LedgerError> {
        let redactor = self.redactor();
        let text = serde_json::to_string(outcome)?;
        let text = redactor.redact_json(&text);
        let error = outcome.error.as_ref().map(|error| redactor.redact(error));
        let usage = outcome.usage;
        self.chained(Durable::Process, |tx, chain| {
            let blob = blob::put(tx, text.as_bytes())?;
            let changed = tx
                .prepare_cached(
                    "UPDATE records SET ended = ?2, outcome = ?3, input = ?4, output = ?5, \
                     cache_read = ?6, cache_write = ?7, reasoning = ?8, estimated = ?9, \
                     cost = ?10, error = ?11 WHERE id = ?1",
                )?
                .execute(params![
                    id.0,
                    self.host.unix_millis(),
                    blob.id,
                    usage.map(|usage| usage.input),
                    usage.map(|usage| usage.output),
                    usage.map(|usage| usage.cache_read),
                    usage.map(|usage| usage.cache_write),
                    usage.map(|usage| usage.reasoning),
                    usage.map(|usage| usage.estimated),
                    outcome.cost,
                    error,
                ])?;
            if changed == 0 {
                return Err(Trouble::NoRecord(id.0));
            }
            let seal = sealed(tx, id, outcome_seal_of_row)?;
            let body = json!({ "record": id.0, "seal": seal });
            chain.add(tx, AuditKind::RequestEnd, &body)?;
            Ok(())
        })
    }
}

/// A request on its way into the store.
struct Draft<'a> {
    request: &'a RequestRecord<'a>,
    /// The body without secrets.
    stored: &'a [u8],
    /// Where that is not what was sent.
    stored_hash: Option<ContentHash>,
    sent: ContentHash,
    redactions: &'a [Redaction],
    cuts: Vec<Range<usize>>,
    at: u64,
}

impl Draft<'_> {
    fn store(
        &self,
        tx: &Transaction<'_>,
        chain: &mut Chain,
        recent: Option<Arc<Recent>>,
    ) -> Result<(RecordId, Reuse, Known), Trouble> {
        let request = self.request;
        let session = self.session_row(tx)?;
        let before = Before::find(tx, session, &request.session_key.to_string(), recent)?;
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
        let sections = serde_json::to_string(request.sections)?;
        let tools = serde_json::to_string(request.tools)?;
        let redactions = match self.redactions {
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
            request.turn,
            request.step,
            request.model,
            request.url,
            request.body.len(),
            self.sent.as_bytes(),
            self.stored_hash.map(|hash| *hash.as_bytes()),
            manifest::encode(&ids),
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
        Ok((id, reuse, known))
    }

    fn session_row(&self, tx: &Transaction<'_>) -> Result<i64, Trouble> {
        let request = self.request;
        let known = tx
            .prepare_cached("SELECT row FROM sessions WHERE id = ?1")?
            .query_row([request.session], |row| row.get(0))
            .optional()?;
        if let Some(row) = known {
            return Ok(row);
        }
        tx.prepare_cached("INSERT INTO sessions (id, key, agent) VALUES (?1, ?2, ?3)")?
            .execute(params![
                request.session,
                request.session_key.to_string(),
                request.agent.as_str()
            ])?;
        Ok(tx.last_insert_rowid())
    }

    fn compared(&self, before: Option<&Before>, blobs: &[Blob]) -> Reuse {
        let after = Seen {
            body: self.stored,
            model: self.request.model,
            url: self.request.url,
            sections: self.request.sections,
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
        compare(
            seen.as_ref(),
            &after,
            self.request.rewrite.or(began_anew),
            &weigh,
        )
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
        tx: &Transaction<'_>,
        chain: &mut Chain,
        session: i64,
        id: RecordId,
    ) -> Result<(), Trouble> {
        let request = self.request;
        let hash = ContentHash::of(serde_json::to_string(&request.sections)?);
        let written: Option<u64> = tx
            .prepare_cached("SELECT sections_seq FROM sessions WHERE row = ?1 AND sections = ?2")?
            .query_row(params![session, hash.as_bytes()], |row| row.get(0))
            .optional()?
            .flatten();
        let sections = match written {
            Some(seq) => json!({ "asIn": seq }),
            None => listed(request.sections),
        };
        let body = json!({
            "record": id.0,
            "seal": sealed(tx, id, |row| seal_of_row(row).map(Some))?,
            "session": request.session,
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
    tx: &Transaction<'_>,
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
