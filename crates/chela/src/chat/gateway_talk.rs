//! The chat while a gateway runs: turns run there, in the same conversation for every terminal and
//! page that is open. What happens in it is shown here as it comes, whoever began it; a question
//! for the owner is put on every surface, and the first answer counts.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex};

use chela_agent::conversation::{Conversation, InboundMessage};
use chela_agent::turn::{TurnEvent, TurnOutcome};
use chela_core::{Host, lock};
use chela_gateway::{
    ClientEvent, GatewayLink, LinkAsk, LinkError, LinkEvent, RunningGateway, read_event,
    read_outcome, work_of_key,
};
use chela_guard::approval::ApprovalQuestion;
use chela_sandbox::{FolderAccess, WorkFolder};
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::relay::{ElsewhereNews, PendingQuestion, TurnNews};
use super::turn_errors::{GatewayFailure, TurnFailure};

/// What this surface is called where others see it.
const SURFACE: &str = "terminal";

/// The conversation of a chat, as the gateway holds it.
#[derive(Clone)]
pub struct GatewayTalk {
    link: Arc<GatewayLink>,
    shared: Arc<SharedTalk>,
}

/// What the chat and whoever listens to the gateway both see.
struct SharedTalk {
    host: Host,
    agent: String,
    session: String,
    model: Option<String>,
    folders: Vec<Value>,
    asks: bool,
    news: Mutex<Option<mpsc::UnboundedSender<TurnNews>>>,
    /// Work this chat handed in, and who waits for it.
    waiting: Mutex<HashMap<String, oneshot::Sender<WorkEnd>>>,
    mine: Mutex<HashSet<String>>,
    /// Questions on the screen; dropped when one is answered elsewhere.
    open: Mutex<HashMap<String, oneshot::Sender<()>>>,
    background: Mutex<BackgroundThere>,
    changed: tokio::sync::Notify,
}

/// What runs on in the gateway behind the turns of this conversation.
#[derive(Debug, Clone, Default)]
pub struct BackgroundThere {
    pub subagents: Vec<String>,
    pub commands: Vec<String>,
    /// Turns about what ended, not looked at yet.
    woken: Vec<Result<TurnOutcome, GatewayFailure>>,
}

/// What is to be known about a chat that runs in the gateway.
pub struct GatewayTalkAsk<'a> {
    pub host: &'a Host,
    pub folders: &'a [WorkFolder],
    pub model: Option<String>,
    /// A person can be asked here.
    pub asks: bool,
}

type WorkEnd = Result<TurnOutcome, GatewayFailure>;

impl GatewayTalk {
    /// Holds a conversation in the gateway that runs. `Ok(None)`: none does.
    pub async fn find(
        talk: &Conversation,
        ask: GatewayTalkAsk<'_>,
    ) -> Result<Option<Self>, LinkError> {
        let Some(running) = RunningGateway::find(ask.host) else {
            return Ok(None);
        };
        let link_ask = LinkAsk {
            surface: SURFACE.to_owned(),
            asks: ask.asks,
        };
        let loaded = talk.agents().loaded();
        let (link, events) = GatewayLink::connect(ask.host, loaded, &running, link_ask).await?;
        let folders = ask.folders.iter().map(
            |folder| json!({ "path": folder.path, "write": folder.access == FolderAccess::Write }),
        );
        let shared = Arc::new(SharedTalk {
            host: ask.host.clone(),
            agent: talk.agent().to_string(),
            session: talk.key().to_string(),
            model: ask.model,
            folders: folders.collect(),
            asks: ask.asks,
            news: Mutex::default(),
            waiting: Mutex::default(),
            mine: Mutex::default(),
            open: Mutex::default(),
            background: Mutex::default(),
            changed: tokio::sync::Notify::new(),
        });
        let this = Self {
            link: Arc::new(link),
            shared,
        };
        tokio::spawn(this.clone().listen(events));
        Ok(Some(this))
    }

