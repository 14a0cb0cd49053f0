//! What is printed of a turn.

use std::io::{self, IsTerminal, Write};
use std::time::{Duration, Instant};

use chela_agent::conversation::Conversation;
use chela_agent::turn::{Ended, TurnError, TurnEvent, TurnOutcome};
use chela_reply::{Delivery, Reply, Silence};
use chela_tools::Success;
use serde::Serialize;

use super::Form;
use crate::chat::asking;
use crate::chat::clean::{self, Cleaner, clean_line};
use crate::chat::ink::{Line, look};
use crate::chat::markdown::Flow;
use crate::chat::relay::{Asked, News};
use crate::chat::stage::{Frame, Stage};
use crate::chat::terminal;
use crate::chat::trouble;
use crate::chat::view::{Taste, View};
use crate::fail::{Exit, Fail};
use crate::screen::{Paint, Screen};

/// Words of a call that wait for its end. A longer answer goes out as it comes: it must be noticed
/// when nobody reads it any more.
const MOST_HELD: usize = 4_096;

/// What `--json` prints.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Told<'a> {
    reply: &'a str,
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    media: &'a [String],
    /// Why there is no reply: `no-reply`, `heartbeat-ok`, `empty`.
    silent: Option<&'static str>,
    session: String,
    session_id: String,
    model: &'a str,
    usage: chela_model::Usage,
    context: Context,
    steps: u32,
    tool_calls: u32,
    /// `done`, `stopped`, `limit`, `loop`.
    ended: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
    /// What still ran in the background and ended with the process.
    #[serde(skip_serializing_if = "<[String]>::is_empty")]
    ended_with_it: &'a [String],
}

#[derive(Serialize)]
struct Context {
    used: u64,
    window: Option<u64>,
}

pub struct Output<'a> {
    screen: &'a mut Screen,
    form: Form,
    cleaner: Cleaner,
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
    beside: Option<Paint>,
}

struct Drawn {
    view: View,
    stage: Stage<io::Stdout>,
}

impl<'a> Output<'a> {
    pub fn new(screen: &'a mut Screen, form: Form) -> Self {
        let drawn = (form == Form::Drawn).then(|| {
            let size = (screen.width, terminal::size().1);
            let mut view = View::new(size.0, screen.paint);
            view.begin(Taste::default(), Instant::now());
            Drawn {
                view,
                stage: Stage::new(io::stdout(), screen.paint, size),
            }
        });
        let watched = form == Form::Plain && io::stderr().is_terminal();
        Self {
            beside: watched.then_some(screen.paint),
            screen,
            form,
            cleaner: Cleaner::default(),
            line_open: false,
            printed: false,
            drawn,
            held: None,
            gap: false,
        }
    }

    pub fn pause(&self) -> Duration {
        let millis = if self.drawn.is_some() { 100 } else { 3_600_000 };
        Duration::from_millis(millis)
    }

    pub fn tick(&mut self) -> Result<(), Fail> {
        if let Some(drawn) = &mut self.drawn {
            let settled = drawn.view.take_settled();
            let lines = drawn.view.live(Instant::now());
            // The cursor stays visible: whoever ends the process leaves a usable terminal.
            let cursor = Some((lines.len().saturating_sub(1), 0));
            let frame = Frame { lines, cursor };
            drawn.stage.show(&settled, frame)?;
        }
        Ok(())
    }

    pub async fn hear(&mut self, item: News) -> Result<(), Fail> {
        match item {
            News::Event(event) => match &mut self.drawn {
                Some(drawn) => {
                    drawn.view.event(event, Instant::now());
                    self.tick()
                }
                None => self.event(event).map_err(Fail::from),
            },
            News::Question(question) => self.question(question).await,
        }
    }

