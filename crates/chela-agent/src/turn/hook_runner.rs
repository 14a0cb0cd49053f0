//! Asks the hooks of outside: bounded, one after the other, on record.

mod call_words;
mod prompt_wishes;

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};

use chela_core::panics::caught_panic;
use chela_core::{AgentId, ContentHash, Origin, SessionKey, Speaker, Trust, lock, ok_or_warn};
use chela_guard::{ExternalSource, LabelledText};
use chela_ledger::AuditKind;
use chela_tools::{OutputPiece, ToolOutput};
use futures_util::FutureExt;
use serde_json::json;

use super::{TurnError, TurnOutcome};
use crate::agent::Agents;
use crate::assemble::HookPrompt;
use crate::hooks::{EndFacts, HookFuture, HookPoint, ObservedEvent, TurnFacts, TurnHook};
use crate::scope::ConversationScope;
use crate::surface::{TurnEvent, TurnSurface};

pub(super) use call_words::{CallWord, PassedReply};

/// Longest name and longest reason that are kept of a hook.
const MOST_NAME: usize = 64;
const MOST_REASON: usize = 500;

/// The hooks as a turn found them: one that comes or goes meanwhile counts from the next turn.
#[derive(Clone)]
pub(crate) struct HookRunner {
    agents: Arc<Agents>,
    hooks: Arc<[Arc<dyn TurnHook>]>,
    facts: TurnFacts,
    session_id: String,
    /// The turn in the ledger, from when it has a record.
    turn: Option<String>,
    /// What the owner is to be told, each once.
    notices: Arc<Mutex<HookNotices>>,
    recording: HookRecording,
}

/// Whether what hooks say goes on record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum HookRecording {
    Kept,
    /// Nothing comes of it: somebody looks at what would.
    None,
}

#[derive(Default)]
struct HookNotices {
    open: Vec<String>,
    told: Vec<String>,
}

/// What a hook says to a text.
enum TextAnswer {
    Text(String),
    Nothing,
    Broken,
}

/// A change as it goes on record.
#[derive(Default)]
struct HookChange<'a> {
    outcome: &'a str,
    before: Option<ContentHash>,
    after: Option<ContentHash>,
    call: Option<&'a str>,
    why: Option<&'a str>,
}

impl HookRunner {
    pub fn new(scope: &ConversationScope, session_id: &str, message: &str) -> Self {
        Self {
            agents: Arc::clone(&scope.agents),
            hooks: scope.agents.hooks().into(),
            facts: TurnFacts {
                agent: scope.view.id.clone(),
                session: scope.key.clone(),
                speaker: scope.ask.speaker.clone(),
                message: message.into(),
                session_id: session_id.into(),
                workspace: scope.view.workspace.value.clone(),
            },
            session_id: session_id.to_owned(),
            turn: None,
            notices: Arc::default(),
            recording: HookRecording::Kept,
        }
    }

    /// For what happens outside of a turn.
    fn outside(
        agents: &Arc<Agents>,
        agent: &AgentId,
        session: &SessionKey,
        recording: HookRecording,
    ) -> Self {
        let workspace = agents.loaded.agent(agent).map(|view| view.workspace.value);
        Self {
            agents: Arc::clone(agents),
            hooks: agents.hooks().into(),
            facts: TurnFacts {
                agent: agent.clone(),
                session: session.clone(),
                speaker: Speaker::Runtime,
                message: "".into(),
                session_id: "".into(),
                workspace: workspace.unwrap_or_default(),
            },
            session_id: String::new(),
            turn: None,
            notices: Arc::default(),
            recording,
        }
    }

    /// Whether nobody steps in.
    pub fn is_empty(&self) -> bool {
        self.hooks.is_empty()
    }

    /// Tells the owner what is to be told of hooks.
    pub fn tell(&self, surface: &dyn TurnSurface) {
        let open = std::mem::take(&mut lock(&self.notices).open);
        for notice in open {
            surface.event(TurnEvent::Notice(notice));
        }
    }

    fn note(&self, notice: String) {
        let mut notices = lock(&self.notices);
        if !notices.told.contains(&notice) {
            notices.told.push(notice.clone());
            notices.open.push(notice);
        }
    }

    /// Those who have something to say at a point, in the order in which they are asked.
    fn at(&self, point: HookPoint) -> Vec<&dyn TurnHook> {
        let listening = self.hooks.iter().filter(|hook| hook.listens(point));
        let mut hooks: Vec<&dyn TurnHook> = listening.map(AsRef::as_ref).collect();
        hooks.sort_by_key(|hook| std::cmp::Reverse(hook.priority(point)));
        hooks
    }

