//! From config view, workspace files and runtime facts to the prompt.
//!
//! The one place where the domain crates meet. Live turns, previews and reports all come through
//! here, so what a report says is what a model reads.

mod hidden;
mod hook_text;

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use chela_config::Loaded;
use chela_core::cut::Limit;
use chela_core::secret::{Redactor, Secret};
use chela_core::{AgentId, Audience, Host, Origin, SessionForm, SessionKey};
use chela_inspect::report::{Limits, SandboxState};
use chela_model::ToolSchema;
use chela_prompt::{
    Completeness, ContextFile, EmptyTools, OwnerDisplay, Owners, PromptInput, PromptMode,
    RenderError, RuntimeFacts, SkillsListing, Sourced, TruncationNotice,
};
use chela_skills::AgentSkills;
use chela_workspace::trust::Custody;
use chela_workspace::{
    BootstrapExtension, BootstrapSettings, Condition, FileStatus, LoadRequest, LoadedContext,
    OwnerNotice, SessionScope, Turn, Workspace,
};

use crate::installation_secret::{SecretError, installation_secret};
use crate::knobs::{Knobs, OwnerView, built_in_heartbeat};
use crate::sandbox;
use crate::secrets::redactor_for_prompts;
use crate::skills::{listing_of, notices_of, skills_of};
use crate::toolset;
pub use crate::toolset::Size;
use crate::trust::{custody_of, heartbeat_of};

pub use chela_inspect::Assembled;
pub(crate) use hidden::{hide_in_request, hide_in_tools};
pub use hook_text::HookText;

/// Which prompt is wanted. What is left open follows from the agent and the session.
#[derive(Debug, Clone, Default)]
pub struct Ask {
    pub agent: Option<AgentId>,
    pub session: Option<SessionKey>,
    pub mode: Option<PromptMode>,
    pub channel: Option<String>,
    pub machine: Machine,
    /// `provider/model` that will read it, where it is not the configured one.
    pub model: Option<String>,
    pub size: Size,
    /// The tools of a session that is under way. `None`: those the agent would get now.
    pub tools: Option<Vec<ToolSchema>>,
    /// What hooks add to the files.
    pub bootstrap: Vec<HookText>,
}

/// Whether the prompt speaks of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Machine {
    #[default]
    This,
    /// Nothing that differs from machine to machine: for prompts kept under version control.
    Anywhere,
}

/// Why no prompt could be put together.
#[derive(Debug, thiserror::Error)]
pub enum AssembleError {
    #[error("there is no agent `{agent}`; there is {}", known.join(", "))]
    NoAgent { agent: String, known: Vec<String> },
    #[error(
        "session `{session}` belongs to agent `{owner}`, not to `{agent}`; leave one of the two out"
    )]
    OtherAgent {
        session: String,
        owner: String,
        agent: AgentId,
    },
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    Render(#[from] RenderError),
}

/// Assembles one prompt. To assemble many, keep an [`Assembler`]: it remembers what it has read.
pub fn assemble(host: &Host, loaded: &Loaded, ask: &Ask) -> Result<Assembled, AssembleError> {
    Assembler::new(host, loaded).assemble(ask)
}

/// Assembles prompts for the agents of one config, which it borrows or owns.
pub struct Assembler<H, L> {
    host: H,
    loaded: L,
    /// Workspaces seen so far, with the files they have read, and the knobs of their agents.
    known: Mutex<Vec<(AgentId, Known)>>,
    redactor: OnceLock<Redactor>,
}

impl<H, L: Borrow<Loaded>> std::fmt::Debug for Assembler<H, L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Assembler")
            .field("source", &self.loaded.borrow().source)
            .finish_non_exhaustive()
    }
}

/// What is looked up once for an agent and holds as long as the assembler does.
#[derive(Clone)]
struct Known {
    knobs: Arc<Knobs>,
    workspace: Option<Arc<Workspace>>,
    custody: Arc<Custody>,
    repo_root: Option<PathBuf>,
    /// A snapshot, as a session keeps one: the listing must not move under the cache.
    skills: Arc<AgentSkills>,
    skills_listing: Option<SkillsListing>,
    tools: Arc<Mutex<Vec<Offered>>>,
}

