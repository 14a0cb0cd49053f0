//! One question on the screen: read to its end, answered by a deliberate choice.
//!
//! Letters never answer. What is highlighted first is harmless: to read on, or no. What was not
//! on the screen long enough to be seen cannot be answered, and a yes for good is asked twice.

use std::time::{Duration, Instant};

use chela_guard::approval::{ApprovalChoice, ApprovalQuestion, ApprovalScope};

use super::clean::clean_line;
use super::ink::{StyledLine, look};
use super::question_text::question_rows;

/// A key pressed this soon was meant for something else.
const SETTLE: Duration = Duration::from_millis(400);
/// Two keys closer than this were not pressed one after the other: something was pasted.
const DELIBERATE: Duration = Duration::from_millis(80);
/// Rows of the text below which nothing can be read.
const FEWEST_ROWS: usize = 2;

/// A key that is for the card when nothing is being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CardKey {
    Next,
    Previous,
    PageDown,
    PageUp,
    Enter,
}

/// Whether keys go to the card or to the line that is being written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CardFocus {
    Here,
    Elsewhere,
}

/// How a question stands on the screen.
#[derive(Default)]
pub struct QuestionCard {
    layout: Option<CardLayout>,
    page: usize,
    /// Pages that were on the screen, from the first.
    read: usize,
    /// Whether all were.
    whole: bool,
    /// Which of the buttons is highlighted.
    chosen: usize,
    /// The choice that is asked about a second time.
    confirming: Option<usize>,
    /// Since when what is there now is on the screen, all of it.
    drawn: Option<Instant>,
    /// When the highlight was last moved.
    moved: Option<Instant>,
}

struct CardLayout {
    size: (usize, usize),
    body: Vec<StyledLine>,
    /// Rows of a page; none where the window is too small.
    rows: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CardButton {
    ReadOn,
    Choice(usize),
    Back,
    Confirm(usize),
}

impl QuestionCard {
    /// Everything was on the screen.
    pub fn was_read(&self) -> bool {
        self.whole
    }

    /// The frame with this card is on the screen. It counts only if none of it was cut off.
    pub fn note_drawn(&mut self, now: Instant) {
        let Some(pages) = self.pages() else {
            return;
        };
        self.drawn.get_or_insert(now);
        if self.confirming.is_none() && self.page == self.read {
            self.read += 1;
        }
        self.whole |= self.read >= pages;
    }

    /// What is being written has the keys: the highlight goes back to what is harmless.
    pub fn rest(&mut self) {
        self.chosen = 0;
    }

    /// Takes a key; gives the choice that was made, by its place in the question.
    pub fn press(
        &mut self,
        key: CardKey,
        question: &ApprovalQuestion,
        now: Instant,
    ) -> Option<usize> {
        let settled = |since: Instant| now.saturating_duration_since(since) >= SETTLE;
        if !self.drawn.is_some_and(settled) {
            return None;
        }
        let buttons = self.buttons(question);
        match key {
            CardKey::Next | CardKey::Previous => {
                let step = if key == CardKey::Next {
                    1
                } else {
                    buttons.len() - 1
                };
                self.chosen = (self.chosen + step) % buttons.len().max(1);
                self.moved = Some(now);
                None
            }
            CardKey::PageDown => self.turn_to(self.page + 1),
            CardKey::PageUp => self.turn_to(self.page.checked_sub(1)?),
            CardKey::Enter => {
                let pasted = |moved| now.saturating_duration_since(moved) < DELIBERATE;
                if self.moved.is_some_and(pasted) {
                    return None;
                }
                match *buttons.get(self.chosen)? {
                    CardButton::ReadOn => self.turn_to(self.page + 1),
                    CardButton::Back => self.change(None),
                    CardButton::Choice(at) if question.choices.get(at)?.follows.is_some() => {
                        self.change(Some(at))
                    }
                    CardButton::Choice(at) | CardButton::Confirm(at) => Some(at),
                }
            }
        }
    }

    /// A choice by its typed word. `None`: it is asked about a second time.
    pub fn choose(
        &mut self,
        at: usize,
        question: &ApprovalQuestion,
        now: Instant,
    ) -> Option<usize> {
        let follows = question.choices.get(at)?.follows.is_some();
        let settled = |since: Instant| now.saturating_duration_since(since) >= SETTLE;
        match follows && self.confirming != Some(at) {
            true => self.change(Some(at)),
            false if follows && !self.drawn.is_some_and(settled) => None,
            false => Some(at),
        }
    }

    fn turn_to(&mut self, page: usize) -> Option<usize> {
        if self.confirming.is_none() && self.pages().is_some_and(|pages| page < pages) {
            self.page = page;
            self.begin_anew();
        }
        None
    }

    fn change(&mut self, confirming: Option<usize>) -> Option<usize> {
        self.confirming = confirming;
        self.begin_anew();
        None
    }

    fn begin_anew(&mut self) {
        self.chosen = 0;
        self.moved = None;
        self.drawn = None;
    }

    fn pages(&self) -> Option<usize> {
        let layout = self.layout.as_ref()?;
        Some(layout.body.len().div_ceil(layout.rows?).max(1))
    }

    fn buttons(&self, question: &ApprovalQuestion) -> Vec<CardButton> {
        if let Some(at) = self.confirming {
            return vec![CardButton::Back, CardButton::Confirm(at)];
        }
        let choices = || in_order(question).map(CardButton::Choice);
        let unread = !self.whole && self.pages().is_some_and(|pages| self.page + 1 < pages);
        match unread {
            true => std::iter::once(CardButton::ReadOn)
                .chain(choices().take(1))
                .collect(),
            false => choices().collect(),
        }
    }

