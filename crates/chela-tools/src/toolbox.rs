//! The tools of one session.

mod run;
mod secrecy;

pub use secrecy::SECRETS;

pub use run::Prepared;

use std::path::PathBuf;
use std::sync::Arc;

use chela_config::model::RedactMode;
use chela_config::{AgentView, Loaded};
use chela_core::secret::Redactor;
use chela_core::{Host, SessionKey, Trust};

use crate::files::{self, Files, ImageInput};
use crate::memory::{self, MemoryAccess};
use crate::place::{Access, Places, PlacesSettings, Reach, Root, TrustOf};
use crate::plan::{self, Plan};
use crate::policy::{Policy, PolicyAsk, Sandboxed, Sender, Verdict};
use crate::sessions::{self, Sessions};
use crate::subagents::{self, Spawner};
use crate::{Bound, Journal, SessionsView, Spec, Tool, bound};

/// The order in which tools are told to a model; others follow by name.
const ORDER: [&str; 28] = [
    "read",
    "write",
    "edit",
    "apply_patch",
    "grep",
    "find",
    "ls",
    "exec",
    "process",
    "web_search",
    "web_fetch",
    "browser",
    "canvas",
    "nodes",
    "cron",
    "message",
    "gateway",
    "agents_list",
    "sessions_list",
    "sessions_history",
    "sessions_send",
    "sessions_spawn",
    "subagents",
    "session_status",
    "memory_search",
    "memory_get",
    "image",
    "image_generate",
];

/// The model a session talks to, as far as tools care.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ModelFacts {
    pub provider: Option<String>,
    pub model: Option<String>,
    /// Context window in tokens.
    pub window: Option<u64>,
    pub images: ImageInput,
}

/// Everything the tools of a session are made from.
pub struct ToolboxSettings<'a> {
    pub host: &'a Host,
    pub loaded: &'a Loaded,
    pub view: &'a AgentView,
    pub workspace: PathBuf,
    pub session: &'a SessionKey,
    pub model: ModelFacts,
    pub sender: Option<&'a Sender>,
    pub sandboxed: Sandboxed,
    /// Folders besides the workspace: granted ones, folders of skills.
    pub roots: Vec<Root>,
    /// How far a file of the workspace is trusted, by its real path. `None`: as the agent's own.
    pub trust_of: Option<TrustOf>,
    /// Keeps what the file tools replace. `None`: changes cannot be taken back.
    pub journal: Option<Arc<dyn Journal>>,
    /// Folder of this session for what does not fit into a result.
    pub spool: Option<PathBuf>,
    pub sessions: Arc<dyn SessionsView>,
    /// `None`: no tools to start sub-agents or to write to other sessions.
    pub spawner: Option<Arc<dyn Spawner>>,
    /// `None`: no memory tools.
    pub memory: Option<MemoryAccess>,
    /// Takes secrets out of what tools say, and knows what calls must not carry.
    pub redactor: Arc<Redactor>,
    /// Tools made elsewhere: commands, the web. The policy holds for them too.
    pub others: Vec<Arc<dyn Tool>>,
}

impl std::fmt::Debug for ToolboxSettings<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolboxSettings")
            .field("workspace", &self.workspace)
            .field("session", &self.session)
            .field("model", &self.model)
            .finish_non_exhaustive()
    }
}

/// The tools of one session. Cheap to clone.
#[derive(Clone)]
pub struct Toolbox {
    /// What the model is told of, in order.
    tools: Arc<[Arc<dyn Tool>]>,
    /// What the policy of the session keeps out: the name and why.
    left_out: Arc<[(String, String)]>,
    policy: Arc<Policy>,
    /// The limits of one turn, where they differ from the session's.
    turn: Option<Arc<Policy>>,
    places: Arc<Places>,
    bound: Arc<Bound>,
    plan: Arc<Plan>,
    redactor: Arc<Redactor>,
    /// What the owner's own screen hides (`logging.redactSensitive`).
    on_screen: RedactMode,
}

impl std::fmt::Debug for Toolbox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names: Vec<&str> = self.specs().map(|spec| &*spec.name).collect();
        f.debug_struct("Toolbox")
            .field("tools", &names)
            .finish_non_exhaustive()
    }
}

impl Toolbox {
    /// The tools that exist for this session and that its policy allows.
    pub fn build(settings: ToolboxSettings<'_>) -> Self {
        let policy = Policy::of(&PolicyAsk {
            loaded: settings.loaded,
            view: settings.view,
            session: settings.session,
            provider: settings.model.provider.as_deref(),
            model: settings.model.model.as_deref(),
            sender: settings.sender,
            sandboxed: settings.sandboxed,
        });
        let places = Arc::new(places(&settings));
        let limits = &settings.view.context_limits.value;
        let bound = Bound::new(settings.model.window, settings.spool.clone())
            .as_wanted(limits.tool_result_max_chars)
            .hiding(Arc::clone(&settings.redactor));
        let bound = Arc::new(bound);
        let plan = Arc::new(Plan::default());
        let files = Arc::new(Files {
            places: Arc::clone(&places),
            patch_places: match patches_workspace_only(&settings) {
                true => Arc::new(places.granted_only()),
                false => Arc::clone(&places),
            },
            bound: Arc::clone(&bound),
            entropy: Arc::clone(&settings.host.entropy),
            images: settings.model.images,
            most_image_bytes: settings
                .loaded
                .config
                .tools
                .media
                .image
                .max_bytes
                .unwrap_or(files::MOST_IMAGE_BYTES),
            journal: settings.journal.clone(),
            redactor: Arc::clone(&settings.redactor),
            locks: chela_files::PathLocks::of(settings.host),
        });
        let sessions = Arc::new(Sessions::new(&settings, Arc::clone(&bound)));
        let mut tools = files::tools(&files);
        tools.extend(sessions::tools(&sessions));
        if let Some(spawner) = &settings.spawner {
            tools.extend(subagents::tools(spawner, &sessions));
        }
        tools.push(plan::tool(&plan));
        if let Some(memory) = settings.memory {
            let entropy = Arc::clone(&settings.host.entropy);
            tools.extend(memory::tools(memory, Arc::clone(&bound), entropy));
        }
        tools.extend(settings.others);
        in_order(&mut tools);
        let mut left_out = Vec::new();
        tools.retain(|tool| match policy.explain(&tool.spec().name) {
            Verdict::In(_) => true,
            Verdict::Out(why) => {
                left_out.push((tool.spec().name.to_string(), why));
                false
            }
        });
        Self {
            tools: tools.into(),
            left_out: left_out.into(),
            policy: Arc::new(policy),
            turn: None,
            places,
            bound,
            plan,
            on_screen: settings.loaded.config.logging.redact_sensitive,
            redactor: settings.redactor,
        }
    }

