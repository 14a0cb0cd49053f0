//! The tools of a session: which there are, and what they need of the rest of the house.

use std::path::PathBuf;
use std::sync::Arc;

use chela_config::model::WorkspaceAccess;
use chela_config::{AgentView, Loaded};
use chela_core::secret::Redactor;
use chela_core::{Host, SessionKey, Trust};
use chela_memory::AgentMemory;
use chela_model::{Input, ModelInfo, ToolSchema};
use chela_prompt::Tool as ListedTool;
use chela_sandbox::Standing;
use chela_skills::AgentSkills;
use chela_tools::exec::{Commands, CommandsAsk, CommandsSetup};
use chela_tools::handles::Handles;
use chela_tools::place::{Access, Root, TrustOf};
use chela_tools::web::web_tools;
use chela_tools::{
    ImageInput, Journal, MemoryAccess, ModelFacts, NoSessions, NoSpawner, Sender, SessionsView,
    Spawner, Spec, Toolbox, ToolboxSettings,
};

use crate::agent_memory::{MemoryAsk, agent_memory};
use crate::file_trust::FileTrust;
use crate::sandbox;
use crate::secrets::Vault;

/// What the tools of one session are made from.
pub struct ToolsetAsk<'a> {
    pub host: &'a Host,
    pub loaded: &'a Loaded,
    pub view: &'a AgentView,
    pub session: &'a SessionKey,
    pub model: Option<&'a ModelInfo>,
    pub sender: Option<&'a Sender>,
    pub skills: &'a AgentSkills,
    /// Folder for what does not fit into a result.
    pub spool: Option<PathBuf>,
    pub sessions: Arc<dyn SessionsView>,
    /// `None`: no sub-agents, no messages to other sessions.
    pub spawner: Option<Arc<dyn Spawner>>,
    /// Keeps what file tools replace. `None` where nothing is run.
    pub journal: Option<Arc<dyn Journal>>,
    pub trust: &'a FileTrust,
    /// The agent's open memory. `None` where it is switched off.
    pub memory: Option<Arc<AgentMemory>>,
    /// Takes secrets out of what tools say.
    pub redactor: Arc<Redactor>,
    /// Secrets tools may use by name.
    pub handles: Arc<dyn Handles>,
    /// The commands of this session, which outlive a message.
    pub commands: &'a Commands,
    /// Tools of whoever embeds the agent.
    pub own: &'a [Arc<dyn chela_tools::Tool>],
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
        model: ask.model.map(facts_of).unwrap_or_default(),
        sender: ask.sender,
        sandboxed: standing.sandboxed(),
        roots: roots(ask, standing),
        trust_of: Some(trust_in_workspace(ask)),
        journal: ask.journal.clone(),
        spool: ask.spool.clone(),
        sessions: Arc::clone(&ask.sessions),
        spawner: ask.spawner.clone(),
        memory: ask.memory.clone().map(|memory| MemoryAccess {
            memory,
            audience: ask.session.audience(),
        }),
        redactor: Arc::clone(&ask.redactor),
        others: ask
            .commands
            .tools()
            .into_iter()
            .chain(web_tools(ask.host, ask.loaded, &ask.handles))
            .chain(ask.own.iter().cloned())
            .collect(),
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
pub enum Size {
    #[default]
    Full,
    /// Under a thousand tokens: the minimal sections, a few tools, the beginning of the files.
    Short,
}

/// The tools as `size` allows them.
pub fn fitting(toolbox: Toolbox, size: Size) -> Toolbox {
    match size {
        Size::Full => toolbox,
        Size::Short => toolbox.restrict(&SHORT.map(str::to_owned)),
    }
}

pub fn schema_of(spec: &Spec) -> ToolSchema {
    ToolSchema {
        name: spec.name.to_string(),
        description: spec.description.to_string(),
        parameters: spec.parameters.as_ref().clone(),
    }
}

/// Whose tools are only to be named.
pub struct PreviewAsk<'a> {
    pub host: &'a Host,
    pub loaded: &'a Loaded,
    pub view: &'a AgentView,
    pub session: &'a SessionKey,
    pub size: Size,
    pub channel: Option<&'a str>,
    pub skills: &'a AgentSkills,
}

/// The tools a session would get if it began now.
pub fn preview(ask: &PreviewAsk<'_>) -> Vec<ToolSchema> {
    preview_toolbox(ask).specs().map(schema_of).collect()
}

/// What a tool does to the world, and through which arguments.
#[derive(Debug, Clone, serde::Serialize)]
pub struct ToolEffect {
    pub tool: String,
    pub effect: chela_tools::Effect,
    pub sinks: Vec<chela_tools::Sink>,
}

