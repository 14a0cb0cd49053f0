//! What a turn puts on record: each request before it is sent, each effect before it happens,
//! each cent before it is spent.

use std::sync::Arc;

use chela_config::model::{AtLimit, LimitSet, SpendLimit};
use chela_core::{micro_dollars, ok_or_warn};
use chela_ledger::{
    Amount, AuditKind, Ledger, LedgerError, Limit, LimitOf, LimitScope, OpenedRequest, Outcome,
    RequestRecord, ReserveAsk, ReserveError, Rewrite,
};
use chela_model::{Chain, EncodedRequest, Request, Selection, ToolCall, Usage};
use chela_store::Durability;
use chela_tools::{Effect, Output, Success};
use serde_json::{Value, json};
use tracing::Instrument as _;

use super::page::{Page, Reckoning, outcome};
use super::partial::Partial;
use super::{Ended, Heard, Turn, TurnError, TurnEvent, request::estimate};
use crate::conversation::{Conversation, Prefix};
use crate::local;
use crate::subagents::job_of;
use chela_session::{Session, SessionError};

/// The record of one piece of work: a turn, or the writing of a summary.
pub(crate) struct Book {
    ledger: Option<Arc<Ledger>>,
    /// What the steps of the work have in common.
    turn: String,
}

/// A model call, as the books see it.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    pub talk: &'a Conversation,
    pub session: &'a Session,
    pub prefix: &'a Prefix,
    pub chain: &'a Chain,
    pub request: &'a Request,
    /// Which call of the work, from 1.
    pub step: u32,
    /// The conversation was rewritten since the request before.
    pub rewrite: Option<Rewrite>,
}

/// Longest answer counted on when a model does not say.
const LONGEST_ANSWER: u64 = 8_192;
/// A call that is not over after this long is dead.
const LONGEST_CALL_MS: u64 = 3_600_000;

impl Book {
    pub fn open(talk: &Conversation) -> Self {
        talk.agents.ledger_slot.try_again();
        Self {
            ledger: talk.agents.ledger(),
            turn: talk.agents.host.random_hex(8),
        }
    }

    /// The record of a turn: what its sub-agents spend counts as spent in it.
    pub fn open_turn(talk: &Conversation) -> Self {
        let book = Self::open(talk);
        talk.children.0.turn_began(&book.turn);
        book
    }

    /// Takes room for a call and puts its request on record. Says why it may not be made.
    pub async fn open_page(&self, call: &Call<'_>) -> Result<Page, String> {
        let mut page = self.blank_page(call);
        let Some(ledger) = &self.ledger else {
            let slot = &call.talk.agents.ledger_slot;
            let why = slot
                .trouble()
                .unwrap_or_else(|| "it is not there".to_owned());
            if !call.talk.spend_limits().is_empty() {
                return Err(uncountable(&format!("the ledger cannot be opened ({why})")));
            }
            page.unrecorded = slot.untold_trouble();
            return match call.talk.agents.loaded.config.ledger.required {
                true => Err(unrecordable(&why)),
                false => Ok(page),
            };
        };
        page.input = estimate(call.request);
        let ask = self.ask_for(call, page.input);
        let request = self.record_of(call, &page.sent);
        // The first request of a turn is safe from a power cut before it is sent, and so is every
        // one that counts against a limit. Those that follow are taken along by what the calls
        // between them put on record.
        let durability = match call.step > 1 && ask.limits.is_empty() {
            true => Durability::Process,
            false => Durability::Disk,
        };
        let opening = ledger.open_request(&ask, &request, durability);
        let mut page = match claim(page, opening).await {
            Ok(page) => page,
            Err(ReserveError::Limit(limit)) => {
                tracing::info!(limit = limit.in_words(), "a call is over a spending limit");
                return Err(limit.in_words());
            }
            Err(ReserveError::Ledger(error)) if !ask.limits.is_empty() => {
                return Err(uncountable(&error));
            }
            Err(ReserveError::Ledger(error)) => {
                tracing::warn!(%error, "a request is not on record");
                let mut page = self.blank_page(call);
                page.unrecorded = Some(error.to_string());
                page
            }
        };
        match &page.unrecorded {
            Some(why) if call.talk.agents.loaded.config.ledger.required => {
                let words = unrecordable(why);
                if let Some(reservation) = page.reservation.take() {
                    ok_or_warn!(
                        ledger.release(reservation).await,
                        "room for a call is not given back"
                    );
                }
                Err(words)
            }
            _ => Ok(page),
        }
    }

    fn blank_page(&self, call: &Call<'_>) -> Page {
        Page {
            reservation: None,
            ledger: self.ledger.clone(),
            record: None,
            sent: call.chain.encode(call.request),
            prices: call.chain.current().info().cost,
            input: 0,
            unrecorded: None,
        }
    }

