//! Settings that hold for one message.

use chela_agent::conversation::Conversation;
use chela_agent::slash::{self, CommandContext, CommandId, InlineDirective, SessionSetting};
use chela_core::ok_or_debug;

/// Settings of the session that hold until [`ForNow::put_back`].
pub struct ForNow<'a> {
    talk: &'a Conversation,
    before: Vec<(SessionSetting, Option<String>)>,
}

impl<'a> ForNow<'a> {
    pub fn new(talk: &'a Conversation) -> Self {
        Self {
            talk,
            before: Vec::new(),
        }
    }

    /// Sets one thing for now.
    pub async fn set(&mut self, setting: SessionSetting, value: &str) -> Result<(), String> {
        let before = self.talk.setting(setting);
        self.talk.set(setting, Some(value)).await?;
        self.before.push((setting, before));
        Ok(())
    }

    /// Another model answers for now. One that cannot be set leaves things as they are.
    pub async fn answered_by(&mut self, model: Option<&str>) {
        if let Some(model) = model {
            let set = self.set(SessionSetting::Model, model).await;
            ok_or_debug!(set, "the model of a skill does not answer");
        }
    }

    /// What a directive inside a message does: it holds for that message, but a model is kept.
    /// Gives what there is to say about it.
    pub async fn direct(&mut self, directive: &InlineDirective) -> String {
        let setting = match directive.command.id {
            CommandId::Think => SessionSetting::Thinking,
            CommandId::Reasoning => SessionSetting::Reasoning,
            CommandId::Verbose => SessionSetting::Verbose,
            _ => return slash::apply(self.talk, directive).await.text,
        };
        self.talk.refresh().await;
        let before = self.talk.setting(setting);
        slash::apply(self.talk, directive).await;
        self.before.push((setting, before));
        String::new()
    }

    /// The settings are again what they were.
    pub async fn put_back(self) {
        // The oldest value of a setting is the one that counted before.
        for (setting, value) in self.before.iter().rev() {
            let set = self.talk.set(*setting, value.as_deref()).await;
            ok_or_debug!(set, "a setting for now stays");
        }
    }
}
