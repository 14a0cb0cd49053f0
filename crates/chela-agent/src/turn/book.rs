//! What a turn puts on record: each request before it is sent, each effect before it happens,
//! each cent before it is spent.

use std::sync::Arc;

use chela_config::model::{AtLimit, LimitSet, SpendLimit};
use chela_ledger::{
    Amount, AuditKind, Ledger, Limit, LimitOf, LimitScope, Outcome, RecordId, RequestRecord,
    Reservation, ReserveAsk, ReserveError, Rewrite, Usage as Booked,
};
use chela_model::{Chain, Message, Request, Response, Selection, Target, ToolCall, Usage};
use chela_tools::{Effect, Output, Success};
use serde_json::json;

use super::{Ended, Turn, TurnEvent, request::estimate};
use crate::local;
use crate::session::{Body, Entry};

/// The record of one turn.
pub(super) struct Book {
    ledger: Option<Arc<Ledger>>,
    /// What the steps of the turn have in common.
    turn: String,
    /// The conversation was rewritten since the request before.
    rewrite: Option<Rewrite>,
}

/// A request that is on record and under way.
pub(super) struct Page {
    record: Option<RecordId>,
    reservation: Option<Reservation>,
    /// `provider/model` it was written down for.
    model: String,
}

/// Longest answer counted on when a model does not say.
const LONGEST_ANSWER: u64 = 8_192;
/// A call that is not over after this long is dead.
const LONGEST_CALL_MS: u64 = 3_600_000;

impl Book {
    pub fn open(ledger: Option<Arc<Ledger>>, turn: String, branch: &[Entry]) -> Self {
        Self {
            ledger,
            turn,
            rewrite: is_compacted(branch).then_some(Rewrite::Compaction),
        }
    }
}

/// Whether a summary took the place of messages since the model last spoke.
fn is_compacted(branch: &[Entry]) -> bool {
    branch
        .iter()
        .rev()
        .take_while(|entry| {
            !matches!(
                &entry.body,
                Body::Message {
                    message: Message::Assistant { .. },
                    ..
                }
            )
        })
        .any(|entry| matches!(entry.body, Body::Compaction(_)))
}

