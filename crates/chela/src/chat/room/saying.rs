//! What the person says: a message, a command, or a word to the turn under way.

use std::io::Write;
use std::time::Instant;

use chela_agent::conversation::{InboundImage, InboundMessage};
use chela_agent::slash::{
    self, CommandAnswer, CommandContext, CommandId, InlineDirective, ParsedLine, SurfaceAction,
};
use chela_session::{find_external, split_told};

use super::{ChatLeave, ChatRoom, ChatWork, recap};
use crate::chat::clean::clean;
use crate::chat::for_now::ForNow;
use crate::chat::history::TypedMessage;
use crate::chat::ink::{StyledLine, look};
use crate::chat::message_pictures::{picture_paths, read_images, who_looks_at_pictures};
use crate::chat::picker::SessionPicker;

impl<W: Write> ChatRoom<'_, W> {
    pub(super) async fn say(&mut self, text: &str, pasted: Vec<String>) {
        self.echo(text);
        self.take_line(text, pasted).await;
    }

    /// Commands that were typed while a turn was running, one after the other, until one of them
    /// begins something that takes time.
    pub(super) async fn run_held_lines(&mut self) {
        while self.next.is_none() && !self.over {
            let Some(line) = self.held_lines.pop_front() else {
                return;
            };
            self.take_line(&line.text, line.pasted).await;
        }
    }

    async fn take_line(&mut self, text: &str, pasted: Vec<String>) {
        // What was pasted gives no orders.
        if let Some(command) = Self::owner_command(text).filter(|_| pasted.is_empty()) {
            if self.busy.is_some() {
                return self.hold_line(text, pasted, "your command");
            }
            return self.run_owner_command(command);
        }
        match slash::parse_beside(text, &pasted) {
            ParsedLine::Command { command, args } => {
                if self.busy.is_some() && !may_run_beside(command.id) {
                    return self.hold_line(text, pasted, &format!("/{}", command.name));
                }
                let answer = slash::run(self.talk, command, &args).await;
                self.carry_out(answer, pasted).await;
            }
            ParsedLine::Directives(directives) => {
                for directive in &directives {
                    let answer = slash::apply(self.talk, directive).await;
                    self.carry_out(answer, Vec::new()).await;
                }
            }
            ParsedLine::Unknown { name, args } => self.unknown(&name, &args, pasted).await,
            ParsedLine::Message {
                text,
                directives,
                shortcuts,
            } => {
                for command in shortcuts {
                    let answer = slash::run(self.talk, command, "").await;
                    self.carry_out(answer, Vec::new()).await;
                }
                self.for_this_message(&directives).await;
                if !text.is_empty() {
                    let images = self.images_named_in(&own_words(&text, &pasted));
                    let (text, own_output) = self.with_ran(text);
                    self.hand_over(InboundMessage {
                        text,
                        images,
                        pasted,
                        own_output,
                        ..InboundMessage::default()
                    });
                }
            }
        }
    }

    fn hold_line(&mut self, text: &str, pasted: Vec<String>, name: &str) {
        self.held_lines.push_back(TypedMessage {
            text: text.to_owned(),
            pasted,
        });
        let told = format!("· {name} runs when this turn is done; Esc stops the turn");
        self.view.say(StyledLine::new(told, look::WARN));
    }

    fn hand_over(&mut self, message: InboundMessage) {
        if self.busy.is_some() {
            match self.gateway_there() {
                Some(gateway) => gateway.steer(message),
                None => self.talk.steer(message),
            }
            let told = "it reads this before its next step";
            self.view
                .say(StyledLine::new(format!("  {told}"), look::DIM));
        } else {
            self.next = Some(ChatWork::Say(message));
        }
    }

    async fn for_this_message(&mut self, directives: &[InlineDirective]) {
        let talk = self.talk;
        for directive in directives {
            let for_now = self.for_now.get_or_insert_with(|| ForNow::new(talk));
            let told = for_now.direct(directive).await;
            self.carry_out(CommandAnswer::text(told), Vec::new()).await;
        }
    }

    /// A skill of that name, or a mistake.
    async fn unknown(&mut self, name: &str, args: &str, pasted: Vec<String>) {
        if self.talk.is_skill(name)
            && let Some(command) = slash::find("skill")
        {
            let answer = slash::run(self.talk, command, &format!("{name} {args}")).await;
            self.carry_out(answer, pasted).await;
            return;
        }
        self.view.page(&slash::help(name));
    }

    /// What a command leads to. What was pasted behind it is no more the person's than in a message
    /// by itself.
    async fn carry_out(&mut self, answer: CommandAnswer, pasted: Vec<String>) {
        if !answer.text.is_empty() {
            self.view.page(&answer.text);
        }
        self.model = self.talk.model().selected;
        match answer.then {
            SurfaceAction::Nothing => {}
            SurfaceAction::Say(text) => self.hand_over(InboundMessage {
                pasted,
                ..text.into()
            }),
            SurfaceAction::UseSkill(called) => {
                let talk = self.talk;
                let for_now = self.for_now.get_or_insert_with(|| ForNow::new(talk));
                for_now.answered_by(called.model.as_deref()).await;
                self.hand_over(InboundMessage {
                    pasted,
                    ..called.message.into()
                });
            }
            SurfaceAction::Begun(first) => {
                self.view.meter = self.talk.status().await.context;
                if let Some(text) = first {
                    self.hand_over(InboundMessage {
                        pasted,
                        ..text.into()
                    });
                }
            }
            SurfaceAction::Edit(text) => {
                self.view.meter = self.talk.status().await.context;
                // Whoever takes a message back may not want it again: the line stays free.
                self.history.add_taken_back(&text);
                let told = "· press Up to edit your last message";
                self.view.say(StyledLine::new(told, look::DIM));
            }
            SurfaceAction::Copy => self.copy_last_reply().await,
            SurfaceAction::Stop if self.busy.is_some() => self.stop_turn(),
            SurfaceAction::Stop if self.talk.background().subagents_running() > 0 => {
                self.talk.stop();
                let told = "· sub-agents stopped";
                self.view.say(StyledLine::new(told, look::DIM));
            }
            SurfaceAction::Stop => self
                .view
                .say(StyledLine::new("· nothing is running", look::DIM)),
            SurfaceAction::Compact(keep) => self.next = Some(ChatWork::Compact(keep)),
            SurfaceAction::Approve { id, answer } => {
                match self.questions.answer_typed(&id, &answer, Instant::now()) {
                    Ok(line) => self.view.say(line),
                    Err(told) => self.view.page(&told),
                }
            }
            SurfaceAction::Choose(rows) => self.picker = Some(SessionPicker::new(rows)),
            SurfaceAction::Resume(id) => self.leave_for(ChatLeave::Resume(id)),
            SurfaceAction::Folder(folder) => self.leave_for(ChatLeave::Folder(folder)),
            SurfaceAction::Leave => self.over = true,
        }
    }

    /// Leaves this conversation for another one.
    pub(super) fn leave_for(&mut self, what: ChatLeave) {
        self.leave_for = Some(what);
        self.over = true;
    }

    /// Through the terminal, which works over SSH too.
    async fn copy_last_reply(&mut self) {
        let told = match recap::last_reply(self.talk).await {
            None => "· no reply to copy".to_owned(),
            Some(reply) => match self.stage.copy(&reply) {
                Ok(()) => "· copied, if your terminal allows it (OSC 52)".to_owned(),
                Err(error) => format!("· not copied: {error}"),
            },
        };
        self.view.say(StyledLine::new(told, look::DIM));
    }

    /// Pictures the message names by path, as a drop onto the terminal does.
    fn images_named_in(&mut self, text: &str) -> Vec<InboundImage> {
        let host = self.talk.agents().host();
        // What a person names may also be where they stand.
        let mut roots = self.talk.file_roots();
        roots.push(host.cwd.clone());
        let named = picture_paths(text, &roots, &host.user_home);
        if named.is_empty() {
            return Vec::new();
        }
        match read_images(&named) {
            Ok(images) => {
                let told = match images.len() {
                    1 => "· 1 image attached".to_owned(),
                    many => format!("· {many} images attached"),
                };
                self.view.say(StyledLine::new(told, look::DIM));
                if let Some(told) = who_looks_at_pictures(self.talk) {
                    let told = format!("· {told}");
                    self.view.say(StyledLine::new(told, look::WARN));
                }
                images
            }
            Err(error) => {
                let told = format!("· {}", error.message);
                self.view.say(StyledLine::new(told, look::WARN));
                Vec::new()
            }
        }
    }

    /// What was typed, where it can be read later.
    pub(super) fn echo(&mut self, text: &str) {
        for (at, line) in clean(text).lines().enumerate() {
            let lead = if at == 0 { "› " } else { "  " };
            self.view
                .say(StyledLine::new(lead, look::PERSON).with(line, look::BOLD));
        }
        self.view.say(StyledLine::default());
    }
}

/// What the person typed of a message. A file that is dropped on the terminal comes as a paste of one
/// line, which counts as typed.
fn own_words(text: &str, pasted: &[String]) -> String {
    let parts = split_told(text, &find_external(text, pasted));
    parts.map_or_else(String::new, |(own, _)| own)
}

/// Commands that do not change what a turn is working on.
fn may_run_beside(id: CommandId) -> bool {
    !matches!(
        id,
        CommandId::New
            | CommandId::Cd
            | CommandId::Copy
            | CommandId::Reset
            | CommandId::Resume
            | CommandId::Undo
            | CommandId::Compact
            | CommandId::Skill
    )
}
