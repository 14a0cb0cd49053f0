//! From config view, workspace files and runtime facts to the prompt.
//!
//! The one place where the domain crates meet. Live turns, previews and reports all come through
//! here, so what a report says is what a model reads. `known_agent` holds what is looked up once,
//! `workspace_files` reads the files, `listings` says which skills and tools there are,
//! `prompt_input` puts all of it together, and `request_shape` says how it is sent.

mod hidden;
mod hook_text;
mod known_agent;
mod listings;
mod owner_notices;
mod prompt_input;
mod prompt_request;
mod request_shape;
mod subagent_text;
mod workspace_files;

use std::borrow::Borrow;
use std::sync::{Arc, Mutex, OnceLock};

use chela_config::LoadedConfig;
use chela_core::secret::{KnownSecret, Redactor};
use chela_core::{AgentId, Host, Origin, SessionForm, SessionKey, ok_or_debug};
pub use chela_inspect::AssembledPrompt;
use chela_inspect::RequestShape;
use chela_inspect::report::{FileLimits, SandboxState};
use chela_model::{ModelTarget, Models};
use chela_prompt::{PromptInput, PromptMode, SandboxExtent, SourcedValue, WorkspaceAccess};
use chela_workspace::OwnerNotice;

use crate::bootstrap_pending::{WorkspaceWrites, bootstrap_block};
use crate::documentation::OwnDocumentation;
use crate::prompt_knobs::{PromptKnobs, built_in_heartbeat};
use crate::secrets::redactor_for_prompts;
use crate::skills::notices_of;
pub use crate::toolset::{PromptSize, SessionTools};
use crate::trust::heartbeat_of;

pub(crate) use hidden::{hide_in_head, hide_in_message, hide_in_tools};
pub use hook_text::{HookPrompt, HookText};
use known_agent::KnownAgent;
use owner_notices::{borrowed_headings, nested_workspace};
use prompt_input::RequestFacts;
pub use prompt_request::{
    AssembleError, ChosenLevels, MachineMention, PromptPurpose, PromptRequest,
};
use request_shape::{PromptReader, size_for};
pub use subagent_text::SubagentShare;

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
    known: Mutex<Vec<(AgentId, KnownAgent)>>,
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
        let facts = RequestFacts {
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
        let shape = match ask.purpose {
            PromptPurpose::Report => reader.shape(&prompt, &tools.listed, placement, pending),
            PromptPurpose::Turn => RequestShape::default(),
        };
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
                exec: match &input.sandbox {
                    None => "host",
                    Some(facts) if facts.missing.is_some() => "refused",
                    Some(_) => "sandbox",
                }
                .to_owned(),
            },
            context_window: knobs.context_window.or(reader.window()),
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

    pub(crate) fn redactor(&self) -> &Redactor {
        self.redactor
            .get_or_init(|| redactor_for_prompts(self.host(), self.loaded()))
    }

    /// Keeps one more value out of every prompt from now on.
    pub(crate) fn learn(&self, secret: KnownSecret) {
        self.redactor().learn(secret);
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
}

/// The heartbeat prompt is a standing order: who wrote it is asked like of a file.
fn watch_heartbeat(known: &KnownAgent, input: &mut PromptInput) -> Vec<OwnerNotice> {
    let is_written = |prompt: &SourcedValue<String>| prompt.origin != Origin::BuiltIn;
    let Some(written) = input.heartbeat.take_if(|prompt| is_written(prompt)) else {
        return Vec::new();
    };
    let (used, notice) = heartbeat_of(&known.custody, &known.knobs.agent, written);
    input.heartbeat = Some(used.unwrap_or_else(|()| built_in_heartbeat()));
    notice.into_iter().collect()
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

/// Sub-agents and isolated cron runs get the minimal prompt.
fn mode_of(session: &SessionKey) -> PromptMode {
    match session.form {
        SessionForm::Subagent { .. } | SessionForm::Cron { .. } => PromptMode::Minimal,
        _ => PromptMode::Full,
    }
}
