//! What the person does.

use std::io::Write;
use std::time::Instant;

use chela_agent::slash;
use chela_tools::Scope;

use super::Room;
use crate::chat::editor::{Edit, Moved};
use crate::chat::keys::Act;
use crate::fail::Fail;

impl<W: Write> Room<'_, W> {
    pub(super) fn act(&mut self, act: Act) -> Result<(), Fail> {
        let was_leaving = std::mem::take(&mut self.leaving);
        match act {
            Act::Edit(edit) => self.edit(edit),
            Act::Submit => self.submit(),
            Act::Up => self.up(),
            Act::Down => self.down(),
            Act::Complete => self.complete(false),
            Act::CompleteBack => self.complete(true),
            Act::Stop => self.stop(),
            Act::Interrupt => self.interrupt(was_leaving),
            Act::EndOfInput if self.editor.is_empty() => self.over = true,
            Act::EndOfInput => self.edit(Edit::Delete),
            Act::Redraw => {
                self.stage.clear().map_err(Fail::from)?;
            }
            Act::Unfold => self.view.unfold(),
            Act::Resized => self.resize(),
            // Handled where the terminal can be given away.
            Act::Suspend => {}
        }
        Ok(())
    }

    fn edit(&mut self, edit: Edit) {
        if let Edit::Insert(typed) = &edit
            && self.editor.is_empty()
            && !self.questions.is_empty()
        {
            let now = Instant::now();
            if let Some(approval) = self.questions.key(typed, now) {
                self.decide(None, approval);
                return;
            }
            // Only the answer's keys count while a question is open, so that no reflex answers.
            if typed.len() == 1 && "ysan".contains(&typed.to_ascii_lowercase()) {
                return;
            }
        }
        self.editor.edit(edit);
        self.history.leave();
        self.look_up();
    }

    /// Answers a question; says whether there was one.
    pub(super) fn decide(&mut self, id: Option<&str>, approval: Scope) -> bool {
        let line = self.questions.answer(id, approval, Instant::now());
        let found = line.is_some();
        line.into_iter().for_each(|line| self.view.say(line));
        found
    }

    fn submit(&mut self) {
        if self.editor.continues() {
            return;
        }
        self.menu.close();
        let text = self.editor.take();
        if text.trim().is_empty() {
            return;
        }
        self.history.add(&text);
        self.say(text.trim());
    }

    fn up(&mut self) {
        if self.editor.up() == Moved::Beyond
            && let Some(earlier) = self.history.back(self.editor.text())
        {
            let earlier = earlier.to_owned();
            self.editor.set(earlier);
            self.menu.close();
        }
    }

    fn down(&mut self) {
        if self.editor.down() == Moved::Beyond
            && let Some(later) = self.history.forth()
        {
            self.editor.set(later);
            self.menu.close();
        }
    }

    fn complete(&mut self, back: bool) {
        self.look_up();
        if let Some(line) = self.menu.next(back) {
            let line = line.to_owned();
            self.editor.set(line);
            self.look_up();
        }
    }

    fn look_up(&mut self) {
        let line = self.editor.text();
        if !line.starts_with('/') || !self.editor.is_at_end() || line.contains('\n') {
            self.menu.close();
            return;
        }
        let talk = self.talk;
        self.menu.follow(line, |line| slash::complete(talk, line));
    }

    fn stop(&mut self) {
        if self.busy.is_some() {
            self.talk.stop();
        } else {
            self.menu.close();
        }
    }

    /// Ctrl-C: stops, or clears, or - pressed twice - leaves.
    fn interrupt(&mut self, was_leaving: bool) {
        if was_leaving {
            self.over = true;
        } else if self.busy.is_some() {
            self.talk.stop();
            self.leaving = true;
        } else if !self.editor.is_empty() {
            self.editor.take();
            self.menu.close();
        } else {
            self.leaving = true;
        }
    }
}
