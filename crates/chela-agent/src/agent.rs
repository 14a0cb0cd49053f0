//! The agents of one config, ready to talk.

mod memory_upkeep;
mod run_slots;
mod session_noting;
mod session_upkeep;
mod skill_scans;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, Weak};

use chela_config::{AgentView, LoadedConfig};
use chela_core::secret::{KnownSecret, Redactor, is_guessable};
use chela_core::{AgentId, Host, SessionKey, lock, ok_or_debug};
use chela_ledger::Ledger;
use chela_memory::AgentMemory;
use chela_memory::transcript::TranscriptSource;
use chela_model::{FallbackChain, KeyWitness, ModelHttp, ModelSelection, Models, ResolveError};
use chela_tools::handles::SecretHandles;
use chela_tools::{HeadlessApprover, JobsFile};
use chela_workspace::custody::Custody;

use crate::agent_memory::{ClosedTranscripts, MemoryAsk, agent_memory};
use crate::assemble::{AssembleError, PromptAssembler};
use crate::blocking_work::CoreSlots;
use crate::command_overlap::CommandOverlap;
use crate::file_trust::FileTrust;
use crate::hooks::TurnHook;
use crate::ledger_slot::LedgerSlot;
use crate::mcp_tools::{McpSlot, McpToolset};
use crate::plugin_hooks::PluginSlot;
use crate::prefix_text::SharedPrefixes;
use crate::secrets;
use crate::session_letters::{LetterSurface, LetterWatch, SessionLetter};
use crate::session_transcripts::SessionTranscripts;
pub use crate::toolset::ToolEffect;
use crate::toolset::effects;
use crate::trust::custodies_of;
use chela_session::journal::{FileJournal, JournalRetention};
use chela_session::{RecordLoss, SessionError, Sessions};
use run_slots::RunSlots;
use session_upkeep::SessionUpkeep;

pub(crate) use session_noting::{SessionNoting, words_of};
pub use session_upkeep::retention;

/// The agents of one config: their models, their sessions, their prompts. One per process.
pub struct Agents {
    pub(crate) host: Host,
    pub(crate) loaded: Arc<LoadedConfig>,
    /// The config as it is now, for what counts at once. One for all that came of the same.
    newest: Arc<RwLock<Arc<LoadedConfig>>>,
    pub(crate) models: Models,
    pub(crate) http: ModelHttp,
    pub(crate) assembler: PromptAssembler<Host, Arc<LoadedConfig>>,
    views: Mutex<BTreeMap<AgentId, Arc<AgentView>>>,
    sessions: Mutex<BTreeMap<AgentId, Arc<Sessions>>>,
    journals: Mutex<BTreeMap<AgentId, Arc<FileJournal>>>,
    jobs: Arc<JobsFile>,
    memories: Mutex<BTreeMap<AgentId, Option<Arc<AgentMemory>>>>,
    pub(crate) ledger_slot: LedgerSlot,
    redactor: OnceLock<Arc<Redactor>>,
    custodies: OnceLock<Vec<Arc<Custody>>>,
    /// Sub-agents that run in this process.
    pub(crate) seats: RunSlots,
    /// Where prompts and requests are made.
    pub(crate) cores: CoreSlots,
    /// Which commands run side by side.
    pub(crate) commands: CommandOverlap,
    pub(crate) prefixes: SharedPrefixes,
    keeping: SessionUpkeep,
    hooks: Mutex<Vec<Arc<dyn TurnHook>>>,
    letters: OnceLock<Arc<dyn LetterWatch>>,
    /// The tool servers, for all that came of the same.
    mcp: Arc<McpSlot>,
    plugins: PluginSlot,
    /// How many were ever started.
    pub(crate) spawned: AtomicU64,
}

impl std::fmt::Debug for Agents {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Agents")
            .field("config", &self.loaded.source)
            .finish_non_exhaustive()
    }
}

