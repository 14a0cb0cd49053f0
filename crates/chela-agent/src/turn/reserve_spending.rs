//! Room for a model call, reserved before it is made: how much it may cost, against whose limits.

use chela_config::model::{AtLimit, LimitSet, SpendLimit};
use chela_core::{AgentId, SessionForm, SessionKey, micro_dollars};
use chela_ledger::{Amount, LimitOf, LimitScope, ReserveAsk, SpendingBound};
use chela_model::{FallbackChain, ModelSelection, Usage};
use chela_session::OpenSession;

use super::recorder::RecordedCall;
use super::{RunningTurn, TurnEvent};
use crate::local;
use crate::scope::ConversationScope;
use crate::subagents::SpendingPayer;

/// Longest answer counted on when a model does not say.
const LONGEST_ANSWER: u64 = 8_192;
/// A call that is not over after this long is dead.
const LONGEST_CALL_MS: u64 = 3_600_000;

/// The room one call of a turn may need.
pub(super) fn reservation_for(call: &RecordedCall<'_>, turn: &str, input: u64) -> ReserveAsk {
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
    let zone = call.scope.view.user_timezone.value.as_deref();
    let day = local::day(&call.scope.agents.host, zone).to_string();
    let payer = payer(call.scope, call.session, turn);
    let amount = |usage: &Usage| Amount {
        tokens: usage.input + usage.output,
        micro_dollars: info.cost.map_or(0, |cost| cost.micro_dollars(usage)),
    };
    ReserveAsk {
        agent: payer.agent,
        session: payer.session,
        turn: payer.turn,
        job: job(call.scope).to_owned(),
        model: info.reference.clone(),
        estimate: amount(&usage),
        known: amount(&Usage { output: 0, ..usage }),
        limits: spend_limits(call.scope),
        month: day.get(..7).unwrap_or(&day).to_owned(),
        day,
        lasts: LONGEST_CALL_MS,
    }
}

impl RunningTurn<'_> {
    /// Goes on with the cheaper model of the config, where it names one and this is not it.
    pub(super) fn take_cheaper(&mut self) -> bool {
        let limits = &self.parts.scope.agents.loaded.config.limits;
        let Some(model) = &limits.cheaper_model else {
            return false;
        };
        let chosen = self
            .parts
            .scope
            .agents
            .models
            .chain(&self.parts.scope.view, ModelSelection::Chosen(model));
        match chosen {
            Ok(chain) if limits.at_limit == AtLimit::Cheaper && is_another(&chain, &self.chain) => {
                tracing::info!(
                    model,
                    "at a spending limit: going on with the cheaper model"
                );
                let notice = format!("Spending limit reached: continuing with {model}.");
                self.surface.event(TurnEvent::Notice(notice));
                self.chain = chain;
                true
            }
            _ => false,
        }
    }
}

fn is_another(one: &FallbackChain, other: &FallbackChain) -> bool {
    one.primary().reference() != other.current().reference()
}

/// Whose limits a call counts against: those of the session at the top.
fn payer(scope: &ConversationScope, session: &OpenSession, turn: &str) -> SpendingPayer {
    scope
        .grant
        .payer()
        .cloned()
        .unwrap_or_else(|| SpendingPayer {
            agent: scope.view.id.to_string(),
            session: session.id.as_str().to_owned(),
            turn: turn.to_owned(),
            job: job_of(&scope.key).to_owned(),
        })
}

/// The limits of whoever pays.
fn limits_here(scope: &ConversationScope) -> LimitSet {
    let payer = scope.grant.payer();
    let payer = payer.and_then(|payer| AgentId::parse(&payer.agent).ok());
    let config = scope.agents.rules_config();
    let view = config.agent(payer.as_ref().unwrap_or(&scope.view.id));
    view.map_or_else(
        || scope.view.limits.value.clone(),
        |view| view.limits.value.clone(),
    )
}

/// What the spending of this session is for.
fn job(scope: &ConversationScope) -> &'static str {
    // The limits of a job hold for whoever works for it.
    match scope.grant.payer().map(|payer| payer.job.as_str()) {
        Some("heartbeat") => "heartbeat",
        Some("cron") => "cron",
        _ => job_of(&scope.key),
    }
}

/// What the spending of a session is for, by its key.
pub(crate) fn job_of(key: &SessionKey) -> &'static str {
    match key.form {
        SessionForm::Heartbeat { .. } => "heartbeat",
        SessionForm::Cron { .. } => "cron",
        SessionForm::Subagent { .. } => "subagent",
        _ => "chat",
    }
}

/// Every limit that holds here.
pub(super) fn spend_limits(scope: &ConversationScope) -> Vec<SpendingBound> {
    let config = scope.agents.rules_config();
    let all = &config.config.limits;
    let mut limits = limits_of(&limits_here(scope), LimitOf::Agent, "limits");
    let work = match job(scope) {
        "heartbeat" => Some((&all.heartbeat, "limits.heartbeat")),
        "cron" => Some((&all.job, "limits.job")),
        _ => None,
    };
    if let Some((set, key)) = work {
        limits.extend(limits_of(set, LimitOf::Job, key));
    }
    limits
}

fn limits_of(set: &LimitSet, of: LimitOf, key: &str) -> Vec<SpendingBound> {
    let scopes: [(LimitScope, &SpendLimit, &str); 4] = [
        (LimitScope::Turn, &set.turn, "turn"),
        (LimitScope::Session, &set.session, "session"),
        (LimitScope::Day, &set.day, "day"),
        (LimitScope::Month, &set.month, "month"),
    ];
    scopes
        .into_iter()
        .filter(|(_, limit, _)| limit.tokens.is_some() || limit.usd.is_some())
        .map(|(scope, limit, name)| SpendingBound {
            scope,
            of,
            tokens: limit.tokens,
            micro_dollars: limit.usd.map(micro_dollars),
            key: format!("{key}.{name}"),
        })
        .collect()
}
