//! What hooks say to calls, results and replies.

use chela_core::ContentHash;
use chela_guard::LabelledText;
use chela_model::ToolCall;
use chela_reply::ReplyDelivery;
use chela_tools::{Effect, OutputPiece, ToolOutput};
use serde_json::{Map, Value};

use super::{
    HookChange, HookRunner, MOST_REASON, TextAnswer, char_prefix, name_of, trust_of_output,
};
use crate::hooks::{
    CallFacts, CallWish, HookPoint, HookVerdict, ResultFacts, SendingFacts, TextWhenBroken,
    TextWish, TurnHook,
};
use crate::surface::{TurnEvent, TurnSurface};
use crate::turn::guard::JudgedCall;

/// What hooks say about a call: the strictest word, whose it is, and what it is to be made with.
#[derive(Debug, Clone, Default)]
pub(in crate::turn) struct CallWord {
    pub verdict: HookVerdict,
    pub hook: String,
    /// Other arguments, and who wants them.
    pub rewritten: Option<(String, Map<String, Value>)>,
}

/// A reply as hooks leave it.
pub(in crate::turn) enum PassedReply {
    AsItIs,
    Changed(ReplyDelivery),
    /// It does not go out; whose word that is.
    Withheld(String),
}

impl HookRunner {
    /// What hooks say about a call. The first that wants other arguments has its way; the call is asked
    /// about anew then.
    pub(in crate::turn) async fn word_about(&self, call: &ToolCall, case: &JudgedCall) -> CallWord {
        let mut said = CallWord::default();
        let point = HookPoint::BeforeToolCall;
        let hooks = self.at(point);
        if hooks.is_empty() {
            return said;
        }
        let facts = CallFacts {
            id: &call.id,
            tool: &call.name,
            arguments: &case.prepared.arguments,
            effect: case.prospect.effect,
            targets: &case.targets,
            writes: &case.writes,
        };
        for hook in hooks {
            let ask = || hook.before_tool_call(&self.facts, &facts);
            let wish = self.answer_of(hook, point, ask).await;
            let wish = wish.unwrap_or_else(|| CallWish::from(hook.word_when_broken()));
            if let Some(arguments) = wish.arguments
                && said.rewritten.is_none()
                && arguments != call.arguments
                && arguments != case.prepared.arguments
            {
                self.record_rewrite(hook, call, &arguments).await;
                said.rewritten = Some((name_of(hook), arguments));
            }
            let (outcome, why) = match &wish.verdict {
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
            self.record(hook, point, &change).await;
            let is_stricter = match (&said.verdict, &wish.verdict) {
                (HookVerdict::Refuse(_), _) => false,
                (HookVerdict::Ask(_), word) => matches!(word, HookVerdict::Refuse(_)),
                (HookVerdict::Pass, _) => true,
            };
            if is_stricter {
                said.verdict = wish.verdict;
                said.hook = name_of(hook);
            }
        }
        said
    }

    async fn record_rewrite(&self, hook: &dyn TurnHook, call: &ToolCall, now: &Map<String, Value>) {
        let hash = |arguments: &Map<String, Value>| {
            ContentHash::of(Value::Object(arguments.clone()).to_string())
        };
        let change = HookChange {
            outcome: "rewrote",
            before: Some(hash(&call.arguments)),
            after: Some(hash(now)),
            call: Some(&call.id),
            ..HookChange::default()
        };
        self.record(hook, HookPoint::BeforeToolCall, &change).await;
    }

    /// Whose words a call is made with, where they are a hook's: what changes or sends anything is
    /// asked about then.
    pub(in crate::turn) fn word_about_rewritten(hook: &str, case: &JudgedCall) -> HookVerdict {
        match case.prospect.effect {
            Effect::Read | Effect::ReadUntrusted => HookVerdict::Pass,
            _ => HookVerdict::Ask(format!("the hook `{hook}` wrote its arguments")),
        }
    }

    /// A result as hooks leave it.
    pub async fn pass_result(
        &self,
        call: &ToolCall,
        mut output: ToolOutput,
        surface: &dyn TurnSurface,
    ) -> ToolOutput {
        let point = HookPoint::AfterToolCall;
        for hook in self.at(point) {
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
            let new = match self.text_of(hook, point, ask).await {
                TextAnswer::Text(new) if new != text => new,
                TextAnswer::Text(_) | TextAnswer::Nothing => continue,
                TextAnswer::Broken => {
                    if let Some(words) = self.withhold(hook, point, Some(call)).await {
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
            self.record(hook, point, &change).await;
            let images = output.content.into_iter().filter(|piece| match piece {
                OutputPiece::Text(_) => false,
                OutputPiece::Image { .. } => true,
            });
            let text = OutputPiece::Text(self.labelled(hook, &new, trust));
            output.content = std::iter::once(text).chain(images).collect();
        }
        output
    }

    /// A reply as hooks leave it.
    pub(in crate::turn) async fn pass_reply(&self, reply: &ReplyDelivery) -> PassedReply {
        let point = HookPoint::BeforeAgentReply;
        let mut changed: Option<ReplyDelivery> = None;
        for hook in self.at(point) {
            let now = changed.clone().unwrap_or_else(|| reply.clone());
            let ask = || hook.before_agent_reply(&self.facts, &now.text);
            match self.answer_of(hook, point, ask).await {
                Some(TextWish::Text(new)) => {
                    let Some(new) = self.bounded(hook, point, Some(new)) else {
                        continue;
                    };
                    if new != now.text {
                        self.record_text(hook, point, Some(&now.text), &new).await;
                        changed = Some(ReplyDelivery { text: new, ..now });
                    }
                }
                Some(TextWish::Withhold) => {
                    self.record_text(hook, point, Some(&now.text), "").await;
                    return PassedReply::Withheld(name_of(hook));
                }
                Some(TextWish::Keep) => {}
                None => {
                    changed = match self.withhold(hook, point, None).await {
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
        changed.map_or(PassedReply::AsItIs, PassedReply::Changed)
    }

    /// A text that is about to be delivered, as hooks leave it; `None` when it does not go out.
    pub async fn pass_sending(&self, to: &str, text: &str) -> Option<String> {
        let point = HookPoint::MessageSending;
        let mut now = text.to_owned();
        for hook in self.at(point) {
            let sending = SendingFacts { to, text: &now };
            let ask = || hook.message_sending(&self.facts, &sending);
            match self.answer_of(hook, point, ask).await {
                Some(TextWish::Text(new)) => {
                    if let Some(new) = self.bounded(hook, point, Some(new))
                        && new != now
                    {
                        self.record_text(hook, point, Some(&now), &new).await;
                        now = new;
                    }
                }
                Some(TextWish::Withhold) => {
                    self.record_text(hook, point, Some(&now), "").await;
                    return None;
                }
                // A hook that breaks here keeps nothing back, unless it is there to.
                Some(TextWish::Keep) => {}
                None if hook.text_when_broken() == TextWhenBroken::Withheld => return None,
                None => {}
            }
        }
        Some(now)
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
}
