//! What is printed of a turn.

mod json_result;
mod lines_beside;

use std::collections::HashMap;
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use chela_agent::conversation::Conversation;
use chela_agent::turn::{TurnEnd, TurnEvent, TurnOutcome};
use chela_reply::Reply;
use chela_tools::{CallSuccess, OwnerPresence, REFUSED};

use super::OutputForm;
use crate::chat::clean::{self, ControlCleaner, clean_line};
use crate::chat::ink::{StyledLine, look};
use crate::chat::relay::{PendingQuestion, TurnNews};
use crate::chat::stage::{FramePainter, ScreenFrame};
use crate::chat::turn_errors::TurnFailure;
use crate::chat::view::{TurnView, ViewSettings};
use crate::chat::{line_questions, terminal, turn_errors};
use crate::fail::{CommandError, CommandExit};
use crate::screen::{ColourMode, Screen, print_beside};

use json_result::{RefusedCall, event_object};
use lines_beside::tell_empty;
pub use lines_beside::{print_markdown, print_note, print_warning};

/// Words of a call that wait for its end. A longer answer goes out as it comes: it must be noticed
/// when nobody reads it any more.
const MOST_HELD: usize = 4_096;

pub struct OneShotOutput<'a> {
    screen: &'a mut Screen,
    form: OutputForm,
    cleaner: ControlCleaner,
    /// Whether the last thing printed ended its line.
    line_open: bool,
    printed: bool,
    drawn: Option<Drawn>,
    /// A program that reads along cannot unread: the words of a call wait until it is complete.
    /// `None`: a person reads, and sees them as they come.
    held: Option<String>,
    /// Something was said before: what is said next begins a paragraph.
    gap: bool,
    /// Where tools are told of: standard error, if a person reads it.
    beside: Option<ColourMode>,
    /// What the calls under way are about, by their ids.
    under_way: HashMap<String, String>,
    refused: Vec<RefusedCall>,
}

struct Drawn {
    view: TurnView,
    stage: FramePainter<io::Stdout>,
}

impl<'a> OneShotOutput<'a> {
    pub fn new(screen: &'a mut Screen, form: OutputForm) -> Self {
        let drawn = (form == OutputForm::Drawn).then(|| {
            let size = (screen.width, terminal::size().1);
            let mut view = TurnView::new(size.0, screen.paint);
            view.begin(ViewSettings::default(), Instant::now());
            Drawn {
                view,
                stage: FramePainter::new(io::stdout(), screen.paint, size),
            }
        });
        let watched = form == OutputForm::Plain && io::stderr().is_terminal();
        Self {
            beside: watched.then_some(screen.paint),
            screen,
            form,
            cleaner: ControlCleaner::default(),
            line_open: false,
            printed: false,
            drawn,
            held: None,
            gap: false,
            under_way: HashMap::new(),
            refused: Vec::new(),
        }
    }

    pub fn pause(&self) -> Duration {
        let millis = if self.drawn.is_some() { 100 } else { 3_600_000 };
        Duration::from_millis(millis)
    }

    pub fn tick(&mut self) -> Result<(), CommandError> {
        if let Some(drawn) = &mut self.drawn {
            let settled = drawn.view.take_settled();
            let lines = drawn.view.live(Instant::now());
            // The cursor stays visible: whoever ends the process leaves a usable terminal.
            let cursor = Some((lines.len().saturating_sub(1), 0));
            let frame = ScreenFrame { lines, cursor };
            drawn.stage.show(&settled, frame)?;
        }
        Ok(())
    }

    pub async fn hear(&mut self, item: TurnNews) -> Result<(), CommandError> {
        match item {
            TurnNews::Event(event) => {
                self.note_refusal(&event);
                if self.form == OutputForm::JsonStream {
                    self.stream(&event)?;
                }
                self.show(event)
            }
            TurnNews::Question(question) => self.question(question).await,
            // What others do is shown where a person watches.
            TurnNews::Elsewhere(_) => Ok(()),
        }
    }

    fn show(&mut self, event: TurnEvent) -> Result<(), CommandError> {
        match &mut self.drawn {
            Some(drawn) => {
                drawn.view.event(event, Instant::now());
                self.tick()
            }
            None => self.event(event).map_err(CommandError::from),
        }
    }

