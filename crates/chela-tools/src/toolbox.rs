//! The tools of one session.

mod names;
mod run;
mod secrecy;

pub use names::{ToolNameError, check_own_names};
pub use run::PreparedCall;
pub use secrecy::SECRETS;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use chela_clock::LocalZone;
use chela_config::model::RedactMode;
use chela_config::{AgentView, LoadedConfig};
use chela_core::secret::Redactor;
use chela_core::{Host, SessionKey, Trust};

use crate::cron::{self, CronToolset, JobsAccess};
use crate::files::{self, FileTools, ImageInput};
use crate::memory::{self, MemoryAccess};
use crate::place::{FilePlaces, FileReach, PlaceAccess, PlaceRoot, PlacesSettings, TrustOf};
use crate::plan::{self, SessionPlan};
use crate::policy::{self, PolicyAsk, PolicyVerdict, SandboxChoice, Sender, ToolRules};
use crate::sessions::{self, SessionCompany, SessionSight, SessionToolset};
use crate::subagents::{self, ChildSpawner};
use crate::tools_find::{self, ToolCatalog};
use crate::{
    ChangeJournal, OfferedTool, OutputBound, SessionsView, Tool, ToolOffer, ToolSpec, bound,
};

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
    /// What can be called, in the order in which a model is told of it.
    tools: Arc<[Arc<dyn Tool>]>,
    /// Of these, the names of those a model was not told of and finds when it needs them.
    deferred: Arc<BTreeSet<String>>,
    catalog: Arc<ToolCatalog>,
    /// The tools of an embedder as they are now, where that was said.
    own_now: Option<Arc<[Arc<dyn Tool>]>>,
    /// Names a model was told of, by this process or another.
    told: Arc<[String]>,
    /// What the policy of the session keeps out: the name and why.
    left_out: Arc<[(String, String)]>,
    policy: Arc<ToolRules>,
    /// The limits of one turn, where they differ from the session's.
    turn: Option<Arc<ToolRules>>,
    places: Arc<FilePlaces>,
    bound: Arc<OutputBound>,
    plan: Arc<SessionPlan>,
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
        let catalog = Arc::new(ToolCatalog::default());
        let deferred = put_off(&mut tools, &catalog, &policy);
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

    /// What there is, always in the same order: what the model was told of, then what came since.
    pub fn specs(&self) -> impl Iterator<Item = &ToolSpec> {
        self.tools().map(|tool| tool.spec())
    }

    /// Those of them a model is told of from the start.
    pub fn listed(&self) -> impl Iterator<Item = &ToolSpec> {
        self.specs().filter(|spec| !self.is_deferred(&spec.name))
    }

    /// Whether a tool can be called and is not in the list a model was told of.
    pub fn is_deferred(&self, name: &str) -> bool {
        self.deferred.contains(name)
    }

    /// The names of the tools a model finds when it needs them.
    pub fn deferred(&self) -> Vec<String> {
        self.deferred.iter().cloned().collect()
    }

    /// The same tools as a session began with them: it was told of `listed`, and finds `deferred`.
    #[must_use]
    pub fn as_begun(&self, listed: Vec<String>, deferred: Vec<String>) -> Self {
        let both: Vec<String> = listed.iter().chain(&deferred).cloned().collect();
        Self {
            deferred: Arc::new(deferred.into_iter().collect()),
            ..self.restrict(&both).having_told(listed)
        }
    }

    /// Tells a model of these as well from the start: it has heard of them before.
    #[must_use]
    pub fn listing(&self, names: &[String]) -> Self {
        let deferred = self.deferred.iter().filter(|name| !names.contains(name));
        Self {
            deferred: Arc::new(deferred.cloned().collect()),
            ..self.clone()
        }
    }

    /// The tools behind them, in the same order.
    pub fn tools(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        let told = self.tools.iter();
        told.filter_map(move |tool| self.get(&tool.spec().name))
            .chain(self.new_tools())
    }

    pub fn get(&self, name: &str) -> Option<&Arc<dyn Tool>> {
        let named = |tool: &&Arc<dyn Tool>| &*tool.spec().name == name;
        match &self.own_now {
            Some(own) if !policy::is_built_in(name) => own.iter().find(named),
            _ => self.tools.iter().find(named),
        }
    }

    /// The same tools with those of an embedder as they are now: what came since the model was
    /// told of them can be called, what went cannot. The policy of the session holds for them.
    #[must_use]
    pub fn with_own(&self, own: Vec<Arc<dyn Tool>>) -> Self {
        let allowed = own.into_iter().filter(|tool| {
            let name = &tool.spec().name;
            names::check_name(name).is_ok() && self.policy.explain(name).is_in()
        });
        let own: Arc<[Arc<dyn Tool>]> = allowed.collect();
        let ours = self
            .tools
            .iter()
            .filter(|tool| policy::is_built_in(&tool.spec().name));
        self.catalog.set(findable(ours.chain(own.iter())));
        Self {
            own_now: Some(own),
            ..self.clone()
        }
    }

    /// The same tools, after a model was told of these.
    #[must_use]
    pub fn having_told(&self, names: Vec<String>) -> Self {
        Self {
            told: names.into(),
            ..self.clone()
        }
    }

    /// What came since the model was told of the tools.
    pub fn gained(&self) -> impl Iterator<Item = &ToolSpec> {
        self.new_tools().map(|tool| tool.spec())
    }

    fn new_tools(&self) -> impl Iterator<Item = &Arc<dyn Tool>> {
        let own = self.own_now.iter().flat_map(|own| own.iter());
        own.filter(move |tool| {
            !self.was_told(&tool.spec().name) && tool.offer() != ToolOffer::Deferred
        })
    }

    /// The names of what went since the model was told of the tools.
    pub fn lost(&self) -> Vec<&str> {
        let told = self.told.iter().map(String::as_str);
        let mut names: Vec<&str> = self
            .tools
            .iter()
            .map(|tool| &*tool.spec().name)
            .chain(told)
            .filter(|name| !policy::is_built_in(name) && self.get(name).is_none())
            .collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    fn was_told(&self, name: &str) -> bool {
        self.tools.iter().any(|tool| &*tool.spec().name == name)
            || self.told.iter().any(|told| told == name)
    }

    /// Tools that exist but that the policy keeps out, and why.
    pub fn left_out(&self) -> &[(String, String)] {
        &self.left_out
    }

    /// Why a tool is there or not, for people.
    pub fn explain(&self, name: &str) -> PolicyVerdict {
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
        let tools: Arc<[Arc<dyn Tool>]> = kept.cloned().collect();
        // Without the one that finds them nothing may be left to be found.
        let can_find = tools
            .iter()
            .any(|tool| &*tool.spec().name == tools_find::NAME);
        Self {
            tools,
            deferred: match can_find {
                true => Arc::clone(&self.deferred),
                false => Arc::default(),
            },
            ..self.clone()
        }
    }

    /// The same tools under the policy of one turn: what it takes away stays in the list, so
    /// that the cached prefix does not move, and is refused when it is called.
    #[must_use]
    pub fn for_turn(&self, policy: ToolRules) -> Self {
        Self {
            turn: Some(Arc::new(policy)),
            ..self.clone()
        }
    }

    pub fn places(&self) -> &Arc<FilePlaces> {
        &self.places
    }

    pub fn bound(&self) -> &Arc<OutputBound> {
        &self.bound
    }

    /// The plan of this session.
    pub fn plan(&self) -> &Arc<SessionPlan> {
        &self.plan
    }
}

