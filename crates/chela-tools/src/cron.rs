//! `cron`: jobs that run later, as an agent makes and sees them.

mod words;

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use chela_clock::{
    BookError, ContextLine, DeliveryMode, JobBook, JobDelivery, JobMaker, JobOrigin, JobRequest,
    JobRow, LocalZone, MissedPolicy, RequestGround, UnixMillis,
};
use chela_core::{AgentId, Clock, Entropy, SessionKey, Trust};
use chela_store::SqliteRuntimeStore;
use serde::Deserialize;

use crate::blocking::{BlockingJob, BlockingTool, CallForesight};
use crate::schema::{ArgumentKind, ArgumentSchema};
use crate::sessions_view::{HistoryAsk, ToolMessages};
use crate::spec::shared_spec;
use crate::{CallSink, Effect, SessionsView, SinkKind, Tool, ToolOutput, ToolSpec};

/// The jobs of a home, opened when somebody asks for them.
#[derive(Debug)]
pub struct JobsFile {
    path: PathBuf,
    open: OnceLock<JobBook>,
}

impl JobsFile {
    /// Of the home with this state folder.
    pub fn of(state_dir: &std::path::Path) -> Self {
        Self {
            path: SqliteRuntimeStore::path_in(state_dir),
            open: OnceLock::new(),
        }
    }

    /// Whether a gateway ran here, or a job was made.
    pub fn is_there(&self) -> bool {
        self.path.exists()
    }

    pub fn book(&self) -> Result<&JobBook, BookError> {
        if let Some(book) = self.open.get() {
            return Ok(book);
        }
        let store = SqliteRuntimeStore::open(&self.path)?;
        Ok(self.open.get_or_init(|| JobBook::new(Arc::new(store))))
    }
}

/// How far what a session says is trusted now.
pub type TrustNow = Arc<dyn Fn() -> Trust + Send + Sync>;

/// What the tool needs of the session it is used in.
#[derive(Clone)]
pub struct JobsAccess {
    pub jobs: Arc<JobsFile>,
    /// A job made after foreign text stays foreign.
    pub trust: TrustNow,
}

impl std::fmt::Debug for JobsAccess {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("JobsAccess")
            .field("jobs", &self.jobs)
            .finish_non_exhaustive()
    }
}

