//! The chat in a terminal: what happens, in the order it happens.
//!
//! One loop on one thread. A turn is a future beside the keyboard: what it tells comes over a
//! channel, so that typing, stopping and answering questions go on while it runs.

mod foot;
mod recap;
mod saying;
mod typing;

use std::io::{self, Write};
use std::pin::Pin;
use std::time::{Duration, Instant};

use chela_agent::conversation::{CompactError, Compacted, Conversation, Inbound};
use chela_agent::slash::{self, Setting, Talk};
use chela_agent::turn::{Ended, TurnError, TurnOutcome};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::mpsc;

use super::clean::clean_line;
use super::editor::Editor;
use super::for_now::ForNow;
use super::history::History;
use super::ink::{Line, look};
use super::keys::Act;
use super::menu::Menu;
use super::questions::Questions;
use super::relay::{News, Relay};
use super::stage::Stage;
use super::terminal::{self, Raw};
use super::trouble;
use super::view::{Detail, Shown, Taste, View, usage_line};
use crate::fail::Fail;
use crate::process_log;
use crate::screen::Paint;

/// How a chat begins.
pub struct Opening<'a> {
    pub talk: &'a Conversation,
    pub paint: Paint,
    pub history: History,
    /// Lines above everything: what was found, what is missing.
    pub notes: Vec<String>,
}

/// The chat, until the person leaves.
pub async fn chat(opening: Opening<'_>) -> Result<(), Fail> {
    let raw = Raw::enter().map_err(|error| {
        Fail::new(format!("cannot use this terminal: {error}"))
            .hint("`chela chat -m MESSAGE` needs none")
    })?;
    process_log::leave_terminal();
    let (relay, news) = Relay::new();
    let mut room = Room::new(&opening, io::stdout());
    room.greet(&opening.notes);
    room.history = opening.history;
    let told = room.run(&relay, news, raw).await;
    let left = room.leave();
    terminal::restore();
    told?;
    left.map_err(Fail::from)
}

/// Everything on and behind the screen.
struct Room<'a, W> {
    talk: &'a Conversation,
    stage: Stage<W>,
    view: View,
    editor: Editor,
    history: History,
    menu: Menu,
    questions: Questions,
    /// Who answers, looked up when it may have changed.
    model: Option<String>,
    /// What is to be done next, when nothing else is.
    next: Option<Next>,
    /// When the work under way began.
    busy: Option<Instant>,
    /// Settings of the message under way.
    for_now: Option<ForNow<'a>>,
    /// Whether the agent is woken when something in the background ends. Not after that has
    /// failed: it would fail again.
    wakes: bool,
    /// A first Ctrl-C was pressed on an empty line.
    leaving: bool,
    over: bool,
}

/// Work that takes time.
enum Next {
    Say(Inbound),
    Compact(Option<String>),
    /// Something in the background has ended: the agent is to hear of it.
    Wake,
}

/// What came of it.
enum Done {
    Turn(Result<TurnOutcome, TurnError>),
    Compact(Result<Compacted, CompactError>),
    /// There was nothing to be woken for.
    Nothing,
}

/// Waits for what runs in the background.
type Waiting<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

type Work<'a> = Pin<Box<dyn Future<Output = Done> + 'a>>;

/// What the loop woke up for.
enum Woken {
    Act(Act),
    News(News),
    Done(Done),
    Ended,
    Tick,
    Over,
}

/// A paint per screen refresh is enough.
const REFRESH: Duration = Duration::from_millis(16);
/// The pace of spinners.
const TICK: Duration = Duration::from_millis(100);

impl<'a, W: Write> Room<'a, W> {
    fn new(opening: &Opening<'a>, out: W) -> Self {
        let size = terminal::size();
        let mut view = View::new(size.0, opening.paint);
        view.meter = opening.talk.status().context;
        Self {
            talk: opening.talk,
            stage: Stage::new(out, opening.paint, size),
            view,
            editor: Editor::default(),
            history: History::default(),
            menu: Menu::default(),
            questions: Questions::default(),
            model: opening.talk.model().selected,
            next: None,
            busy: None,
            for_now: None,
            wakes: true,
            leaving: false,
            over: false,
        }
    }