/// The same tools, offered like this.
fn offered(tools: Vec<Arc<dyn Tool>>, offer: ToolOffer) -> impl Iterator<Item = Arc<dyn Tool>> {
    let wrapped = tools.into_iter();
    wrapped.map(move |tool| Arc::new(OfferedTool::new(tool, offer)) as Arc<dyn Tool>)
}

/// What a search for tools may bring.
fn findable<'a>(
    tools: impl Iterator<Item = &'a Arc<dyn Tool>>,
) -> impl Iterator<Item = &'a ToolSpec> {
    tools
        .filter(|tool| tool.offer() != ToolOffer::Always)
        .map(|tool| tool.spec())
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
        trust: Arc::new(bound::spool_trust),
    }));
    FilePlaces::new(PlacesSettings {
        workspace: PlaceRoot {
            path: settings.workspace.clone(),
            access: PlaceAccess::Write,
            trust: settings
                .trust_of
                .clone()
                .unwrap_or_else(|| Arc::new(|_| Trust::Agent)),
        },
        granted,
        // Inside a sandbox nothing but what is granted is there.
        reach: match workspace_only.unwrap_or(true) || settings.sandboxed == SandboxChoice::Yes {
            true => FileReach::Granted,
            false => FileReach::Everything,
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

#[cfg(test)]
pub(crate) mod tests;