    /// Shows what happens from now on there, questions that were open before included.
    pub fn show_to(&self, news: mpsc::UnboundedSender<TurnNews>) {
        *lock(&self.shared.news) = Some(news);
        if self.shared.asks {
            for open in &self.link.open_questions {
                self.ask_owner(open);
            }
        }
    }

    pub fn pid(&self) -> u32 {
        self.link.pid
    }

    /// Whether turns can run there.
    pub fn is_there(&self) -> bool {
        !self.link.is_gone()
    }

    /// One turn there. What happens in it is news.
    pub async fn say(&self, message: InboundMessage) -> Result<TurnOutcome, TurnFailure> {
        let key = self.shared.host.random_hex(16);
        let work = work_of_key(&key);
        let (end, ended) = oneshot::channel();
        lock(&self.shared.waiting).insert(work.clone(), end);
        lock(&self.shared.mine).insert(work.clone());
        let sent = self.link.ask(self.sending(&key, message)).await;
        if let Err(error) = sent {
            lock(&self.shared.waiting).remove(&work);
            return Err(TurnFailure::Gateway(GatewayFailure::of_link(&error)));
        }
        match ended.await {
            Ok(end) => end.map_err(TurnFailure::Gateway),
            Err(_) => Err(TurnFailure::Gateway(GatewayFailure::gone())),
        }
    }

    /// A word to the turn that runs there; it is read before its next step.
    pub fn steer(&self, message: InboundMessage) {
        let this = self.clone();
        let key = self.shared.host.random_hex(16);
        lock(&self.shared.mine).insert(work_of_key(&key));
        tokio::spawn(async move {
            if let Err(error) = this.link.ask(this.sending(&key, message)).await {
                this.notice(format!("your message was not sent: {error}"));
            }
        });
    }

    fn sending(&self, key: &str, message: InboundMessage) -> Value {
        let images = message.images.iter();
        let images = images.map(|image| json!({ "mime": image.mime, "data": image.data }));
        json!({
            "type": "chat.send", "idempotencyKey": key, "agent": self.shared.agent,
            "session": self.shared.session, "text": message.text, "pasted": message.pasted,
            "ownOutput": message.own_output, "piped": message.piped, "images": images.collect::<Vec<_>>(),
            "model": self.shared.model, "folders": self.shared.folders,
        })
    }

    /// Ends the turn that runs there.
    pub fn stop(&self) {
        let this = self.clone();
        tokio::spawn(async move {
            let ask = json!({
                "type": "chat.stop", "agent": this.shared.agent, "session": this.shared.session,
            });
            if let Err(error) = this.link.ask(ask).await {
                this.notice(format!("the turn was not stopped: {error}"));
            }
        });
    }

    /// What still runs there.
    pub fn background(&self) -> BackgroundThere {
        lock(&self.shared.background).clone()
    }

    /// The next turn about something that ended; `None` when nothing of that kind runs any more.
    pub async fn until_woken(&self, with_commands: bool) -> Option<WorkEnd> {
        loop {
            let changed = self.shared.changed.notified();
            {
                let mut background = lock(&self.shared.background);
                if !background.woken.is_empty() {
                    return Some(background.woken.remove(0));
                }
                let runs = !background.subagents.is_empty()
                    || with_commands && !background.commands.is_empty();
                if !runs || self.link.is_gone() {
                    return None;
                }
            }
            changed.await;
        }
    }

    /// Passes on what the gateway tells, until it is gone.
    async fn listen(self, mut events: mpsc::UnboundedReceiver<LinkEvent>) {
        while let Some(event) = events.recv().await {
            match event {
                LinkEvent::Told(event) => self.hear(&event),
                LinkEvent::Lost => {
                    self.notice("lost the connection to the gateway; reconnecting".to_owned());
                }
                LinkEvent::Back { gap } => self.come_back(gap),
                LinkEvent::Gone => break,
            }
        }
        self.tell(TurnNews::Elsewhere(ElsewhereNews::Gone));
        let waiting = std::mem::take(&mut *lock(&self.shared.waiting));
        for (_, waiting) in waiting {
            let _ = waiting.send(Err(GatewayFailure::gone()));
        }
        lock(&self.shared.open).clear();
        self.shared.changed.notify_waiters();
    }

