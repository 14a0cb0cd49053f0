//! Starting a sub-agent: what may be started, what it is given, what is put on record.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use chela_config::model::ThinkingLevel;
use chela_config::{AgentView, Loaded};
use chela_core::{AgentId, Audience, ContentHash, Origin, SessionForm, SessionKey};
use chela_ledger::AuditKind;
use chela_tools::sandbox::{SandboxAsk, wants};
use chela_tools::{
    Context, Policy, PolicyAsk, Receipt, Refused, RunRow, Sandboxed, SendAsk, Sending, SpawnAsk,
    Spawner, Which,
};
use serde_json::json;
use tokio::sync::Notify;

use super::child::{Child, taint};
use super::mark::{Mark, State};
use super::{Grant, Payer, Run, Runs, Seat, Share, job_of};
use crate::agent::Agents;
use crate::conversation::{Conversation, ConversationAsk, Role, Seen};
use crate::session::{
    Body, Custom, Entry, Inherited, ModelSource, Override, Session, Sessions, Source,
};

/// The kind of entry that keeps the grant of a session.
const GRANT: &str = "subagent-grant";
/// A conversation longer than this is not handed on.
const LONGEST_FORK: u64 = 100_000;

/// What starts sub-agents for one conversation. Holds nothing of the conversation itself, which
/// holds this.
pub(crate) struct Nest {
    pub agents: Arc<Agents>,
    pub view: AgentView,
    pub key: SessionKey,
    pub sessions: Arc<Sessions>,
    pub ask: ConversationAsk,
    pub grant: Grant,
    pub runs: Arc<Runs>,
    pub seen: Arc<Seen>,
}

impl Spawner for Nest {
    fn spawn(&self, ask: SpawnAsk) -> Result<Receipt, Refused> {
        let agent = self.agent(ask.agent.as_deref())?;
        let view = self.agents.view(&agent).map_err(refused)?;
        if agent != self.view.id && ask.context == Context::Fork {
            return Err(Refused(format!(
                "Another agent does not get this conversation. Start `{agent}` with context `isolated` and put what it needs into the task."
            )));
        }
        let parent = self.session()?;
        let branch = self.sessions.branch(&parent).map_err(refused)?;
        let grant = self.share(&view, &parent, &branch, &ask)?;
        let run = self.new_id();
        let seat = self.seat(&run)?;
        let key = self.child_key(&agent, &run);
        if self.sandboxed(&self.view, &self.key) == Sandboxed::Yes
            && self.sandboxed(&view, &key) == Sandboxed::No
        {
            return Err(Refused(format!(
                "Agent `{agent}` is not sandboxed and this session is: it starts nobody who may do more."
            )));
        }
        let start = Start {
            nest: self,
            ask: &ask,
            parent: &parent,
            grant: &grant,
            key: &key,
            run: &run,
        };
        let (talk, context, warnings) = start.open(&agent, &view)?;
        let receipt = start.receipt(&talk, context, warnings);
        let begun = receipt.and_then(|receipt| {
            start.put_on_record(&receipt)?;
            self.begin(&start, talk.clone(), seat)?;
            Ok(receipt)
        });
        if begun.is_err() {
            // Nothing was said in it yet.
            let _ = talk.sessions.remove(&talk.session());
        }
        begun
    }

    fn runs(&self) -> Vec<RunRow> {
        self.runs.rows(self.agents.host.unix_millis())
    }

    fn steer(&self, run: &str, text: &str) -> Result<String, Refused> {
        self.runs.steer(run, text)
    }

    fn kill(&self, which: Which<'_>) -> Result<Vec<String>, Refused> {
        self.runs.kill(which)
    }

    fn send(&self, ask: SendAsk) -> Sending<'_> {
        Box::pin(self.deliver(ask))
    }
}

impl Nest {
    pub(super) fn session(&self) -> Result<Session, Refused> {
        self.sessions
            .look_up(&self.key)
            .map_err(refused)?
            .ok_or_else(|| Refused("This session is gone.".to_owned()))
    }

    /// Who is to be started: oneself, or one of `allowAgents`.
    fn agent(&self, named: Option<&str>) -> Result<AgentId, Refused> {
        let settings = &self.view.subagents.value;
        let Some(named) = named else {
            return match settings.require_agent_id {
                true => Err(Refused(
                    "Say which agent to start: agentId is required here. agents_list names them."
                        .to_owned(),
                )),
                false => Ok(self.view.id.clone()),
            };
        };
        let agent = AgentId::normalize(named);
        let allowed = settings.allow_agents.iter().flatten();
        let may = agent == self.view.id
            || allowed
                .into_iter()
                .any(|name| name == "*" || AgentId::normalize(name) == agent);
        match may {
            true => Ok(agent),
            false => Err(Refused(format!(
                "Agent `{named}` may not be started from here. agents_list names those that may."
            ))),
        }
    }

