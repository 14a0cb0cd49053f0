//! What hooks want of a turn before it is sent: its model, what the session begins with, what goes along
//! with the message, which tools are left.

use chela_core::{ContentHash, Origin, Trust};
use chela_model::FallbackChain;

use super::{HookChange, HookRunner, name_of, trust_of};
use crate::assemble::{HookPrompt, HookText};
use crate::hooks::{HookPoint, PromptWish, TurnHook};
use crate::runtime_blocks::{BlockKind, RuntimeBlock};
use crate::scope::ConversationScope;

/// What hooks want of a prompt.
#[derive(Default)]
pub(in crate::turn) struct PromptWishes {
    /// What the session begins with.
    pub prompt: HookPrompt,
    /// What goes along with the message.
    pub block: Option<RuntimeBlock>,
    /// The only tools that are left, by whose word.
    pub tools: Vec<(String, Vec<String>)>,
}

impl HookRunner {
    /// The models of this turn: what a hook names counts where nobody named one for this process, and
    /// where the agent may use it. The first that names a provider or a model has its way in that.
    pub async fn resolve_model(
        &self,
        scope: &ConversationScope,
        chain: FallbackChain,
    ) -> FallbackChain {
        let point = HookPoint::BeforeModelResolve;
        let hooks = self.at(point);
        if hooks.is_empty() || scope.ask.model.is_some() {
            return chain;
        }
        let (mut model, mut provider) = (None, None);
        for hook in hooks {
            let ask = || hook.before_model_resolve(&self.facts);
            let Some(wish) = self.answer_of(hook, point, ask).await else {
                continue;
            };
            if let (Some(wanted), None) = (wish.model, &model) {
                model = Some((wanted, hook));
            }
            if let (Some(wanted), None) = (wish.provider, &provider) {
                provider = Some((wanted, hook));
            }
        }
        let own = chain.primary().info();
        let (name, hook) = match (model, provider) {
            (None, None) => return chain,
            (Some((model, hook)), None) => (model, hook),
            (Some((model, hook)), Some((provider, _))) => {
                let bare = model
                    .split_once('/')
                    .map_or(model.as_str(), |(_, bare)| bare);
                (format!("{provider}/{bare}"), hook)
            }
            (None, Some((provider, hook))) => (format!("{provider}/{}", own.id), hook),
        };
        let was = chain.primary().reference().to_owned();
        let why = match self.agents.chain(&scope.view, Some(&name)) {
            Ok(chosen) if self.is_listed(&chosen) => {
                let (provider, id) = {
                    let info = chosen.primary().info();
                    (info.provider.to_string(), info.id.to_string())
                };
                if hook.may_redirect(&provider, &id) {
                    let now = chosen.primary().reference().to_owned();
                    self.record_text(hook, point, Some(&was), &now).await;
                    return chosen;
                }
                format!("it was not granted the model {provider}/{id}")
            }
            Ok(_) => format!("the config does not list the model `{name}`"),
            Err(error) => error.to_string(),
        };
        self.record_refused(hook, point, &[why]).await;
        chain
    }

    /// Whether the config knows a model. The owner may try others; a hook may not.
    fn is_listed(&self, chain: &FallbackChain) -> bool {
        let wanted = chain.primary().info();
        let mut known = self.agents.models.list().into_iter();
        known.any(|info| info.provider == wanted.provider && info.id == wanted.id)
    }

    /// What hooks want of the prompt, in the order of the hook points.
    pub(in crate::turn) async fn prompt_wishes(
        &self,
        is_heartbeat: bool,
        model: &str,
    ) -> PromptWishes {
        let mut wishes = PromptWishes::default();
        if self.hooks.is_empty() {
            return wishes;
        }
        self.bootstrap(&mut wishes.prompt).await;
        self.provider(&mut wishes.prompt, model).await;
        let mut said = TailTexts::default();
        let point = HookPoint::BeforePromptBuild;
        for hook in self.at(point) {
            let ask = || hook.before_prompt_build(&self.facts);
            if let Some(wish) = self.answer_of(hook, point, ask).await {
                self.take_wish(hook, point, wish, &mut wishes, &mut said)
                    .await;
            }
        }
        if is_heartbeat {
            let point = HookPoint::HeartbeatPromptContribution;
            for hook in self.at(point) {
                let ask = || hook.heartbeat_prompt_contribution(&self.facts);
                if let Some(wish) = self.answer_of(hook, point, ask).await {
                    let wish = PromptWish {
                        prepend: wish.prepend,
                        append: wish.append,
                        ..PromptWish::default()
                    };
                    self.take_wish(hook, point, wish, &mut wishes, &mut said)
                        .await;
                }
            }
        }
        wishes.block = said.into_block();
        wishes
    }

