//! Putting a request on record before it is sent, and its outcome after.

use std::ops::Range;
use std::sync::Arc;

use chela_core::ContentHash;
use chela_store::{
    AddedRequest, ChainId, KnownContents, LedgerTransaction, NewRequest, RequestEnd, ReuseFacts,
    StoredContents, WriteDurability,
};
use serde_json::{Map, Value, json};

use crate::audit::{AuditKind, EntryWriter};
use crate::cache::{CachedRequest, ContextRewrite, PrefixReuse, compare};
use crate::ledger::{Ledger, LedgerError, LedgerFuture};
use crate::mark::{SectionList, SectionMark, ToolList};
use crate::pieces::pieces;
use crate::recent::{KeptBody, RecentRequest};
use crate::redact::redact;
use crate::request::{RecordId, RequestOutcome, RequestRecord};
use crate::spend::{ReserveAsk, ReserveError, SpendReservation, take_room};

impl Ledger {
    /// Puts a request on record and into the audit chain, and compares it with the one before it
    /// in its session. Survives the death of the process once it is answered.
    pub async fn begin(
        &self,
        request: &RequestRecord<'_>,
    ) -> Result<(RecordId, PrefixReuse), LedgerError> {
        let draft = self.draft(request).0?;
        let recent = self.recent.of(&draft.session);
        let stored = self
            .chained(WriteDurability::Process, move |tx, entries| {
                draft.store(tx, entries, recent)
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
        request: DraftedRequest,
        durability: WriteDurability,
    ) -> impl Future<Output = Result<OpenedRequest, ReserveError>> + Send + use<> {
        let drafted = request.0.map(|draft| {
            let recent = self.recent.of(&draft.session);
            (draft, recent)
        });
        let (asked, now) = (ask.clone(), self.host.unix_millis());
        let taken = self.chained(durability, move |tx, entries| {
            let id = match take_room(tx, &asked, now)? {
                Ok(id) => id,
                Err(reached) => return Ok(Err(reached)),
            };
            let stored = match drafted {
                Ok((draft, recent)) => tx.attempt(|tx| draft.store(tx, entries, recent))?,
                Err(error) => Err(error),
            };
            Ok(Ok((id, stored)))
        });
        let (ledger, ask) = (Arc::clone(self), ask.clone());
        async move {
            let (id, stored) = taken.await??;
            Ok(OpenedRequest {
                reservation: SpendReservation { id, ask },
                record: stored.map(|stored| ledger.remember(stored)),
            })
        }
    }

    /// Makes a request ready for the record: without secrets, hashed and cut. That is most of the
    /// work of recording it, and nothing is written yet.
    pub fn draft(&self, request: &RequestRecord<'_>) -> DraftedRequest {
        DraftedRequest(self.draft_of(request))
    }

    fn draft_of(&self, request: &RequestRecord<'_>) -> Result<RequestDraft, LedgerError> {
        let redactor = self.redactor();
        let (stored, redactions) = redact(request.body, &redactor);
        Ok(RequestDraft {
            agent: request.agent.as_str().to_owned(),
            session_key: request.session_key.to_string(),
            session: request.session.to_owned(),
            turn: request.turn.to_owned(),
            step: request.step,
            model: request.model.to_owned(),
            // Some endpoints take their key in the address.
            url: redactor.redact(request.url).into_owned(),
            length: request.body.len(),
            sections: request.sections.clone(),
            tools: request.tools.clone(),
            rewrite: request.rewrite,
            unread: request.unread.iter().map(ToString::to_string).collect(),
            stored_hash: (!redactions.is_empty()).then(|| ContentHash::of(&stored)),
            sent: ContentHash::of(request.body),
            cuts: pieces(&stored),
            redactions: match redactions.as_slice() {
                [] => None,
                redactions => Some(serde_json::to_string(redactions)?),
            },
            stored,
            at: self.host.unix_millis(),
        })
    }

    fn remember(&self, request: StoredRequest) -> (RecordId, PrefixReuse) {
        let StoredRequest {
            id,
            reuse,
            contents,
            draft,
        } = request;
        self.recent.keep(
            &draft.session,
            RecentRequest {
                record: id,
                body: KeptBody::new(&draft.stored, &draft.cuts),
                contents,
                model: draft.model,
                url: draft.url,
                sections: draft.sections,
            },
        );
        (id, reuse)
    }

    /// Notes what came of a request. Under way when this returns.
    pub fn finish(&self, id: RecordId, outcome: &RequestOutcome) -> LedgerFuture<()> {
        let redactor = self.redactor();
        let text =
            serde_json::to_string(outcome).map(|text| redactor.redact_json(&text).into_owned());
        let error = outcome
            .error
            .as_ref()
            .map(|error| redactor.redact(error).into_owned());
        let (usage, cost, now) = (outcome.usage, outcome.cost, self.host.unix_millis());
        self.chained(WriteDurability::Process, move |tx, entries| {
            let end = RequestEnd {
                at: now,
                outcome: &text?,
                usage,
                cost,
                error: error.as_deref(),
            };
            let Some(seal) = tx.end_request(id.0, &end)? else {
                return Err(LedgerError::NoRecord(id.0));
            };
            let body = json!({ "record": id.0, "seal": seal.to_string() });
            entries.add(tx, AuditKind::RequestEnd, &body)?;
            Ok(())
        })
    }
}

/// A request that is ready for the record, or why it cannot be recorded.
#[derive(Debug)]
pub struct DraftedRequest(Result<RequestDraft, LedgerError>);

/// A call whose room is taken.
#[derive(Debug)]
pub struct OpenedRequest {
    pub reservation: SpendReservation,
    /// Its request on record, or why it is not.
    pub record: Result<(RecordId, PrefixReuse), LedgerError>,
}

/// A request in the store.
struct StoredRequest {
    id: RecordId,
    reuse: PrefixReuse,
    contents: StoredContents,
    draft: RequestDraft,
}

/// A request on its way into the store.
#[derive(Debug)]
struct RequestDraft {
    agent: String,
    session_key: String,
    session: String,
    turn: String,
    step: u32,
    model: String,
    url: String,
    /// Bytes that are sent.
    length: usize,
    sections: SectionList,
    tools: ToolList,
    rewrite: Option<ContextRewrite>,
    unread: Vec<String>,
    /// The body without secrets.
    stored: Vec<u8>,
    /// Where that is not what was sent.
    stored_hash: Option<ContentHash>,
    sent: ContentHash,
    redactions: Option<String>,
    cuts: Vec<Range<usize>>,
    at: u64,
}

/// The request before.
struct PreviousRequest {
    request: Arc<RecentRequest>,
    /// It is of the session that had this key before.
    another_session: bool,
}

impl RequestDraft {
    fn store(
        self,
        tx: &mut dyn LedgerTransaction,
        entries: &EntryWriter,
        recent: Option<Arc<RecentRequest>>,
    ) -> Result<StoredRequest, LedgerError> {
        let before = self.before(tx, recent)?;
        let cuts = self.cuts.iter();
        let pieces: Vec<&[u8]> = cuts
            .map(|cut| self.stored.get(cut.clone()).unwrap_or_default())
            .collect();
        let known = before.as_ref().map(|before| self.known(&before.request));
        let contents = tx.put_contents(&pieces, known.unwrap_or_default())?;
        let reuse = self.compared(before.as_ref(), &contents);
        let added = tx.add_request(&NewRequest {
            agent: &self.agent,
            session: &self.session,
            session_key: &self.session_key,
            at: self.at,
            turn: &self.turn,
            step: self.step,
            model: &self.model,
            url: &self.url,
            length: self.length as u64,
            sent: self.sent,
            stored: self.stored_hash,
            contents: &contents,
            redactions: self.redactions.as_deref(),
            sections: self.sections.text()?,
            tools: self.tools.text()?,
            reuse: &facts_of(&reuse)?,
        })?;
        self.audit(tx, entries, added)?;
        Ok(StoredRequest {
            id: RecordId(added.number),
            reuse,
            contents,
            draft: self,
        })
    }

    fn before(
        &self,
        tx: &mut dyn LedgerTransaction,
        recent: Option<Arc<RecentRequest>>,
    ) -> Result<Option<PreviousRequest>, LedgerError> {
        let Some(prior) = tx.prior_request(&self.session, &self.session_key)? else {
            return Ok(None);
        };
        // Another process may have recorded since, or deleted.
        let request = match recent.filter(|recent| recent.record.0 == prior.number) {
            Some(recent) => recent,
            None => {
                let sent = tx.sent_request(prior.number)?;
                Arc::new(RecentRequest {
                    record: RecordId(prior.number),
                    body: KeptBody::whole(sent.body),
                    contents: StoredContents::default(),
                    model: sent.model,
                    url: sent.url,
                    sections: serde_json::from_slice::<Vec<SectionMark>>(&sent.sections)?.into(),
                })
            }
        };
        Ok(Some(PreviousRequest {
            request,
            another_session: prior.another_session,
        }))
    }

    /// The pieces it has in common with the request before, from either end: a conversation that
    /// went on differs in the middle.
    fn known<'r>(&self, before: &'r RecentRequest) -> KnownContents<'r> {
        let contents = before.contents.list();
        // One that was read back is not cut: nothing is known of its pieces.
        let both = self.cuts.len().min(before.body.len()).min(contents.len());
        let is_same =
            |(own, other): &(&Range<usize>, &[u8])| self.stored.get((*own).clone()) == Some(*other);
        let pairs = self.cuts.iter().zip(before.body.pieces());
        let first = pairs.take_while(is_same).count().min(both);
        let pairs = self.cuts.iter().rev().zip(before.body.pieces().rev());
        let last = pairs.take(both - first).take_while(is_same).count();
        KnownContents {
            first: contents.get(..first).unwrap_or_default(),
            last: contents.get(contents.len() - last..).unwrap_or_default(),
        }
    }

