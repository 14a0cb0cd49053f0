//! Which tools a session gets: those there are, less what the policy and the offer leave out.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use chela_clock::LocalZone;
use chela_config::{AgentView, LoadedConfig};
use chela_core::secret::Redactor;
use chela_core::{Host, SessionKey, Trust};

use super::Toolbox;
use super::names::ToolNameError;
use crate::cron::{self, CronToolset, JobsAccess};
use crate::files::{self, FileTools, ImageInput};
use crate::memory::{self, MemoryAccess};
use crate::place::{FilePlaces, FileReach, PlaceAccess, PlaceRoot, PlacesSettings, TrustOf};
use crate::plan::{self, SessionPlan};
use crate::policy::{self, PolicyAsk, PolicyVerdict, SandboxChoice, Sender, ToolRules};
use crate::sessions::{self, SessionCompany, SessionSight, SessionToolset};
use crate::subagents::{self, ChildSpawner};
use crate::tools_find::{self, ToolCatalog};
use crate::{ChangeJournal, OfferedTool, OutputBound, SessionsView, Tool, ToolOffer, bound};

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
    pub loaded: &'a LoadedConfig,
    pub view: &'a AgentView,
    pub workspace: PathBuf,
    pub session: &'a SessionKey,
    pub model: ModelFacts,
    pub sender: Option<&'a Sender>,
    pub sandboxed: SandboxChoice,
    /// Folders besides the workspace: granted ones, folders of skills.
    pub roots: Vec<PlaceRoot>,
    /// The one of them the user started the agent in.
    pub started_in: Option<PathBuf>,
    /// Folders inside of those that stay closed all the same.
    pub closed: Vec<PathBuf>,
    /// How far a file of the workspace is trusted, by its real path. `None`: as the agent's own.
    pub trust_of: Option<TrustOf>,
    /// Keeps what the file tools replace. `None`: changes cannot be taken back.
    pub journal: Option<Arc<dyn ChangeJournal>>,
    /// Folder of this session for what does not fit into a result.
    pub spool: Option<PathBuf>,
    pub sessions: Arc<dyn SessionsView>,
    /// Decides whether a model is told from the start of the tools that are about others.
    pub company: SessionCompany,
    /// `None`: no tools to start sub-agents or to write to other sessions.
    pub spawner: Option<Arc<dyn ChildSpawner>>,
    /// `None`: no memory tools.
    pub memory: Option<MemoryAccess>,
    /// `None`: no jobs.
    pub jobs: Option<JobsAccess>,
    /// Takes secrets out of what tools say, and knows what calls must not carry.
    pub redactor: Arc<Redactor>,
    /// Tools made elsewhere: commands, the web. The policy holds for them too.
    pub others: Vec<Arc<dyn Tool>>,
}

/// The same tools, offered like this.
fn offered(tools: Vec<Arc<dyn Tool>>, offer: ToolOffer) -> impl Iterator<Item = Arc<dyn Tool>> {
    let wrapped = tools.into_iter();
    wrapped.map(move |tool| Arc::new(OfferedTool::new(tool, offer)) as Arc<dyn Tool>)
}

/// What a search for tools may bring.
pub(super) fn findable<'a>(
    tools: impl Iterator<Item = &'a Arc<dyn Tool>>,
) -> impl Iterator<Item = &'a Arc<dyn Tool>> {
    tools.filter(|tool| tool.offer() != ToolOffer::Always)
}

/// Adds the tool that finds others, where there is something to find and the policy lets it. Gives
/// the names of those that wait to be found.
fn put_off(
    tools: &mut Vec<Arc<dyn Tool>>,
    catalog: &Arc<ToolCatalog>,
    policy: &ToolRules,
) -> BTreeSet<String> {
    catalog.set(findable(tools.iter()));
    let finder = tools_find::tool(catalog);
    if findable(tools.iter()).next().is_none() || !policy.allows(&finder.spec().name) {
        return BTreeSet::new();
    }
    let deferred = tools
        .iter()
        .filter(|tool| tool.offer() == ToolOffer::Deferred);
    let deferred: BTreeSet<String> = deferred.map(|tool| tool.spec().name.to_string()).collect();
    tools.push(finder);
    deferred
}

/// Where nothing is found only when it is needed, every tool stands in the prompt; what a stranger says
/// of one does not get there. Gives what was left out, and why.
fn without_strangers(tools: &mut Vec<Arc<dyn Tool>>) -> Vec<(String, String)> {
    let mut left_out = Vec::new();
    tools.retain(|tool| {
        let is_known = tool.described_by() > Trust::External;
        if !is_known {
            let name = tool.spec().name.to_string();
            let server = name.split_once("__").map_or("NAME", |(server, _)| server);
            let why = format!(
                "its description is not approved, and without tools_find it would stand in every \
                 prompt: `chela mcp trust {server}`"
            );
            left_out.push((name, why));
        }
        is_known
    });
    left_out
}

fn sessions_seen(settings: &ToolboxSettings<'_>, bound: Arc<OutputBound>) -> SessionToolset {
    let zone = settings.view.user_timezone.value.clone();
    SessionToolset {
        view: Arc::clone(&settings.sessions),
        own: settings.session.clone(),
        agent: settings.view.id.clone(),
        sight: SessionSight::of(settings.loaded, settings.view, settings.sandboxed),
        bound,
        clock: Arc::clone(&settings.host.clock),
        entropy: Arc::clone(&settings.host.entropy),
        time_zone: zone.or_else(|| settings.host.facts.time_zone.clone()),
        time_format: settings.view.time_format.value,
    }
}

