//! What a turn puts on record: each request before it is sent, each effect before it happens,
//! each cent before it is spent.

use std::sync::Arc;

use chela_config::model::{AtLimit, LimitSet, SpendLimit};
use chela_core::micro_dollars;
use chela_ledger::{
    Amount, AuditKind, Ledger, LedgerError, Limit, LimitOf, LimitScope, Outcome, RecordId,
    RequestRecord, Reservation, ReserveAsk, ReserveError, Rewrite,
};
use chela_model::{Chain, Request, Response, Selection, Target, ToolCall, Usage};
use chela_tools::{Effect, Output, Success};
use serde_json::{Value, json};

use super::{Ended, Turn, TurnEvent, request::estimate};
use crate::conversation::{Conversation, Prefix};
use crate::local;
use crate::session::Session;
use crate::subagents::job_of;

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

/// A request that is on record and under way.
pub(crate) struct Page {
    record: Option<RecordId>,
    reservation: Option<Reservation>,
    /// `provider/model` it was written down for.
    model: String,
    /// Why it is not on record.
    pub unrecorded: Option<String>,
}

/// Longest answer counted on when a model does not say.
const LONGEST_ANSWER: u64 = 8_192;
/// A call that is not over after this long is dead.
const LONGEST_CALL_MS: u64 = 3_600_000;

