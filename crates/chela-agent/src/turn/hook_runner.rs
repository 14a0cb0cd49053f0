//! Asks the hooks of outside: bounded, one after the other, on record.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use chela_core::panics::caught_panic;
use chela_core::{ContentHash, Origin, Trust, ok_or_warn};
use chela_guard::{ExternalSource, LabelledText};
use chela_ledger::AuditKind;
use chela_model::{FallbackChain, ToolCall};
use chela_reply::ReplyDelivery;
use chela_tools::{OutputPiece, ToolOutput};
use futures_util::FutureExt;
use serde_json::{Value, json};

use super::guard::JudgedCall;
use super::{TurnError, TurnOutcome};
use crate::agent::Agents;
use crate::assemble::HookText;
use crate::hooks::{
    CallFacts, EndFacts, HookFuture, HookPoint, HookVerdict, ResultFacts, TextWhenBroken,
    TurnFacts, TurnHook,
};
use crate::runtime_blocks::{BlockKind, RuntimeBlock};
use crate::scope::ConversationScope;
use crate::surface::{TurnEvent, TurnSurface};

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
    pub async fn resolve_model(
        &self,
        scope: &ConversationScope,
        chain: FallbackChain,
    ) -> FallbackChain {
        let mut chain = chain;
        if scope.ask.model.is_some() {
            return chain;
        }
        for hook in self.hooks.iter() {
            let point = HookPoint::BeforeModelResolve;
            let ask = || hook.before_model_resolve(&self.facts);
            let TextAnswer::Text(name) = self.text_of(hook.as_ref(), point, ask).await else {
                continue;
            };
            let was = chain.primary().reference().to_owned();
            let why = match self.agents.chain(&scope.view, Some(&name)) {
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
    fn is_listed(&self, chain: &FallbackChain) -> bool {
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
            let TextAnswer::Text(text) = self.text_of(hook.as_ref(), point, ask).await else {
                continue;
            };
            // What a session is made of cannot be text from outside.
            if trust_of(hook.as_ref()) < Trust::Plugin {
                let change = HookChange {
                    outcome: "refused",
                    why: Some("untrusted content is not part of the bootstrap files"),
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
    pub async fn prompt_block(&self) -> Option<RuntimeBlock> {
        let point = HookPoint::BeforePromptBuild;
        let mut parts = Vec::new();
        let mut names = Vec::new();
        let mut trust = Trust::Plugin;
        for hook in self.hooks.iter() {
            let ask = || hook.before_prompt_build(&self.facts);
            let TextAnswer::Text(text) = self.text_of(hook.as_ref(), point, ask).await else {
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
        (!text.is_empty()).then(|| RuntimeBlock {
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
    pub async fn word_about(&self, call: &ToolCall, case: &JudgedCall) -> (HookVerdict, String) {
        let mut strictest = (HookVerdict::Pass, String::new());
        if self.hooks.is_empty() {
            return strictest;
        }
        let point = HookPoint::BeforeToolCall;
        let facts = CallFacts {
            id: &call.id,
            tool: &call.name,
            arguments: &case.prepared.arguments,
            effect: case.prospect.effect,
            targets: &case.targets,
            writes: &case.writes,
        };
        for hook in self.hooks.iter() {
            let ask = || hook.before_tool_call(&self.facts, &facts);
            let word = self.answer_of(hook.as_ref(), point, ask).await;
            let word = word.unwrap_or_else(|| hook.word_when_broken());
            let (outcome, why) = match &word {
                HookVerdict::Pass => continue,
                HookVerdict::Ask(why) => ("asks", why),
                HookVerdict::Refuse(why) => ("refuses", why),
            };
            let change = HookChange {
                outcome,
                call: Some(&call.id),
                why: Some(char_prefix(why, MOST_REASON)),
                ..HookChange::default()
            };
            self.record(hook.as_ref(), point, &change).await;
            let is_stricter = match (&strictest.0, &word) {
                (HookVerdict::Refuse(_), _) => false,
                (HookVerdict::Ask(_), word) => matches!(word, HookVerdict::Refuse(_)),
                (HookVerdict::Pass, _) => true,
            };
            if is_stricter {
                strictest = (word, name_of(hook.as_ref()));
            }
        }
        strictest
    }

    /// A result as hooks leave it.
    pub async fn pass_result(
        &self,
        call: &ToolCall,
        mut output: ToolOutput,
        surface: &dyn TurnSurface,
    ) -> ToolOutput {
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
            let new = match self.text_of(hook.as_ref(), point, ask).await {
                TextAnswer::Text(new) if new != text => new,
                TextAnswer::Text(_) | TextAnswer::Nothing => continue,
                TextAnswer::Broken => {
                    let withheld = self.withhold(hook.as_ref(), point, Some(call)).await;
                    if let Some(words) = withheld {
                        surface.event(TurnEvent::Notice(words.clone()));
                        let words = OutputPiece::Text(LabelledText::runtime(words));
                        output.content = vec![words];
                        output.details = Value::Null;
                    }
                    continue;
                }
            };
            let change = HookChange {
                outcome: "changed",
                before: Some(ContentHash::of(&text)),
                after: Some(ContentHash::of(&new)),
                call: Some(&call.id),
                ..HookChange::default()
            };
            self.record(hook.as_ref(), point, &change).await;
            let images = output.content.into_iter().filter(|piece| match piece {
                OutputPiece::Text(_) => false,
                OutputPiece::Image { .. } => true,
            });
            let text = OutputPiece::Text(self.labelled(hook.as_ref(), &new, trust));
            output.content = std::iter::once(text).chain(images).collect();
        }
        output
    }

    /// A reply as hooks leave it; `None` when they leave it as it is.
    pub async fn pass_reply(&self, reply: &ReplyDelivery) -> Option<ReplyDelivery> {
        let point = HookPoint::BeforeAgentReply;
        let mut changed: Option<ReplyDelivery> = None;
        for hook in self.hooks.iter() {
            let now = changed.clone().unwrap_or_else(|| reply.clone());
            let ask = || hook.before_agent_reply(&self.facts, &now.text);
            match self.text_of(hook.as_ref(), point, ask).await {
                TextAnswer::Text(new) if new != now.text => {
                    self.record_text(hook.as_ref(), point, Some(&now.text), &new)
                        .await;
                    changed = Some(ReplyDelivery { text: new, ..now });
                }
                TextAnswer::Text(_) | TextAnswer::Nothing => {}
                TextAnswer::Broken => {
                    let withheld = self.withhold(hook.as_ref(), point, None).await;
                    changed = match withheld {
                        // Files that go with it were not looked through either.
                        Some(text) => Some(ReplyDelivery {
                            text,
                            media: Vec::new(),
                            audio_as_voice: false,
                            ..now
                        }),
                        None => changed,
                    };
                }
            }
        }
        changed
    }

    /// What stands where a text stood that a hook broke over; `None` when it may pass.
    async fn withhold(
        &self,
        hook: &dyn TurnHook,
        point: HookPoint,
        call: Option<&ToolCall>,
    ) -> Option<String> {
        if hook.text_when_broken() == TextWhenBroken::Passes {
            return None;
        }
        let name = name_of(hook);
        tracing::warn!(
            hook = name,
            point = point.as_str(),
            "a text is withheld: the hook that looks through it broke"
        );
        let change = HookChange {
            outcome: "withheld",
            call: call.map(|call| call.id.as_str()),
            ..HookChange::default()
        };
        self.record(hook, point, &change).await;
        let what = match call {
            Some(call) => format!("The call of {} was made, but its result", call.name),
            None => "The reply".to_owned(),
        };
        Some(format!(
            "{what} is withheld: the hook `{name}`, which looks through it first, broke."
        ))
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

    /// A text a hook answers with, cut to its limit; blank text is none.
    async fn text_of<'h>(
        &self,
        hook: &'h dyn TurnHook,
        point: HookPoint,
        ask: impl FnOnce() -> HookFuture<'h, Option<String>>,
    ) -> TextAnswer {
        let text = match self.answer_of(hook, point, ask).await {
            Some(Some(text)) => text,
            Some(None) => return TextAnswer::Nothing,
            None => return TextAnswer::Broken,
        };
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
        match kept.trim().is_empty() {
            true => TextAnswer::Nothing,
            false => TextAnswer::Text(kept.to_owned()),
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
            "a hook broke: the turn goes on without its word"
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
fn trust_of_output(output: &ToolOutput) -> Trust {
    let trusts = output.content.iter().map(|piece| match piece {
        OutputPiece::Text(text) => text.trust(),
        OutputPiece::Image { .. } => Trust::External,
    });
    trusts.min().unwrap_or(Trust::Operator)
}
