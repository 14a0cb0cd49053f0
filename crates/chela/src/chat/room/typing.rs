//! What the person does.

use std::io::Write;
use std::time::Instant;

use chela_agent::slash;

use super::{ChatLeave, ChatRoom};
use crate::chat::card::CardKey;
use crate::chat::editor::{EditAction, VerticalMove};
use crate::chat::history::TypedMessage;
use crate::chat::history_search::HistorySearch;
use crate::chat::ink::{StyledLine, look};
use crate::chat::keys::KeyAction;
use crate::chat::menu::MenuChoice;
use crate::chat::picker::PickerOutcome;
use crate::fail::CommandError;

impl<W: Write> ChatRoom<'_, W> {
    pub(super) async fn act(&mut self, act: KeyAction) -> Result<(), CommandError> {
        let was_leaving = std::mem::take(&mut self.leaving);
        if let Some(key) = self.card_key(&act) {
            let answered = self.questions.press(key, Instant::now());
            answered.into_iter().for_each(|line| self.view.say(line));
            return Ok(());
        }
        if let Some(picker) = &mut self.picker {
            match picker.press(&act) {
                PickerOutcome::Open => return Ok(()),
                PickerOutcome::Elsewhere => {}
                PickerOutcome::Closed => {
                    self.picker = None;
                    return Ok(());
                }
                PickerOutcome::Chosen(id) => {
                    self.picker = None;
                    self.leave_for(ChatLeave::Resume(id));
                    return Ok(());
                }
            }
        }
        let Some(act) = self.search_key(act) else {
            return Ok(());
        };
        match act {
            KeyAction::Edit(edit) => self.edit(edit),
            KeyAction::Submit => self.submit().await,
            KeyAction::Up => self.up(),
            KeyAction::Down => self.down(),
            KeyAction::Complete => self.complete(false),
            KeyAction::CompleteBack => self.complete(true),
            KeyAction::Stop => self.stop(),
            KeyAction::Interrupt => self.interrupt(was_leaving),
            KeyAction::EndOfInput if self.editor.is_empty() => self.over = true,
            KeyAction::EndOfInput => self.edit(EditAction::Delete),
            KeyAction::Redraw => {
                self.stage.clear().map_err(CommandError::from)?;
            }
            KeyAction::Unfold => self.view.unfold(),
            KeyAction::SearchHistory => {
                self.menu.close();
                self.search = Some(HistorySearch::begin(self.editor.text()));
            }
            KeyAction::Resized => self.resize(),
            // Handled where the terminal can be given away.
            KeyAction::Suspend
            | KeyAction::OpenEditor
            | KeyAction::PageUp
            | KeyAction::PageDown => {}
        }
        if !self.editor.is_empty() {
            self.questions.rest();
        }
        Ok(())
    }

    /// What a key means to an open question. Letters mean nothing to it, and while something is
    /// being written nothing does but turning its pages.
    fn card_key(&self, act: &KeyAction) -> Option<CardKey> {
        if self.questions.is_empty() {
            return None;
        }
        match act {
            KeyAction::PageDown => Some(CardKey::PageDown),
            KeyAction::PageUp => Some(CardKey::PageUp),
            _ if !self.editor.is_empty() => None,
            KeyAction::Submit => Some(CardKey::Enter),
            KeyAction::Complete | KeyAction::Edit(EditAction::Right) => Some(CardKey::Next),
            KeyAction::CompleteBack | KeyAction::Edit(EditAction::Left) => Some(CardKey::Previous),
            _ => None,
        }
    }

    /// A search of what was typed earlier takes the keys it knows; any other one ends it with what
    /// was found and means what it always means.
    fn search_key(&mut self, act: KeyAction) -> Option<KeyAction> {
        let Some(search) = &mut self.search else {
            return Some(act);
        };
        match act {
            KeyAction::Edit(EditAction::Insert(text) | EditAction::InsertPasted(text)) => {
                search.type_more(&text);
            }
            KeyAction::Edit(EditAction::Backspace) => search.type_less(),
            KeyAction::SearchHistory | KeyAction::Up => search.older(&self.history),
            KeyAction::Stop | KeyAction::Interrupt => {
                let before = search.before().to_owned();
                self.search = None;
                self.editor.set(before);
                return None;
            }
            other => {
                self.search = None;
                // Enter takes what was found, to be looked at before it is sent.
                return (other != KeyAction::Submit).then_some(other);
            }
        }
        if let Some(found) = search.found(&self.history) {
            self.editor.recall(found.clone());
        }
        None
    }

    fn edit(&mut self, edit: EditAction) {
        self.editor.edit(edit);
        self.history.leave();
        self.look_up();
    }

    async fn submit(&mut self) {
        if self.editor.continues() {
            return;
        }
        // A file that was chosen stands in the middle of a message: Enter confirms it first.
        let confirms = self.menu.is_walking() && !self.editor.text().starts_with('/');
        self.menu.close();
        if confirms {
            return;
        }
        let text = self.editor.take();
        let pasted = self.editor.take_pasted();
        if text.trim().is_empty() {
            return;
        }
        self.history.add(TypedMessage {
            text: text.clone(),
            pasted: pasted.clone(),
        });
        self.say(text.trim(), pasted).await;
    }

    fn up(&mut self) {
        if self.menu.is_open() {
            return self.complete(true);
        }
        if self.editor.up() == VerticalMove::Beyond
            && let Some(earlier) = self.history.back(self.editor.text())
        {
            self.editor.recall(earlier.clone());
            self.menu.close();
        }
    }

    fn down(&mut self) {
        if self.menu.is_open() {
            return self.complete(false);
        }
        if self.editor.down() == VerticalMove::Beyond
            && let Some(later) = self.history.forth()
        {
            self.editor.recall(later);
            self.menu.close();
        }
    }

    fn complete(&mut self, back: bool) {
        self.look_up();
        if let Some(choice) = self.menu.next(back) {
            self.editor.set_at(choice.line, choice.cursor);
            self.look_up();
        }
    }

    fn look_up(&mut self) {
        let line = self.editor.text();
        let cursor = self.editor.cursor();
        let talk = self.talk;
        let is_command = line.starts_with('/') && !line.contains('\n');
        let files = &mut self.file_words;
        self.menu.follow(line, |line| match is_command {
            true if cursor < line.len() => Vec::new(),
            true => {
                let commands = slash::complete(talk, line);
                commands.into_iter().map(MenuChoice::from).collect()
            }
            false => files.choices(line, cursor),
        });
    }

    /// What came back from the editor stands on the line, to be sent with Enter.
    pub(super) fn take_written(&mut self, written: Result<String, CommandError>) {
        match written {
            Ok(text) => self.editor.set(text),
            Err(error) => self
                .view
                .say(StyledLine::new(format!("· {}", error.message), look::WARN)),
        }
    }

    fn stop(&mut self) {
        if self.busy.is_some() {
            self.stop_turn();
        } else {
            self.menu.close();
        }
    }

    /// Ctrl-C: stops, or clears, or - pressed twice - leaves.
    fn interrupt(&mut self, was_leaving: bool) {
        if was_leaving {
            self.over = true;
        } else if self.busy.is_some() {
            self.stop_turn();
            self.leaving = true;
        } else if !self.editor.is_empty() {
            self.editor.take();
            self.menu.close();
        } else {
            self.leaving = true;
        }
    }
}