impl Book {
    pub fn open(talk: &Conversation) -> Self {
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
    pub fn open_page(&self, call: &Call<'_>) -> Result<Page, String> {
        let reservation = self.reserve(call)?;
        let target = call.chain.current();
        let (record, unrecorded) = match self.write_down(target, call) {
            Ok(record) => (record, None),
            Err(error) => (None, Some(error.to_string())),
        };
        Ok(Page {
            record,
            reservation,
            model: target.reference().to_owned(),
            unrecorded,
        })
    }

    fn write_down(
        &self,
        target: &Target,
        call: &Call<'_>,
    ) -> Result<Option<RecordId>, LedgerError> {
        let Some(ledger) = &self.ledger else {
            return Ok(None);
        };
        let body = target.body(call.request);
        let (record, _) = ledger.begin(&RequestRecord {
            agent: &call.talk.view.id,
            session_key: &call.talk.key,
            session: call.session.id.as_str(),
            turn: &self.turn,
            step: call.step,
            model: target.reference(),
            url: &target.url(),
            body: &body,
            sections: &call.prefix.sections,
            tools: &call.prefix.tool_marks,
            rewrite: call.rewrite,
        })?;
        Ok(Some(record))
    }

    /// Notes what came of a call, and what it cost.
    pub fn close_page(&self, page: Page, call: &Call<'_>, answer: Result<&Response, &str>) {
        let Some(ledger) = &self.ledger else {
            return;
        };
        let target = call.chain.current();
        let price = target.info().cost;
        let usage = answer.map(|response| response.usage).unwrap_or_default();
        let cost = price.map(|price| price.micro_dollars(&usage));
        if let Some(reservation) = &page.reservation {
            let actual = Amount {
                tokens: usage.input + usage.output,
                micro_dollars: cost.unwrap_or(0),
            };
            let _ = ledger.settle(reservation, actual);
        }
        let outcome = match answer {
            Ok(response) => Outcome {
                response: json!({ "content": response.content, "stop": response.stop }),
                usage: Some(usage),
                cost,
                ..Outcome::default()
            },
            Err(error) => Outcome {
                error: Some(error.to_owned()),
                ..Outcome::default()
            },
        };
        // Another model answered in its place: what that one was sent is on record too.
        let answered_by = answer.ok().filter(|response| response.model != page.model);
        let record = match answered_by {
            Some(_) => {
                let silent = Outcome {
                    error: Some(format!("{} answered in its place", target.reference())),
                    ..Outcome::default()
                };
                if let Some(record) = page.record {
                    let _ = ledger.finish(record, &silent);
                }
                let again = Call {
                    rewrite: None,
                    ..*call
                };
                self.write_down(target, &again).ok().flatten()
            }
            None => page.record,
        };
        if let Some(record) = record {
            let _ = ledger.finish(record, &outcome);
        }
    }

    /// Room for one call; `None` when nothing is limited and nothing can be counted.
    fn reserve(&self, call: &Call<'_>) -> Result<Option<Reservation>, String> {
        let limits = call.talk.spend_limits();
        let Some(ledger) = &self.ledger else {
            return match limits.is_empty() {
                true => Ok(None),
                false => Err(uncountable(&"the ledger cannot be opened")),
            };
        };
        let info = call.chain.current().info();
        let usage = Usage {
            input: estimate(call.request),
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
        let ask = ReserveAsk {
            agent: payer.agent,
            session: payer.session,
            turn: payer.turn,
            job: call.talk.job().to_owned(),
            model: info.reference.clone(),
            estimate: Amount {
                tokens: usage.input + usage.output,
                micro_dollars: info.cost.map_or(0, |cost| cost.micro_dollars(&usage)),
            },
            limits,
            month: day.get(..7).unwrap_or(&day).to_owned(),
            day,
            lasts: LONGEST_CALL_MS,
        };
        match ledger.reserve(&ask) {
            Ok(reservation) => Ok(Some(reservation)),
            Err(ReserveError::Limit(limit)) => Err(limit.in_words()),
            Err(ReserveError::Ledger(error)) if !ask.limits.is_empty() => Err(uncountable(&error)),
            Err(ReserveError::Ledger(_)) => Ok(None),
        }
    }
}

impl Book {
    pub fn turn(&self) -> &str {
        &self.turn
    }

    /// Adds to the audit chain what happens anyway.
    pub fn note(&self, kind: AuditKind, body: &Value) {
        if let Some(ledger) = &self.ledger {
            let _ = ledger.append(kind, body);
        }
    }
}

impl Turn<'_> {
    /// Takes room for a call and puts its request on record. Says why it may not be made.
    pub(super) fn open_page(&mut self, request: &Request) -> Result<Page, Ended> {
        let rewrite = self.rewrite.take();
        let open = |turn: &Self| {
            turn.book.open_page(&Call {
                rewrite,
                ..turn.call_of(request)
            })
        };
        let page = match open(self) {
            Ok(page) => page,
            Err(words) => match self.take_cheaper() {
                // The cheaper model has the same limits, and costs less.
                true => open(self).map_err(Ended::Limit)?,
                false => return Err(Ended::Limit(words)),
            },
        };
        if let Some(error) = &page.unrecorded {
            let notice = format!("This request is not on record: {error}");
            self.surface.event(TurnEvent::Notice(notice));
        }
        Ok(page)
    }

    pub(super) fn close_page(
        &self,
        page: Page,
        request: &Request,
        answer: Result<&Response, &str>,
    ) {
        self.book.close_page(page, &self.call_of(request), answer);
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
    pub(super) fn book_call(
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
        match ledger.append(AuditKind::ToolDecision, &body) {
            Ok(_) => Ok(()),
            Err(_) if matches!(effect, Effect::Read | Effect::ReadUntrusted) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }

    pub(super) fn book_result(&self, call: &ToolCall, output: &Output) {
        let Some(ledger) = &self.book.ledger else {
            return;
        };
        let text = output.text();
        let body = json!({
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
        let _ = ledger.append(AuditKind::ToolOutcome, &body);
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
                let notice = format!("At a spending limit: going on with {model}.");
                self.surface.event(TurnEvent::Notice(notice));
                self.chain = chain;
                true
            }
            _ => false,
        }
    }
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

/// A limit that cannot be counted is not a limit that may be passed.
fn uncountable(why: &dyn std::fmt::Display) -> String {
    format!("Spending cannot be counted, so nothing more is spent: {why}")
}