/// The tools of a session.
type Offered = ((String, Size), Vec<ToolSchema>);

impl<H: Borrow<Host>, L: Borrow<Loaded>> Assembler<H, L> {
    pub fn new(host: H, loaded: L) -> Self {
        Self {
            host,
            loaded,
            known: Mutex::new(Vec::new()),
            redactor: OnceLock::new(),
        }
    }

    fn host(&self) -> &Host {
        self.host.borrow()
    }

    fn loaded(&self) -> &Loaded {
        self.loaded.borrow()
    }

    /// Looks at an agent's folders and skills anew the next time: a session begins.
    pub fn refresh(&self, agent: &AgentId) {
        self.known
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .retain(|(id, _)| id != agent);
    }

    /// The skills of an agent, as its prompts list them.
    pub fn skills(&self, agent: &AgentId) -> Result<Arc<AgentSkills>, AssembleError> {
        Ok(self.known(agent)?.skills)
    }

    /// The files of an agent under watch.
    pub fn custody(&self, agent: &AgentId) -> Result<Arc<Custody>, AssembleError> {
        Ok(self.known(agent)?.custody)
    }

    pub fn knobs(&self, agent: &AgentId) -> Result<Arc<Knobs>, AssembleError> {
        Ok(self.known(agent)?.knobs)
    }

    pub fn assemble(&self, ask: &Ask) -> Result<Assembled, AssembleError> {
        let (agent, session) = self.who_of(ask.agent.as_ref(), ask.session.as_ref())?;
        let known = self.known(&agent)?;
        let knobs = &*known.knobs;
        let mode = ask.mode.unwrap_or_else(|| match ask.size {
            Size::Full => mode_of(&session),
            Size::Short => PromptMode::Minimal,
        });
        let channel = ask
            .channel
            .clone()
            .or_else(|| session.channel().map(str::to_owned));
        let context = self.context(&agent, &session, &known, ask);
        let tools = match &ask.tools {
            Some(tools) => tools.clone(),
            None => self.tools(ask, &session, &known),
        };
        let facts = Facts {
            ask,
            session: &session,
            mode,
            channel,
            known: &known,
            tools: &tools,
        };
        let mut input = self.input(&facts, &context)?;
        let mut notices = watch_heartbeat(&known, &mut input);
        notices.extend(notices_of(&known.skills));
        hidden::hide(&mut input, self.redactor());
        let prompt = chela_prompt::render(&input)?;
        Ok(Assembled {
            agent,
            session,
            workspace: knobs.workspace.clone(),
            bootstrap: knobs.bootstrap.clone(),
            limits: Limits {
                per_file: chela_workspace::limit_in_words(knobs.bootstrap.per_file),
                total: chela_workspace::limit_in_words(knobs.bootstrap.total),
            },
            sandbox: SandboxState {
                mode: knobs.sandbox_mode.to_owned(),
                sandboxed: input.sandbox.is_some(),
            },
            context_window: knobs.context_window,
            skills: Arc::clone(&known.skills),
            tools,
            input,
            prompt,
            files: context.report,
            notices,
        })
    }

    /// Whose prompt it is, and for which conversation.
    pub(crate) fn who_of(
        &self,
        agent: Option<&AgentId>,
        session: Option<&SessionKey>,
    ) -> Result<(AgentId, SessionKey), AssembleError> {
        let owner = session.and_then(|session| session.agent.as_deref());
        let default = self.loaded().default_agent();
        let agent = match (agent, owner) {
            (Some(agent), Some(owner)) if agent.as_str() != owner => {
                return Err(AssembleError::OtherAgent {
                    session: session.map(ToString::to_string).unwrap_or_default(),
                    owner: owner.to_owned(),
                    agent: agent.clone(),
                });
            }
            (Some(agent), _) => agent.as_str(),
            (None, Some(owner)) => owner,
            (None, None) => default.as_str(),
        };
        let agent = AgentId::parse(agent).map_err(|_| self.no_agent(agent))?;
        let session = session.cloned().unwrap_or_else(|| SessionKey::main(&agent));
        Ok((agent, session))
    }

