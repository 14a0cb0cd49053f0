//! One plugin, as a hook of turns.

use std::sync::Arc;
use std::time::Duration;

use chela_core::Trust;
use chela_plugins::answer::{
    self, CallAnswer, CallWord, ContributionAnswer, HeldAnswer, PromptAnswer, TextAnswer,
};
use chela_plugins::{HookName, HookQuestion, InstalledPlugin, PluginHost, PluginStanding};
use chela_tools::Effect;
use serde_json::{Map, Value, json};

use crate::hooks::{
    CallFacts, CallWish, EndFacts, HookFuture, HookLimits, HookOutcome, HookPoint, HookVerdict,
    ModelWish, ObservedEvent, PromptWish, ProviderWish, ResultFacts, SendingFacts, SessionFile,
    TextWhenBroken, TextWish, TurnFacts, TurnHook,
};

/// A plugin that is switched on.
pub(super) struct PluginHook {
    plugin: InstalledPlugin,
    host: Arc<PluginHost>,
}

fn name_of(point: HookPoint) -> HookName {
    match point {
        HookPoint::BeforeModelResolve => HookName::BeforeModelResolve,
        HookPoint::AgentBootstrap => HookName::AgentBootstrap,
        HookPoint::BeforePromptBuild => HookName::BeforePromptBuild,
        HookPoint::HeartbeatPromptContribution => HookName::HeartbeatPromptContribution,
        HookPoint::ProviderContribution => HookName::ProviderContribution,
        HookPoint::BeforeToolCall => HookName::BeforeToolCall,
        HookPoint::AfterToolCall => HookName::AfterToolCall,
        HookPoint::BeforeAgentReply => HookName::BeforeAgentReply,
        HookPoint::MessageSending => HookName::MessageSending,
        HookPoint::SessionStart => HookName::SessionStart,
        HookPoint::SessionEnd => HookName::SessionEnd,
        HookPoint::BeforeCompaction => HookName::BeforeCompaction,
        HookPoint::AfterCompaction => HookName::AfterCompaction,
        HookPoint::AgentEnd => HookName::AgentEnd,
    }
}

impl PluginHook {
    /// `None` for one that has nothing to say: it is off, or broken and nobody requires it.
    pub fn of(plugin: InstalledPlugin, host: &Arc<PluginHost>) -> Option<Self> {
        match &plugin.standing {
            PluginStanding::Off => return None,
            PluginStanding::Ready => {}
            why => {
                tracing::warn!(
                    plugin = plugin.id,
                    why = why.in_words(),
                    "a plugin is not used"
                );
                if !plugin.is_required {
                    return None;
                }
            }
        }
        Some(Self {
            plugin,
            host: Arc::clone(host),
        })
    }

    fn answers(&self, hook: HookName) -> bool {
        self.plugin.is_ready() && self.plugin.answers(hook)
    }

    /// What every hook is told.
    fn told(&self, facts: &TurnFacts) -> Map<String, Value> {
        let mut told = Map::new();
        let mut put = |name: &str, value: Value| {
            told.insert(name.to_owned(), value);
        };
        put("agentId", facts.agent.as_str().into());
        put("sessionKey", facts.session.to_string().into());
        put("sessionId", facts.session_id.as_ref().into());
        put("workspaceDir", facts.workspace.display().to_string().into());
        if self.plugin.grants.sees_conversation() {
            put("prompt", facts.message.as_ref().into());
        }
        told
    }

    async fn ask(&self, question: HookQuestion<'_>) -> Result<Vec<Value>, String> {
        if !self.answers(question.hook) {
            return Ok(Vec::new());
        }
        let answers = self.host.ask(&self.plugin, &question).await;
        answers.map_err(|fault| match fault.is_quarantined {
            true => format!(
                "{fault}; it is quarantined now (chela plugins doctor {})",
                self.plugin.id
            ),
            false => fault.to_string(),
        })
    }

    /// A question that is about nothing but the turn.
    async fn ask_plainly(
        &self,
        hook: HookName,
        told: Map<String, Value>,
    ) -> Result<Vec<Value>, String> {
        self.ask(HookQuestion {
            hook,
            told,
            tool: None,
            arguments: None,
        })
        .await
    }

