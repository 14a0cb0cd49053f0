//! From config view, workspace files and runtime facts to the prompt.
//!
//! The one place where the domain crates meet. Live turns, previews and reports all come through
//! here, so what a report says is what a model reads.

mod hidden;
mod hook_text;
mod owner_notices;
mod request_shape;
mod subagent_text;

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock};

use chela_config::LoadedConfig;
use chela_config::model::{ElevatedLevel, ReasoningVisibility, ThinkingLevel};
use chela_core::cut::CutLimit;
use chela_core::secret::{KnownSecret, Redactor};
use chela_core::{
    AgentId, Audience, ContentHash, Host, Origin, SessionForm, SessionKey, lock, ok_or_debug,
};
use chela_inspect::report::{FileLimits, SandboxState};
use chela_model::{ModelTarget, Models, ToolSchema};
use chela_prompt::{
    ApprovalWay, ContextFile, EmptyTools, ExtraKind, FileCompleteness, OwnerDisplay, OwnerList,
    PromptExtent, PromptInput, PromptMode, RenderError, ReplyFormat, ReplySurface, RuntimeFacts,
    SandboxExtent, SkillsListing, SourcedValue, ToolListing, TruncationNotice, WorkspaceAccess,
};
use chela_session::SessionSettings;
use chela_skills::{AgentSkills, RefreshOutcome, SkillLibrary};
use chela_workspace::custody::Custody;
use chela_workspace::{
    BootstrapExtension, BootstrapSettings, FileReport, FileStatus, HeartbeatFile, LoadRequest,
    LoadedContext, NoticeStore, OwnerNotice, SessionScope, TruncationWarning, TurnPosition,
    Workspace, WorkspaceCondition, load_context,
};

use crate::bootstrap_pending::{WorkspaceWrites, bootstrap_block};
use crate::documentation::OwnDocumentation;
use crate::installation_secret::{SecretError, installation_secret};
use crate::prompt_knobs::{OwnerView, PromptKnobs, built_in_heartbeat, reasoning_level};
use crate::sandbox;
use crate::secrets::redactor_for_prompts;
use crate::skills::{library_of, listing_of, notices_of, usable_skills};
use crate::toolset;
pub use crate::toolset::{PromptSize, SessionTools};
use crate::trust::{custody_of, heartbeat_of};

pub use chela_inspect::AssembledPrompt;
pub(crate) use hidden::{hide_in_head, hide_in_message, hide_in_tools};
pub use hook_text::HookText;
use owner_notices::{borrowed_headings, nested_workspace};
use request_shape::{PromptReader, size_for};
pub use subagent_text::SubagentShare;

/// The tool that reacts to messages, and the one that reads the files of skills.
const REACTS: &str = "message";
const READS: &str = "read";

/// Which prompt is wanted. What is left open follows from the agent and the session.
#[derive(Debug, Clone, Default)]
pub struct PromptRequest {
    pub agent: Option<AgentId>,
    pub session: Option<SessionKey>,
    pub mode: Option<PromptMode>,
    pub channel: Option<String>,
    pub machine: MachineMention,
    /// `provider/model` that will read it, where it is not the configured one.
    pub model: Option<String>,
    /// The same, where it is at hand: it knows what a server said about itself.
    pub target: Option<ModelTarget>,
    /// `None`: as the model can bear it.
    pub size: Option<PromptSize>,
    /// The tools of a session that is under way. `None`: those the agent would get now.
    pub tools: Option<SessionTools>,
    /// The one skill to list. `None`: all there are.
    pub skill: Option<String>,
    /// What hooks add to the files.
    pub bootstrap: Vec<HookText>,
    pub levels: ChosenLevels,
    /// How a yes is had. `None`: as the kind of session has it.
    pub approvals: Option<ApprovalWay>,
    /// What a sub-agent that is under way was given.
    pub share: Option<SubagentShare>,
    /// Whether the session was answered before.
    pub position: TurnPosition,
}

/// What was chosen for a session over the config.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChosenLevels {
    pub thinking: Option<ThinkingLevel>,
    pub reasoning: Option<ReasoningVisibility>,
    pub elevated: Option<ElevatedLevel>,
}

impl From<&SessionSettings> for ChosenLevels {
    fn from(settings: &SessionSettings) -> Self {
        Self {
            thinking: settings.thinking,
            reasoning: settings.reasoning,
            elevated: settings.elevated,
        }
    }
}