    fn greet(&mut self, notes: &[String]) {
        let mut title = Line::new("Chela", look::AGENT);
        title.push(&format!(" · {}", self.talk.agent()), look::DIM);
        if !self.talk.session().fresh {
            title.push(
                " · going on where you left off, /new begins anew",
                look::DIM,
            );
        } else {
            title.push(
                " · /help lists commands, Esc stops, Ctrl-D leaves",
                look::DIM,
            );
        }
        self.view.say(title);
        self.view.say(Line::default());
        if let Some(recap) = recap::Recap::of(self.talk) {
            self.echo(&recap.said);
            self.view
                .page(recap.answered.as_deref().unwrap_or("*(no answer)*"));
        }
        for note in notes {
            self.view.page(note);
        }
    }

    async fn run(
        &mut self,
        relay: &'a Relay,
        mut news: mpsc::UnboundedReceiver<News>,
        mut raw: Raw,
    ) -> Result<(), Fail> {
        let unheard = |error: io::Error| Fail::new(format!("cannot listen to signals: {error}"));
        let mut terminated = signal(SignalKind::terminate()).map_err(unheard)?;
        let mut hung_up = signal(SignalKind::hangup()).map_err(unheard)?;
        let mut acts = terminal::acts();
        let mut work: Option<Work<'a>> = None;
        let mut waiting: Option<Waiting<'a>> = None;
        let mut painted = Instant::now();
        let mut dirty = true;
        while !self.over {
            if work.is_none()
                && let Some(next) = self.next.take()
            {
                // A turn asks what sub-agents ask by itself.
                waiting = None;
                work = Some(self.start(next, relay));
                dirty = true;
            }
            if work.is_none() && waiting.is_none() && self.wakes {
                let talk = self.talk;
                waiting = Some(Box::pin(talk.until_woken(relay)));
            }
            if dirty && painted.elapsed() >= REFRESH {
                self.paint()?;
                painted = Instant::now();
                dirty = false;
            }
            let pause = if dirty { REFRESH } else { TICK };
            let woken = tokio::select! {
                biased;
                _ = terminated.recv() => Woken::Over,
                _ = hung_up.recv() => Woken::Over,
                act = acts.recv() => act.map_or(Woken::Over, Woken::Act),
                Some(item) = news.recv() => Woken::News(item),
                done = finish(&mut work), if work.is_some() => Woken::Done(done),
                () = until(&mut waiting), if waiting.is_some() => Woken::Ended,
                () = tokio::time::sleep(pause), if dirty || self.is_moving() => Woken::Tick,
            };
            dirty = true;
            match woken {
                Woken::Over => self.over = true,
                Woken::Act(Act::Suspend) => {
                    self.stage.leave().map_err(Fail::from)?;
                    drop(raw);
                    raw = terminal::suspend().map_err(Fail::from)?;
                    self.resize();
                }
                Woken::Act(act) => self.act(act)?,
                Woken::News(item) => {
                    self.hear(item);
                    while let Ok(item) = news.try_recv() {
                        self.hear(item);
                    }
                }
                Woken::Done(done) => {
                    work = None;
                    while let Ok(item) = news.try_recv() {
                        self.hear(item);
                    }
                    self.done(done);
                }
                Woken::Ended => {
                    waiting = None;
                    self.next.get_or_insert(Next::Wake);
                }
                Woken::Tick => self.questions.tidy(Instant::now()),
            }
        }
        Ok(())
    }

