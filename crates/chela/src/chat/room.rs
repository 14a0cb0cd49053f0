//! The chat in a terminal: what happens, in the order it happens.
//!
//! One loop on one thread. A turn is a future beside the keyboard: what it tells comes over a
//! channel, so that typing, stopping and answering questions go on while it runs.

mod elsewhere;
mod foot;
mod owner_commands;
mod recap;
mod saying;
mod typing;
mod work;

use std::collections::VecDeque;
use std::io::{self, Write};
use std::pin::Pin;
use std::time::{Duration, Instant};

use chela_agent::conversation::Conversation;
use chela_agent::slash::CommandContext;
use chela_tools::OwnerPresence;
use tokio::sync::mpsc;

use owner_commands::RanCommand;
use work::{ChatWork, DoneWork, RunningWork, beside, finish};

use super::clean::clean_line;
use super::editor::LineEditor;
use super::file_words::FileWords;
use super::for_now::ForNow;
use super::gateway_talk::GatewayTalk;
use super::history::{InputHistory, TypedMessage};
use super::history_search::HistorySearch;
use super::ink::{StyledLine, look};
use super::keys::KeyAction;
use super::menu::CompletionMenu;
use super::outside_editor;
use super::picker::SessionPicker;
use super::questions::QuestionQueue;
use super::relay::{RelaySurface, TurnNews};
use super::stage::FramePainter;
use super::terminal::{self, KeyReader, RawTerminal};
use super::view::TurnView;
use crate::fail::{CommandError, CommandExit};
use crate::heard_signals::{HeardSignal, SignalKind};
use crate::process_log;
use crate::screen::ColourMode;

/// What a chat begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChatStart {
    Writing,
    /// Choosing an earlier conversation.
    Picking,
}

/// What a chat is left for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ChatLeave {
    Over(CommandExit),
    /// The conversation of this id.
    Resume(String),
    /// The same in this folder.
    Folder(String),
}

/// How a chat begins.
pub struct ChatOpening<'a> {
    pub talk: &'a Conversation,
    /// Where the turns run, while a gateway does.
    pub gateway: Option<&'a GatewayTalk>,
    pub paint: ColourMode,
    pub history: InputHistory,
    /// Lines above everything: what was found, what is missing.
    pub notes: Vec<String>,
    pub start: ChatStart,
    /// Renews what has run out since; says what cannot be renewed.
    pub renew_logins: RenewLogins<'a>,
}

/// Done before a message is sent: a chat may be open for longer than a login is good.
pub type RenewLogins<'a> = &'a dyn Fn() -> Pin<Box<dyn Future<Output = Vec<String>>>>;

/// The chat, until the person leaves.
pub async fn run_chat(opening: ChatOpening<'_>) -> Result<ChatLeave, CommandError> {
    let raw = RawTerminal::enter().map_err(|error| {
        CommandError::new(format!("cannot use this terminal: {error}"))
            .hint("`chela chat -m MESSAGE` needs none")
    })?;
    process_log::leave_terminal();
    let (relay, news) = RelaySurface::new(OwnerPresence::There);
    if let Some(gateway) = opening.gateway {
        gateway.show_to(relay.sender());
    }
    opening.talk.agents().scan_skills_beside();
    let mut room = ChatRoom::new(&opening, io::stdout()).await;
    room.greet(&opening.notes).await;
    room.history = opening.history;
    if opening.start == ChatStart::Picking {
        room.say("/resume", Vec::new()).await;
    }
    let told = room.run(&relay, news, raw).await;
    room.put_back_settings().await;
    let left = room.leave();
    terminal::restore();
    told?;
    left.map_err(CommandError::from)?;
    let over = ChatLeave::Over(CommandExit::Fine);
    Ok(room.leave_for.take().unwrap_or(over))
}