/// Whether the prompt speaks of this machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MachineMention {
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
    #[error("there is no skill `{skill}` in the prompt of agent `{agent}`")]
    NoSkill { skill: String, agent: AgentId },
    #[error(transparent)]
    Secret(#[from] SecretError),
    #[error(transparent)]
    Render(#[from] RenderError),
}

/// Assembles one prompt. To assemble many, keep an [`PromptAssembler`]: it remembers what it has read.
pub fn assemble(
    host: &Host,
    loaded: &LoadedConfig,
    ask: &PromptRequest,
) -> Result<AssembledPrompt, AssembleError> {
    PromptAssembler::new(host, loaded).assemble(ask)
}

/// Assembles prompts for the agents of one config, which it borrows or owns.
pub struct PromptAssembler<H, L> {
    host: H,
    loaded: L,
    /// Workspaces seen so far, with the files they have read, and the knobs of their agents.
    known: Mutex<Vec<(AgentId, Known)>>,
    redactor: OnceLock<Redactor>,
    documentation: OnceLock<OwnDocumentation>,
    /// Who will read the prompts, made when it is asked for.
    models: OnceLock<Models>,
}

impl<H, L: Borrow<LoadedConfig>> std::fmt::Debug for PromptAssembler<H, L> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Assembler")
            .field("source", &self.loaded.borrow().source)
            .finish_non_exhaustive()
    }
}

/// What is looked up once for an agent and holds as long as the assembler does.
#[derive(Clone)]
struct Known {
    knobs: Arc<PromptKnobs>,
    workspace: Option<Arc<Workspace>>,
    custody: Arc<Custody>,
    repo_root: Option<PathBuf>,
    library: Arc<Mutex<SkillLibrary>>,
    /// As they were when somebody last looked. What a session began with is frozen with it.
    skills: Arc<AgentSkills>,
    listings: Arc<Mutex<Vec<Listed>>>,
    tools: Arc<Mutex<Vec<Offered>>>,
}

/// The listing of skills for a session that lacks some of the tools they need.
type Listed = (Vec<String>, Option<SkillsListing>);

/// The tools of a session.
type Offered = ((String, PromptSize), SessionTools);

impl<H: Borrow<Host>, L: Borrow<LoadedConfig>> PromptAssembler<H, L> {
    pub fn new(host: H, loaded: L) -> Self {
        Self {
            host,
            loaded,
            known: Mutex::new(Vec::new()),
            redactor: OnceLock::new(),
            documentation: OnceLock::new(),
            models: OnceLock::new(),
        }
    }

    fn host(&self) -> &Host {
        self.host.borrow()
    }

