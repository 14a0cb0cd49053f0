//! Asks the hooks of outside: bounded, one after the other, on record.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use chela_core::panics::caught_panic;
use chela_core::{ContentHash, Origin, Trust, ok_or_warn};
use chela_guard::{ExternalSource, Labelled};
use chela_ledger::AuditKind;
use chela_model::{Chain, ToolCall};
use chela_tools::{Output, Piece};
use futures_util::FutureExt;
use serde_json::json;

use super::guard::Case;
use super::tail::{Block, BlockKind};
use super::{TurnError, TurnOutcome};
use crate::agent::Agents;
use crate::assemble::HookText;
use crate::conversation::Conversation;
use crate::hooks::{
    CallFacts, CallWord, EndFacts, HookFuture, HookPoint, ResultFacts, TurnFacts, TurnHook,
};

/// Longest name and longest reason that are kept of a hook.
const MOST_NAME: usize = 64;
const MOST_REASON: usize = 500;

/// The hooks as a turn found them: one that comes or goes meanwhile counts from the next turn.
#[derive(Clone)]
pub(super) struct HookRunner {
    agents: Arc<Agents>,
    hooks: Arc<[Arc<dyn TurnHook>]>,
    facts: TurnFacts,
    session_id: String,
    /// The turn in the ledger, from when it has a record.
    turn: Option<String>,
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
    pub fn new(talk: &Conversation, session_id: &str, message: &str) -> Self {
        Self {
            agents: Arc::clone(&talk.agents),
            hooks: talk.agents.hooks().into(),
            facts: TurnFacts {
                agent: talk.view.id.clone(),
                session: talk.key.clone(),
                speaker: talk.ask.speaker.clone(),
                message: message.into(),
            },
            session_id: session_id.to_owned(),
            turn: None,
        }
    }

    pub fn in_turn(self, turn: &str) -> Self {
        Self {
            turn: Some(turn.to_owned()),
            ..self
        }
    }

    /// The models of this turn: what a hook names counts where nobody named one for this process,
    /// and where the agent may use it.
    pub async fn resolve_model(&self, talk: &Conversation, chain: Chain) -> Chain {
        let mut chain = chain;
        if talk.ask.model.is_some() {
            return chain;
        }
        for hook in self.hooks.iter() {
            let point = HookPoint::BeforeModelResolve;
            let ask = || hook.before_model_resolve(&self.facts);
            let Some(name) = self.text_of(hook.as_ref(), point, ask).await else {
                continue;
            };
            let was = chain.primary().reference().to_owned();
            let why = match self.agents.chain(&talk.view, Some(&name)) {
                Ok(chosen) if self.is_listed(&chosen) => {
                    chain = chosen;
                    let now = chain.primary().reference();
                    self.record_text(hook.as_ref(), point, Some(&was), now)
                        .await;
                    continue;
                }
                Ok(_) => format!("the config does not list the model `{name}`"),
                Err(error) => error.to_string(),
            };
            let change = HookChange {
                outcome: "refused",
                why: Some(&why),
                ..HookChange::default()
            };
            self.record(hook.as_ref(), point, &change).await;
        }
        chain
    }

    /// Whether the config knows a model. The owner may try others; a hook may not.
    fn is_listed(&self, chain: &Chain) -> bool {
        let wanted = chain.primary().info();
        let mut known = self.agents.models.list().into_iter();
        known.any(|info| info.provider == wanted.provider && info.id == wanted.id)
    }

    /// What hooks add to the files a session begins with.
    pub async fn bootstrap(&self) -> Vec<HookText> {
        let point = HookPoint::AgentBootstrap;
        let mut texts = Vec::new();
        for hook in self.hooks.iter() {
            let ask = || hook.agent_bootstrap(&self.facts);
            let Some(text) = self.text_of(hook.as_ref(), point, ask).await else {
                continue;
            };
            // What a session is made of cannot be text from outside.
            if trust_of(hook.as_ref()) < Trust::Plugin {
                let change = HookChange {
                    outcome: "refused",
                    why: Some("text from outside is no part of the bootstrap files"),
                    ..HookChange::default()
                };
                self.record(hook.as_ref(), point, &change).await;
                continue;
            }
            self.record_text(hook.as_ref(), point, None, &text).await;
            texts.push(HookText {
                hook: name_of(hook.as_ref()),
                text,
            });
        }
        texts
    }

    /// What hooks say along with the message, as one block: a later block of a name replaces an
    /// earlier one.
    pub async fn prompt_block(&self) -> Option<Block> {
        let point = HookPoint::BeforePromptBuild;
        let mut parts = Vec::new();
        let mut names = Vec::new();
        let mut trust = Trust::Plugin;
        for hook in self.hooks.iter() {
            let ask = || hook.before_prompt_build(&self.facts);
            let Some(text) = self.text_of(hook.as_ref(), point, ask).await else {
                continue;
            };
            self.record_text(hook.as_ref(), point, None, &text).await;
            let name = name_of(hook.as_ref());
            let labelled = self.labelled(hook.as_ref(), &text, Trust::Plugin);
            trust = trust.join(labelled.trust());
            parts.push(format!("From the hook `{name}`:\n{}", labelled.text()));
            names.push(name);
        }
        let text = parts.join("\n\n");
        (!text.is_empty()).then(|| Block {
            kind: BlockKind::Hooks,
            origin: Origin::Plugin {
                id: names.join(", "),
                hash: ContentHash::of(&text),
            },
            text,
            trust,
        })
    }