fn jobs_of(
    settings: &ToolboxSettings<'_>,
    sessions: &SessionToolset,
    access: JobsAccess,
) -> CronToolset {
    CronToolset {
        access,
        sessions: Arc::clone(&settings.sessions),
        own: settings.session.clone(),
        agent: settings.view.id.clone(),
        zone: LocalZone::first_of([sessions.time_zone.as_deref()]),
        clock: Arc::clone(&settings.host.clock),
        entropy: Arc::clone(&settings.host.entropy),
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
pub fn places(settings: &ToolboxSettings<'_>) -> FilePlaces {
    let global = settings.loaded.config.tools.fs.workspace_only;
    let own = settings.view.tools.value.fs.as_ref();
    let workspace_only = own.and_then(|fs| fs.workspace_only).or(global);
    let mut granted = settings.roots.clone();
    granted.extend(settings.spool.as_ref().map(|spool| PlaceRoot {
        path: spool.clone(),
        access: PlaceAccess::Read,
        trust: Arc::new(|path, _| bound::spool_trust(path)),
    }));
    FilePlaces::new(PlacesSettings {
        workspace: PlaceRoot {
            path: settings.workspace.clone(),
            access: PlaceAccess::Write,
            trust: settings
                .trust_of
                .clone()
                .unwrap_or_else(|| Arc::new(|_, _| Trust::Agent)),
        },
        granted,
        // Inside a sandbox nothing but what is granted is there.
        reach: match workspace_only.unwrap_or(true) || settings.sandboxed == SandboxChoice::Yes {
            true => FileReach::Granted,
            false => FileReach::Everything,
        },
        protected: protected(settings),
        user_home: settings.host.user_home.clone(),
        started_in: settings.started_in.clone(),
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
    paths.extend(settings.closed.iter().cloned());
    paths
}

/// Of two tools with the same name the first stays; the other is told of as left out.
fn without_namesakes(tools: &mut Vec<Arc<dyn Tool>>) -> Vec<(String, String)> {
    let mut names = BTreeSet::new();
    let mut left_out = Vec::new();
    tools.retain(|tool| {
        let name = Arc::clone(&tool.spec().name);
        let is_new = names.insert(Arc::clone(&name));
        if !is_new {
            let why = ToolNameError::Taken {
                name: name.to_string(),
            };
            left_out.push((name.to_string(), why.to_string()));
        }
        is_new
    });
    left_out
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

impl Toolbox {
    /// The tools that exist for this session and that its policy allows.
    pub fn build(settings: ToolboxSettings<'_>) -> Self {
        let policy = ToolRules::of(&PolicyAsk {
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
        let bound = OutputBound::new(settings.model.window, settings.spool.clone())
            .as_wanted(limits.tool_result_max_chars)
            .hiding(Arc::clone(&settings.redactor));
        let bound = Arc::new(bound);
        let plan = Arc::new(SessionPlan::default());
        let files = Arc::new(FileTools {
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
        let sessions = Arc::new(sessions_seen(&settings, Arc::clone(&bound)));
        // Before a gateway ran or a job was made nothing would run what it is asked for.
        let jobs = settings.jobs.clone();
        let jobs = jobs.filter(|access| access.jobs.is_there());
        let jobs = jobs.map(|access| jobs_of(&settings, &sessions, access));
        // In the order in which a model is told of them: what is ours first, others by name.
        let (own, mut others): (Vec<_>, Vec<_>) = settings
            .others
            .into_iter()
            .partition(|tool| policy::is_built_in(&tool.spec().name));
        let mut tools = files::tools(&files);
        tools.extend(own);
        tools.extend(jobs.map(cron::tool));
        let about_others = match settings.company {
            SessionCompany::Alone => ToolOffer::Deferred,
            SessionCompany::Others => ToolOffer::Needed,
        };
        tools.extend(offered(sessions::tools(&sessions), about_others));
        if let Some(spawner) = &settings.spawner {
            tools.extend(offered(subagents::tools(spawner, &sessions), about_others));
        }
        tools.push(sessions::status_tool(&sessions));
        if let Some(memory) = settings.memory {
            let entropy = Arc::clone(&settings.host.entropy);
            tools.extend(memory::tools(memory, Arc::clone(&bound), entropy));
        }
        if files.images == ImageInput::Yes {
            let about_pictures = match settings.model.images {
                ImageInput::Yes => ToolOffer::Needed,
                ImageInput::No => ToolOffer::Deferred,
            };
            tools.extend(offered(vec![files::image_tool(&files)], about_pictures));
        }
        others.push(plan::tool(&plan));
        others.sort_by(|a, b| a.spec().name.cmp(&b.spec().name));
        tools.extend(others);
        let mut left_out = without_namesakes(&mut tools);
        tools.retain(|tool| match policy.explain(&tool.spec().name) {
            PolicyVerdict::In(_) => true,
            PolicyVerdict::Out(why) => {
                left_out.push((tool.spec().name.to_string(), why));
                false
            }
        });
        let catalog = Arc::new(ToolCatalog::new(&settings.host.entropy));
        let deferred = put_off(&mut tools, &catalog, &policy);
        if deferred.is_empty() {
            left_out.extend(without_strangers(&mut tools));
        }
        Self {
            tools: tools.into(),
            deferred: deferred.into(),
            catalog,
            own_now: None,
            told: Arc::default(),
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
}