/// Everything on and behind the screen.
struct ChatRoom<'a, W> {
    talk: &'a Conversation,
    gateway: Option<&'a GatewayTalk>,
    /// A turn runs in this conversation that was not begun here.
    is_elsewhere: bool,
    /// Work of this chat is under way.
    has_work: bool,
    renew_logins: RenewLogins<'a>,
    stage: FramePainter<W>,
    view: TurnView,
    editor: LineEditor,
    history: InputHistory,
    menu: CompletionMenu,
    file_words: FileWords,
    /// Looking for something typed earlier.
    search: Option<HistorySearch>,
    /// Earlier conversations, while one is being chosen.
    picker: Option<SessionPicker>,
    /// What this one is left for.
    leave_for: Option<ChatLeave>,
    questions: QuestionQueue,
    /// Whether all of the question was within the frame that was made last.
    question_fits: bool,
    /// Who answers, looked up when it may have changed.
    model: Option<String>,
    /// What is to be done next, when nothing else is.
    next: Option<ChatWork>,
    /// When the work under way began.
    busy: Option<Instant>,
    /// Commands that wait for the work under way.
    held_lines: VecDeque<TypedMessage>,
    /// What commands printed that the person typed: the next message takes it along.
    ran: Vec<RanCommand>,
    /// The work under way is such a command.
    is_command: bool,
    /// Settings of the message under way.
    for_now: Option<ForNow<'a>>,
    /// Whether the agent is woken when something in the background ends. Not after that has
    /// failed: it would fail again.
    wakes: bool,
    /// A first Ctrl-C was pressed on an empty line.
    leaving: bool,
    over: bool,
}

/// Waits for what runs in the background.
type Waiting<'a> = Pin<Box<dyn Future<Output = ()> + 'a>>;

/// What the loop woke up for.
enum Woken {
    Act(KeyAction),
    News(TurnNews),
    Done(DoneWork),
    Ended,
    Tick,
    Over,
}

/// A paint per screen refresh is enough.
const REFRESH: Duration = Duration::from_millis(16);
/// The pace of spinners.
const TICK: Duration = Duration::from_millis(100);

impl<'a, W: Write> ChatRoom<'a, W> {
    async fn new(opening: &ChatOpening<'a>, out: W) -> Self {
        let size = terminal::size();
        let mut view = TurnView::new(size.0, opening.paint);
        view.meter = opening.talk.status().await.context;
        Self {
            talk: opening.talk,
            gateway: opening.gateway,
            is_elsewhere: false,
            has_work: false,
            renew_logins: opening.renew_logins,
            stage: FramePainter::new(out, opening.paint, size),
            view,
            editor: LineEditor::default(),
            history: InputHistory::default(),
            menu: CompletionMenu::default(),
            file_words: FileWords::of(opening.talk),
            search: None,
            picker: None,
            leave_for: None,
            questions: QuestionQueue::default(),
            question_fits: false,
            model: opening.talk.model().selected,
            next: None,
            busy: None,
            held_lines: VecDeque::new(),
            ran: Vec::new(),
            is_command: false,
            for_now: None,
            wakes: true,
            leaving: false,
            over: false,
        }
    }