    fn start(&mut self, next: Next, relay: &'a Relay) -> Work<'a> {
        let now = Instant::now();
        self.busy = Some(now);
        self.view.begin(self.taste(), now);
        let talk = self.talk;
        match next {
            Next::Say(message) => {
                Box::pin(async move { Done::Turn(talk.say(message, relay).await) })
            }
            Next::Compact(keep) => {
                Box::pin(async move { Done::Compact(talk.compact(keep.as_deref()).await) })
            }
            Next::Wake => Box::pin(async move {
                match talk.wake(relay).await {
                    Ok(Some(outcome)) => Done::Turn(Ok(outcome)),
                    Ok(None) => Done::Nothing,
                    Err(error) => Done::Turn(Err(error)),
                }
            }),
        }
    }

    fn hear(&mut self, item: News) {
        let now = Instant::now();
        match item {
            News::Event(event) => self.view.event(event, now),
            News::Question(question) => self.questions.add(question, now),
        }
    }

    fn done(&mut self, done: Done) {
        let now = Instant::now();
        let took = self
            .busy
            .take()
            .map_or(Duration::ZERO, |since| now.saturating_duration_since(since));
        self.questions.tidy(now);
        match done {
            Done::Nothing => {
                self.view.broke();
                return;
            }
            Done::Turn(Ok(outcome)) => {
                self.wakes = true;
                self.view.end(&outcome);
                self.footer(&outcome, took);
                self.take_up_unheard(&outcome);
            }
            Done::Turn(Err(error)) => {
                self.wakes = false;
                self.view.broke();
                let width = self.stage.width().saturating_sub(1);
                for line in trouble::lines(&error, self.talk, width) {
                    self.view.say(line);
                }
            }
            Done::Compact(Ok(compacted)) => {
                self.view.broke();
                self.view.meter = self.talk.status().context;
                self.view.say(Line::new(compacted.in_words(), look::DIM));
            }
            Done::Compact(Err(error)) => {
                self.view.broke();
                self.view.say(Line::new(error.to_string(), look::WARN));
            }
        }
        self.view.say(Line::default());
        self.for_now = None;
        self.model = self.talk.model().selected;
    }

    /// A word that came when the turn had already made its last step begins the next one.
    fn take_up_unheard(&mut self, outcome: &TurnOutcome) {
        if outcome.ended != Ended::Done || self.next.is_some() {
            return;
        }
        let unheard = self.talk.take_unheard();
        if !unheard.is_empty() {
            self.next = Some(Next::Say(Inbound {
                text: unheard.join("\n\n"),
                ..Inbound::default()
            }));
        }
    }

    /// Tokens under the reply, when the person wants them.
    fn footer(&mut self, outcome: &TurnOutcome, took: Duration) {
        let cost = |talk: &dyn Talk| {
            talk.status()
                .price
                .map(|price| price.dollars(&outcome.usage))
        };
        let line = match slash::value(self.talk, Setting::Usage).as_str() {
            "tokens" => usage_line(&outcome.usage, took, None),
            "full" => usage_line(&outcome.usage, took, cost(self.talk)),
            _ => return,
        };
        self.view.say(line);
    }

    fn taste(&self) -> Taste {
        Taste {
            reasoning: match slash::value(self.talk, Setting::Reasoning).as_str() {
                "on" => Shown::After,
                "stream" => Shown::AsItComes,
                _ => Shown::Off,
            },
            tools: match slash::value(self.talk, Setting::Verbose).as_str() {
                "on" => Detail::Some,
                "full" => Detail::All,
                _ => Detail::Folded,
            },
        }
    }

    fn is_moving(&self) -> bool {
        self.busy.is_some() || !self.questions.is_empty()
    }

    fn paint(&mut self) -> Result<(), Fail> {
        let settled = self.view.take_settled();
        let frame = self.frame(Instant::now());
        self.stage.show(&settled, frame).map_err(Fail::from)
    }

    fn resize(&mut self) {
        let size = terminal::size();
        self.stage.resize(size);
        self.view.resize(size.0);
    }

    fn leave(&mut self) -> io::Result<()> {
        let mut settled = self.view.take_settled();
        if self.busy.is_some() {
            settled.push(Line::new("■ stopped", look::WARN));
        }
        let left = self.talk.background().in_words();
        if !left.is_empty() {
            let told = format!("ended with this chat: {}", left.join(", "));
            settled.push(Line::new(clean_line(&told), look::WARN));
        }
        self.stage.show(&settled, super::stage::Frame::default())?;
        self.stage.leave()
    }
}

/// Waits for what runs in the background; never ends without any.
async fn until(waiting: &mut Option<Waiting<'_>>) {
    match waiting {
        Some(waiting) => waiting.await,
        None => std::future::pending().await,
    }
}

/// Waits for the work under way; never ends without any.
async fn finish(work: &mut Option<Work<'_>>) -> Done {
    match work {
        Some(work) => work.await,
        None => std::future::pending().await,
    }
}