    /// The strictest word about a call, and whose it is.
    pub async fn word_about(&self, call: &ToolCall, case: &Case) -> (CallWord, String) {
        let mut strictest = (CallWord::Pass, String::new());
        if self.hooks.is_empty() {
            return strictest;
        }
        let point = HookPoint::BeforeToolCall;
        let targets = case.prepared.tool.targets(&case.prepared.arguments);
        let facts = CallFacts {
            id: &call.id,
            tool: &call.name,
            arguments: &case.prepared.arguments,
            effect: case.prospect.effect,
            targets: &targets,
            writes: &case.writes,
        };
        for hook in self.hooks.iter() {
            let ask = || hook.before_tool_call(&self.facts, &facts);
            let word = self.answer_of(hook.as_ref(), point, ask).await;
            let word = word.unwrap_or_else(|| hook.word_when_broken());
            let (outcome, why) = match &word {
                CallWord::Pass => continue,
                CallWord::Ask(why) => ("asks", why),
                CallWord::Refuse(why) => ("refuses", why),
            };
            let change = HookChange {
                outcome,
                call: Some(&call.id),
                why: Some(char_prefix(why, MOST_REASON)),
                ..HookChange::default()
            };
            self.record(hook.as_ref(), point, &change).await;
            let is_stricter = match (&strictest.0, &word) {
                (CallWord::Refuse(_), _) => false,
                (CallWord::Ask(_), word) => matches!(word, CallWord::Refuse(_)),
                (CallWord::Pass, _) => true,
            };
            if is_stricter {
                strictest = (word, name_of(hook.as_ref()));
            }
        }
        strictest
    }

    /// A result as hooks leave it.
    pub async fn pass_result(&self, call: &ToolCall, mut output: Output) -> Output {
        let point = HookPoint::AfterToolCall;
        for hook in self.hooks.iter() {
            let text = output.text();
            let trust = trust_of_output(&output);
            let facts = ResultFacts {
                id: &call.id,
                tool: &call.name,
                arguments: &call.arguments,
                text: &text,
                trust,
            };
            let ask = || hook.after_tool_call(&self.facts, &facts);
            let Some(new) = self.text_of(hook.as_ref(), point, ask).await else {
                continue;
            };
            if new == text {
                continue;
            }
            let change = HookChange {
                outcome: "changed",
                before: Some(ContentHash::of(&text)),
                after: Some(ContentHash::of(&new)),
                call: Some(&call.id),
                ..HookChange::default()
            };
            self.record(hook.as_ref(), point, &change).await;
            let images = output.content.into_iter().filter(|piece| match piece {
                Piece::Text(_) => false,
                Piece::Image { .. } => true,
            });
            let text = Piece::Text(self.labelled(hook.as_ref(), &new, trust));
            output.content = std::iter::once(text).chain(images).collect();
        }
        output
    }

    /// The text of a reply as hooks leave it; `None` when they leave it as it is.
    pub async fn pass_reply(&self, text: &str) -> Option<String> {
        let point = HookPoint::BeforeAgentReply;
        let mut changed: Option<String> = None;
        for hook in self.hooks.iter() {
            let now = changed.clone().unwrap_or_else(|| text.to_owned());
            let ask = || hook.before_agent_reply(&self.facts, &now);
            let Some(new) = self.text_of(hook.as_ref(), point, ask).await else {
                continue;
            };
            if new != now {
                self.record_text(hook.as_ref(), point, Some(&now), &new)
                    .await;
                changed = Some(new);
            }
        }
        changed
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
        for hook in self.hooks.iter() {
            let ask = || hook.agent_end(&self.facts, &end);
            self.answer_of(hook.as_ref(), HookPoint::AgentEnd, ask)
                .await;
        }
    }

    /// Text of a hook as what it is: trusted no further than a plugin, nor than what it stands for.
    fn labelled(&self, hook: &dyn TurnHook, text: &str, most: Trust) -> Labelled {
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
                Labelled::external(text, &source, origin, self.agents.host.entropy.as_ref())
            }
            trust => Labelled::local(text, trust, origin),
        }
    }

    /// A text a hook answers with, cut to its limit; blank text is none.
    async fn text_of<'h>(
        &self,
        hook: &'h dyn TurnHook,
        point: HookPoint,
        ask: impl FnOnce() -> HookFuture<'h, Option<String>>,
    ) -> Option<String> {
        let text = self.answer_of(hook, point, ask).await??;
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
            Ok(Ok(answer)) => return Some(answer),
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
            "a hook broke: the turn goes on without it"
        );
        let change = HookChange {
            outcome,
            why: Some(char_prefix(&why, MOST_REASON)),
            ..HookChange::default()
        };
        self.record(hook, point, &change).await;
        None
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
fn trust_of_output(output: &Output) -> Trust {
    let trusts = output.content.iter().map(|piece| match piece {
        Piece::Text(text) => text.trust(),
        Piece::Image { .. } => Trust::External,
    });
    trusts.min().unwrap_or(Trust::Operator)
}