    async fn greet(&mut self, notes: &[String]) {
        let mut title = StyledLine::new("Chela", look::AGENT);
        title.push(&format!(" · {}", self.talk.agent()), look::DIM);
        if !self.talk.session().fresh {
            title.push(
                " · continuing your last conversation; /new starts fresh",
                look::DIM,
            );
        } else {
            title.push(
                " · /help lists commands, Esc stops, Ctrl-D quits",
                look::DIM,
            );
        }
        self.view.say(title);
        if let Some(gateway) = self.gateway {
            let told = format!("· in the gateway (process {})", gateway.pid());
            self.view.say(StyledLine::new(told, look::DIM));
        }
        self.view.say(StyledLine::default());
        if let Some(recap) = recap::LastExchange::of(self.talk).await {
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
        relay: &'a RelaySurface,
        mut news: mpsc::UnboundedReceiver<TurnNews>,
        mut raw: RawTerminal,
    ) -> Result<(), CommandError> {
        let unheard =
            |error: io::Error| CommandError::new(format!("cannot listen for signals: {error}"));
        let mut terminated = HeardSignal::listen(SignalKind::Terminate).map_err(unheard)?;
        let mut hung_up = HeardSignal::listen(SignalKind::HangUp).map_err(unheard)?;
        let mut keys = KeyReader::start();
        let mut gone = std::pin::pin!(terminal::until_gone());
        let mut work: Option<RunningWork<'a>> = None;
        let mut waiting: Option<Waiting<'a>> = None;
        let mut painted = Instant::now();
        let mut dirty = true;
        while !self.over {
            if work.is_none()
                && !self.is_elsewhere
                && let Some(next) = self.next.take()
            {
                // A turn asks what sub-agents ask by itself.
                waiting = None;
                work = Some(self.start_work(next, relay));
                dirty = true;
            }
            if work.is_none() && waiting.is_none() && self.wakes {
                let talk = self.talk;
                waiting = Some(Box::pin(talk.background().until_woken(relay)));
            }
            if dirty && painted.elapsed() >= REFRESH {
                self.paint()?;
                painted = Instant::now();
                dirty = false;
            }
            let pause = if dirty { REFRESH } else { TICK };
            let woken = tokio::select! {
                biased;
                () = terminated.next() => Woken::Over,
                () = hung_up.next() => Woken::Over,
                () = &mut gone => Woken::Over,
                act = keys.next() => act.map_or(Woken::Over, Woken::Act),
                Some(item) = news.recv() => Woken::News(item),
                done = finish(&mut work), if work.is_some() => Woken::Done(done),
                () = until(&mut waiting), if waiting.is_some() => Woken::Ended,
                () = tokio::time::sleep(pause), if dirty || self.is_moving() => Woken::Tick,
            };
            dirty = true;
            match woken {
                Woken::Over => self.over = true,
                Woken::Act(KeyAction::Suspend) => {
                    self.stage.leave().map_err(CommandError::from)?;
                    drop(raw);
                    raw = terminal::suspend().map_err(CommandError::from)?;
                    self.resize();
                }
                Woken::Act(KeyAction::OpenEditor) => {
                    self.stage.leave().map_err(CommandError::from)?;
                    drop(raw);
                    // What is typed now is for the editor.
                    drop(keys);
                    let draft = self.editor.text().to_owned();
                    let host = self.talk.agents().host();
                    // What runs goes on meanwhile, and is shown afterwards.
                    let (written, ended) =
                        beside(&mut work, outside_editor::write_in_editor(host, &draft)).await;
                    keys = KeyReader::start();
                    raw = RawTerminal::enter().map_err(CommandError::from)?;
                    self.resize();
                    self.take_written(written);
                    if let Some(done) = ended {
                        while let Ok(item) = news.try_recv() {
                            self.hear(item);
                        }
                        self.end_work(done).await;
                    }
                }
                // Dropping is stopping.
                Woken::Act(KeyAction::Stop | KeyAction::Interrupt) if self.is_running_command() => {
                    work = None;
                    self.command_stopped().await;
                }
                Woken::Act(act) => self.act(act).await?,
                Woken::News(item) => {
                    self.hear(item);
                    while let Ok(item) = news.try_recv() {
                        self.hear(item);
                    }
                    if self.busy.is_none() {
                        self.run_held_lines().await;
                    }
                }
                Woken::Done(done) => {
                    work = None;
                    while let Ok(item) = news.try_recv() {
                        self.hear(item);
                    }
                    self.end_work(done).await;
                }
                Woken::Ended => {
                    waiting = None;
                    self.next.get_or_insert(ChatWork::Wake);
                }
                Woken::Tick => self.questions.tidy(),
            }
        }
        Ok(())
    }

    fn hear(&mut self, item: TurnNews) {
        let now = Instant::now();
        match item {
            TurnNews::Event(event) => self.view.event(event, now),
            TurnNews::Question(question) => self.questions.add(question),
            TurnNews::Elsewhere(news) => self.hear_elsewhere(news),
        }
    }

    fn is_moving(&self) -> bool {
        self.busy.is_some() || !self.questions.is_empty()
    }

    fn paint(&mut self) -> Result<(), CommandError> {
        let settled = self.view.take_settled();
        let frame = self.frame(Instant::now());
        self.stage
            .show(&settled, frame)
            .map_err(CommandError::from)?;
        if self.question_fits {
            self.questions.note_drawn(Instant::now());
        }
        Ok(())
    }

    fn resize(&mut self) {
        let size = terminal::size();
        self.stage.resize(size);
        self.view.resize(size.0);
    }

    fn leave(&mut self) -> io::Result<()> {
        let mut settled = self.view.take_settled();
        if self.busy.is_some() {
            settled.push(StyledLine::new("■ stopped", look::WARN));
        }
        // They were promised their turn.
        for line in &self.held_lines {
            let told = format!("not run: {}", line.text);
            settled.push(StyledLine::new(clean_line(&told), look::WARN));
        }
        let left = self.talk.background().running().in_words();
        if !left.is_empty() {
            let told = format!("ended with this chat: {}", left.join(", "));
            settled.push(StyledLine::new(clean_line(&told), look::WARN));
        }
        self.stage
            .show(&settled, super::stage::ScreenFrame::default())?;
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