    fn record_of<'c>(&'c self, call: &Call<'c>, sent: &'c EncodedRequest) -> RequestRecord<'c> {
        RequestRecord {
            agent: &call.talk.view.id,
            session_key: &call.talk.key,
            session: call.session.id.as_str(),
            turn: &self.turn,
            step: call.step,
            model: sent.model(),
            url: sent.url(),
            body: sent.bytes(),
            sections: &call.prefix.sections,
            tools: &call.prefix.tool_marks,
            rewrite: call.rewrite,
        }
    }

    /// Notes what came of a call, and what it cost.
    pub async fn close_page(&self, mut page: Page, call: &Call<'_>, answer: Reckoning<'_>) {
        let Some(ledger) = &self.ledger else {
            return;
        };
        let target = call.chain.current();
        let prices = target.info().cost;
        page.settle(&answer.usage(), prices);
        // Another model answered in its place: what that one was sent is on record too.
        let by_another = match &answer {
            Reckoning::Whole { response, .. } => Some(&response.sent),
            Reckoning::Missing { .. } => None,
        }
        .filter(|sent| sent.model() != page.sent.model());
        let mut record = page.record.take();
        if let Some(sent) = by_another {
            let silent = Outcome {
                error: Some(format!("{} answered in its place", target.reference())),
                ..Outcome::default()
            };
            if let Some(record) = record {
                drop(ledger.finish(record, &silent));
            }
            let again = Call {
                rewrite: None,
                ..*call
            };
            let request = self.record_of(&again, sent);
            let written = ledger.begin(&request).await;
            record = ok_or_warn!(written, "the request to the fallback is not on record")
                .map(|(record, _)| record);
        }
        if let Some(record) = record {
            let finished = ledger.finish(record, &outcome(&answer, prices)).await;
            ok_or_warn!(finished, "the outcome of a request is not on record");
        }
    }

    /// The room one call may need.
    fn ask_for(&self, call: &Call<'_>, input: u64) -> ReserveAsk {
        let info = call.chain.current().info();
        let usage = Usage {
            input,
            output: call
                .request
                .max_tokens
                .or(info.max_tokens)
                .unwrap_or(LONGEST_ANSWER)
                .min(LONGEST_ANSWER),
            ..Usage::default()
        };
        let zone = call.talk.view.user_timezone.value.as_deref();
        let day = local::day(&call.talk.agents.host, zone).to_string();
        let payer = call.talk.payer(call.session, &self.turn);
        let amount = |usage: &Usage| Amount {
            tokens: usage.input + usage.output,
            micro_dollars: info.cost.map_or(0, |cost| cost.micro_dollars(usage)),
        };
        ReserveAsk {
            agent: payer.agent,
            session: payer.session,
            turn: payer.turn,
            job: call.talk.job().to_owned(),
            model: info.reference.clone(),
            estimate: amount(&usage),
            known: amount(&Usage { output: 0, ..usage }),
            limits: call.talk.spend_limits(),
            month: day.get(..7).unwrap_or(&day).to_owned(),
            day,
            lasts: LONGEST_CALL_MS,
        }
    }
}

impl Book {
    pub fn turn(&self) -> &str {
        &self.turn
    }

    /// Adds to the audit chain what happens anyway.
    pub fn note(&self, kind: AuditKind, body: &Value) {
        // What has happened already happens no less without a record.
        if let Some(ledger) = &self.ledger {
            drop(ledger.note(kind, body));
        }
    }

    /// The same where something follows from it that must not happen without a record.
    pub async fn must_note(&self, kind: AuditKind, body: &Value) -> Result<(), String> {
        let ledger = self.ledger.as_ref().ok_or("the ledger cannot be opened")?;
        ledger
            .append(kind, body)
            .await
            .map(drop)
            .map_err(|error| error.to_string())
    }
}

/// Fills a page with what the ledger gave. The ledger opens it even if nobody waits any more: a
/// page nobody claims is closed again, and nothing was sent with it.
async fn claim(
    mut page: Page,
    opening: impl Future<Output = Result<OpenedRequest, ReserveError>> + Send + 'static,
) -> Result<Page, ReserveError> {
    let (hand_over, claimed) = tokio::sync::oneshot::channel();
    let work = async move {
        let opened = opening.await.map(|opened| {
            page.reservation = Some(opened.reservation);
            match opened.record {
                Ok((record, _)) => page.record = Some(record),
                Err(error) => {
                    tracing::warn!(%error, "a request is not on record");
                    page.unrecorded = Some(error.to_string());
                }
            }
            page
        });
        if let Err(Ok(mut unclaimed)) = hand_over.send(opened) {
            unclaimed.input = 0;
        }
    };
    tokio::spawn(work.in_current_span());
    match claimed.await {
        Ok(opened) => opened,
        Err(_) => Err(ReserveError::Ledger(LedgerError::Interrupted)),
    }
}