    fn compared(&self, before: Option<&PreviousRequest>, contents: &StoredContents) -> PrefixReuse {
        let unread: Vec<&str> = self.unread.iter().map(String::as_str).collect();
        let after = CachedRequest {
            body: &self.stored,
            unread: &unread,
            model: &self.model,
            url: &self.url,
            sections: &self.sections,
        };
        let body = before.map(|before| before.request.body.joined());
        let seen = before
            .zip(body.as_deref())
            .map(|(before, body)| CachedRequest {
                body,
                unread: &unread,
                model: &before.request.model,
                url: &before.request.url,
                sections: &before.request.sections,
            });
        let began_anew = before
            .filter(|before| before.another_session)
            .map(|_| ContextRewrite::Reset);
        let weigh = |range: Range<usize>| self.weigh(&range, contents);
        compare(seen.as_ref(), &after, self.rewrite.or(began_anew), &weigh)
    }

    /// What a part of the body costs: the pieces in it, and of those cut by its ends a share.
    fn weigh(&self, range: &Range<usize>, contents: &StoredContents) -> u64 {
        let first = self.cuts.partition_point(|cut| cut.end <= range.start);
        let tokens: f64 = self
            .cuts
            .get(first..)
            .unwrap_or_default()
            .iter()
            .zip(contents.list().get(first..).unwrap_or_default())
            .take_while(|(cut, _)| cut.start < range.end)
            .map(|(cut, content)| {
                let inside = cut.end.min(range.end) - cut.start.max(range.start);
                content.tokens as f64 * inside as f64 / cut.len() as f64
            })
            .sum();
        tokens.round() as u64
    }

