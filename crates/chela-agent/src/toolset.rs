//! The tools of a session: which there are, and what they need of the rest of the house.

use std::path::PathBuf;
use std::sync::Arc;

use chela_config::model::{DelegationMode, WorkspaceAccess};
use chela_config::{AgentView, LoadedConfig};
use chela_core::secret::Redactor;
use chela_core::{Host, SessionKey, Trust, ok_or_warn};
use chela_memory::{AgentMemory, IndexCard};
use chela_model::{ModelInfo, ModelInput, PromptProfile, ToolSchema, profile_for};
use chela_prompt::PromptTool as ListedTool;
use chela_sandbox::{FolderAccess, SandboxStanding, WorkFolder};
use chela_session::{SessionFilter, Sessions};
use chela_skills::AgentSkills;
use chela_store::block_on;
use chela_tools::approvals::{FolderDoubts, NoDoubts};
use chela_tools::exec::{CommandTools, CommandsAsk, CommandsSetup};
use chela_tools::handles::SecretHandles;
use chela_tools::place::{PlaceAccess, PlaceRoot, TrustOf};
use chela_tools::schema::{brief_model_schema, model_schema};
use chela_tools::web::web_tools;
use chela_tools::{
    ChangeJournal, ChildSpawner, ImageInput, JobsAccess, JobsFile, MemoryAccess, ModelFacts,
    NoSessions, NoSpawner, Sender, SessionCompany, SessionsView, Tool, ToolSpec, Toolbox,
    ToolboxSettings, tool_card,
};

use crate::agent_memory::{MemoryAsk, agent_memory};
use crate::bootstrap_pending::BootstrapMeans;
use crate::documentation::OwnDocumentation;
use crate::file_trust::FileTrust;
use crate::mcp_tools::McpToolset;
use crate::sandbox;
use crate::secrets::SecretVault;
use crate::skills_search::{SearchedSkills, SkillsSearch};

/// What the tools of one session are made from.
pub struct ToolsetAsk<'a> {
    pub host: &'a Host,
    pub loaded: &'a LoadedConfig,
    pub view: &'a AgentView,
    pub session: &'a SessionKey,
    pub model: Option<&'a ModelInfo>,
    pub sender: Option<&'a Sender>,
    pub skills: &'a AgentSkills,
    /// Folder for what does not fit into a result.
    pub spool: Option<PathBuf>,
    pub sessions: Arc<dyn SessionsView>,
    pub company: SessionCompany,
    /// `None`: no sub-agents, no messages to other sessions.
    pub spawner: Option<Arc<dyn ChildSpawner>>,
    /// Keeps what file tools replace. `None` where nothing is run.
    pub journal: Option<Arc<dyn ChangeJournal>>,
    pub trust: &'a FileTrust,
    /// The agent's open memory. `None` where it is switched off.
    pub memory: Option<Arc<AgentMemory>>,
    pub jobs: JobsAccess,
    /// Takes secrets out of what tools say.
    pub redactor: Arc<Redactor>,
    /// Secrets tools may use by name.
    pub handles: Arc<dyn SecretHandles>,
    /// The commands of this session, which outlive a message.
    pub commands: &'a CommandTools,
    /// Tools of whoever embeds the agent.
    pub own: &'a [Arc<dyn chela_tools::Tool>],
    /// Folders besides the workspace the owner lets it work in.
    pub folders: &'a [WorkFolder],
    /// What `skills_search` searches; `None` where tools are only named.
    pub searched: Option<SearchedSkills>,
}

/// The tools of a session.
pub fn toolbox(ask: &ToolsetAsk<'_>) -> Toolbox {
    let standing = ask.commands.sandbox();
    Toolbox::build(ToolboxSettings {
        host: ask.host,
        loaded: ask.loaded,
        view: ask.view,
        workspace: standing.workdir(&ask.view.workspace.value),
        session: ask.session,
        model: model_facts(ask),
        sender: ask.sender,
        sandboxed: standing.sandboxed(),
        roots: roots(ask, standing),
        started_in: started_in(ask.folders, ask.session),
        closed: ask
            .folders
            .iter()
            .flat_map(|folder| folder.closed.iter().cloned())
            .collect(),
        trust_of: Some(trust_in_workspace(ask)),
        journal: ask.journal.clone(),
        spool: ask.spool.clone(),
        sessions: Arc::clone(&ask.sessions),
        company: ask.company,
        spawner: ask.spawner.clone(),
        memory: ask.memory.clone().map(|memory| MemoryAccess {
            memory,
            audience: ask.session.audience(),
            session: ask.session.to_string(),
            max_chars: memory_chars(ask),
        }),
        jobs: Some(ask.jobs.clone()),
        redactor: Arc::clone(&ask.redactor),
        others: ask
            .commands
            .tools()
            .into_iter()
            .chain(web_tools(ask.host, ask.loaded, &ask.handles))
            .chain(skills_search(ask))
            .chain(ask.own.iter().cloned())
            .collect(),
    })
}