    fn event(&mut self, event: TurnEvent) -> io::Result<()> {
        match event {
            TurnEvent::Calling { .. } => {
                let read_by_program = self.form == Form::Plain && !self.screen.is_terminal;
                self.held = read_by_program.then(String::new);
                Ok(())
            }
            TurnEvent::Called { .. } => self.let_go(),
            TurnEvent::Text(piece) if self.form == Form::Plain => {
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
                self.aside(&format!("begun again: {}", clean_line(&why)));
                Ok(())
            }
            TurnEvent::Notice(text) => {
                self.aside(&clean_line(&text));
                Ok(())
            }
            TurnEvent::Unrecorded(text) => {
                let _ = writeln!(io::stderr(), "{}", clean_line(&text));
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
                    Success::Done => "✓".to_owned(),
                    Success::Failed => {
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
            let _ = writeln!(io::stderr(), "{}", paint.dim(text));
        }
    }

    async fn question(&mut self, asked: Asked) -> Result<(), Fail> {
        let can_ask = self.form != Form::Json && io::stdin().is_terminal();
        if !can_ask || !io::stderr().is_terminal() {
            asked.answer(None);
            return Ok(());
        }
        self.end_line()?;
        if let Some(drawn) = &mut self.drawn {
            let settled = drawn.view.take_settled();
            drawn.stage.show(&settled, Frame::default())?;
            drawn.stage.leave()?;
        }
        let said = asking::permission(&asked.question, self.screen.paint).await;
        asked.answer(said);
        Ok(())
    }

    /// A turn has ended: what it said stands.
    pub fn turn_ended(&mut self, outcome: &TurnOutcome) -> Result<(), Fail> {
        match self.form {
            Form::Json => Ok(()),
            Form::Plain => self.plain(outcome),
            Form::Drawn => self.close(Some(outcome)),
        }
    }

    /// Another turn follows.
    pub fn turn_begins(&mut self) {
        self.gap |= self.printed;
        self.printed = false;
        self.cleaner = Cleaner::default();
        if let Some(drawn) = &mut self.drawn {
            drawn.view.begin(Taste::default(), Instant::now());
        }
    }

    /// Nothing is said for a while, and why.
    pub fn waiting(&mut self, why: &str) -> Result<(), Fail> {
        match &mut self.drawn {
            Some(drawn) => {
                drawn.view.say(Line::new(why, look::DIM));
                self.tick()
            }
            None => {
                self.aside(why);
                Ok(())
            }
        }
    }

    pub fn failed(mut self, talk: &Conversation, error: &TurnError) -> Result<Exit, Fail> {
        self.close(None)?;
        Err(trouble::fail(error, talk))
    }

    pub fn end(
        mut self,
        talk: &Conversation,
        outcome: &TurnOutcome,
        left: &[String],
    ) -> Result<Exit, Fail> {
        if self.form == Form::Json {
            self.json(talk, outcome, left)?;
        } else if !left.is_empty() {
            let told = format!("ended with this chat: {}", left.join(", "));
            let _ = writeln!(
                io::stderr(),
                "{}",
                self.screen.paint.warn(clean_line(&told))
            );
        }
        Ok(match outcome.ended {
            Ended::Done => Exit::Fine,
            Ended::Stopped | Ended::Limit(_) | Ended::Loop(_) => Exit::Stopped,
        })
    }

    fn close(&mut self, outcome: Option<&TurnOutcome>) -> Result<(), Fail> {
        self.end_line()?;
        if let Some(drawn) = &mut self.drawn {
            match outcome {
                Some(outcome) => drawn.view.end(outcome),
                None => drawn.view.broke(),
            }
            let settled = drawn.view.take_settled();
            drawn.stage.show(&settled, Frame::default())?;
            drawn.stage.leave()?;
        }
        Ok(())
    }

    fn plain(&mut self, outcome: &TurnOutcome) -> Result<(), Fail> {
        self.let_go()?;
        let held = self.cleaner.finish();
        self.print(held)?;
        if let Reply::Deliver(delivery) = &outcome.reply {
            if !self.printed {
                let text = clean::clean(&delivery.text);
                self.print(&text)?;
            }
            self.end_line()?;
            for media in &delivery.media {
                self.screen.line(format!("MEDIA:{}", clean_line(media)))?;
            }
        }
        self.end_line()?;
        let why = match &outcome.ended {
            Ended::Done => return Ok(()),
            Ended::Stopped => "stopped".to_owned(),
            Ended::Limit(what) => format!("stopped at a limit: {}", clean_line(what)),
            Ended::Loop(what) => format!("stopped, it went in circles: {}", clean_line(what)),
        };
        let _ = writeln!(io::stderr(), "{}", self.screen.paint.warn(why));
        Ok(())
    }

    fn json(
        &mut self,
        talk: &Conversation,
        outcome: &TurnOutcome,
        left: &[String],
    ) -> Result<(), Fail> {
        let nothing = Delivery::default();
        let (delivery, silent) = match &outcome.reply {
            Reply::Deliver(delivery) => (delivery, None),
            Reply::Silent { why } => (
                &nothing,
                Some(match why {
                    Silence::NoReply => "no-reply",
                    Silence::HeartbeatOk => "heartbeat-ok",
                    Silence::Empty => "empty",
                }),
            ),
        };
        let (ended, why) = match &outcome.ended {
            Ended::Done => ("done", None),
            Ended::Stopped => ("stopped", None),
            Ended::Limit(what) => ("limit", Some(what.as_str())),
            Ended::Loop(what) => ("loop", Some(what.as_str())),
        };
        self.screen.json(&Told {
            reply: &delivery.text,
            media: &delivery.media,
            silent,
            session: outcome.session.to_string(),
            session_id: talk.session().id.to_string(),
            model: &outcome.model,
            usage: outcome.usage,
            context: Context {
                used: outcome.context.used,
                window: outcome.context.window,
            },
            steps: outcome.steps,
            tool_calls: outcome.tool_calls,
            ended,
            why,
            ended_with_it: left,
        })?;
        Ok(())
    }
}

/// The answer to a command, on its own.
pub fn page(screen: &mut Screen, markdown: &str) -> Result<(), Fail> {
    if markdown.is_empty() {
        return Ok(());
    }
    let cleaned = clean::clean(markdown);
    if !screen.is_terminal {
        screen.line(cleaned.trim_end())?;
        return Ok(());
    }
    let mut flow = Flow::new(screen.width.saturating_sub(1).min(100), screen.paint);
    let mut lines = flow.push(&cleaned);
    lines.extend(flow.finish());
    for line in lines {
        screen.line(line.ansi(screen.paint))?;
    }
    Ok(())
}

/// A line for people, beside the output.
pub fn note(paint: Paint, text: &str) {
    let line = Line::new(clean_line(text), look::DIM);
    let _ = writeln!(io::stderr(), "{}", line.ansi(paint));
}