    /// The entry about this prompt. The list of sections is written out when it is a new one for
    /// the session; after that its place is named.
    fn audit(
        &self,
        tx: &mut dyn LedgerTransaction,
        entries: &EntryWriter,
        added: AddedRequest,
    ) -> Result<(), LedgerError> {
        let list = list_in(&entries.chain, self.sections.text()?);
        let written = tx.listed_sections(&self.session, list)?;
        let sections = match written {
            Some(seq) => json!({ "asIn": seq }),
            None => listed(&self.sections),
        };
        let body = json!({
            "record": added.number,
            "seal": added.seal.to_string(),
            "session": self.session,
            "request": self.sent.to_string(),
            "sections": sections,
        });
        let seq = entries.add(tx, AuditKind::PromptBuild, &body)?;
        if written.is_none() {
            tx.note_sections(&self.session, list, seq)?;
        }
        Ok(())
    }
}

/// What a list of sections is known by: one that another chain wrote out is not found in this one.
fn list_in(chain: &ChainId, sections: &str) -> ContentHash {
    match chain.is_default() {
        true => ContentHash::of(sections),
        false => ContentHash::of(format!("{chain}\n{sections}")),
    }
}

fn facts_of(reuse: &PrefixReuse) -> Result<ReuseFacts, LedgerError> {
    let broken = reuse.broken.as_ref();
    Ok(ReuseFacts {
        tokens: reuse.total_tokens,
        reused_tokens: reuse.tokens,
        reread_tokens: reuse.reread_tokens,
        bytes: reuse.total_bytes,
        reused_bytes: reuse.bytes,
        broken: broken.map(serde_json::to_string).transpose()?,
        cause: broken.map(|broken| broken.cause.word().to_owned()),
    })
}

fn listed(sections: &[SectionMark]) -> Value {
    sections
        .iter()
        .map(|mark| {
            let mut line = Map::new();
            line.insert("section".into(), json!(mark.id));
            line.insert("origin".into(), json!(mark.origin.to_string()));
            line.insert("trust".into(), json!(mark.trust.as_str()));
            line.insert("hash".into(), json!(mark.hash.to_string()));
            line.insert("bytes".into(), json!(mark.bytes));
            if let Some(contributor) = &mark.contributor {
                line.insert("contributor".into(), json!(contributor.as_str()));
            }
            Value::Object(line)
        })
        .collect()
}
