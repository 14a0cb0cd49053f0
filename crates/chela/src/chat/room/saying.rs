//! What the person says: a message, a command, or a word to the turn under way.

use std::io::Write;

use chela_agent::conversation::Inbound;
use chela_agent::slash::{self, Answer, Directive, Id, Parsed, Talk, Then};

use super::{Next, Room};
use crate::chat::clean::clean;
use crate::chat::for_now::ForNow;
use crate::chat::ink::{Line, look};
use crate::chat::lines::is_skill;

impl<W: Write> Room<'_, W> {
    pub(super) fn say(&mut self, text: &str) {
        self.echo(text);
        match slash::parse(text) {
            Parsed::Command { command, args } => {
                if self.busy.is_some() && !may_run_beside(command.id) {
                    let told = format!("/{} waits until it is done; Esc stops it", command.name);
                    self.view.say(Line::new(told, look::WARN));
                    return;
                }
                let answer = slash::run(self.talk, command, &args);
                self.carry_out(answer);
            }
            Parsed::Directives(directives) => {
                for directive in &directives {
                    let answer = slash::apply(self.talk, directive);
                    self.carry_out(answer);
                }
            }
            Parsed::Unknown { name, args } => self.unknown(&name, &args),
            Parsed::Message {
                text,
                directives,
                shortcuts,
            } => {
                for command in shortcuts {
                    let answer = slash::run(self.talk, command, "");
                    self.carry_out(answer);
                }
                self.for_this_message(&directives);
                if !text.is_empty() {
                    self.hand_over(text);
                }
            }
        }
    }

    fn hand_over(&mut self, text: String) {
        if self.busy.is_some() {
            self.talk.steer(text);
            let told = "it reads this before its next step";
            self.view.say(Line::new(format!("  {told}"), look::DIM));
        } else {
            self.next = Some(Next::Say(Inbound {
                text,
                ..Inbound::default()
            }));
        }
    }

    fn for_this_message(&mut self, directives: &[Directive]) {
        let talk = self.talk;
        for directive in directives {
            let for_now = self.for_now.get_or_insert_with(|| ForNow::new(talk));
            let told = for_now.direct(directive);
            self.carry_out(Answer::text(told));
        }
    }

    /// A skill of that name, or a mistake.
    fn unknown(&mut self, name: &str, args: &str) {
        if is_skill(self.talk, name)
            && let Some(command) = slash::find("skill")
        {
            let answer = slash::run(self.talk, command, &format!("{name} {args}"));
            self.carry_out(answer);
            return;
        }
        self.view.page(&slash::help(name));
    }

    fn carry_out(&mut self, answer: Answer) {
        if !answer.text.is_empty() {
            self.view.page(&answer.text);
        }
        self.model = self.talk.model().selected;
        match answer.then {
            Then::Nothing => {}
            Then::Say(text) => self.hand_over(text),
            Then::Begun(first) => {
                self.view.meter = self.talk.status().context;
                if let Some(text) = first {
                    self.hand_over(text);
                }
            }
            Then::Edit(text) => {
                self.view.meter = self.talk.status().context;
                self.editor.set(text);
            }
            Then::Stop if self.busy.is_some() => self.talk.stop(),
            Then::Stop if self.talk.subagents_running() > 0 => {
                self.talk.stop();
                let told = "· the sub-agents are stopped";
                self.view.say(Line::new(told, look::DIM));
            }
            Then::Stop => self.view.say(Line::new("· nothing is running", look::DIM)),
            Then::Compact(keep) => self.next = Some(Next::Compact(keep)),
            Then::Approve { id, decision } => {
                if !self.decide(Some(&id), decision) {
                    let told = format!("There is no open question `{id}`.");
                    self.view.page(&told);
                }
            }
            Then::Leave => self.over = true,
        }
    }

    /// What was typed, where it can be read later.
    pub(super) fn echo(&mut self, text: &str) {
        for (at, line) in clean(text).lines().enumerate() {
            let lead = if at == 0 { "› " } else { "  " };
            self.view
                .say(Line::new(lead, look::PERSON).with(line, look::BOLD));
        }
        self.view.say(Line::default());
    }
}

/// Commands that do not change what a turn is working on.
fn may_run_beside(id: Id) -> bool {
    !matches!(id, Id::New | Id::Reset | Id::Undo | Id::Compact | Id::Skill)
}