    fn hear(&self, event: &ClientEvent) {
        match event.event.as_str() {
            "approval.asked" if self.shared.asks => self.ask_owner(&event.data),
            "approval.closed" => self.close_question(&event.data),
            "config.changed" => self.tell_config(&event.data),
            "config.rejected" => {
                let problem = event.data.pointer("/problems/0");
                let text = |key: &str| problem.and_then(|problem| problem.get(key));
                let line = text("line").and_then(Value::as_u64).unwrap_or(0);
                let message = text("message").and_then(Value::as_str).unwrap_or_default();
                self.notice(format!(
                    "the changed config is not used (line {line}: {message}); `chela config validate` shows it"
                ));
            }
            _ if event.session.as_deref() == Some(self.shared.session.as_str()) => {
                self.hear_of_turn(event);
            }
            _ => {}
        }
    }

    fn tell_config(&self, data: &Value) {
        let keys = |key: &str| -> Vec<&str> {
            let keys = data
                .get(key)
                .and_then(Value::as_array)
                .into_iter()
                .flatten();
            keys.filter_map(Value::as_str).collect()
        };
        let restart = keys("needsRestart");
        let mut told = format!("the config has changed: {}", keys("changed").join(", "));
        if !restart.is_empty() {
            let restart = restart.join(", ");
            told.push_str(&format!("; after `chela gateway restart`: {restart}"));
        }
        self.notice(told);
    }

    fn hear_of_turn(&self, event: &ClientEvent) {
        let work = event.work.clone().unwrap_or_default();
        let is_mine = lock(&self.shared.mine).contains(&work);
        match event.event.as_str() {
            "work.began" | "work.steered" if !is_mine => {
                self.tell(TurnNews::Elsewhere(began(event)));
            }
            "work.ended" => {
                self.note_background(&event.data);
                let end = read_end(&event.data);
                let waiting = lock(&self.shared.waiting).remove(&work);
                match waiting {
                    Some(waiting) => {
                        let _ = waiting.send(end);
                    }
                    None if event.data.get("joined").is_some() => {}
                    None => {
                        if work.starts_with("wake:") {
                            lock(&self.shared.background).woken.push(end.clone());
                        }
                        let ended = ElsewhereNews::Ended(Box::new(end));
                        self.tell(TurnNews::Elsewhere(ended));
                    }
                }
                self.shared.changed.notify_waiters();
            }
            "background.ended" => {
                let mut background = lock(&self.shared.background);
                background.subagents.clear();
                background.commands.clear();
                self.shared.changed.notify_waiters();
            }
            name => {
                if let Some(event) = read_event(name, &event.data) {
                    self.tell(TurnNews::Event(event));
                }
            }
        }
    }

    fn note_background(&self, data: &Value) {
        let names = |pointer: &str| -> Vec<String> {
            let names = data.pointer(pointer).and_then(Value::as_array);
            let names = names.into_iter().flatten().filter_map(Value::as_str);
            names.map(str::to_owned).collect()
        };
        let mut background = lock(&self.shared.background);
        background.subagents = names("/background/subagents");
        background.commands = names("/background/commands");
    }