    fn no_agent(&self, agent: &str) -> AssembleError {
        let known = self
            .loaded()
            .agents()
            .iter()
            .map(|id| format!("`{id}`"))
            .collect();
        AssembleError::NoAgent {
            agent: agent.to_owned(),
            known,
        }
    }

    fn known(&self, agent: &AgentId) -> Result<Known, AssembleError> {
        let mut all = self
            .known
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some((_, known)) = all.iter().find(|(id, _)| id == agent) {
            return Ok(known.clone());
        }
        let view = self
            .loaded()
            .agent(agent)
            .ok_or_else(|| self.no_agent(agent.as_str()))?;
        let knobs = Knobs::of(self.loaded(), &view);
        // A workspace that is not there yet is no error: its files are reported as missing.
        let workspace = Workspace::open(self.host(), &knobs.workspace)
            .ok()
            .map(Arc::new);
        let repo_root = knobs
            .repo_root
            .clone()
            .or_else(|| repository_above(&knobs.workspace));
        let skills = skills_of(self.host(), self.loaded(), &view);
        let known = Known {
            custody: Arc::new(custody_of(self.host(), self.loaded(), &view)),
            knobs: Arc::new(knobs),
            workspace,
            repo_root,
            skills_listing: listing_of(&skills, self.redactor()),
            skills: Arc::new(skills),
            tools: Arc::default(),
        };
        all.push((agent.clone(), known.clone()));
        Ok(known)
    }

    fn context(
        &self,
        agent: &AgentId,
        session: &SessionKey,
        known: &Known,
        ask: &Ask,
    ) -> LoadedContext {
        let Some(workspace) = &known.workspace else {
            return LoadedContext {
                files: Vec::new(),
                report: Vec::new(),
                notice: None,
            };
        };
        let short;
        let settings = match ask.size {
            Size::Full => &known.knobs.bootstrap,
            Size::Short => {
                short = short_bootstrap(&known.knobs.bootstrap);
                &short
            }
        };
        let extensions: Vec<&dyn BootstrapExtension> = ask
            .bootstrap
            .iter()
            .map(|text| text as &dyn BootstrapExtension)
            .collect();
        workspace.load(&LoadRequest {
            agent,
            session: scope_of(session, &known.knobs),
            audience: session.audience(),
            turn: Turn::Full,
            age: Condition::of(self.host(), workspace.dir()).age(),
            settings,
            execution: None,
            extensions: &extensions,
            notices_seen: &BTreeSet::new(),
            custody: Some(&known.custody),
        })
    }

    fn input(
        &self,
        facts: &Facts<'_>,
        context: &LoadedContext,
    ) -> Result<PromptInput, AssembleError> {
        let knobs = &*facts.known.knobs;
        let model = facts.ask.model.clone().or_else(|| knobs.model.clone());
        let (sandbox, working_dir) = self.sandbox(facts);
        Ok(PromptInput {
            sandbox,
            tools: facts.tools.iter().map(toolset::listed_as).collect(),
            empty_tools: EmptyTools::None,
            mode: facts.mode,
            session: facts.session.audience(),
            delegation: knobs.delegation(facts.session),
            contribution: model.as_deref().and_then(|model| knobs.contribution(model)),
            memory: knobs.memory,
            skills: match facts.ask.size {
                Size::Full => facts.known.skills_listing.clone(),
                Size::Short => None,
            },
            model_aliases: knobs.model_aliases.clone(),
            time_zone: knobs.time_zone.clone().or_else(|| match facts.ask.machine {
                Machine::This => self.host().facts.time_zone.clone(),
                Machine::Anywhere => None,
            }),
            owners: self.owners(knobs, facts.session)?,
            files: self.files(context),
            truncation_notice: match context.notice {
                Some(_) => TruncationNotice::Shown,
                None => TruncationNotice::Hidden,
            },
            silent_replies: knobs.silent_replies(facts.session),
            message_channels: knobs.channels.clone(),
            voice_hint: knobs.voice_hint.clone(),
            extra_context: knobs.extra_context.clone(),
            reactions: knobs.reactions(facts.channel.as_deref()),
            heartbeat: knobs.heartbeat.clone(),
            runtime: self.runtime(facts),
            reasoning: knobs.reasoning,
            thinking: knobs.thinking.clone(),
            ..PromptInput::new(match facts.ask.machine {
                Machine::This => working_dir.display().to_string(),
                Machine::Anywhere => "<workspace>".to_owned(),
            })
        })
    }