impl Turn<'_> {
    /// Takes room for a call and puts its request on record. Says why it may not be made.
    pub(super) async fn open_page(&mut self, request: &Request) -> Result<Page, Ended> {
        let rewrite = self.rewrite.take();
        let page = match self.try_page(request, rewrite).await {
            Ok(page) => page,
            Err(words) => match self.take_cheaper() {
                // The cheaper model has the same limits, and costs less.
                true => self
                    .try_page(request, rewrite)
                    .await
                    .map_err(Ended::Limit)?,
                false => return Err(Ended::Limit(words)),
            },
        };
        if let Some(error) = &page.unrecorded {
            let notice = format!("This request is not on record: {error}");
            self.surface.event(TurnEvent::Unrecorded(notice));
        }
        Ok(page)
    }

    async fn try_page(&self, request: &Request, rewrite: Option<Rewrite>) -> Result<Page, String> {
        let call = Call {
            rewrite,
            ..self.call_of(request)
        };
        self.book.open_page(&call).await
    }

    /// Closes the page of a call; gives what was paid for one without an answer.
    pub(super) async fn close_page(
        &mut self,
        page: Page,
        request: &Request,
        heard: &Result<Heard, TurnError>,
        partial: &Partial,
    ) -> Result<(), SessionError> {
        let input = page.input;
        let (why, usage) = match heard {
            Ok(Heard::Answer(response)) => {
                let answer = Reckoning::Whole {
                    response,
                    wasted: partial.wasted(input),
                };
                let call = self.call_of(request);
                self.book.close_page(page, &call, answer).await;
                return Ok(());
            }
            Ok(Heard::Interrupted(ended)) => (ended.as_str().to_owned(), partial.broken_off(input)),
            Err(TurnError::Model(error)) => (error.to_string(), partial.failed(input, error)),
            Err(error) => (error.to_string(), partial.broken_off(input)),
        };
        let answer = Reckoning::Missing { why: &why, usage };
        let call = self.call_of(request);
        self.book.close_page(page, &call, answer).await;
        self.usage += usage;
        let used = self.talk.meter().used;
        self.talk
            .sessions
            .add_usage(&self.session, usage, used)
            .await
    }

    fn call_of<'c>(&'c self, request: &'c Request) -> Call<'c> {
        Call {
            talk: self.talk,
            session: &self.session,
            prefix: &self.prefix,
            chain: &self.chain,
            request,
            step: self.spent.steps + 1,
            rewrite: None,
        }
    }

    /// Puts a call on record before it takes effect. Without a record nothing happens but reading.
    pub(super) async fn book_call(
        &self,
        call: &ToolCall,
        effect: Effect,
        decision: &Value,
    ) -> Result<(), String> {
        let Some(ledger) = &self.book.ledger else {
            return match effect {
                Effect::Read | Effect::ReadUntrusted => Ok(()),
                _ => Err("the ledger cannot be written".to_owned()),
            };
        };
        let body = json!({
            "session": self.session.id.as_str(),
            "turn": self.book.turn,
            "call": call.id,
            "tool": call.name,
            "effect": effect,
            "arguments": call.arguments,
            "decision": match decision["goes"] == true {
                true => "run",
                false => "refused",
            },
            "guard": decision,
        });
        let booked = match needed_before(effect) {
            Durability::Disk => ledger.append(AuditKind::ToolDecision, &body),
            Durability::Process => ledger.note(AuditKind::ToolDecision, &body),
        };
        match booked.await {
            Ok(_) => Ok(()),
            Err(error) if matches!(effect, Effect::Read | Effect::ReadUntrusted) => {
                tracing::warn!(%error, "a call that reads is not on record");
                Ok(())
            }
            Err(error) => Err(error.to_string()),
        }
    }

    pub(super) fn book_result(&self, call: &ToolCall, output: &Output) {
        let Some(ledger) = &self.book.ledger else {
            return;
        };
        let text = output.text();
        let files = files_changed(&output.details);
        let mut body = json!({
            "session": self.session.id.as_str(),
            "turn": self.book.turn,
            "call": call.id,
            "tool": call.name,
            "outcome": match output.success {
                Success::Done => "done",
                Success::Failed => "failed",
            },
            "chars": text.chars().count(),
            "hash": chela_core::ContentHash::of(&text),
        });
        if !files.is_empty() {
            body["files"] = files.into();
        }
        drop(ledger.note(AuditKind::ToolOutcome, &body));
        self.book_secrets(call, output);
    }

    /// What was taken out of a result, or refused in a call, is on record and told.
    fn book_secrets(&self, call: &ToolCall, output: &Output) {
        let told = &output.details[chela_tools::SECRETS];
        let (Some(ledger), Some(what)) = (&self.book.ledger, told["what"].as_str()) else {
            return;
        };
        let body = json!({
            "session": self.session.id.as_str(),
            "turn": self.book.turn,
            "call": call.id,
            "tool": call.name,
            "what": what,
            "names": told["names"],
        });
        drop(ledger.note(AuditKind::Secret, &body));
        if what == "blocked" {
            let notice = format!(
                "{} was refused: it would have carried a secret away.",
                call.name
            );
            self.surface.event(TurnEvent::Notice(notice));
        }
    }

    /// Goes on with the cheaper model of the config, where it names one and this is not it.
    fn take_cheaper(&mut self) -> bool {
        let limits = &self.talk.agents.loaded.config.limits;
        let Some(model) = &limits.cheaper_model else {
            return false;
        };
        let chosen = self
            .talk
            .agents
            .models
            .chain(&self.talk.view, Selection::Chosen(model));
        match chosen {
            Ok(chain) if limits.at_limit == AtLimit::Cheaper && is_another(&chain, &self.chain) => {
                tracing::info!(
                    model,
                    "at a spending limit: going on with the cheaper model"
                );
                let notice = format!("At a spending limit: going on with {model}.");
                self.surface.event(TurnEvent::Notice(notice));
                self.chain = chain;
                true
            }
            _ => false,
        }
    }
}