/// Why a conversation cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    #[error(transparent)]
    Session(#[from] SessionError),
    #[error(transparent)]
    Assemble(#[from] AssembleError),
    #[error(transparent)]
    Model(#[from] ResolveError),
    #[error(transparent)]
    Tools(#[from] chela_tools::ToolNameError),
}

impl Agents {
    /// Cheap: nothing is read and nobody is called before it is needed.
    pub fn open(host: &Host, loaded: Arc<LoadedConfig>) -> Arc<Self> {
        let newest = Arc::new(RwLock::new(Arc::clone(&loaded)));
        Self::open_as(host, loaded, newest, Vec::new(), Arc::default())
    }

    /// The same agents under another config. Conversations that are open go on with theirs until
    /// they are opened anew; rules and limits are theirs from this moment on.
    pub fn with_config(&self, loaded: Arc<LoadedConfig>) -> Arc<Self> {
        *self.newest.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&loaded);
        let newest = Arc::clone(&self.newest);
        let mcp = Arc::clone(&self.mcp);
        let hooks = lock(&self.hooks).clone();
        let agents = Self::open_as(&self.host, loaded, newest, hooks, mcp);
        if let Some(watch) = self.letters.get() {
            agents.watch_letters(Arc::clone(watch));
        }
        if let Some(servers) = self.mcp.made() {
            servers.reload(&agents.host, &agents.loaded, agents.redactor());
        }
        agents
    }

    fn open_as(
        host: &Host,
        loaded: Arc<LoadedConfig>,
        newest: Arc<RwLock<Arc<LoadedConfig>>>,
        hooks: Vec<Arc<dyn TurnHook>>,
        mcp: Arc<McpSlot>,
    ) -> Arc<Self> {
        Arc::new_cyclic(|this: &Weak<Self>| Self {
            models: Models::of(host, &loaded).telling(&witness(this)),
            http: ModelHttp::new(host, &loaded),
            assembler: PromptAssembler::new(host.clone(), Arc::clone(&loaded)),
            views: Mutex::default(),
            sessions: Mutex::default(),
            journals: Mutex::default(),
            jobs: Arc::new(JobsFile::of(&host.state_dir())),
            memories: Mutex::default(),
            ledger_slot: LedgerSlot::default(),
            custodies: OnceLock::new(),
            redactor: OnceLock::new(),
            seats: RunSlots::default(),
            cores: CoreSlots::default(),
            commands: CommandOverlap::default(),
            prefixes: SharedPrefixes::default(),
            keeping: SessionUpkeep::default(),
            hooks: Mutex::new(hooks),
            letters: OnceLock::new(),
            mcp,
            plugins: PluginSlot::default(),
            spawned: AtomicU64::new(0),
            host: host.clone(),
            loaded,
            newest,
        })
    }

    /// Lets somebody have a say in every turn that begins from now on, after those before.
    pub fn add_hook(&self, hook: Arc<dyn TurnHook>) {
        let mut hooks = lock(&self.hooks);
        hooks.push(hook);
    }

    /// Whoever has a say in turns now: who was added, and plugins.
    pub(crate) fn hooks(&self) -> Vec<Arc<dyn TurnHook>> {
        let mut hooks = lock(&self.hooks).clone();
        let loaded = self.rules_config();
        hooks.extend(self.plugins.hooks(&self.host, &loaded, || self.redactor()));
        hooks
    }

    /// Has somebody shown what one session writes to another. The first one counts.
    pub fn watch_letters(&self, watch: Arc<dyn LetterWatch>) {
        self.letters.get_or_init(|| watch);
    }

    pub(crate) fn letter_surface(&self, letter: &SessionLetter) -> Box<dyn LetterSurface> {
        match self.letters.get() {
            Some(watch) => watch.surface(letter),
            None => Box::new(HeadlessApprover),
        }
    }

    pub fn host(&self) -> &Host {
        &self.host
    }

    pub fn loaded(&self) -> &Arc<LoadedConfig> {
        &self.loaded
    }

    /// The config as it is now, where it has changed since these agents were opened. Rules and
    /// limits are taken from it.
    pub(crate) fn newer(&self) -> Option<Arc<LoadedConfig>> {
        let newest = self.newest.read().unwrap_or_else(PoisonError::into_inner);
        (!Arc::ptr_eq(&newest, &self.loaded)).then(|| Arc::clone(&newest))
    }

    /// See [`Agents::newer`]; the own config where nothing has changed.
    pub(crate) fn rules_config(&self) -> Arc<LoadedConfig> {
        self.newer().unwrap_or_else(|| Arc::clone(&self.loaded))
    }

    pub fn models(&self) -> &Models {
        &self.models
    }

    pub fn http(&self) -> &ModelHttp {
        &self.http
    }

    /// The sessions of an agent.
    pub fn sessions(&self, agent: &AgentId) -> Result<Arc<Sessions>, SessionError> {
        let mut all = lock(&self.sessions);
        if let Some(sessions) = all.get(agent) {
            return Ok(Arc::clone(sessions));
        }
        let sessions = Arc::new(Sessions::open(&self.host, agent)?);
        sessions.hide_with(self.redactor());
        all.insert(agent.clone(), Arc::clone(&sessions));
        Ok(sessions)
    }

    /// The jobs of this home.
    pub fn jobs(&self) -> Arc<JobsFile> {
        Arc::clone(&self.jobs)
    }

    /// The one open memory of an agent: its tools, its chat and the commands ask the same. `None`
    /// where memory is switched off and for an agent there is none of.
    pub fn memory(&self, agent: &AgentId) -> Option<Arc<AgentMemory>> {
        let mut all = lock(&self.memories);
        if let Some(memory) = all.get(agent) {
            return memory.clone();
        }
        let view = self.loaded.agent(agent)?;
        let transcripts = || -> Arc<dyn TranscriptSource> {
            match self.sessions(agent) {
                Ok(sessions) => Arc::new(SessionTranscripts(sessions)),
                Err(error) => Arc::new(ClosedTranscripts::new(&error)),
            }
        };
        let memory = agent_memory(&MemoryAsk {
            host: &self.host,
            loaded: &self.loaded,
            view: &view,
            trust: &self.file_trust(),
            redactor: &self.redactor(),
            transcripts: &|| Some(transcripts()),
        });
        all.insert(agent.clone(), memory.clone());
        memory
    }

    /// What takes secrets out of everything that is kept, shown or sent.
    pub fn redactor(&self) -> Arc<Redactor> {
        let made = self
            .redactor
            .get_or_init(|| secrets::redactor(&self.host, &self.loaded));
        Arc::clone(made)
    }

    /// The tool servers. None is started before it is needed.
    pub fn mcp(&self) -> Arc<McpToolset> {
        self.mcp
            .get(|| McpToolset::open(&self.host, &self.loaded, self.redactor()))
    }

    /// Whether any are set up: most homes have none, and pay nothing.
    pub(crate) fn has_mcp_servers(&self) -> bool {
        self.mcp.made().is_some() || !self.loaded.config.mcp.servers.is_empty()
    }

    /// Keeps a value out of everything from now on.
    fn learn(&self, secret: KnownSecret) {
        if !is_guessable(&secret.value) {
            self.redactor().learn(secret.clone());
            self.assembler.learn(secret);
        }
    }

    /// What an agent's file tools changed.
    pub fn journal(&self, agent: &AgentId) -> Arc<FileJournal> {
        let mut all = lock(&self.journals);
        let journal = all.entry(agent.clone()).or_insert_with(|| {
            let retention = JournalRetention::of(&self.loaded);
            Arc::new(FileJournal::of(&self.host, agent, retention))
        });
        Arc::clone(journal)
    }

    /// Files of an agent's records that are empty or gone although they had been there. The
    /// owner is told: what was said, and which files hold foreign text, is not known any more.
    pub fn record_losses(&self, agent: &AgentId) -> Vec<RecordLoss> {
        // Whoever needs them next is told that they cannot be opened.
        let sessions = ok_or_debug!(self.sessions(agent), "sessions cannot be opened", %agent);
        let of_sessions = sessions.and_then(|sessions| sessions.loss().cloned());
        of_sessions
            .into_iter()
            .chain(self.journal(agent).loss())
            .collect()
    }

    /// How far files are trusted.
    pub fn file_trust(&self) -> FileTrust {
        let agents = self.loaded.agents();
        FileTrust {
            journals: agents.iter().map(|agent| self.journal(agent)).collect(),
            custodies: self
                .custodies
                .get_or_init(|| custodies_of(&self.host, &self.loaded))
                .clone(),
        }
    }

    /// The record of the files that shape an agent.
    pub fn custody(&self, agent: &AgentId) -> Result<Arc<Custody>, AssembleError> {
        self.assembler.custody(agent)
    }

    /// The secrets an agent's tools may use by name.
    pub(crate) fn handles(&self, agent: &AgentId) -> Arc<dyn SecretHandles> {
        secrets::SecretVault::open(&self.host, &self.loaded, agent, self.redactor())
    }

    /// The record of what happens. `None` when it cannot be opened: then nothing but reading is
    /// done.
    pub fn ledger(&self) -> Option<Arc<Ledger>> {
        self.ledger_slot.get(|| {
            let ledger = Ledger::open(&self.host)?;
            ledger.hide_with(self.redactor());
            Ok(ledger)
        })
    }

    /// What the config says of an agent: the same for all of its conversations.
    pub(crate) fn view(&self, agent: &AgentId) -> Result<Arc<AgentView>, AssembleError> {
        let mut views = lock(&self.views);
        if let Some(view) = views.get(agent) {
            return Ok(Arc::clone(view));
        }
        let view = self.loaded.agent(agent).map(Arc::new);
        let view = view.ok_or_else(|| AssembleError::NoAgent {
            agent: agent.to_string(),
            known: self
                .loaded
                .agents()
                .iter()
                .map(|id| format!("`{id}`"))
                .collect(),
        })?;
        views.insert(agent.clone(), Arc::clone(&view));
        Ok(view)
    }

    /// What the tools of an agent do to the world.
    pub fn effects(&self, agent: &AgentId) -> Result<Vec<ToolEffect>, AssembleError> {
        let skills = self.assembler.skills(agent)?;
        Ok(effects(&self.host, &self.loaded, agent, &skills))
    }

    /// The models that answer for an agent: the one a person chose, or those of the config.
    pub(crate) fn chain(
        &self,
        view: &AgentView,
        chosen: Option<&str>,
    ) -> Result<FallbackChain, ResolveError> {
        self.models.chain(
            view,
            chosen.map_or(ModelSelection::Configured, ModelSelection::Chosen),
        )
    }

    /// Where a session keeps what does not fit into a tool result.
    pub(crate) fn spool(&self, agent: &AgentId, session: &SessionKey) -> PathBuf {
        let name: String = session
            .to_string()
            .chars()
            .map(|c| {
                if c.is_ascii_alphanumeric() || c == '-' {
                    c
                } else {
                    '_'
                }
            })
            .collect();
        self.host
            .state_dir()
            .join("state")
            .join("spool")
            .join(agent.as_str())
            .join(name)
    }
}

/// Every key a model is called with is a secret from the moment it is fetched.
fn witness(agents: &Weak<Agents>) -> KeyWitness {
    let agents = Weak::clone(agents);
    KeyWitness::new(move |at, key| {
        if let Some(agents) = agents.upgrade() {
            agents.learn(KnownSecret {
                name: at.to_owned(),
                value: key.expose().to_owned(),
            });
        }
    })
}