    /// The files of the context. A key someone left in one is not sent along.
    fn files(&self, context: &LoadedContext) -> Vec<ContextFile> {
        let files = context.files.iter();
        files
            .map(|file| context_file(file, self.redactor()))
            .collect()
    }

    pub(crate) fn redactor(&self) -> &Redactor {
        self.redactor
            .get_or_init(|| redactor_for_prompts(self.host(), self.loaded()))
    }

    /// Keeps one more value out of every prompt from now on.
    pub(crate) fn learn(&self, secret: Secret) {
        self.redactor().learn(secret);
    }

    /// What there is to say of a sandbox, and the folder that relative paths start in.
    fn sandbox(&self, facts: &Facts<'_>) -> (Option<chela_prompt::Sandbox>, PathBuf) {
        let knobs = &*facts.known.knobs;
        let Some(view) = self.loaded().agent(&knobs.agent) else {
            return (None, knobs.workspace.clone());
        };
        let session = sandbox::Session {
            host: self.host(),
            loaded: self.loaded(),
            view: &view,
            key: facts.session,
            channel: facts.channel.as_deref(),
            skills: &facts.known.skills,
        };
        match facts.ask.machine {
            Machine::This => {
                let standing = session.standing();
                let said = session.facts(&standing);
                (said, standing.workdir(&knobs.workspace))
            }
            Machine::Anywhere => (session.anywhere(), knobs.workspace.clone()),
        }
    }

    /// The tools the agent would get if a session began now.
    fn tools(&self, ask: &Ask, session: &SessionKey, known: &Known) -> Vec<ToolSchema> {
        let mut offered = known
            .tools
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let channel = ask.channel.as_deref();
        let key = (
            format!("{session} {}", channel.unwrap_or_default()),
            ask.size,
        );
        if let Some((_, tools)) = offered.iter().find(|(known, _)| *known == key) {
            return tools.clone();
        }
        let tools = self
            .loaded()
            .agent(&known.knobs.agent)
            .map(|view| {
                toolset::preview(&toolset::PreviewAsk {
                    host: self.host(),
                    loaded: self.loaded(),
                    view: &view,
                    session,
                    size: ask.size,
                    channel,
                    skills: &known.skills,
                })
            })
            .unwrap_or_default();
        let mut tools = tools;
        hide_in_tools(&mut tools, self.redactor());
        offered.push((key, tools.clone()));
        tools
    }

    /// Raw ids are for the owner's eyes: where others read along, they are hashed all the same.
    fn owners(&self, knobs: &Knobs, session: &SessionKey) -> Result<Owners, AssembleError> {
        let secret = match &knobs.owner_view {
            // Without owners there is nothing to hide, and no secret is made.
            _ if knobs.owners.is_empty() => return Ok(Owners::default()),
            OwnerView::Raw if session.audience() == Audience::Private => {
                return Ok(Owners {
                    ids: knobs.owners.clone(),
                    display: OwnerDisplay::Raw,
                });
            }
            OwnerView::Hashed(Some(secret)) => secret.clone(),
            OwnerView::Raw | OwnerView::Hashed(None) => installation_secret(self.host())?,
        };
        Ok(Owners {
            ids: knobs.owners.clone(),
            display: OwnerDisplay::Hashed { secret },
        })
    }