/// How safe the mark and the record of a call have to be before it is made. Reading here changes
/// nothing that a power cut could leave unrecorded.
pub(super) fn needed_before(effect: Effect) -> Durability {
    match effect {
        Effect::Read => Durability::Process,
        _ => Durability::Disk,
    }
}

/// The files a tool changed, with the hashes of what they were and are.
fn files_changed(details: &Value) -> Vec<Value> {
    let one = std::slice::from_ref(details);
    let all = details["files"].as_array().map_or(one, Vec::as_slice);
    let changed = |file: &&Value| file["before"].is_string() || file["after"].is_string();
    all.iter()
        .filter(changed)
        .map(|file| {
            json!({ "path": file["path"], "before": file["before"], "after": file["after"] })
        })
        .collect()
}

fn is_another(one: &Chain, other: &Chain) -> bool {
    one.primary().reference() != other.current().reference()
}

impl Conversation {
    /// What the spending of this session is for.
    fn job(&self) -> &'static str {
        // The limits of a job hold for whoever works for it.
        match self.grant.payer().map(|payer| payer.job.as_str()) {
            Some("heartbeat") => "heartbeat",
            Some("cron") => "cron",
            _ => job_of(&self.key),
        }
    }

    /// Every limit that holds here.
    fn spend_limits(&self) -> Vec<Limit> {
        let all = &self.agents.loaded.config.limits;
        let mut limits = limits_of(&self.limits_here(), LimitOf::Agent, "limits");
        let work = match self.job() {
            "heartbeat" => Some((&all.heartbeat, "limits.heartbeat")),
            "cron" => Some((&all.job, "limits.job")),
            _ => None,
        };
        if let Some((set, key)) = work {
            limits.extend(limits_of(set, LimitOf::Job, key));
        }
        limits
    }
}

fn limits_of(set: &LimitSet, of: LimitOf, key: &str) -> Vec<Limit> {
    let scopes: [(LimitScope, &SpendLimit, &str); 4] = [
        (LimitScope::Turn, &set.turn, "turn"),
        (LimitScope::Session, &set.session, "session"),
        (LimitScope::Day, &set.day, "day"),
        (LimitScope::Month, &set.month, "month"),
    ];
    scopes
        .into_iter()
        .filter(|(_, limit, _)| limit.tokens.is_some() || limit.usd.is_some())
        .map(|(scope, limit, name)| Limit {
            scope,
            of,
            tokens: limit.tokens,
            micro_dollars: limit.usd.map(micro_dollars),
            key: format!("{key}.{name}"),
        })
        .collect()
}

/// The owner wants no request that is not on record.
fn unrecordable(why: &str) -> String {
    format!(
        "Nothing is sent that is not on record (ledger.required), and the ledger cannot be written: {why}"
    )
}

/// A limit that cannot be counted is not a limit that may be passed.
fn uncountable(why: &dyn std::fmt::Display) -> String {
    format!("Spending cannot be counted, so nothing more is spent: {why}")
}