impl Turn<'_> {
    /// Takes room for a call and puts its request on record. Says why it may not be made.
    pub(super) fn open_page(&mut self, request: &Request) -> Result<Page, Ended> {
        let reservation = match self.reserve(request) {
            Ok(reservation) => reservation,
            Err(words) => match self.take_cheaper() {
                // The cheaper model has the same limits, and costs less.
                true => self.reserve(request).map_err(Ended::Limit)?,
                false => return Err(Ended::Limit(words)),
            },
        };
        let target = self.chain.current().clone();
        Ok(Page {
            record: self.write_down(&target, request),
            reservation,
            model: target.reference().to_owned(),
        })
    }

    fn write_down(&mut self, target: &Target, request: &Request) -> Option<RecordId> {
        let ledger = self.book.ledger.as_ref()?;
        let body = target.body(request);
        let begun = ledger.begin(&RequestRecord {
            agent: &self.talk.view.id,
            session_key: &self.talk.key,
            session: self.session.id.as_str(),
            turn: &self.book.turn,
            step: self.spent.steps + 1,
            model: target.reference(),
            url: &target.url(),
            body: &body,
            sections: &self.prefix.sections,
            tools: &self.prefix.tool_marks,
            rewrite: self.book.rewrite.take(),
        });
        match begun {
            Ok((record, _)) => Some(record),
            Err(error) => {
                let notice = format!("This request is not on record: {error}");
                self.surface.event(TurnEvent::Notice(notice));
                None
            }
        }
    }

    /// Notes what came of a call, and what it cost.
    pub(super) fn close_page(
        &mut self,
        page: Page,
        request: &Request,
        answer: Result<&Response, &str>,
    ) {
        let Some(ledger) = self.book.ledger.clone() else {
            return;
        };
        let price = self.chain.current().info().cost;
        let usage = answer.map(|response| response.usage).unwrap_or_default();
        let cost = price.map(|price| micro(price.of(&usage)));
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
                usage: Some(booked(usage)),
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
        let target = self.chain.current().clone();
        let record = match answered_by {
            Some(_) => {
                let silent = Outcome {
                    error: Some(format!("{} answered in its place", target.reference())),
                    ..Outcome::default()
                };
                if let Some(record) = page.record {
                    let _ = ledger.finish(record, &silent);
                }
                self.write_down(&target, request)
            }
            None => page.record,
        };
        if let Some(record) = record {
            let _ = ledger.finish(record, &outcome);
        }
    }

    /// Puts a call on record before it takes effect. Without a record nothing happens but reading.
    pub(super) fn book_call(&self, call: &ToolCall, effect: Effect) -> Result<(), String> {
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
            "decision": "run",
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

    /// Room for one call; `None` when nothing is limited and nothing can be counted.
    fn reserve(&self, request: &Request) -> Result<Option<Reservation>, String> {
        let Some(ledger) = &self.book.ledger else {
            return Ok(None);
        };
        let info = self.chain.current().info();
        let usage = Usage {
            input: estimate(request),
            output: request
                .max_tokens
                .or(info.max_tokens)
                .unwrap_or(LONGEST_ANSWER)
                .min(LONGEST_ANSWER),
            ..Usage::default()
        };
        let zone = self.talk.view.user_timezone.value.as_deref();
        let day = local::day(&self.talk.agents.host, zone).to_string();
        let ask = ReserveAsk {
            agent: self.talk.view.id.to_string(),
            session: self.session.id.as_str().to_owned(),
            turn: self.book.turn.clone(),
            job: self.talk.job().to_owned(),
            model: info.reference.clone(),
            estimate: Amount {
                tokens: usage.input + usage.output,
                micro_dollars: info.cost.map_or(0, |cost| micro(cost.of(&usage))),
            },
            limits: self.talk.spend_limits(),
            month: day.get(..7).unwrap_or(&day).to_owned(),
            day,
            lasts: LONGEST_CALL_MS,
        };
        match ledger.reserve(&ask) {
            Ok(reservation) => Ok(Some(reservation)),
            Err(ReserveError::Limit(limit)) => Err(limit.in_words()),
            // A limit that cannot be counted is not a limit that may be passed.
            Err(ReserveError::Ledger(error)) if !ask.limits.is_empty() => Err(format!(
                "Spending cannot be counted, so nothing more is spent: {error}"
            )),
            Err(ReserveError::Ledger(_)) => Ok(None),
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

impl crate::conversation::Conversation {
    /// What the spending of this session is for.
    fn job(&self) -> &'static str {
        match self.key.form {
            chela_core::SessionForm::Heartbeat { .. } => "heartbeat",
            chela_core::SessionForm::Cron { .. } => "cron",
            chela_core::SessionForm::Subagent { .. } => "subagent",
            _ => "chat",
        }
    }

    /// Every limit that holds here.
    fn spend_limits(&self) -> Vec<Limit> {
        let all = &self.agents.loaded.config.limits;
        let mut limits = limits_of(&self.view.limits.value, LimitOf::Agent, "limits");
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
            micro_dollars: limit.usd.map(micro),
            key: format!("{key}.{name}"),
        })
        .collect()
}

fn micro(dollars: f64) -> u64 {
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "prices are small and not negative"
    )]
    let micro = (dollars * 1e6).round().max(0.0) as u64;
    micro
}

fn booked(usage: Usage) -> Booked {
    Booked {
        input: usage.input,
        output: usage.output,
        cache_read: usage.cache_read,
        cache_write: usage.cache_write,
        reasoning: usage.reasoning,
        estimated: usage.estimated,
    }
}