pub(crate) struct CronToolset {
    pub access: JobsAccess,
    pub sessions: Arc<dyn SessionsView>,
    pub own: SessionKey,
    pub agent: AgentId,
    pub zone: LocalZone,
    pub clock: Arc<dyn Clock>,
    pub entropy: Arc<dyn Entropy>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum CronAction {
    List,
    Add,
    Update,
    Remove,
    Pause,
    Resume,
    Runs,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct CronArguments {
    action: CronAction,
    job: Option<String>,
    name: Option<String>,
    text: Option<String>,
    at: Option<String>,
    every: Option<String>,
    cron: Option<String>,
    zone: Option<String>,
    session: Option<String>,
    missed: Option<MissedPolicy>,
    deliver: Option<String>,
}

/// The most of what was said before that a job takes along.
const CONTEXT_LINES: usize = 4;
const CONTEXT_CHARS: usize = 220;

pub(crate) fn tool(with: CronToolset) -> Arc<dyn Tool> {
    let tool = BlockingTool {
        spec: shared_spec!(ToolSpec {
            name: "cron".into(),
            description:
                "Reminders and recurring jobs: when one is due, a turn runs with its text, which must \
                 make sense without this conversation."
                    .into(),
            parameters: ArgumentSchema::object()
                .required(
                    "action",
                    ArgumentKind::one_of(&[
                        "list", "add", "update", "remove", "pause", "resume", "runs",
                    ]),
                    ""
                )
                .optional(
                    "job",
                    ArgumentKind::text().not_empty(),
                    "Name or id",
                )
                .optional(
                    "name",
                    ArgumentKind::text().not_empty(),
                    "",
                )
                .optional(
                    "text",
                    ArgumentKind::text().not_empty(),
                    "What is said when it is due",
                )
                .optional(
                    "at",
                    ArgumentKind::text().not_empty(),
                    "Once: 2026-03-09T08:00, 08:00, or 20m from now",
                )
                .optional(
                    "every",
                    ArgumentKind::text().not_empty(),
                    "30m, 2h, 1d",
                )
                .optional(
                    "cron",
                    ArgumentKind::text().not_empty(),
                    "0 8 * * MON",
                )
                .optional(
                    "zone",
                    ArgumentKind::text().not_empty(),
                    "Europe/Berlin (the owner's)",
                )
                .optional(
                    "session",
                    ArgumentKind::text().not_empty(),
                    "(current), main, isolated or a key",
                )
                .optional(
                    "missed",
                    ArgumentKind::one_of(&["skip", "once", "all"]),
                    "Missed runs (once)",
                )
                .optional(
                    "deliver",
                    ArgumentKind::text().not_empty(),
                    "Where the answer goes: owner, last, none or a session key",
                )
                .build()
                .into(),
            effect: Effect::Persona,
            sinks: [
                CallSink::new("text", SinkKind::Text),
                CallSink::new("deliver", SinkKind::Name),
            ]
            .into(),
        }),
        with: Arc::new(with),
        act: run,
    }
    .foreseeing(CallForesight {
        // A job gives the agent orders later: making or changing one is like changing its files.
        effect: Some(
            |_: &CronToolset, arguments: &CronArguments| match arguments.action {
                CronAction::List | CronAction::Runs => Effect::Read,
                _ => Effect::Persona,
            },
        ),
        writes: Some((crate::WriteExtent::Whole, |_: &CronToolset, _| Vec::new())),
        ..CallForesight::default()
    });
    Arc::new(tool)
}

fn run(with: &CronToolset, arguments: CronArguments, _: &BlockingJob) -> ToolOutput {
    match with.act(arguments) {
        Ok(output) => output,
        Err(why) => ToolOutput::failed(why),
    }
}

impl CronToolset {
    fn act(&self, arguments: CronArguments) -> Result<ToolOutput, String> {
        let book = self.access.jobs.book().map_err(in_words)?;
        match arguments.action {
            CronAction::List => Ok(self.list(book.list().map_err(in_words)?)),
            CronAction::Runs => {
                let row = match &arguments.job {
                    Some(job) => Some(book.find(job).map_err(in_words)?),
                    None => None,
                };
                let runs = book.runs(row.as_ref().map(|row| row.id.as_str()), 20);
                let jobs = book.list().map_err(in_words)?;
                Ok(self.runs(runs.map_err(in_words)?, &jobs))
            }
            CronAction::Add => self.add(book, &arguments),
            CronAction::Update => self.update(book, &arguments),
            CronAction::Remove => {
                let row = self.named(book, &arguments)?;
                book.remove(&row, self.now()).map_err(in_words)?;
                Ok(ToolOutput::said(format!(
                    "Removed the job `{}`.",
                    words::name_of(&row)
                )))
            }
            CronAction::Pause => {
                let row = book
                    .pause(&self.named(book, &arguments)?)
                    .map_err(in_words)?;
                Ok(ToolOutput::said(format!(
                    "Paused the job `{}`.",
                    words::name_of(&row)
                )))
            }
            CronAction::Resume => {
                let row = self.named(book, &arguments)?;
                let row = book.resume(&row, self.now()).map_err(in_words)?;
                Ok(self.told("Switched on", &row))
            }
        }
    }

    fn add(&self, book: &JobBook, arguments: &CronArguments) -> Result<ToolOutput, String> {
        let request = request_of(arguments)?;
        let made = JobOrigin {
            by: JobMaker::Agent,
            at: self.now(),
            session: Some(self.own.clone()),
            trust: (self.access.trust)(),
            context: self.context(),
        };
        let mut spec = request
            .to_spec(&self.ground(), made)
            .map_err(|error| error.to_string())?;
        if arguments.name.is_none() {
            spec.name = book.free_name(&spec.name).map_err(in_words)?;
        }
        let row = book
            .add(spec, self.entropy.as_ref(), self.now())
            .map_err(in_words)?;
        Ok(self.told("Made", &row))
    }

    fn update(&self, book: &JobBook, arguments: &CronArguments) -> Result<ToolOutput, String> {
        let row = self.named(book, arguments)?;
        let changed = request_of(arguments)?
            .change(&row.spec, &self.ground(), (self.access.trust)())
            .map_err(|error| error.to_string())?;
        let row = book.edit(&row, changed, self.now()).map_err(in_words)?;
        Ok(self.told("Changed", &row))
    }

    /// A job of this agent: those of others are none of its business.
    fn named(&self, book: &JobBook, arguments: &CronArguments) -> Result<JobRow, String> {
        let job = arguments.job.as_deref().or(arguments.name.as_deref());
        let job = job.ok_or("Name the job; the action `list` shows them.")?;
        let row = book.find(job).map_err(in_words)?;
        match row.spec.agent == self.agent {
            true => Ok(row),
            false => Err(in_words(BookError::Unknown(job.to_owned()))),
        }
    }

    fn ground(&self) -> RequestGround {
        RequestGround {
            agent: self.agent.clone(),
            zone: self.zone.clone(),
            now: self.now(),
            session: Some(self.own.clone()).filter(|own| !own.is_reserved()),
        }
    }

    /// What was said last, in short: a reminder says in what it was made.
    fn context(&self) -> Vec<ContextLine> {
        let asked = self.sessions.history(&HistoryAsk {
            session: &self.own,
            offset: 0,
            limit: CONTEXT_LINES,
            tools: ToolMessages::LeftOut,
        });
        let page = chela_core::ok_or_debug!(asked, "what was said before a job is not known");
        let messages = page.map(|page| page.messages).unwrap_or_default();
        let line = |message: &crate::sessions_view::HistoryMessage| {
            let text = message
                .text
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ");
            let short: String = text.chars().take(CONTEXT_CHARS).collect();
            let who = match message.role.as_str() {
                "user" => "they",
                "assistant" => "you",
                _ => return None,
            };
            let is_cut = short.len() < text.len();
            (!short.is_empty()).then(|| ContextLine {
                who: who.to_owned(),
                text: match is_cut {
                    true => format!("{short}…"),
                    false => short,
                },
            })
        };
        messages.iter().filter_map(line).collect()
    }

    fn now(&self) -> UnixMillis {
        let since = self.clock.now().duration_since(std::time::UNIX_EPOCH);
        since.map_or(0, |since| {
            u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
        })
    }
}

fn request_of(arguments: &CronArguments) -> Result<JobRequest, String> {
    Ok(JobRequest {
        name: arguments.name.clone(),
        text: arguments.text.clone(),
        at: arguments.at.clone(),
        every: arguments.every.clone(),
        cron: arguments.cron.clone(),
        zone: arguments.zone.clone(),
        session: arguments.session.clone(),
        missed: arguments.missed,
        delivery: arguments.deliver.as_deref().map(delivery_of).transpose()?,
        ..JobRequest::default()
    })
}

/// Where an agent may have an answer go: into conversations. What leaves them is the owner's to set
/// up.
fn delivery_of(word: &str) -> Result<JobDelivery, String> {
    let delivery = JobDelivery::of_word(word);
    let is_inside = match (delivery.mode, delivery.channel.as_deref()) {
        (DeliveryMode::None, _) => true,
        (DeliveryMode::Webhook, _) => false,
        (DeliveryMode::Announce, channel) => {
            matches!(channel, None | Some("owner" | "last" | "session"))
        }
    };
    match is_inside {
        true => Ok(delivery),
        false => Err(
            "`deliver` is owner, last, none or a session key; everywhere else the owner sets it up \
             with `chela cron edit JOB --deliver …`."
                .to_owned(),
        ),
    }
}

fn in_words(error: BookError) -> String {
    let text = error.to_string();
    match error {
        BookError::Unknown(_) => format!("{text}. The action `list` shows them."),
        _ => format!("{text}."),
    }
}