    /// Scripts look at what was refused, and so does whoever reads standard error.
    fn note_refusal(&mut self, event: &TurnEvent) {
        match event {
            TurnEvent::ToolStarted { id, summary, .. } => {
                self.under_way.insert(id.clone(), summary.clone());
            }
            TurnEvent::ToolEnded {
                id, tool, details, ..
            } => {
                let what = self.under_way.remove(id).unwrap_or_default();
                if let Some(why) = details[REFUSED].as_str() {
                    self.refused.push(RefusedCall {
                        tool: clean_line(tool),
                        what: clean_line(&what),
                        why: clean_line(why),
                    });
                }
            }
            _ => {}
        }
    }

    fn stream(&mut self, event: &TurnEvent) -> Result<(), CommandError> {
        if let Some(line) = event_object(event) {
            self.screen.line(line)?;
            self.screen.flush()?;
        }
        Ok(())
    }

    fn event(&mut self, event: TurnEvent) -> io::Result<()> {
        match event {
            TurnEvent::Calling { .. } => {
                let read_by_program = self.form == OutputForm::Plain && !self.screen.is_terminal;
                self.held = read_by_program.then(String::new);
                Ok(())
            }
            TurnEvent::Called { .. } => self.let_go(),
            TurnEvent::Text(piece) if self.form == OutputForm::Plain => {
                let shown = self.cleaner.push(&piece);
                match &mut self.held {
                    Some(held) if held.len() < MOST_HELD => {
                        held.push_str(&shown);
                        Ok(())
                    }
                    Some(_) => {
                        self.let_go()?;
                        self.print(&shown)
                    }
                    None => self.print(&shown),
                }
            }
            TurnEvent::Retracted => self.take_back(),
            TurnEvent::Restarted { why } => {
                self.take_back()?;
                self.aside(&format!("restarted: {}", clean_line(&why)));
                Ok(())
            }
            TurnEvent::Notice(text) => {
                self.notice(&clean_line(&text));
                Ok(())
            }
            TurnEvent::Waiting(text) => {
                print_note(self.screen.paint, &text);
                Ok(())
            }
            TurnEvent::Unrecorded(text) | TurnEvent::Tampered(text) => {
                print_warning(self.screen.paint, &text);
                Ok(())
            }
            TurnEvent::ToolEnded {
                tool,
                success,
                text,
                ..
            } => {
                // Words before a tool and words after it are two paragraphs.
                self.end_line()?;
                let mark = match success {
                    CallSuccess::Done => "✓".to_owned(),
                    CallSuccess::Failed => {
                        format!("✗ {}", clean_line(text.lines().next().unwrap_or("")))
                    }
                };
                self.aside(&format!("{} {mark}", clean_line(&tool)));
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// The call is complete: what it said stands.
    fn let_go(&mut self) -> io::Result<()> {
        let held = self.held.take().unwrap_or_default();
        self.print(&held)
    }

    /// What the call has said so far does not count.
    fn take_back(&mut self) -> io::Result<()> {
        match &mut self.held {
            Some(held) => {
                held.clear();
                Ok(())
            }
            None => self.end_line(),
        }
    }

    fn print(&mut self, text: &str) -> io::Result<()> {
        if text.is_empty() {
            return Ok(());
        }
        if std::mem::take(&mut self.gap) {
            self.screen.raw("\n")?;
        }
        self.printed = true;
        self.line_open = !text.ends_with('\n');
        self.screen.raw(text)?;
        self.screen.flush()
    }

    fn end_line(&mut self) -> io::Result<()> {
        if self.line_open {
            self.print("\n")?;
        }
        Ok(())
    }

    fn aside(&self, text: &str) {
        if let Some(paint) = self.beside {
            print_beside(paint.dim(text));
        }
    }

    /// Whether somebody is there to be asked.
    pub fn presence(form: OutputForm) -> OwnerPresence {
        let can_ask = !form.is_json() && io::stdin().is_terminal();
        match can_ask && io::stderr().is_terminal() {
            true => OwnerPresence::There,
            false => OwnerPresence::Away,
        }
    }

    /// A line for the person, also where standard error goes to a file: what was told once is not
    /// told again.
    fn notice(&self, text: &str) {
        match self.beside {
            Some(_) => self.aside(text),
            None => {
                print_beside(format_args!("notice: {text}"));
            }
        }
    }

    async fn question(&mut self, asked: PendingQuestion) -> Result<(), CommandError> {
        if Self::presence(self.form) == OwnerPresence::Away {
            asked.answer(None);
            return Ok(());
        }
        self.end_line()?;
        if let Some(drawn) = &mut self.drawn {
            let settled = drawn.view.take_settled();
            drawn.stage.show(&settled, ScreenFrame::default())?;
            drawn.stage.leave()?;
        }
        let (paint, size) = (self.screen.paint, terminal::size());
        let said = line_questions::ask_permission(&asked.question, paint, size).await;
        asked.answer(said.as_deref());
        Ok(())
    }

    /// What is said next does not stand on the line of the question.
    pub fn question_abandoned(&self) {
        print_beside("");
    }

    /// A turn has ended: what it said stands.
    pub fn turn_ended(&mut self, outcome: &TurnOutcome) -> Result<(), CommandError> {
        match self.form {
            OutputForm::Json | OutputForm::JsonStream => Ok(()),
            OutputForm::Plain => self.plain(outcome),
            OutputForm::Drawn => self.close(Some(outcome)),
        }
    }

    /// Another turn follows.
    pub fn turn_begins(&mut self) {
        self.gap |= self.printed;
        self.printed = false;
        self.cleaner = ControlCleaner::default();
        if let Some(drawn) = &mut self.drawn {
            drawn.view.begin(ViewSettings::default(), Instant::now());
        }
    }

    /// Nothing is said for a while, and why.
    pub fn waiting(&mut self, why: &str) -> Result<(), CommandError> {
        match &mut self.drawn {
            Some(drawn) => {
                drawn.view.say(StyledLine::new(why, look::DIM));
                self.tick()
            }
            None => {
                self.aside(why);
                Ok(())
            }
        }
    }

    pub fn failed(
        mut self,
        talk: &Conversation,
        error: &TurnFailure,
    ) -> Result<CommandExit, CommandError> {
        self.close(None)?;
        Err(turn_errors::turn_failure(error, talk))
    }

    pub fn end(
        mut self,
        talk: &Conversation,
        outcome: &TurnOutcome,
        left: &[String],
    ) -> Result<CommandExit, CommandError> {
        self.tell_refused();
        let empty = tell_empty(self.screen.paint, outcome, self.drawn.is_some());
        if self.form.is_json() {
            self.json(talk, outcome, left)?;
        } else if !left.is_empty() {
            let told = format!("ended with this chat: {}", left.join(", "));
            print_beside(self.screen.paint.warn(clean_line(&told)));
        }
        Ok(match outcome.ended {
            TurnEnd::Stopped | TurnEnd::Limit(_) | TurnEnd::Loop(_) => CommandExit::Stopped,
            TurnEnd::Done if empty => CommandExit::Findings,
            TurnEnd::Done if !self.refused.is_empty() => CommandExit::Refused,
            TurnEnd::Done => CommandExit::Fine,
        })
    }

    /// A line for each call that was not allowed, where the chat does not show them.
    fn tell_refused(&self) {
        if self.drawn.is_some() {
            return;
        }
        for refused in &self.refused {
            let why = refused
                .why
                .split_once(". ")
                .map_or(refused.why.as_str(), |it| it.0);
            let line = format!("refused: {} `{}`: {why}", refused.tool, refused.what);
            print_beside(self.screen.paint.warn(line));
        }
    }

    fn close(&mut self, outcome: Option<&TurnOutcome>) -> Result<(), CommandError> {
        self.end_line()?;
        if let Some(drawn) = &mut self.drawn {
            match outcome {
                Some(outcome) => drawn.view.end(outcome),
                None => drawn.view.broke(),
            }
            let settled = drawn.view.take_settled();
            drawn.stage.show(&settled, ScreenFrame::default())?;
            drawn.stage.leave()?;
        }
        Ok(())
    }

    fn plain(&mut self, outcome: &TurnOutcome) -> Result<(), CommandError> {
        self.let_go()?;
        let held = self.cleaner.finish();
        self.print(held)?;
        if let Reply::Deliver(delivery) = &outcome.reply {
            if !self.printed {
                let text = clean::clean(&delivery.text);
                self.print(&text)?;
            }
            self.end_line()?;
            // Directives are not part of the reply: whoever reads it reads words.
            for media in &delivery.media {
                let told = format!("attached: {}", clean_line(media));
                print_beside(self.screen.paint.dim(told));
            }
        }
        self.end_line()?;
        let why = match &outcome.ended {
            TurnEnd::Done => return Ok(()),
            TurnEnd::Stopped => "stopped".to_owned(),
            TurnEnd::Limit(what) => format!("stopped at a limit: {}", clean_line(what)),
            TurnEnd::Loop(what) => {
                format!("stopped, it was repeating itself: {}", clean_line(what))
            }
        };
        print_beside(self.screen.paint.warn(why));
        Ok(())
    }
}