    /// What the model is told, always in the same order.
    pub fn specs(&self) -> impl Iterator<Item = &Spec> {
        self.tools.iter().map(|tool| tool.spec())
    }

    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        self.tools.iter().find(|tool| &*tool.spec().name == name)
    }

    /// Tools that exist but that the policy keeps out, and why.
    pub fn left_out(&self) -> &[(String, String)] {
        &self.left_out
    }

    /// Why a tool is there or not, for people.
    pub fn explain(&self, name: &str) -> Verdict {
        self.policy.explain(name)
    }

    /// The same tools, and only those a session started with: the list a model was told of does
    /// not grow later.
    #[must_use]
    pub fn restrict(&self, names: &[String]) -> Self {
        let kept = self
            .tools
            .iter()
            .filter(|tool| names.iter().any(|name| **name == *tool.spec().name));
        Self {
            tools: kept.cloned().collect(),
            ..self.clone()
        }
    }

    /// The same tools under the policy of one turn: what it takes away stays in the list, so
    /// that the cached prefix does not move, and is refused when it is called.
    #[must_use]
    pub fn for_turn(&self, policy: Policy) -> Self {
        Self {
            turn: Some(Arc::new(policy)),
            ..self.clone()
        }
    }

    pub fn places(&self) -> &Arc<Places> {
        &self.places
    }

    pub fn bound(&self) -> &Arc<Bound> {
        &self.bound
    }

    /// The plan of this session.
    pub fn plan(&self) -> &Arc<Plan> {
        &self.plan
    }
}

/// `tools.exec.applyPatch.workspaceOnly`, the agent's own before that of all. It narrows: where
/// the file tools may not go, patches do not go either.
fn patches_workspace_only(settings: &ToolboxSettings<'_>) -> bool {
    let own = settings.view.tools.value.exec.as_ref();
    let own = own.and_then(|exec| exec.apply_patch.workspace_only);
    let global = settings.loaded.config.tools.exec.apply_patch.workspace_only;
    own.or(global) == Some(true)
}

/// Where the file tools of a session may go.
///
/// Also for tools made elsewhere, before the toolbox is built.
pub fn places(settings: &ToolboxSettings<'_>) -> Places {
    let global = settings.loaded.config.tools.fs.workspace_only;
    let own = settings.view.tools.value.fs.as_ref();
    let workspace_only = own.and_then(|fs| fs.workspace_only).or(global);
    let mut granted = settings.roots.clone();
    granted.extend(settings.spool.as_ref().map(|spool| Root {
        path: spool.clone(),
        access: Access::Read,
        trust: Arc::new(bound::spool_trust),
    }));
    Places::new(PlacesSettings {
        workspace: Root {
            path: settings.workspace.clone(),
            access: Access::Write,
            trust: settings
                .trust_of
                .clone()
                .unwrap_or_else(|| Arc::new(|_| Trust::Agent)),
        },
        granted,
        // Inside a sandbox nothing but what is granted is there.
        reach: match workspace_only.unwrap_or(true) || settings.sandboxed == Sandboxed::Yes {
            true => Reach::Granted,
            false => Reach::Everything,
        },
        protected: protected(settings),
        user_home: settings.host.user_home.clone(),
    })
}

/// What stays closed: what Chela keeps for itself (config, sessions, approvals, trust), and what
/// shows it at work.
fn protected(settings: &ToolboxSettings<'_>) -> Vec<PathBuf> {
    let mut paths = vec![
        settings.host.state_dir(),
        settings.host.config_file(),
        settings.view.agent_dir.value.clone(),
        // The environment of this very process, with its keys, can be read there.
        PathBuf::from("/proc"),
    ];
    paths.extend(settings.loaded.files().map(PathBuf::from));
    paths
}

/// Known tools in their order, others by name; of two with the same name the first stays.
fn in_order(tools: &mut Vec<Arc<dyn Tool>>) {
    let rank = |tool: &Arc<dyn Tool>| {
        let name = Arc::clone(&tool.spec().name);
        let known = ORDER.iter().position(|known| *known == &*name);
        (known.unwrap_or(ORDER.len()), name)
    };
    tools.sort_by(|a, b| rank(a).cmp(&rank(b)));
    tools.dedup_by(|later, first| later.spec().name == first.spec().name);
}

#[cfg(test)]
pub(crate) mod tests;