    fn loaded(&self) -> &LoadedConfig {
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

    /// Looks whether skills came, changed or went since somebody last looked.
    pub fn look_at_skills(&self, agent: &AgentId) -> Result<(), AssembleError> {
        let mut known = self.known(agent)?;
        let mut library = lock(&known.library);
        if library.refresh() == RefreshOutcome::Unchanged {
            return Ok(());
        }
        let skills = usable_skills(&mut library, self.loaded());
        tracing::info!(%agent, skills = skills.listed().len(), "the skills are not what they were");
        drop(library);
        known.skills = Arc::new(skills);
        known.listings = Arc::default();
        let mut all = lock(&self.known);
        if let Some((_, kept)) = all.iter_mut().find(|(id, _)| id == agent) {
            *kept = known;
        }
        Ok(())
    }

    /// The files of an agent under watch.
    pub fn custody(&self, agent: &AgentId) -> Result<Arc<Custody>, AssembleError> {
        Ok(self.known(agent)?.custody)
    }

    pub fn knobs(&self, agent: &AgentId) -> Result<Arc<PromptKnobs>, AssembleError> {
        Ok(self.known(agent)?.knobs)
    }

    pub fn assemble(&self, ask: &PromptRequest) -> Result<AssembledPrompt, AssembleError> {
        let (agent, session) = self.who_of(ask.agent.as_ref(), ask.session.as_ref())?;
        let known = self.known(&agent)?;
        let knobs = &*known.knobs;
        let target = self.target(ask, knobs);
        let size = ask.size.unwrap_or_else(|| size_for(target.as_ref()));
        let mode = ask.mode.unwrap_or_else(|| match size {
            PromptSize::Full => mode_of(&session),
            PromptSize::Short => PromptMode::Minimal,
        });
        let channel = ask
            .channel
            .clone()
            .or_else(|| session.channel().map(str::to_owned));
        let reader = PromptReader { target, size };
        let context = self.context(&agent, &session, &known, (ask, size));
        let tools = match &ask.tools {
            Some(tools) => tools.clone(),
            None => self.tools(ask, &session, &known, &reader),
        };
        let facts = Facts {
            ask,
            size,
            session: &session,
            mode,
            channel,
            known: &known,
            tools: &tools.listed,
        };
        let mut input = self.input(&facts, &context)?;
        let mut notices = watch_heartbeat(&known, &mut input);
        // A heartbeat has a session of its own: only that one is told how to answer.
        if !matches!(session.form, SessionForm::Heartbeat { .. }) {
            input.heartbeat = None;
        }
        notices.extend(notices_of(&known.skills));
        notices.extend(context.files.iter().flat_map(borrowed_headings));
        notices.extend(nested_workspace(self.host(), self.loaded(), &agent));
        hidden::hide(&mut input, self.redactor());
        let prompt = chela_prompt::render(&input)?;
        let placement = self.loaded().agent(&agent);
        let placement = placement.map(|view| view.context_placement.value);
        let pending = bootstrap_block(&context.report, tools.means, writes_of(&input));
        let shape = reader.shape(&prompt, &tools.listed, placement, pending);
        Ok(AssembledPrompt {
            agent,
            session,
            workspace: knobs.workspace.clone(),
            bootstrap: knobs.bootstrap.clone(),
            limits: FileLimits {
                per_file: chela_workspace::limit_in_words(knobs.bootstrap.per_file),
                total: chela_workspace::limit_in_words(knobs.bootstrap.total),
            },
            sandbox: SandboxState {
                mode: knobs.sandbox_mode.to_owned(),
                sandboxed: input
                    .sandbox
                    .as_ref()
                    .is_some_and(|facts| facts.extent == SandboxExtent::Session),
            },
            context_window: knobs.context_window,
            skills: Arc::clone(&known.skills),
            tools: tools.listed,
            deferred: tools.deferred,
            left_out: tools.left_out,
            shape,
            input,
            prompt,
            files: context.report,
            cut_notice: context.notice.map(|notice| notice.key),
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
        let knobs = PromptKnobs::of(self.loaded(), &view);
        // A workspace that is not there yet is no error: its files are reported as missing.
        let workspace = Workspace::open(self.host(), &knobs.workspace)
            .ok()
            .map(Arc::new);
        let repo_root = knobs
            .repo_root
            .clone()
            .or_else(|| repository_above(&knobs.workspace));
        let mut library = library_of(self.host(), self.loaded(), &view);
        let skills = usable_skills(&mut library, self.loaded());
        let known = Known {
            custody: Arc::new(custody_of(self.host(), self.loaded(), &view)),
            knobs: Arc::new(knobs),
            workspace,
            repo_root,
            library: Arc::new(Mutex::new(library)),
            skills: Arc::new(skills),
            listings: Arc::default(),
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
        (ask, size): (&PromptRequest, PromptSize),
    ) -> LoadedContext {
        let Some(workspace) = &known.workspace else {
            return LoadedContext {
                files: Vec::new(),
                report: Vec::new(),
                notice: None,
            };
        };
        let mut settings = match size {
            PromptSize::Full => known.knobs.bootstrap.clone(),
            PromptSize::Short => short_bootstrap(&known.knobs.bootstrap),
        };
        if let SessionForm::Heartbeat { .. } = session.form {
            settings.heartbeat = HeartbeatFile::Read;
        }
        let extensions: Vec<&dyn BootstrapExtension> = ask
            .bootstrap
            .iter()
            .map(|text| text as &dyn BootstrapExtension)
            .collect();
        load_context(
            workspace,
            &LoadRequest {
                agent,
                session: scope_of(session, &known.knobs),
                audience: session.audience(),
                turn: ask.position,
                age: WorkspaceCondition::of(self.host(), workspace.dir()).age(),
                settings: &settings,
                execution: None,
                extensions: &extensions,
                notices_seen: &self.notices_seen(&settings),
                custody: Some(&known.custody),
            },
        )
    }

    /// The notices that were given; asked for only where a notice is given once.
    fn notices_seen(&self, settings: &BootstrapSettings) -> BTreeSet<ContentHash> {
        match settings.warning {
            TruncationWarning::Once => NoticeStore::of(self.host()).seen(),
            TruncationWarning::Always | TruncationWarning::Off => BTreeSet::new(),
        }
    }

    fn input(
        &self,
        facts: &Facts<'_>,
        context: &LoadedContext,
    ) -> Result<PromptInput, AssembleError> {
        let knobs = &*facts.known.knobs;
        let model = facts.ask.model.clone().or_else(|| knobs.model.clone());
        let (sandbox, working_dir) = self.sandbox(facts);
        let own = self.documentation(facts);
        let shown = |path: Option<PathBuf>| path.map(|path| path.display().to_string());
        let elevated_now = sandbox
            .as_ref()
            .and_then(|sandbox| sandbox.elevated.as_ref())
            .map(|elevated| knobs.elevated_now(facts.ask.levels.elevated, elevated.full));
        Ok(PromptInput {
            docs_path: shown(own.docs),
            source_path: shown(own.source),
            sandbox,
            tools: facts.tools.iter().map(toolset::listed_as).collect(),
            empty_tools: EmptyTools::None,
            // Every endpoint is told of them besides, in its own way.
            tool_listing: ToolListing::BySchema,
            surface: surface_of(facts),
            mode: facts.mode,
            extent: match facts.size {
                PromptSize::Full => PromptExtent::Whole,
                PromptSize::Short => PromptExtent::Brief,
            },
            session: facts.session.audience(),
            approvals: facts.approvals(),
            delegation: knobs.delegation(),
            contribution: model.as_deref().and_then(|model| knobs.contribution(model)),
            memory: knobs.memory,
            skills: self.listed_skills(facts)?,
            model_aliases: knobs.model_aliases.clone(),
            time_zone: knobs.time_zone.clone().or_else(|| match facts.ask.machine {
                MachineMention::This => self.host().facts.time_zone.clone(),
                MachineMention::Anywhere => None,
            }),
            owners: self.owners(knobs, facts.session)?,
            files: self.files(context),
            truncation_notice: match context.notice {
                Some(_) => TruncationNotice::Shown,
                None => TruncationNotice::Hidden,
            },
            left_out: left_out(context),
            silent_replies: knobs.silent_replies(facts.session),
            message_channels: knobs.channels.clone(),
            // Who sits at a terminal hears nothing, and without a way to send reactions nobody reacts.
            voice_hint: knobs.voice_hint.clone().filter(|_| facts.channel.is_some()),
            extra_context: subagent_text::with_subagent_text(
                facts.session,
                facts.ask.share.as_ref(),
                knobs.extra_context.clone(),
            ),
            extra_kind: match facts.session.audience() {
                Audience::Private => ExtraKind::Instructions,
                Audience::Shared => ExtraKind::Conversation,
            },
            reactions: knobs
                .reactions(facts.channel.as_deref())
                .filter(|_| facts.has_tool(REACTS)),
            heartbeat: knobs.heartbeat.clone(),
            runtime: self.runtime(facts),
            reasoning: facts
                .ask
                .levels
                .reasoning
                .map_or(knobs.reasoning, reasoning_level),
            thinking: match facts.ask.levels.thinking {
                Some(level) => Some(level.as_str().to_owned()),
                None => knobs.thinking.clone(),
            },
            reply_format: model
                .as_deref()
                .map_or(ReplyFormat::Plain, |model| self.reply_format(model)),
            elevated_now,
            ..PromptInput::new(match facts.ask.machine {
                MachineMention::This => working_dir.display().to_string(),
                MachineMention::Anywhere => "<workspace>".to_owned(),
            })
        })
    }

    fn documentation(&self, facts: &Facts<'_>) -> OwnDocumentation {
        match facts.ask.machine {
            MachineMention::Anywhere => OwnDocumentation::default(),
            MachineMention::This => self
                .documentation
                .get_or_init(|| OwnDocumentation::find(self.host()))
                .clone(),
        }
    }

    /// The skills a prompt lists. A small model's lists none, and whoever cannot read the files has
    /// no use for the list.
    fn listed_skills(&self, facts: &Facts<'_>) -> Result<Option<SkillsListing>, AssembleError> {
        let all = match facts.size {
            PromptSize::Full if facts.has_tool(READS) => self.listing(facts),
            PromptSize::Full | PromptSize::Short => None,
        };
        let Some(skill) = &facts.ask.skill else {
            return Ok(all);
        };
        match all.and_then(|all| all.only(skill)) {
            Some(alone) => Ok(Some(alone)),
            None => Err(AssembleError::NoSkill {
                skill: skill.clone(),
                agent: facts.known.knobs.agent.clone(),
            }),
        }
    }

    /// The skills that have the tools they need.
    fn listing(&self, facts: &Facts<'_>) -> Option<SkillsListing> {
        let skills = &facts.known.skills;
        let has_tool = |name: &str| facts.has_tool(name);
        let lacking: Vec<String> = skills
            .listed()
            .iter()
            .map(|skill| skill.name.as_str())
            .filter(|name| !skills.has_its_tools(name, &has_tool))
            .map(str::to_owned)
            .collect();
        let mut listings = lock(&facts.known.listings);
        if let Some((_, listing)) = listings.iter().find(|(known, _)| *known == lacking) {
            return listing.clone();
        }
        let listing = listing_of(skills, &has_tool, self.redactor());
        listings.push((lacking, listing.clone()));
        listing
    }

    /// How a model, named `provider/model`, tells its reasoning from its reply.
    fn reply_format(&self, model: &str) -> ReplyFormat {
        let (provider, id) = model.split_once('/').unwrap_or(("", model));
        let providers = &self.loaded().config.models.providers;
        let entry = providers
            .get(provider)
            .and_then(|provider| provider.models.iter().find(|model| model.id == id));
        match chela_model::ReplyFormat::of(id, entry.map(|entry| &entry.compat)) {
            chela_model::ReplyFormat::Plain => ReplyFormat::Plain,
            chela_model::ReplyFormat::Tagged => ReplyFormat::Tagged,
        }
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
    pub(crate) fn learn(&self, secret: KnownSecret) {
        self.redactor().learn(secret);
    }

    /// What there is to say of a sandbox, and the folder that relative paths start in.
    fn sandbox(&self, facts: &Facts<'_>) -> (Option<chela_prompt::SandboxFacts>, PathBuf) {
        let knobs = &*facts.known.knobs;
        let Some(view) = self.loaded().agent(&knobs.agent) else {
            return (None, knobs.workspace.clone());
        };
        let session = sandbox::SandboxedSession {
            host: self.host(),
            loaded: self.loaded(),
            view: &view,
            key: facts.session,
            channel: facts.channel.as_deref(),
            skills: &facts.known.skills,
            folders: &[],
        };
        match facts.ask.machine {
            MachineMention::This => {
                let standing = session.standing();
                let said = session.facts(&standing);
                (said, standing.workdir(&knobs.workspace))
            }
            MachineMention::Anywhere => (session.anywhere(), knobs.workspace.clone()),
        }
    }

    /// The tools the agent would get if a session began now.
    fn tools(
        &self,
        ask: &PromptRequest,
        session: &SessionKey,
        known: &Known,
        reader: &PromptReader,
    ) -> SessionTools {
        let mut offered = known
            .tools
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let channel = ask.channel.as_deref();
        let info = reader.target.as_ref().map(ModelTarget::info);
        let model = info.map_or("", |info| &info.reference);
        let key = (
            format!("{session} {} {model}", channel.unwrap_or_default()),
            reader.size,
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
                    size: reader.size,
                    channel,
                    skills: &known.skills,
                    model: info,
                })
            })
            .unwrap_or_default();
        let mut tools = tools;
        hide_in_tools(&mut tools.listed, self.redactor());
        hide_in_tools(&mut tools.deferred, self.redactor());
        offered.push((key, tools.clone()));
        tools
    }

    /// The model that will read a prompt, as far as it is known.
    fn target(&self, ask: &PromptRequest, knobs: &PromptKnobs) -> Option<ModelTarget> {
        if let Some(target) = &ask.target {
            return Some(target.clone());
        }
        let name = ask.model.as_ref().or(knobs.model.as_ref())?;
        let models = self
            .models
            .get_or_init(|| Models::of(self.host(), self.loaded()));
        ok_or_debug!(
            models.resolve(name),
            "the reader of a prompt is not known",
            name
        )
    }

    /// Raw ids are for the owner's eyes: where others read along, they are hashed all the same.
    fn owners(
        &self,
        knobs: &PromptKnobs,
        session: &SessionKey,
    ) -> Result<OwnerList, AssembleError> {
        let secret = match &knobs.owner_view {
            // Without owners there is nothing to hide, and no secret is made.
            _ if knobs.owners.is_empty() => return Ok(OwnerList::default()),
            OwnerView::Raw if session.audience() == Audience::Private => {
                return Ok(OwnerList {
                    ids: knobs.owners.clone(),
                    display: OwnerDisplay::Raw,
                });
            }
            OwnerView::Hashed(Some(secret)) => secret.clone(),
            OwnerView::Raw | OwnerView::Hashed(None) => installation_secret(self.host())?,
        };
        Ok(OwnerList {
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
            MachineMention::Anywhere => general,
            MachineMention::This => RuntimeFacts {
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
    let is_written = |prompt: &SourcedValue<String>| prompt.origin != Origin::BuiltIn;
    let Some(written) = input.heartbeat.take_if(|prompt| is_written(prompt)) else {
        return Vec::new();
    };
    let (used, notice) = heartbeat_of(&known.custody, &known.knobs.agent, written);
    input.heartbeat = Some(used.unwrap_or_else(|()| built_in_heartbeat()));
    notice.into_iter().collect()
}

/// What one prompt is asked for.
struct Facts<'a> {
    ask: &'a PromptRequest,
    size: PromptSize,
    session: &'a SessionKey,
    mode: PromptMode,
    channel: Option<String>,
    known: &'a Known,
    tools: &'a [ToolSchema],
}

impl Facts<'_> {
    fn has_tool(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| tool.name == name)
    }

    /// Without a turn, as most turns of such a session have it: the chat asks by itself.
    fn approvals(&self) -> ApprovalWay {
        let usual = match (&self.session.form, &self.channel) {
            (SessionForm::Subagent { .. }, _) => ApprovalWay::Relayed,
            (_, Some(_)) => ApprovalWay::ByChannel,
            (SessionForm::Cron { .. } | SessionForm::Heartbeat { .. }, None) => {
                ApprovalWay::Refused
            }
            (_, None) => ApprovalWay::Asked,
        };
        self.ask.approvals.unwrap_or(usual)
    }
}

/// Whether the file tools of a session may change its workspace.
fn writes_of(input: &PromptInput) -> WorkspaceWrites {
    let boxed = input.sandbox.as_ref();
    let boxed = boxed.filter(|facts| facts.extent == SandboxExtent::Session);
    match boxed.map(|facts| facts.access) {
        None | Some(None | Some(WorkspaceAccess::ReadWrite)) => WorkspaceWrites::Allowed,
        Some(Some(_)) => WorkspaceWrites::Refused,
    }
}

/// A conversation without a channel is held at a terminal.
fn surface_of(facts: &Facts<'_>) -> ReplySurface {
    let is_here = matches!(
        facts.session.form,
        SessionForm::Main { .. } | SessionForm::Global
    );
    match is_here && facts.channel.is_none() {
        true => ReplySurface::Terminal,
        false => ReplySurface::Channel,
    }
}

/// What a small model reads of the workspace files.
fn short_bootstrap(settings: &BootstrapSettings) -> BootstrapSettings {
    /// Of one file and of all, in tokens.
    const PER_FILE: usize = 150;
    const TOTAL: usize = 350;
    BootstrapSettings {
        per_file: CutLimit::Tokens(PER_FILE),
        total: CutLimit::Tokens(TOTAL),
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

fn scope_of(session: &SessionKey, knobs: &PromptKnobs) -> SessionScope {
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
            FileStatus::Truncated { .. } => FileCompleteness::Cut,
            FileStatus::Missing { .. } | FileStatus::SetAside => FileCompleteness::Absent,
            _ => FileCompleteness::Whole,
        },
    }
}

/// The files that found no room.
fn left_out(context: &LoadedContext) -> Vec<String> {
    let no_room = |file: &&FileReport| matches!(file.status, FileStatus::OverTotalBudget { .. });
    let files = context.report.iter().filter(no_room);
    files.map(|file| file.shown_path.clone()).collect()
}

/// The nearest folder, from `dir` upwards, that is a git repository.
fn repository_above(dir: &Path) -> Option<PathBuf> {
    dir.ancestors()
        .find(|folder| folder.join(".git").exists())
        .map(Path::to_path_buf)
}