    fn runtime(&self, facts: &Facts<'_>) -> RuntimeFacts {
        let knobs = &*facts.known.knobs;
        let general = RuntimeFacts {
            agent: Some(knobs.agent.to_string()),
            model: facts.ask.model.clone().or_else(|| knobs.model.clone()),
            default_model: knobs.default_model.clone(),
            capabilities: knobs.capabilities(facts.channel.as_deref()),
            channel: facts.channel.clone(),
            ..RuntimeFacts::default()
        };
        let machine = &self.host().facts;
        match facts.ask.machine {
            Machine::Anywhere => general,
            Machine::This => RuntimeFacts {
                host: machine.hostname.clone(),
                repo_root: facts
                    .known
                    .repo_root
                    .as_ref()
                    .map(|root| root.display().to_string()),
                os: machine.os.clone(),
                arch: machine.arch.clone(),
                shell: machine.shell.clone(),
                ..general
            },
        }
    }
}

/// The heartbeat prompt is a standing order: who wrote it is asked like of a file.
fn watch_heartbeat(known: &Known, input: &mut PromptInput) -> Vec<OwnerNotice> {
    let is_written = |prompt: &Sourced<String>| prompt.origin != Origin::BuiltIn;
    let Some(written) = input.heartbeat.take_if(|prompt| is_written(prompt)) else {
        return Vec::new();
    };
    let (used, notice) = heartbeat_of(&known.custody, &known.knobs.agent, written);
    input.heartbeat = Some(used.unwrap_or_else(|()| built_in_heartbeat()));
    notice.into_iter().collect()
}

/// What one prompt is asked for.
struct Facts<'a> {
    ask: &'a Ask,
    session: &'a SessionKey,
    mode: PromptMode,
    channel: Option<String>,
    known: &'a Known,
    tools: &'a [ToolSchema],
}

/// What a small model reads of the workspace files.
fn short_bootstrap(settings: &BootstrapSettings) -> BootstrapSettings {
    /// Of one file and of all, in tokens.
    const PER_FILE: usize = 150;
    const TOTAL: usize = 350;
    BootstrapSettings {
        per_file: Limit::Tokens(PER_FILE),
        total: Limit::Tokens(TOTAL),
        ..settings.clone()
    }
}

/// Sub-agents and isolated cron runs get the minimal prompt.
fn mode_of(session: &SessionKey) -> PromptMode {
    match session.form {
        SessionForm::Subagent { .. } | SessionForm::Cron { .. } => PromptMode::Minimal,
        _ => PromptMode::Full,
    }
}

fn scope_of(session: &SessionKey, knobs: &Knobs) -> SessionScope {
    match session.form {
        SessionForm::Subagent { .. } => SessionScope::Subagent,
        SessionForm::Cron { .. } => SessionScope::Cron,
        SessionForm::Heartbeat { .. } if knobs.light_heartbeat => SessionScope::LightHeartbeat,
        _ => SessionScope::Main,
    }
}

fn context_file(file: &chela_workspace::ContextFile, redactor: &Redactor) -> ContextFile {
    ContextFile {
        path: file.shown_path.clone(),
        content: chela_prompt::CleanText::new(&redactor.redact(&file.content)),
        origin: file.origin.clone(),
        trust: file.trust,
        audience: file.audience,
        zone: Some(file.zone),
        completeness: match file.status {
            FileStatus::Truncated { .. } => Completeness::Cut,
            _ => Completeness::Whole,
        },
    }
}

/// The nearest folder, from `dir` upwards, that is a git repository.
fn repository_above(dir: &Path) -> Option<PathBuf> {
    dir.ancestors()
        .find(|folder| folder.join(".git").exists())
        .map(Path::to_path_buf)
}