    /// Whether a session is to run in a sandbox.
    fn sandboxed(&self, view: &AgentView, key: &SessionKey) -> Sandboxed {
        let is_child = *key != self.key;
        match wants(&SandboxAsk {
            host: &self.agents.host,
            loaded: &self.agents.loaded,
            view,
            session: key,
            channel: self.ask.channel.as_deref().filter(|_| !is_child),
            readable: &[],
        }) {
            true => Sandboxed::Yes,
            false => Sandboxed::No,
        }
    }

    /// What the child is given: what this session has now, and less where the config says so.
    fn share(
        &self,
        view: &AgentView,
        parent: &Session,
        branch: &[Entry],
        ask: &SpawnAsk,
    ) -> Result<Grant, Refused> {
        let settings = &self.view.subagents.value;
        let depth = self.key.subagent_depth();
        let deepest = settings.max_spawn_depth as usize;
        let none = || Refused("Sub-agents start no others here. Do the work yourself.".to_owned());
        if depth >= deepest {
            return Err(none());
        }
        let policy = Policy::of(&PolicyAsk {
            loaded: &self.agents.loaded,
            view: &self.view,
            session: &self.key,
            provider: None,
            model: None,
            sender: self.ask.sender.as_ref(),
            sandboxed: self.sandboxed(&self.view, &self.key),
        });
        let (offered, turn) = {
            let state = self.runs.state();
            (state.offered.clone(), state.turn.clone())
        };
        let own = [
            ask.timeout_seconds.filter(|seconds| *seconds > 0),
            Some(settings.run_timeout_seconds).filter(|seconds| *seconds > 0),
        ];
        let share = Share {
            tools: offered
                .into_iter()
                .filter(|tool| policy.allows(tool))
                .collect(),
            paths: paths_of(&self.agents.loaded, &self.view),
            steps: Some(self.view.max_steps.value.min(view.max_steps.value)),
            // The call may ask for less time than the config gives, not for more.
            seconds: own.into_iter().flatten().min(),
            trust: taint(branch, self.grant.trust()),
            levels: u32::try_from(deepest - depth - 1).unwrap_or(0),
            payer: Payer {
                agent: self.view.id.to_string(),
                session: parent.id.as_str().to_owned(),
                turn,
                job: job_of(&self.key).to_owned(),
            },
        };
        self.grant.child(share).ok_or_else(none)
    }

    /// Different from every other, even where randomness is fixed.
    fn new_id(&self) -> String {
        let host = &self.agents.host;
        let count = self.agents.spawned.fetch_add(1, Ordering::Relaxed);
        let seed = format!(
            "{}:{}:{}:{}:{count}",
            host.random_hex(16),
            self.key,
            host.unix_millis(),
            std::process::id()
        );
        ContentHash::of(seed).to_string()[..12].to_owned()
    }

    /// A place among those that run, where there is one.
    fn seat(&self, run: &str) -> Result<Seat, Refused> {
        let settings = &self.view.subagents.value;
        let children = self.runs.running();
        if children >= settings.max_children_per_agent as usize {
            return Err(Refused(format!(
                "{children} sub-agents run for this session, which is the most (`maxChildrenPerAgent`). Wait for one to end."
            )));
        }
        let mut running = self
            .agents
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if running.len() >= settings.max_concurrent as usize {
            return Err(Refused(format!(
                "{} sub-agents run at the moment, which is the most (`maxConcurrent`). Wait for one to end.",
                running.len()
            )));
        }
        running.insert(run.to_owned());
        Ok(Seat {
            agents: Arc::clone(&self.agents),
            runs: Arc::clone(&self.runs),
            run: run.to_owned(),
        })
    }

    /// A key below this one. Where others read along, it says so: a child knows no more than
    /// may be told there.
    fn child_key(&self, agent: &AgentId, run: &str) -> SessionKey {
        let (parent, mut chain) = match &self.key.form {
            SessionForm::Subagent { parent, chain } => (parent.clone(), chain.clone()),
            form => {
                let shared = self.key.audience() == Audience::Shared;
                (shared.then(|| form.to_string()), Vec::new())
            }
        };
        chain.push(run.to_owned());
        SessionKey {
            agent: Some(agent.as_str().to_owned()),
            form: SessionForm::Subagent { parent, chain },
            thread: None,
        }
    }