/// Skills that the prompt does not describe are found with a tool.
fn skills_search(ask: &ToolsetAsk<'_>) -> Option<Arc<dyn Tool>> {
    ask.skills.has_partial_list().then(|| {
        let over = ask.searched.clone();
        Arc::new(SkillsSearch { over }) as Arc<dyn Tool>
    })
}

/// The few tools a small model is offered: each one more costs it tokens and attention.
const SHORT: [&str; 6] = [
    "read",
    "write",
    "exec",
    "session_status",
    "memory_search",
    "web_fetch",
];

/// How much of the prompt a model can bear.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PromptSize {
    #[default]
    Full,
    /// Under a thousand tokens: the minimal sections, a few tools, the beginning of the files.
    Short,
}

/// The tools as `size` allows them.
pub fn fitting(toolbox: Toolbox, size: PromptSize) -> Toolbox {
    match size {
        PromptSize::Full => toolbox,
        PromptSize::Short => toolbox.restrict(&SHORT.map(str::to_owned)),
    }
}

/// A tool as a model is told of it: a small one hears of what a call cannot do without.
pub fn schema_of(spec: &ToolSpec, size: PromptSize) -> ToolSchema {
    let parameters = match size {
        PromptSize::Full => model_schema(&spec.parameters),
        PromptSize::Short => brief_model_schema(&spec.parameters),
    };
    let description = match size {
        PromptSize::Full => None,
        PromptSize::Short => brief_description(&spec.name),
    };
    ToolSchema {
        name: spec.name.to_string(),
        description: description.unwrap_or(&spec.description).to_owned(),
        parameters: Arc::new(parameters),
    }
}

/// What a small model is told of a tool that says more than its one argument can do.
fn brief_description(tool: &str) -> Option<&'static str> {
    match tool {
        "session_status" => Some("Exact time, model, tokens and cost of this session."),
        "memory_search" => Some(
            "Search notes and past conversations: before answering about earlier work, people, dates.",
        ),
        _ => None,
    }
}

/// Whether a session has anybody else to do with: then it is told of the tools for that. An
/// operator who wants work handed on wants them, too.
pub fn company_of(
    loaded: &LoadedConfig,
    view: &AgentView,
    sessions: Option<&Sessions>,
    own: &SessionKey,
) -> SessionCompany {
    let hands_on = view.delegation_mode.value == Some(DelegationMode::Prefer);
    let is_other = |sessions: &Sessions| {
        let list = block_on(sessions.list(&SessionFilter {
            limit: Some(2),
            ..SessionFilter::default()
        }));
        let list = ok_or_warn!(list, "whether there are other sessions is not known");
        list.is_some_and(|list| list.iter().any(|session| session.key != *own))
    };
    match loaded.agents().len() > 1 || hands_on || sessions.is_some_and(is_other) {
        true => SessionCompany::Others,
        false => SessionCompany::Alone,
    }
}

/// Whose tools are only to be named.
pub struct PreviewAsk<'a> {
    pub host: &'a Host,
    pub loaded: &'a LoadedConfig,
    pub view: &'a AgentView,
    pub session: &'a SessionKey,
    pub size: PromptSize,
    pub channel: Option<&'a str>,
    pub skills: &'a AgentSkills,
    /// Who will be told of them.
    pub model: Option<&'a ModelInfo>,
}

/// The tools of a session, as far as they are only named.
#[derive(Debug, Clone, Default)]
pub struct SessionTools {
    /// Those a model is told of, in order.
    pub listed: Vec<ToolSchema>,
    /// Those it finds when it needs them.
    pub deferred: Vec<ToolSchema>,
    /// Those the policy keeps out, and why.
    pub left_out: Vec<(String, String)>,
    /// What they can do about a first conversation.
    pub means: BootstrapMeans,
}

impl SessionTools {
    pub fn of(toolbox: &Toolbox, size: PromptSize) -> Self {
        let told = |spec: &ToolSpec| schema_of(spec, size);
        let (deferred, listed): (Vec<&ToolSpec>, Vec<&ToolSpec>) = toolbox
            .specs()
            .partition(|spec| toolbox.is_deferred(&spec.name));
        Self {
            listed: listed.into_iter().map(told).collect(),
            deferred: deferred.into_iter().map(told).collect(),
            left_out: toolbox.left_out().to_vec(),
            means: BootstrapMeans::of(toolbox),
        }
    }
}

/// The tools a session would get if it began now.
pub fn preview(ask: &PreviewAsk<'_>) -> SessionTools {
    SessionTools::of(&preview_toolbox(ask), ask.size)
}

