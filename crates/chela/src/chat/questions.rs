//! Asking for permission, in the chat.

use std::collections::VecDeque;
use std::time::Instant;

use chela_guard::approval::{ApprovalChoice, ApprovalScope};

use super::card::{CardFocus, CardKey, QuestionCard};
use super::clean::clean_line;
use super::ink::{StyledLine, look};
use super::question_text::question_in_a_line;
use super::relay::PendingQuestion;

/// Questions that wait for an answer, one shown at a time.
#[derive(Default)]
pub struct QuestionQueue {
    waiting: VecDeque<PendingQuestion>,
    /// The first of them, as it stands on the screen.
    card: QuestionCard,
}

impl QuestionQueue {
    pub fn add(&mut self, question: PendingQuestion) {
        self.waiting.push_back(question);
    }

    /// Forgets those nobody waits for.
    pub fn tidy(&mut self) {
        let before = self.first_id();
        self.waiting.retain(PendingQuestion::is_open);
        if self.first_id() != before {
            self.card = QuestionCard::default();
        }
    }

    pub fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The question on the screen, in so many columns and rows.
    pub fn lines(&mut self, size: (usize, usize), focus: CardFocus) -> Vec<StyledLine> {
        let (width, room) = size;
        let after = self.waiting.len().saturating_sub(1);
        let Some(first) = self.waiting.front() else {
            return Vec::new();
        };
        let room = room.saturating_sub(usize::from(after > 0));
        let mut lines = self.card.lines(&first.question, (width, room), focus);
        if after > 0 {
            let more = format!("  and {after} more after this one");
            lines.push(StyledLine::new(more, look::DIM).cut(width));
        }
        lines
    }

    /// What [`QuestionQueue::lines`] gave is on the screen, all of it.
    pub fn note_drawn(&mut self, now: Instant) {
        if !self.waiting.is_empty() {
            self.card.note_drawn(now);
        }
    }

    /// Something is being written: an Enter is meant for that.
    pub fn rest(&mut self) {
        self.card.rest();
    }

    /// A key for the card. Gives a line to keep when it was an answer.
    pub fn press(&mut self, key: CardKey, now: Instant) -> Option<StyledLine> {
        let first = self.waiting.front()?;
        let at = self.card.press(key, &first.question, now)?;
        self.answer(0, at)
    }

    /// An answer typed with the id of its question. Gives a line to keep, or why it is none.
    pub fn answer_typed(
        &mut self,
        id: &str,
        word: &str,
        now: Instant,
    ) -> Result<StyledLine, String> {
        let none = || format!("There is no open question `{id}`.");
        let mut waiting = self.waiting.iter();
        let place = waiting.position(|pending| pending.question.id == id);
        let place = place.ok_or_else(none)?;
        let question = &self.waiting.get(place).ok_or_else(none)?.question;
        let mut choices = question.choices.iter();
        let Some(at) = choices.position(|choice| choice.is_typed(word)) else {
            let words: Vec<String> = question.choices.iter().map(word_of).collect();
            return Err(format!("You can answer {}.", words.join(", ")));
        };
        let denies =
            question.choices.get(at).map(|choice| choice.scope) == Some(ApprovalScope::Deny);
        if !denies && place > 0 {
            return Err("It is not on screen yet: answer the question before it first.".to_owned());
        }
        if !denies && !self.card.was_read() {
            return Err(
                "You have not seen all of it yet: press Enter on an empty line for the next page."
                    .to_owned(),
            );
        }
        if !denies && self.card.choose(at, question, now).is_none() {
            return Err(format!(
                "To confirm, type `/approve {id} {word}` again, or choose below."
            ));
        }
        self.answer(place, at).ok_or_else(none)
    }

    fn answer(&mut self, place: usize, at: usize) -> Option<StyledLine> {
        let choice = self.waiting.get(place)?.question.choices.get(at)?.clone();
        let pending = self.waiting.remove(place)?;
        if place == 0 {
            self.card = QuestionCard::default();
        }
        let (mark, word, style) = match choice.scope {
            ApprovalScope::Once => ("✓", "allowed once".to_owned(), look::GOOD),
            ApprovalScope::Session => ("✓", "allowed for this session".to_owned(), look::GOOD),
            ApprovalScope::Always => {
                let label = clean_line(&choice.label);
                ("✓", format!("always allowed ({label})"), look::GOOD)
            }
            ApprovalScope::Deny => ("✗", "denied".to_owned(), look::BAD),
        };
        let about = question_in_a_line(&pending.question);
        pending.answer(Some(&choice.word));
        Some(StyledLine::new(format!("{mark} {word}: "), style).with(&about, look::DIM))
    }

    fn first_id(&self) -> Option<String> {
        self.waiting.front().map(|first| first.question.id.clone())
    }
}

fn word_of(choice: &ApprovalChoice) -> String {
    format!("`{}`", clean_line(&choice.word))
}

#[cfg(test)]
mod tests;