    /// Marks the start, and starts.
    fn begin(&self, start: &Start<'_>, talk: Arc<Conversation>, seat: Seat) -> Result<(), Refused> {
        let handle = tokio::runtime::Handle::try_current().map_err(refused)?;
        let began = self.agents.host.unix_millis();
        let label = start.label();
        let mark = Mark {
            run: start.run.to_owned(),
            parent: self.key.to_string(),
            child: start.key.to_string(),
            label: label.clone(),
            at: began,
            state: State::Started {
                pid: std::process::id(),
            },
        };
        mark.write(&self.sessions, start.parent).map_err(refused)?;
        let kill = Arc::new(Notify::new());
        let child = Child {
            talk: Arc::clone(&talk),
            run: start.run.to_owned(),
            label: label.clone(),
            task: start.ask.task.clone(),
            seconds: start.grant.seconds(),
            cleanup: start.ask.cleanup,
            kill: Arc::clone(&kill),
            began,
            parent: self.key.clone(),
            sessions: Arc::clone(&self.sessions),
            session: start.parent.clone(),
            seat,
        };
        let mut state = self.runs.state();
        if state.closed {
            drop(state);
            return Err(Refused("This conversation has ended.".to_owned()));
        }
        let task = handle.spawn(child.run()).abort_handle();
        state.live.push(Run {
            id: start.run.to_owned(),
            key: start.key.clone(),
            label,
            began,
            doing: None,
            talk,
            kill,
            task,
        });
        Ok(())
    }
}

/// A sub-agent that is being started.
struct Start<'a> {
    nest: &'a Nest,
    ask: &'a SpawnAsk,
    parent: &'a Session,
    grant: &'a Grant,
    key: &'a SessionKey,
    run: &'a str,
}

type Opened = (Arc<Conversation>, String, Vec<String>);