    /// Something happened that hooks may only know of.
    pub async fn observe(&self, event: &ObservedEvent) {
        let point = event.point();
        for hook in self.at(point) {
            let ask = || hook.observe(&self.facts, event);
            self.answer_of(hook, point, ask).await;
        }
    }

    pub fn in_turn(self, turn: &str) -> Self {
        Self {
            turn: Some(turn.to_owned()),
            ..self
        }
    }

    pub async fn end(&self, outcome: &Result<TurnOutcome, TurnError>) {
        let end = match outcome {
            Ok(outcome) => EndFacts {
                how: outcome.ended.as_str(),
                steps: outcome.steps,
                tool_calls: outcome.tool_calls,
            },
            Err(_) => EndFacts {
                how: "failed",
                steps: 0,
                tool_calls: 0,
            },
        };
        for hook in self.at(HookPoint::AgentEnd) {
            let ask = || hook.agent_end(&self.facts, &end);
            self.answer_of(hook, HookPoint::AgentEnd, ask).await;
        }
    }

    /// Text of a hook as what it is: trusted no further than a plugin, nor than what it stands for.
    fn labelled(&self, hook: &dyn TurnHook, text: &str, most: Trust) -> LabelledText {
        let id = name_of(hook);
        let origin = Origin::Plugin {
            id: id.clone(),
            hash: ContentHash::of(text),
        };
        match trust_of(hook).join(most) {
            Trust::External => {
                let source = ExternalSource::Api {
                    name: format!("hook {id}"),
                };
                LabelledText::external(text, &source, origin, self.agents.host.entropy.as_ref())
            }
            trust => LabelledText::local(text, trust, origin),
        }
    }

    /// A text of a hook, cut to its limit; blank text is none.
    fn bounded(
        &self,
        hook: &dyn TurnHook,
        point: HookPoint,
        text: Option<String>,
    ) -> Option<String> {
        let text = text?;
        let most = hook.limits().within_the_most().chars;
        let kept = char_prefix(&text, most);
        if kept.len() < text.len() {
            tracing::warn!(
                hook = hook.name(),
                point = point.as_str(),
                most,
                "the text of a hook is cut"
            );
        }
        (!kept.trim().is_empty()).then(|| kept.to_owned())
    }

    /// A text a hook answers with.
    async fn text_of<'h>(
        &self,
        hook: &'h dyn TurnHook,
        point: HookPoint,
        ask: impl FnOnce() -> HookFuture<'h, Option<String>>,
    ) -> TextAnswer {
        match self.answer_of(hook, point, ask).await {
            None => TextAnswer::Broken,
            Some(text) => match self.bounded(hook, point, text) {
                Some(text) => TextAnswer::Text(text),
                None => TextAnswer::Nothing,
            },
        }
    }

    /// Asks one hook; `None` when it breaks, which is its own trouble alone.
    async fn answer_of<'h, T>(
        &self,
        hook: &'h dyn TurnHook,
        point: HookPoint,
        ask: impl FnOnce() -> HookFuture<'h, T>,
    ) -> Option<T> {
        let time = hook.limits().within_the_most().time;
        // The future is made inside: making it may panic as well.
        let work = AssertUnwindSafe(async move { ask().await }).catch_unwind();
        let (outcome, why) = match tokio::time::timeout(time, work).await {
            Ok(Ok(outcome)) => {
                self.record_refused(hook, point, &outcome.refused).await;
                match outcome.fault {
                    None => return Some(outcome.answer),
                    Some(fault) => ("failed", fault),
                }
            }
            Ok(Err(payload)) => {
                let panic = caught_panic(&*payload);
                let message = self.agents.redactor().redact(&panic.message).into_owned();
                ("panicked", message)
            }
            Err(_) => ("timed-out", format!("no answer within {time:?}")),
        };
        tracing::warn!(
            hook = hook.name(),
            point = point.as_str(),
            outcome,
            why,
            "a hook broke: the turn goes on without its word"
        );
        let change = HookChange {
            outcome,
            why: Some(char_prefix(&why, MOST_REASON)),
            ..HookChange::default()
        };
        self.record(hook, point, &change).await;
        self.note(format!(
            "The hook `{}` broke at {}: {}",
            name_of(hook),
            point.as_str(),
            char_prefix(&why, MOST_REASON)
        ));
        None
    }

    /// What a hook wanted and may not.
    async fn record_refused(&self, hook: &dyn TurnHook, point: HookPoint, refused: &[String]) {
        for why in refused {
            let why = chela_core::sanitize::literal(char_prefix(why, MOST_REASON)).into_owned();
            let change = HookChange {
                outcome: "refused",
                why: Some(&why),
                ..HookChange::default()
            };
            self.record(hook, point, &change).await;
            self.note(format!(
                "The hook `{}` wanted what it may not at {}: {why}",
                name_of(hook),
                point.as_str()
            ));
        }
    }

    async fn record_text(
        &self,
        hook: &dyn TurnHook,
        point: HookPoint,
        before: Option<&str>,
        now: &str,
    ) {
        let change = HookChange {
            outcome: match before {
                Some(_) => "changed",
                None => "added",
            },
            before: before.map(ContentHash::of),
            after: Some(ContentHash::of(now)),
            ..HookChange::default()
        };
        self.record(hook, point, &change).await;
    }

    async fn record(&self, hook: &dyn TurnHook, point: HookPoint, change: &HookChange<'_>) {
        tracing::info!(
            hook = hook.name(),
            point = point.as_str(),
            outcome = change.outcome,
            "a hook had its say"
        );
        if self.recording == HookRecording::None {
            return;
        }
        let Some(ledger) = self.agents.ledger() else {
            tracing::warn!("the say of a hook is not on record: there is no ledger");
            return;
        };
        let body = json!({
            "session": self.session_id,
            "turn": self.turn,
            "hook": name_of(hook),
            "point": point.as_str(),
            "outcome": change.outcome,
            "before": change.before,
            "after": change.after,
            "call": change.call,
            "why": change.why,
        });
        // It narrows or it is labelled: without a record it harms no more.
        let written = ledger.append(AuditKind::Hook, &body).await;
        ok_or_warn!(written, "the say of a hook is not on record");
    }
}