/// The effects of the tools an agent's main session would get.
pub fn effects(
    host: &Host,
    loaded: &Loaded,
    agent: &chela_core::AgentId,
    skills: &AgentSkills,
) -> Vec<ToolEffect> {
    let Some(view) = loaded.agent(agent) else {
        return Vec::new();
    };
    let toolbox = preview_toolbox(&PreviewAsk {
        host,
        loaded,
        view: &view,
        session: &SessionKey::main(agent),
        size: Size::Full,
        channel: None,
        skills,
    });
    let effect = |spec: &Spec| ToolEffect {
        tool: spec.name.to_string(),
        effect: spec.effect,
        sinks: spec.sinks.to_vec(),
    };
    toolbox.specs().map(effect).collect()
}

fn preview_toolbox(ask: &PreviewAsk<'_>) -> Toolbox {
    let handles = Vault::open(ask.host, ask.loaded, &ask.view.id, Arc::default());
    let session = sandbox::Session {
        host: ask.host,
        loaded: ask.loaded,
        view: ask.view,
        key: ask.session,
        channel: ask.channel,
        skills: ask.skills,
    };
    let secrecy = Secrecy {
        handles: Arc::clone(&handles),
        redactor: Arc::default(),
    };
    let commands = commands(&session, PathBuf::new(), &secrecy);
    let toolbox = toolbox(&ToolsetAsk {
        redactor: Arc::default(),
        handles,
        commands: &commands,
        own: &[],
        host: ask.host,
        loaded: ask.loaded,
        view: ask.view,
        session: ask.session,
        model: None,
        sender: None,
        skills: ask.skills,
        spool: None,
        sessions: Arc::new(NoSessions),
        spawner: Some(Arc::new(NoSpawner)),
        journal: None,
        trust: &FileTrust::default(),
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

/// What commands may have by name, and what is taken out of what they print.
pub struct Secrecy {
    pub handles: Arc<dyn Handles>,
    pub redactor: Arc<Redactor>,
}

/// What runs the commands of a session. Nothing starts before it is asked for.
pub fn commands(session: &sandbox::Session<'_>, spool: PathBuf, secrets: &Secrecy) -> Commands {
    let mut setup = CommandsSetup::of(CommandsAsk {
        host: session.host,
        loaded: session.loaded,
        view: session.view,
        spool,
        sandbox: session.standing(),
    });
    setup.handles = Arc::clone(&secrets.handles);
    setup.redactor = Arc::clone(&secrets.redactor);
    Commands::new(setup)
}

/// A tool as the prompt lists it: tools the prompt has words for need no summary.
pub fn listed_as(tool: &ToolSchema) -> ListedTool {
    let known = chela_prompt::core_tools().any(|core| core == tool.name);
    ListedTool {
        summary: (!known).then(|| tool.description.clone()),
        ..ListedTool::core(tool.name.clone())
    }
}

fn facts_of(model: &ModelInfo) -> ModelFacts {
    ModelFacts {
        provider: Some(model.provider.clone()),
        model: Some(model.id.clone()),
        window: model.context_window,
        images: if model.reads(Input::Image) {
            ImageInput::Yes
        } else {
            ImageInput::No
        },
    }
}

/// Skills are read where they lie, and so is a workspace that a sandbox may only read.
fn roots(ask: &ToolsetAsk<'_>, standing: &Standing) -> Vec<Root> {
    let read_only = standing.access() == Some(WorkspaceAccess::Ro);
    let workspace = read_only.then(|| {
        let workspace = ask.view.workspace.value.clone();
        Root::new(workspace, Access::Read, Trust::Agent)
    });
    ask.skills
        .listed_with_trust()
        .map(|(skill, words)| {
            let known = ask.trust.clone();
            Root {
                trust: Arc::new(move |path| words.join(known.ceiling(path))),
                ..Root::new(&skill.folder, Access::Read, words)
            }
        })
        .chain(workspace)
        .collect()
}

/// How far files of the workspace are trusted: those of a skill nobody answers for are not the
/// agent's own words.
fn trust_in_workspace(ask: &ToolsetAsk<'_>) -> TrustOf {
    let files = ask.trust.for_tools();
    let skills: Vec<(PathBuf, Trust)> = ask
        .skills
        .listed_with_trust()
        .filter_map(|(skill, words)| Some((skill.folder.canonicalize().ok()?, words)))
        .collect();
    Arc::new(move |path| {
        let of_skills = skills
            .iter()
            .filter(|(folder, _)| path.starts_with(folder))
            .map(|(_, words)| *words);
        of_skills.fold(files(path), Trust::join)
    })
}