/// What a tool does to the world, and through which arguments.
#[derive(Debug, Clone, serde::Serialize)]
pub struct ToolEffect {
    pub tool: String,
    pub effect: chela_tools::Effect,
    pub sinks: Vec<chela_tools::CallSink>,
}

/// The effects of the tools an agent's main session would get.
pub fn effects(
    host: &Host,
    loaded: &LoadedConfig,
    agent: &chela_core::AgentId,
    skills: &AgentSkills,
) -> Vec<ToolEffect> {
    let effect = |spec: &ToolSpec| ToolEffect {
        tool: spec.name.to_string(),
        effect: spec.effect,
        sinks: spec.sinks.to_vec(),
    };
    let toolbox = main_toolbox(host, loaded, agent, skills);
    toolbox
        .iter()
        .flat_map(Toolbox::specs)
        .map(effect)
        .collect()
}

/// What the same tools are found by.
pub fn tool_cards(
    host: &Host,
    loaded: &LoadedConfig,
    agent: &chela_core::AgentId,
    skills: &AgentSkills,
) -> Vec<IndexCard> {
    let toolbox = main_toolbox(host, loaded, agent, skills);
    toolbox
        .iter()
        .flat_map(Toolbox::specs)
        .map(tool_card)
        .collect()
}

fn main_toolbox(
    host: &Host,
    loaded: &LoadedConfig,
    agent: &chela_core::AgentId,
    skills: &AgentSkills,
) -> Option<Toolbox> {
    let view = loaded.agent(agent)?;
    Some(preview_toolbox(&PreviewAsk {
        host,
        loaded,
        view: &view,
        session: &SessionKey::main(agent),
        size: PromptSize::Full,
        channel: None,
        skills,
        model: None,
    }))
}

fn preview_toolbox(ask: &PreviewAsk<'_>) -> Toolbox {
    let own = server_tools(ask);
    let handles = SecretVault::open(ask.host, ask.loaded, &ask.view.id, Arc::default());
    let session = sandbox::SandboxedSession {
        host: ask.host,
        loaded: ask.loaded,
        view: ask.view,
        key: ask.session,
        channel: ask.channel,
        skills: ask.skills,
        folders: &[],
    };
    let secrecy = SecretHandling {
        handles: Arc::clone(&handles),
        redactor: Arc::default(),
    };
    let commands = commands(&session, PathBuf::new(), &secrecy, Arc::new(NoDoubts));
    let sessions = Sessions::open_existing(ask.host, &ask.view.id);
    let sessions = ok_or_warn!(sessions, "the sessions cannot be opened").flatten();
    let toolbox = toolbox(&ToolsetAsk {
        redactor: Arc::default(),
        handles,
        commands: &commands,
        own: &own,
        folders: &[],
        searched: None,
        host: ask.host,
        loaded: ask.loaded,
        view: ask.view,
        session: ask.session,
        model: ask.model,
        sender: None,
        skills: ask.skills,
        spool: None,
        sessions: Arc::new(NoSessions),
        company: company_of(ask.loaded, ask.view, sessions.as_ref(), ask.session),
        spawner: Some(Arc::new(NoSpawner)),
        journal: None,
        trust: &FileTrust::default(),
        jobs: JobsAccess {
            jobs: Arc::new(JobsFile::of(&ask.host.state_dir())),
            trust: Arc::new(|| Trust::External),
        },
        memory: agent_memory(&MemoryAsk {
            host: ask.host,
            loaded: ask.loaded,
            view: ask.view,
            trust: &FileTrust::default(),
            redactor: &Redactor::default(),
            transcripts: &|| None,
        }),
    });
    fitting(toolbox, ask.size)
}

/// The tools of servers, as far as they are on record: none is started.
fn server_tools(ask: &PreviewAsk<'_>) -> Vec<Arc<dyn chela_tools::Tool>> {
    match ask.loaded.config.mcp.servers.is_empty() {
        true => Vec::new(),
        false => {
            let loaded = Arc::new(ask.loaded.clone());
            McpToolset::open(ask.host, &loaded, Arc::default()).tools()
        }
    }
}

/// What commands may have by name, and what is taken out of what they print.
pub struct SecretHandling {
    pub handles: Arc<dyn SecretHandles>,
    pub redactor: Arc<Redactor>,
}