    /// Puts a question to the person here; it may be answered elsewhere meanwhile.
    fn ask_owner(&self, told: &Value) {
        let Ok(question) = serde_json::from_value::<ApprovalQuestion>(told.clone()) else {
            return self.notice("a question cannot be shown here: `chela approvals list`".into());
        };
        // It may be told twice: as one that was open before, and as it is asked.
        if lock(&self.shared.open).contains_key(&question.id) {
            return;
        }
        let session = told
            .get("session")
            .and_then(Value::as_str)
            .unwrap_or_default();
        if session != self.shared.session {
            self.notice(format!("a question in another session, {session}:"));
        }
        let (closed, is_closed) = oneshot::channel();
        lock(&self.shared.open).insert(question.id.clone(), closed);
        let (pending, answered) = PendingQuestion::new(question.clone());
        self.tell(TurnNews::Question(pending));
        let this = self.clone();
        tokio::spawn(async move {
            let answer = tokio::select! {
                answer = answered => answer,
                // Dropping it takes the card off the screen.
                _ = is_closed => return,
            };
            let choice = answer
                .ok()
                .and_then(|answer| question.chosen(answer).cloned());
            let Some(choice) = choice else { return };
            lock(&this.shared.open).remove(&question.id);
            let ask = json!({
                "type": "approvals.answer", "question": question.id, "answer": choice.word,
            });
            if let Err(error) = this.link.ask(ask).await {
                this.notice(format!("your answer does not apply: {error}"));
            }
        });
    }

    fn close_question(&self, data: &Value) {
        let text = |key: &str| data.get(key).and_then(Value::as_str);
        let id = text("id").unwrap_or_default();
        // Not there: it was answered here.
        if lock(&self.shared.open).remove(id).is_none() {
            return;
        }
        let told = match (text("answer"), text("by")) {
            (Some(answer), Some(by)) => format!("question {id} was answered `{answer}` from {by}"),
            _ => format!("question {id} expired without an answer"),
        };
        self.notice(told);
    }

    /// The gateway may have ended work while nobody here heard of it.
    fn come_back(&self, gap: bool) {
        self.tell(TurnNews::Elsewhere(ElsewhereNews::Back { gap }));
        let works: Vec<String> = lock(&self.shared.waiting).keys().cloned().collect();
        for work in works {
            let this = self.clone();
            tokio::spawn(async move {
                let ask = json!({ "type": "work.get", "work": work });
                let Ok(standing) = this.link.ask(ask).await else {
                    return;
                };
                let Some(outcome) = standing.get("outcome").filter(|one| !one.is_null()) else {
                    return;
                };
                let waiting = lock(&this.shared.waiting).remove(&work);
                if let Some(waiting) = waiting {
                    let end = GatewayFailure::of_outcome(outcome, &this.shared.session);
                    let _ = waiting.send(end);
                }
            });
        }
    }

    fn notice(&self, text: String) {
        self.tell(TurnNews::Event(TurnEvent::Notice(text)));
    }

    fn tell(&self, news: TurnNews) {
        let shown = lock(&self.shared.news);
        if let Some(sender) = shown.as_ref() {
            // The chat may have ended.
            let _ = sender.send(news);
        }
    }
}

/// What somebody else said, or what began by itself.
fn began(event: &ClientEvent) -> ElsewhereNews {
    let text = |pointer: &str| {
        let text = event.data.pointer(pointer).and_then(Value::as_str);
        text.map(str::to_owned)
    };
    let by = match text("/source/kind").as_deref() {
        Some("owner") => text("/source/surface").unwrap_or_default(),
        Some("sender") => text("/source/id").unwrap_or_default(),
        Some("runtime") => text("/source/what").unwrap_or_default(),
        Some("hook") => format!("webhook {}", text("/source/name").unwrap_or_default()),
        Some("session") => text("/source/from").unwrap_or_default(),
        Some("cron") => format!("job {}", text("/source/job").unwrap_or_default()),
        Some(other) => other.to_owned(),
        None => String::new(),
    };
    let text = text("/text").unwrap_or_default();
    match event.event.as_str() {
        "work.steered" => ElsewhereNews::Steered { by, text },
        _ => ElsewhereNews::Began { by, text },
    }
}

fn read_end(data: &Value) -> WorkEnd {
    match data.get("turn").and_then(read_outcome) {
        Some(outcome) => Ok(outcome),
        None => Err(GatewayFailure::of_told(data)),
    }
}