    async fn tell(&self, hook: HookName, told: Map<String, Value>) -> HookOutcome<()> {
        HookOutcome {
            answer: (),
            refused: Vec::new(),
            fault: self.ask_plainly(hook, told).await.err(),
        }
    }

    async fn prompt(&self, hook: HookName, facts: &TurnFacts) -> HookOutcome<PromptWish> {
        let answers = match self.ask_plainly(hook, self.told(facts)).await {
            Ok(answers) => answers,
            Err(fault) => return broken(fault),
        };
        let mut outcome = HookOutcome::default();
        for value in answers {
            let HeldAnswer { answer, refused } = answer::read_prompt(&value, &self.plugin.grants);
            outcome.refused.extend(refused);
            add_wish(&mut outcome.answer, answer);
        }
        outcome
    }

    async fn text(&self, question: HookQuestion<'_>) -> HookOutcome<TextWish> {
        match self.ask(question).await {
            Err(fault) => broken(fault),
            Ok(answers) => {
                let mut wish = TextWish::Keep;
                for value in answers {
                    match answer::read_text(&value) {
                        TextAnswer::Keep => {}
                        TextAnswer::Text(text) => wish = TextWish::Text(text),
                        TextAnswer::Withhold => return TextWish::Withhold.into(),
                    }
                }
                wish.into()
            }
        }
    }

    /// Why nothing outward may happen: a plugin that is required does not work.
    fn missed(&self, effect: Effect) -> Option<HookVerdict> {
        let is_outward = !matches!(
            effect,
            Effect::Read | Effect::ReadUntrusted | Effect::WriteReversible
        );
        if !self.plugin.is_required || !is_outward {
            return None;
        }
        let why = match &self.plugin.standing {
            PluginStanding::Ready => self.host.trouble(&self.plugin)?,
            standing => standing.in_words(),
        };
        Some(HookVerdict::Refuse(format!(
            "the plugin `{}` is required and does not work ({why}); `chela plugins doctor` says more",
            self.plugin.id
        )))
    }

    async fn call(&self, facts: &TurnFacts, call: &CallFacts<'_>) -> HookOutcome<CallWish> {
        let mut told = self.told(facts);
        told.insert("toolName".to_owned(), call.tool.into());
        told.insert("toolCallId".to_owned(), call.id.into());
        told.insert("params".to_owned(), Value::Object(call.arguments.clone()));
        let question = HookQuestion {
            hook: HookName::BeforeToolCall,
            told,
            tool: Some(call.tool),
            arguments: Some(call.arguments),
        };
        let answers = self.ask(question).await;
        let missed = self.missed(call.effect);
        let mut wish = CallWish::default();
        let mut fault = None;
        match answers {
            Err(why) => fault = Some(why),
            Ok(answers) => {
                for value in answers {
                    let CallAnswer { word, arguments } = answer::read_call(&value);
                    wish.arguments = wish.arguments.or(arguments);
                    match (word, &wish.verdict) {
                        (CallWord::Refuse(why), _) => wish.verdict = HookVerdict::Refuse(why),
                        (CallWord::Ask(why), HookVerdict::Pass) => {
                            wish.verdict = HookVerdict::Ask(why);
                        }
                        _ => {}
                    }
                }
            }
        }
        match missed {
            // It says itself what its silence means.
            Some(verdict) => HookOutcome {
                answer: CallWish {
                    verdict,
                    arguments: None,
                },
                refused: fault.into_iter().collect(),
                fault: None,
            },
            None => HookOutcome {
                answer: wish,
                refused: Vec::new(),
                fault,
            },
        }
    }
}

fn broken<T: Default>(fault: String) -> HookOutcome<T> {
    HookOutcome {
        answer: T::default(),
        refused: Vec::new(),
        fault: Some(fault),
    }
}

/// Several answers of one plugin are one.
fn add_wish(wish: &mut PromptWish, answer: PromptAnswer) {
    let joined = |one: Option<String>, other: Option<String>| match (one, other) {
        (Some(one), Some(other)) => Some(format!("{one}\n\n{other}")),
        (one, other) => one.or(other),
    };
    *wish = PromptWish {
        prepend: joined(wish.prepend.take(), answer.prepend),
        append: joined(wish.append.take(), answer.append),
        prepend_system: joined(wish.prepend_system.take(), answer.prepend_system),
        append_system: joined(wish.append_system.take(), answer.append_system),
        system_prompt: answer.system_prompt.or(wish.system_prompt.take()),
        tools_allow: match (wish.tools_allow.take(), answer.tools_allow) {
            (Some(one), Some(other)) => Some(
                one.into_iter()
                    .filter(|tool| other.contains(tool))
                    .collect(),
            ),
            (one, other) => one.or(other),
        },
    };
}