/// A text that leaves outside of a turn.
#[derive(Debug, Clone, Copy)]
pub struct OutgoingText<'a> {
    pub agent: &'a AgentId,
    pub session: &'a SessionKey,
    /// Where it goes, in words.
    pub to: &'a str,
    pub text: &'a str,
}

/// A text that is about to be delivered, as hooks leave it; `None` when one keeps it back.
pub async fn pass_outgoing(agents: &Arc<Agents>, outgoing: OutgoingText<'_>) -> Option<String> {
    let OutgoingText {
        agent,
        session,
        to,
        text,
    } = outgoing;
    let runner = HookRunner::outside(agents, agent, session, HookRecording::Kept);
    match runner.is_empty() {
        true => Some(text.to_owned()),
        false => runner.pass_sending(to, text).await,
    }
}

/// What hooks want of the prompt of a session, for somebody who looks at it.
pub async fn preview_hooks(
    agents: &Arc<Agents>,
    agent: &AgentId,
    session: &SessionKey,
) -> HookPrompt {
    let runner = HookRunner::outside(agents, agent, session, HookRecording::None);
    let view = agents.loaded.agent(agent);
    let chain = view.and_then(|view| agents.chain(&view, None).ok());
    let model = chain.map(|chain| chain.primary().reference().to_owned());
    let model = model.unwrap_or_default();
    runner.prompt_wishes(false, &model).await.prompt
}

/// Tells hooks that a session has ended.
pub(crate) async fn tell_session_end(
    scope: &ConversationScope,
    session: &str,
    reason: &'static str,
) {
    let hooks = HookRunner::new(scope, session, "");
    let event = ObservedEvent::SessionEnd { reason };
    hooks.observe(&event).await;
}

/// The first characters of a text.
fn char_prefix(text: &str, most: usize) -> &str {
    let end = text
        .char_indices()
        .nth(most)
        .map_or(text.len(), |(at, _)| at);
    text.get(..end).unwrap_or(text)
}

/// The name of a hook as it may stand anywhere.
fn name_of(hook: &dyn TurnHook) -> String {
    let name = chela_core::sanitize::literal(hook.name());
    char_prefix(&name, MOST_NAME).to_owned()
}

/// A hook that claims more trust than a plugin's does not get it.
fn trust_of(hook: &dyn TurnHook) -> Trust {
    hook.trust().join(Trust::Plugin)
}

/// The least trusted piece speaks for the whole.
fn trust_of_output(output: &ToolOutput) -> Trust {
    let trusts = output.content.iter().map(|piece| match piece {
        OutputPiece::Text(text) => text.trust(),
        OutputPiece::Image { .. } => Trust::External,
    });
    trusts.min().unwrap_or(Trust::Operator)
}