    /// The card in so many columns and rows.
    pub fn lines(
        &mut self,
        question: &ApprovalQuestion,
        size: (usize, usize),
        focus: CardFocus,
    ) -> Vec<StyledLine> {
        let (width, room) = size;
        if self
            .layout
            .as_ref()
            .is_none_or(|layout| layout.size != size)
        {
            let all: Vec<CardButton> = in_order(question).map(CardButton::Choice).collect();
            let around = 3 + self.button_lines(question, &all, width, focus).len();
            let rows = room.saturating_sub(around);
            self.layout = Some(CardLayout {
                size,
                body: question_rows(question, width),
                rows: (rows >= FEWEST_ROWS).then_some(rows),
            });
            self.page = 0;
            self.read = 0;
            self.begin_anew();
        }
        let Some((layout, rows, pages)) = self
            .layout
            .as_ref()
            .and_then(|layout| Some((layout, layout.rows?, self.pages()?)))
        else {
            let small = "? a question is waiting: this window is too small to show it";
            return vec![StyledLine::new(small, look::WARN).cut(width)];
        };
        let id = clean_line(&question.id);
        let head = match self.confirming {
            Some(_) => "confirm".to_owned(),
            None if pages > 1 => format!("page {} of {pages}", self.page + 1),
            None => String::new(),
        };
        let mut lines = vec![
            StyledLine::new("? ", look::WARN.bold())
                .with("Allow this? ", look::WARN.bold())
                .with(&format!("question {id}"), look::DIM)
                .with(if head.is_empty() { "" } else { " · " }, look::DIM)
                .with(&head, look::WARN)
                .cut(width),
        ];
        match self.confirming.and_then(|at| question.choices.get(at)) {
            Some(choice) => lines.extend(follow_lines(choice, &layout.body, (width, rows))),
            None => lines.extend(
                layout
                    .body
                    .iter()
                    .skip(self.page * rows)
                    .take(rows)
                    .cloned(),
            ),
        }
        lines.push(StyledLine::default());
        let buttons = self.buttons(question);
        lines.extend(self.button_lines(question, &buttons, width, focus));
        lines.push(self.hint(&id, &buttons, focus).cut(width));
        lines
    }

    /// The buttons side by side, in as many rows as they need.
    fn button_lines(
        &self,
        question: &ApprovalQuestion,
        buttons: &[CardButton],
        width: usize,
        focus: CardFocus,
    ) -> Vec<StyledLine> {
        let label = |at: usize| question.choices.get(at).map_or("", |choice| &choice.label);
        let mut lines = vec![StyledLine::default()];
        for (at, button) in buttons.iter().enumerate() {
            let words = match *button {
                CardButton::ReadOn => "next page".to_owned(),
                CardButton::Back => "no, go back".to_owned(),
                CardButton::Choice(at) => clean_line(label(at)),
                CardButton::Confirm(at) => format!("yes, {}", clean_line(label(at))),
            };
            let highlighted = at == self.chosen && focus == CardFocus::Here;
            let button = match highlighted {
                true => StyledLine::new("  ▸ ", look::WARN.bold())
                    .with(&words, look::WARN.bold().underline()),
                false => StyledLine::new(format!("    {words}"), look::PLAIN),
            };
            match lines.last_mut() {
                Some(line) if line.is_empty() || line.width() + button.width() <= width => {
                    line.append(&button);
                }
                _ => lines.push(button),
            }
        }
        lines
    }

    fn hint(&self, id: &str, buttons: &[CardButton], focus: CardFocus) -> StyledLine {
        let back = if self.page > 0 { " · PgUp: back" } else { "" };
        let told = match (focus, buttons.first()) {
            (CardFocus::Elsewhere, _) => {
                "  Enter sends your message; clear the line to answer here".to_owned()
            }
            (_, Some(CardButton::ReadOn)) if self.chosen > 0 => "  Enter denies it".to_owned(),
            (_, Some(CardButton::ReadOn)) => {
                format!("  Enter: next page; you can allow it on the last page{back}")
            }
            (_, Some(CardButton::Back)) => "  ←→ or Tab to choose · Enter to answer".to_owned(),
            _ => format!("  ←→ or Tab to choose · Enter to answer · or /approve {id} once{back}"),
        };
        StyledLine::new(told, look::DIM)
    }
}

/// The second look: what holds from now on, and what it is about, as far as there is room.
fn follow_lines(
    choice: &ApprovalChoice,
    body: &[StyledLine],
    (width, rows): (usize, usize),
) -> Vec<StyledLine> {
    let indent = StyledLine::new("  ", look::PLAIN);
    let follows = clean_line(choice.follows.as_deref().unwrap_or(""));
    let mut lines = StyledLine::new(follows, look::BOLD).wrap(width, &indent, &indent);
    let room = rows.saturating_sub(lines.len());
    match body.len() > room {
        true => {
            let kept = room.saturating_sub(1);
            lines.extend(body.iter().take(kept).cloned());
            let rest = format!("… and {} more rows, already read", body.len() - kept);
            lines.push(indent.with(&rest, look::WARN));
        }
        false => lines.extend(body.iter().cloned()),
    }
    lines
}

/// The places of the choices, no before any yes.
fn in_order(question: &ApprovalQuestion) -> impl Iterator<Item = usize> {
    let denies = |(_, choice): &(usize, &ApprovalChoice)| choice.scope == ApprovalScope::Deny;
    let choices = || question.choices.iter().enumerate();
    let no = choices().filter(denies);
    let yes = choices().filter(move |choice| !denies(choice));
    no.chain(yes).map(|(at, _)| at)
}