impl TurnHook for PluginHook {
    fn name(&self) -> &str {
        &self.plugin.id
    }

    fn listens(&self, point: HookPoint) -> bool {
        let stands_guard = self.plugin.is_required && point == HookPoint::BeforeToolCall;
        stands_guard || self.answers(name_of(point))
    }

    fn priority(&self, point: HookPoint) -> i32 {
        self.plugin.priority(name_of(point))
    }

    fn limits(&self) -> HookLimits {
        HookLimits {
            // The host of plugins keeps the time itself; this is behind it.
            time: Duration::from_secs(60),
            ..HookLimits::MOST
        }
    }

    fn trust(&self) -> Trust {
        match self.plugin.grants.is_vouched() {
            true => Trust::Plugin,
            false => Trust::External,
        }
    }

    fn word_when_broken(&self) -> HookVerdict {
        match self.plugin.is_required {
            true => HookVerdict::Refuse(format!(
                "the plugin `{}` is required and does not work",
                self.plugin.id
            )),
            false => HookVerdict::Pass,
        }
    }

    fn text_when_broken(&self) -> TextWhenBroken {
        match self.plugin.is_required {
            true => TextWhenBroken::Withheld,
            false => TextWhenBroken::Passes,
        }
    }

    fn may_redirect(&self, provider: &str, model: &str) -> bool {
        self.plugin.grants.may_redirect(provider, model)
    }

    fn before_model_resolve<'a>(&'a self, facts: &'a TurnFacts) -> HookFuture<'a, ModelWish> {
        Box::pin(async move {
            let asked = self.ask_plainly(HookName::BeforeModelResolve, self.told(facts));
            match asked.await {
                Err(fault) => broken(fault),
                Ok(answers) => {
                    let mut wish = ModelWish::default();
                    for answer in answers.iter().map(answer::read_model) {
                        wish.model = wish.model.or(answer.model);
                        wish.provider = wish.provider.or(answer.provider);
                    }
                    wish.into()
                }
            }
        })
    }

    fn agent_bootstrap<'a>(&'a self, facts: &'a TurnFacts) -> HookFuture<'a, Vec<SessionFile>> {
        Box::pin(async move {
            let asked = self.ask_plainly(HookName::AgentBootstrap, self.told(facts));
            let answers = match asked.await {
                Ok(answers) => answers,
                Err(fault) => return broken(fault),
            };
            let mut outcome = HookOutcome::<Vec<SessionFile>>::default();
            for value in answers {
                let held = answer::read_files(&value, &self.plugin.grants);
                outcome.refused.extend(held.refused);
                let files = held.answer.into_iter().map(|file| SessionFile {
                    replaces: self.plugin.grants.may_replace(&file.name),
                    name: file.name,
                    text: file.text,
                });
                outcome.answer.extend(files);
            }
            outcome
        })
    }

    fn before_prompt_build<'a>(&'a self, facts: &'a TurnFacts) -> HookFuture<'a, PromptWish> {
        Box::pin(self.prompt(HookName::BeforePromptBuild, facts))
    }