/// What runs the commands of a session. Nothing starts before it is asked for.
pub fn commands(
    session: &sandbox::SandboxedSession<'_>,
    spool: PathBuf,
    secrets: &SecretHandling,
    doubts: Arc<dyn FolderDoubts>,
) -> CommandTools {
    let mut setup = CommandsSetup::of(CommandsAsk {
        host: session.host,
        loaded: session.loaded,
        view: session.view,
        spool,
        sandbox: session.standing(),
    });
    setup.handles = Arc::clone(&secrets.handles);
    setup.redactor = Arc::clone(&secrets.redactor);
    setup.doubts = doubts;
    setup.started_in = started_in(session.folders, session.key);
    CommandTools::new(setup)
}

/// A tool as the prompt lists it: tools the prompt has words for need no summary.
pub fn listed_as(tool: &ToolSchema) -> ListedTool {
    let known = chela_prompt::core_tools().any(|core| core == tool.name);
    ListedTool {
        summary: (!known).then(|| tool.description.clone()),
        ..ListedTool::core(tool.name.clone())
    }
}

/// Pictures can be looked at where the model sees, or another one looks for it.
fn model_facts(ask: &ToolsetAsk<'_>) -> ModelFacts {
    let sees = ask
        .model
        .is_some_and(|model| model.reads(ModelInput::Image));
    let images = match sees || ask.loaded.config.agents.defaults.image_model.is_some() {
        true => ImageInput::Yes,
        false => ImageInput::No,
    };
    ModelFacts {
        provider: ask.model.map(|model| model.provider.clone()),
        model: ask.model.map(|model| model.id.clone()),
        window: ask.model.and_then(|model| model.context_window),
        images,
    }
}

/// A small model gets shorter answers of its memory, unless the operator says how long they are.
fn memory_chars(ask: &ToolsetAsk<'_>) -> Option<usize> {
    const SMALL_MODEL_CHARS: usize = 2_100;
    let is_set = ask.view.memory_search.value.query.max_chars.is_some();
    let is_small = ask
        .model
        .is_some_and(|model| profile_for(model) == PromptProfile::Short);
    (is_small && !is_set).then_some(SMALL_MODEL_CHARS)
}

/// Skills are read where they lie, and so is a workspace that a sandbox may only read.
fn roots(ask: &ToolsetAsk<'_>, standing: &SandboxStanding) -> Vec<PlaceRoot> {
    let read_only = standing.access() == Some(WorkspaceAccess::Ro);
    let workspace = read_only.then(|| {
        let workspace = ask.view.workspace.value.clone();
        PlaceRoot::new(workspace, PlaceAccess::Read, Trust::Agent)
    });
    ask.skills
        .listed_with_trust()
        .map(|(skill, words)| {
            let known = ask.trust.clone();
            PlaceRoot {
                trust: Arc::new(move |path, read| words.join(known.ceiling_of_version(path, read))),
                ..PlaceRoot::new(&skill.folder, PlaceAccess::Read, words)
            }
        })
        .chain(workspace)
        .chain(own_docs(ask.host))
        .chain(
            ask.folders
                .iter()
                .map(|folder| work_root(folder, ask.trust)),
        )
        .collect()
}

/// The folder the user means by "here". A sub-agent is told of none.
fn started_in(folders: &[WorkFolder], session: &SessionKey) -> Option<PathBuf> {
    let here = folders.first()?;
    (!session.is_subagent()).then(|| here.path.clone())
}

/// What the prompt names as documentation can be read.
fn own_docs(host: &Host) -> Option<PlaceRoot> {
    let docs = OwnDocumentation::find(host).docs?;
    Some(PlaceRoot::new(docs, PlaceAccess::Read, Trust::Agent))
}

/// A folder the owner lets the agent work in. Whose text its files hold is a matter of record, as
/// in the workspace.
fn work_root(folder: &WorkFolder, known: &FileTrust) -> PlaceRoot {
    PlaceRoot {
        trust: known.for_tools(),
        ..PlaceRoot::new(
            &folder.path,
            match folder.access {
                FolderAccess::Read => PlaceAccess::Read,
                FolderAccess::Write => PlaceAccess::Write,
            },
            Trust::External,
        )
    }
}

/// How far files of the workspace are trusted: those of a skill nobody answers for are not the
/// agent's own words.
fn trust_in_workspace(ask: &ToolsetAsk<'_>) -> TrustOf {
    let known = ask.trust.clone();
    let skills: Vec<(PathBuf, Trust)> = ask
        .skills
        .listed_with_trust()
        .filter_map(|(skill, words)| Some((skill.folder.canonicalize().ok()?, words)))
        .collect();
    Arc::new(move |path, read| {
        let of_skills = skills
            .iter()
            .filter(|(folder, _)| path.starts_with(folder))
            .map(|(_, words)| *words);
        // The lock of the skills answers for every file of theirs.
        match of_skills.reduce(Trust::join) {
            Some(words) => words
                .join(known.ceiling_of_version(path, read))
                .min(Trust::Agent),
            None => known.trust_of_version(path, read),
        }
    })
}
