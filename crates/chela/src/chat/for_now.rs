//! Settings that hold for one message.

use chela_agent::conversation::Conversation;
use chela_agent::slash::{self, Directive, Id, Setting, Talk};
use chela_core::ok_or_debug;

/// Settings of the session that are put back when this is dropped.
pub struct ForNow<'a> {
    talk: &'a Conversation,
    before: Vec<(Setting, Option<String>)>,
}

impl<'a> ForNow<'a> {
    pub fn new(talk: &'a Conversation) -> Self {
        Self {
            talk,
            before: Vec::new(),
        }
    }

    /// Sets one thing for now.
    pub fn set(&mut self, setting: Setting, value: &str) -> Result<(), String> {
        let before = self.talk.setting(setting);
        self.talk.set(setting, Some(value))?;
        self.before.push((setting, before));
        Ok(())
    }

    /// What a directive inside a message does: it holds for that message, but a model is kept.
    /// Gives what there is to say about it.
    pub fn direct(&mut self, directive: &Directive) -> String {
        let setting = match directive.command.id {
            Id::Think => Setting::Thinking,
            Id::Reasoning => Setting::Reasoning,
            Id::Verbose => Setting::Verbose,
            _ => return slash::apply(self.talk, directive).text,
        };
        let before = self.talk.setting(setting);
        slash::apply(self.talk, directive);
        self.before.push((setting, before));
        String::new()
    }
}

impl Drop for ForNow<'_> {
    fn drop(&mut self) {
        // The oldest value of a setting is the one that counted before.
        for (setting, value) in self.before.iter().rev() {
            let set = self.talk.set(*setting, value.as_deref());
            ok_or_debug!(set, "a setting for now stays");
        }
    }
}