    fn heartbeat_prompt_contribution<'a>(
        &'a self,
        facts: &'a TurnFacts,
    ) -> HookFuture<'a, PromptWish> {
        Box::pin(self.prompt(HookName::HeartbeatPromptContribution, facts))
    }

    fn provider_contribution<'a>(
        &'a self,
        facts: &'a TurnFacts,
        model: &'a str,
    ) -> HookFuture<'a, ProviderWish> {
        Box::pin(async move {
            let mut told = self.told(facts);
            told.insert("model".to_owned(), model.into());
            let answers = match self.ask_plainly(HookName::ProviderContribution, told).await {
                Ok(answers) => answers,
                Err(fault) => return broken(fault),
            };
            let mut outcome = HookOutcome::<ProviderWish>::default();
            for value in answers {
                let held = answer::read_contribution(&value, &self.plugin.grants);
                outcome.refused.extend(held.refused);
                let ContributionAnswer {
                    interaction_style,
                    tool_call_style,
                    execution_bias,
                    stable_prefix,
                    dynamic_suffix,
                } = held.answer;
                outcome.answer = ProviderWish {
                    interaction_style,
                    tool_call_style,
                    execution_bias,
                    stable_prefix,
                    dynamic_suffix,
                };
            }
            outcome
        })
    }

    fn before_tool_call<'a>(
        &'a self,
        facts: &'a TurnFacts,
        call: &'a CallFacts<'a>,
    ) -> HookFuture<'a, CallWish> {
        Box::pin(self.call(facts, call))
    }

    fn after_tool_call<'a>(
        &'a self,
        facts: &'a TurnFacts,
        result: &'a ResultFacts<'a>,
    ) -> HookFuture<'a, Option<String>> {
        Box::pin(async move {
            let mut told = self.told(facts);
            told.insert("toolName".to_owned(), result.tool.into());
            told.insert("toolCallId".to_owned(), result.id.into());
            if self.plugin.grants.sees_conversation() {
                told.insert("params".to_owned(), Value::Object(result.arguments.clone()));
                told.insert("result".to_owned(), result.text.into());
            }
            let question = HookQuestion {
                hook: HookName::AfterToolCall,
                told,
                tool: Some(result.tool),
                arguments: Some(result.arguments)
                    .filter(|_| self.plugin.grants.sees_conversation()),
            };
            let HookOutcome {
                answer,
                refused,
                fault,
            } = self.text(question).await;
            let answer = match answer {
                TextWish::Keep => None,
                TextWish::Text(text) => Some(text),
                TextWish::Withhold => Some("[a plugin keeps this result back]".to_owned()),
            };
            HookOutcome {
                answer,
                refused,
                fault,
            }
        })
    }

    fn before_agent_reply<'a>(
        &'a self,
        facts: &'a TurnFacts,
        reply: &'a str,
    ) -> HookFuture<'a, TextWish> {
        Box::pin(async move {
            let mut told = self.told(facts);
            if self.plugin.grants.sees_conversation() {
                told.insert("text".to_owned(), reply.into());
            }
            self.text(HookQuestion {
                hook: HookName::BeforeAgentReply,
                told,
                tool: None,
                arguments: None,
            })
            .await
        })
    }

    fn message_sending<'a>(
        &'a self,
        facts: &'a TurnFacts,
        sending: &'a SendingFacts<'a>,
    ) -> HookFuture<'a, TextWish> {
        Box::pin(async move {
            let mut told = self.told(facts);
            told.insert("to".to_owned(), sending.to.into());
            if self.plugin.grants.sees_conversation() {
                told.insert("content".to_owned(), sending.text.into());
            }
            self.text(HookQuestion {
                hook: HookName::MessageSending,
                told,
                tool: None,
                arguments: None,
            })
            .await
        })
    }

    fn observe<'a>(&'a self, facts: &'a TurnFacts, event: &'a ObservedEvent) -> HookFuture<'a, ()> {
        Box::pin(async move {
            let mut told = self.told(facts);
            match event {
                ObservedEvent::SessionEnd { reason } => {
                    told.insert("reason".to_owned(), (*reason).into());
                }
                ObservedEvent::AfterCompaction { messages, tokens } => {
                    told.insert("messageCount".to_owned(), json!(messages));
                    told.insert("tokenCount".to_owned(), json!(tokens));
                }
                ObservedEvent::SessionStart | ObservedEvent::BeforeCompaction => {}
            }
            self.tell(name_of(event.point()), told).await
        })
    }

    fn agent_end<'a>(&'a self, facts: &'a TurnFacts, end: &'a EndFacts) -> HookFuture<'a, ()> {
        Box::pin(async move {
            let mut told = self.told(facts);
            told.insert("success".to_owned(), (end.how == "done").into());
            told.insert("how".to_owned(), end.how.into());
            told.insert("steps".to_owned(), end.steps.into());
            told.insert("toolCalls".to_owned(), end.tool_calls.into());
            self.tell(HookName::AgentEnd, told).await
        })
    }
}