    /// What hooks add to the files a session begins with.
    async fn bootstrap(&self, prompt: &mut HookPrompt) {
        let point = HookPoint::AgentBootstrap;
        for hook in self.at(point) {
            let ask = || hook.agent_bootstrap(&self.facts);
            for file in self.answer_of(hook, point, ask).await.unwrap_or_default() {
                let Some(text) = self.bounded(hook, point, Some(file.text)) else {
                    continue;
                };
                if !self.may_shape_session(hook, point).await {
                    continue;
                }
                self.record_text(hook, point, None, &text).await;
                prompt.files.push(HookText {
                    hook: name_of(hook),
                    name: file.name,
                    text,
                    replaces: file.replaces,
                });
            }
        }
    }

    /// The first that has a text for a section has its way.
    async fn provider(&self, prompt: &mut HookPrompt, model: &str) {
        let point = HookPoint::ProviderContribution;
        for hook in self.at(point) {
            let ask = || hook.provider_contribution(&self.facts, model);
            let Some(wish) = self.answer_of(hook, point, ask).await else {
                continue;
            };
            let places = [
                (&mut prompt.interaction_style, wish.interaction_style),
                (&mut prompt.tool_call_style, wish.tool_call_style),
                (&mut prompt.execution_bias, wish.execution_bias),
                (&mut prompt.stable_prefix, wish.stable_prefix),
                (&mut prompt.dynamic_suffix, wish.dynamic_suffix),
            ];
            for (place, text) in places {
                let Some(text) = self.bounded(hook, point, text) else {
                    continue;
                };
                if place.is_none() && self.may_shape_session(hook, point).await {
                    self.record_text(hook, point, None, &text).await;
                    *place = Some(HookText::of(name_of(hook), text));
                }
            }
        }
    }

    async fn take_wish(
        &self,
        hook: &dyn TurnHook,
        point: HookPoint,
        wish: PromptWish,
        wishes: &mut PromptWishes,
        said: &mut TailTexts,
    ) {
        let name = name_of(hook);
        for (text, end) in [(wish.prepend, TailEnd::Front), (wish.append, TailEnd::Back)] {
            let Some(text) = self.bounded(hook, point, text) else {
                continue;
            };
            self.record_text(hook, point, None, &text).await;
            let labelled = self.labelled(hook, &text, Trust::Plugin);
            said.add(&name, labelled.text(), labelled.trust(), end);
        }
        let system = [
            ("before.md", wish.prepend_system),
            ("after.md", wish.append_system),
        ];
        for (file, text) in system {
            let Some(text) = self.bounded(hook, point, text) else {
                continue;
            };
            if self.may_shape_session(hook, point).await {
                self.record_text(hook, point, None, &text).await;
                wishes.prompt.files.push(HookText {
                    hook: name.clone(),
                    name: file.to_owned(),
                    text,
                    replaces: false,
                });
            }
        }
        if let Some(text) = self.bounded(hook, point, wish.system_prompt)
            && self.may_shape_session(hook, point).await
        {
            self.record_text(hook, point, Some(""), &text).await;
            // The last one has its way.
            wishes.prompt.replacement = Some(HookText::of(name.clone(), text));
        }
        if let Some(tools) = wish.tools_allow {
            let change = HookChange {
                outcome: "narrowed",
                after: Some(ContentHash::of(tools.join(","))),
                ..HookChange::default()
            };
            self.record(hook, point, &change).await;
            wishes.tools.push((name, tools));
        }
    }

    /// What a session is made of cannot be text from outside.
    async fn may_shape_session(&self, hook: &dyn TurnHook, point: HookPoint) -> bool {
        if trust_of(hook) >= Trust::Plugin {
            return true;
        }
        let why = "untrusted content is not part of what a session starts with";
        self.record_refused(hook, point, &[why.to_owned()]).await;
        false
    }
}

enum TailEnd {
    Front,
    Back,
}

/// What hooks say along with a message, as one block: a later block of a name replaces an earlier one.
#[derive(Default)]
struct TailTexts {
    front: Vec<String>,
    back: Vec<String>,
    names: Vec<String>,
    trust: Option<Trust>,
}

impl TailTexts {
    fn add(&mut self, name: &str, text: &str, trust: Trust, end: TailEnd) {
        let said = format!("From the hook `{name}`:\n{text}");
        match end {
            TailEnd::Front => self.front.push(said),
            TailEnd::Back => self.back.push(said),
        }
        if !self.names.iter().any(|known| known == name) {
            self.names.push(name.to_owned());
        }
        self.trust = Some(self.trust.map_or(trust, |known| known.join(trust)));
    }

    fn into_block(self) -> Option<RuntimeBlock> {
        let trust = self.trust?;
        let parts: Vec<String> = self.front.into_iter().chain(self.back).collect();
        let text = parts.join("\n\n");
        Some(RuntimeBlock {
            kind: BlockKind::Hooks,
            origin: Origin::Plugin {
                id: self.names.join(", "),
                hash: ContentHash::of(&text),
            },
            text,
            trust,
        })
    }
}