impl Start<'_> {
    fn label(&self) -> String {
        const MOST: usize = 60;
        let text = self.ask.label.as_deref().unwrap_or(&self.ask.task);
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        line.chars().take(MOST).collect()
    }

    /// Makes the session of the child and opens it.
    fn open(&self, agent: &AgentId, view: &AgentView) -> Result<Opened, Refused> {
        let nest = self.nest;
        let sessions = nest.agents.sessions(agent).map_err(refused)?;
        let mut warnings = Vec::new();
        let mut context = "isolated".to_owned();
        if *agent == nest.view.id {
            let most = match self.ask.context {
                Context::Fork => LONGEST_FORK,
                Context::Isolated => 0,
            };
            let forked = sessions
                .fork(self.parent, self.key, most)
                .map_err(refused)?;
            match (self.ask.context, forked.inherited) {
                (Context::Isolated, _) => {}
                (Context::Fork, Inherited::Branch { entries }) => {
                    context = format!("fork of {entries} entries");
                }
                (Context::Fork, Inherited::Nothing { tokens }) => warnings.push(format!(
                    "this conversation has about {tokens} tokens, too many to hand on ({LONGEST_FORK}); it starts isolated"
                )),
            }
        }
        let role = Role {
            grant: self.grant.clone(),
            source: Source::Session,
            seen: Some(nest.seen.child()),
        };
        let ask = ConversationAsk {
            agent: Some(agent.clone()),
            session: Some(self.key.clone()),
            model: None,
            sender: nest.ask.sender.clone(),
            channel: nest.ask.channel.clone(),
            tools: nest.ask.tools,
            own: nest.ask.own.clone(),
        };
        let talk = Conversation::open_as(Arc::clone(&nest.agents), ask, role).map_err(refused)?;
        let session = talk.session();
        let set = |change| sessions.set(&session, change).map_err(refused);
        set(Override::Label(Some(self.label())))?;
        let (model, thinking) = self.levels(view, &mut warnings);
        if let Some(model) = model {
            set(Override::Model(Some((model, ModelSource::User))))?;
        }
        if thinking.is_some() {
            set(Override::Thinking(thinking))?;
        }
        let kept = Custom {
            custom_type: GRANT.to_owned(),
            data: json!({ "key": self.key.to_string(), "grant": self.grant }),
        };
        sessions
            .append(&session, Body::Custom(kept))
            .map_err(refused)?;
        Ok((Arc::new(talk), context, warnings))
    }

    /// The model and the thinking level: those asked for, those of the config, the caller's.
    fn levels(
        &self,
        view: &AgentView,
        warnings: &mut Vec<String>,
    ) -> (Option<String>, Option<ThinkingLevel>) {
        let nest = self.nest;
        let settings = &nest.view.subagents.value;
        let own = nest
            .sessions
            .info(self.parent)
            .map(|info| info.settings)
            .unwrap_or_default();
        let callers = || {
            let chosen = nest.ask.model.clone().or(own.model.clone());
            let chain = nest.agents.chain(&nest.view, chosen.as_deref()).ok();
            chain.map(|chain| chain.primary().reference().to_owned())
        };
        let mut usable = |name: &str| match nest.agents.chain(view, Some(name)) {
            Ok(chain) => Some(chain.primary().reference().to_owned()),
            Err(error) => {
                warnings.push(format!("model `{name}` cannot be used: {error}"));
                None
            }
        };
        let asked = self.ask.model.as_deref().and_then(&mut usable);
        let configured = || settings.model.as_ref().and_then(|choice| choice.primary());
        let model = asked
            .or_else(|| configured().and_then(&mut usable))
            .or_else(callers);
        let level = |word: Option<&str>| word.and_then(ThinkingLevel::from_word);
        if let Some(word) = &self.ask.thinking
            && level(Some(word)).is_none()
        {
            warnings.push(format!("thinking `{word}` is not one of the levels"));
        }
        let thinking = level(self.ask.thinking.as_deref())
            .or_else(|| level(settings.thinking.as_deref()))
            .or(own.thinking);
        (model, thinking)
    }

    /// What the child really has: read from what it will be sent.
    fn receipt(
        &self,
        talk: &Conversation,
        context: String,
        warnings: Vec<String>,
    ) -> Result<Receipt, Refused> {
        let prefix = talk.prefix().map_err(refused)?;
        let host = &self.nest.agents.host;
        let files = prefix
            .sections
            .iter()
            .filter_map(|mark| match &mark.origin {
                Origin::File { path, .. } => Some(path.clone()),
                _ => None,
            });
        let tools: Vec<String> = prefix.tools.iter().map(|tool| tool.name.clone()).collect();
        let has_folders = tools
            .iter()
            .any(|tool| super::FOLDER_TOOLS.contains(&tool.as_str()));
        let paths = match paths_of(&self.nest.agents.loaded, &talk.view) {
            _ if !has_folders => Vec::new(),
            None => vec!["everywhere".to_owned()],
            Some(paths) => paths.iter().map(|path| host.compact(path)).collect(),
        };
        let mut budget: Vec<String> = Vec::new();
        if let Some(steps) = self.grant.steps() {
            budget.push(format!("{steps} model calls"));
        }
        if let Some(seconds) = self.grant.seconds() {
            budget.push(format!("{seconds} seconds"));
        }
        if let Some(payer) = self.grant.payer() {
            budget.push(format!(
                "spending counts against session {} of agent {}",
                payer.session, payer.agent
            ));
        }
        let depth = self.key.subagent_depth();
        Ok(Receipt {
            run: self.run.to_owned(),
            session: self.key.clone(),
            agent: talk.view.id.to_string(),
            model: prefix.model.clone().unwrap_or_default(),
            context,
            tools,
            paths,
            files: files.collect(),
            budget,
            trust: self.grant.trust(),
            depth,
            deepest: depth + self.grant.levels() as usize,
            warnings,
        })
    }

    /// No sub-agent starts without a record.
    fn put_on_record(&self, receipt: &Receipt) -> Result<(), Refused> {
        let ledger = self.nest.agents.ledger().ok_or_else(|| {
            Refused("Nothing was started: the ledger cannot be written. Tell the user.".to_owned())
        })?;
        let body = json!({
            "run": self.run,
            "parent": self.nest.key.to_string(),
            "parentSession": self.parent.id.as_str(),
            "child": self.key.to_string(),
            "agent": receipt.agent,
            "model": receipt.model,
            "context": receipt.context,
            "task": ContentHash::of(&self.ask.task),
            "grant": self.grant,
        });
        ledger
            .append(AuditKind::Spawn, &body)
            .map(drop)
            .map_err(|error| Refused(format!("Nothing was started: {error}. Tell the user.")))
    }
}

/// The grant a session was started with, from its transcript.
pub(crate) fn kept_grant(branch: &[Entry], key: &SessionKey) -> Option<Grant> {
    let key = key.to_string();
    branch.iter().rev().find_map(|entry| match &entry.body {
        Body::Custom(custom)
            if custom.custom_type == GRANT && custom.data["key"] == key.as_str() =>
        {
            serde_json::from_value(custom.data["grant"].clone()).ok()
        }
        _ => None,
    })
}

/// Where the file tools of an agent go; `None` for everywhere. Folders of skills do not count:
/// they are read like the prompt.
pub(crate) fn paths_of(loaded: &Loaded, view: &AgentView) -> Option<BTreeSet<PathBuf>> {
    let global = loaded.config.tools.fs.workspace_only;
    let own = view
        .tools
        .value
        .fs
        .as_ref()
        .and_then(|fs| fs.workspace_only);
    let workspace_only = own.or(global).unwrap_or(true);
    workspace_only.then(|| BTreeSet::from([view.workspace.value.clone()]))
}

fn refused(error: impl std::fmt::Display) -> Refused {
    Refused(format!("Nothing was started: {error}."))
}
