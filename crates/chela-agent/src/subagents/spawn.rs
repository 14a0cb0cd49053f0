//! Starting a sub-agent: who may be started, and what it is given.

mod start;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use chela_config::{AgentView, Loaded};
use chela_core::{AgentId, Audience, ContentHash, SessionForm, SessionKey, ok_or_debug};
use chela_sandbox::{SandboxAsk, wants};
use chela_store::block_on;
use chela_tools::{
    Context, Policy, PolicyAsk, Receipt, Refused, RunRow, Sandboxed, SendAsk, Sending, SpawnAsk,
    Spawner, Which,
};
use tokio::sync::Notify;

use super::child::{Child, taint};
use super::mark::{Mark, State};
use super::runs::{Run, Runs};
use super::seat::Seat;
use super::{Grant, Payer, Share, job_of};
use crate::agent::Agents;
use crate::conversation::{Conversation, ConversationAsk, Seen, SkillBound};
use chela_session::{Entry, Session, Sessions};

use start::Start;
pub(crate) use start::kept_grant;

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
        block_on(self.start(ask))
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
    async fn start(&self, ask: SpawnAsk) -> Result<Receipt, Refused> {
        let agent = self.agent(ask.agent.as_deref())?;
        let view = self.agents.view(&agent).map_err(refused)?;
        if agent != self.view.id && ask.context == Context::Fork {
            return Err(Refused(format!(
                "Another agent does not get this conversation. Start `{agent}` with context `isolated` and put what it needs into the task."
            )));
        }
        let parent = self.session().await?;
        let branch = self.sessions.branch(&parent).await.map_err(refused)?;
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
        let (talk, context, mut warnings) = start.open(&agent, &view).await?;
        warnings.extend(seat.has_to_wait());
        let begun = async {
            let receipt = start.receipt(&talk, context, warnings).await?;
            start.put_on_record(&receipt)?;
            self.begin(&start, talk.clone(), seat).await?;
            Ok(receipt)
        }
        .await;
        if begun.is_err() {
            tracing::warn!(run, "a sub-agent did not begin");
            // Nothing was said in it yet.
            let removed = talk.sessions.remove(&talk.session()).await;
            ok_or_debug!(removed, "the empty session of a sub-agent stays");
        }
        begun
    }

    pub(super) async fn session(&self) -> Result<Session, Refused> {
        self.sessions
            .look_up(&self.key)
            .await
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
            sender: self.ask.speaker.sender(),
            sandboxed: self.sandboxed(&self.view, &self.key),
        });
        // The skills in use here bind whoever is started from here.
        let policy = SkillBound::active(branch)
            .into_iter()
            .fold(policy, |policy, bound| bound.narrow(policy));
        let (offered, turn) = self.runs.offered();
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

    /// A place among those that run, which it may have to wait for.
    fn seat(&self, run: &str) -> Result<Seat, Refused> {
        let settings = &self.view.subagents.value;
        let children = self.runs.running();
        if children >= settings.max_children_per_agent as usize {
            return Err(Refused(format!(
                "{children} sub-agents run for this session, which is the most (`maxChildrenPerAgent`). Wait for one to end."
            )));
        }
        Ok(Seat::new(
            Arc::clone(&self.agents),
            Arc::clone(&self.runs),
            run,
            settings.max_concurrent as usize,
        ))
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
    async fn begin(
        &self,
        start: &Start<'_>,
        talk: Arc<Conversation>,
        seat: Seat,
    ) -> Result<(), Refused> {
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
        mark.write(&self.sessions, start.parent)
            .await
            .map_err(refused)?;
        tracing::info!(run = start.run, key = %start.key, label, "a sub-agent begins");
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
        let run = |task| Run {
            id: start.run.to_owned(),
            key: start.key.clone(),
            label,
            began,
            seated: false,
            doing: None,
            talk,
            kill,
            task,
        };
        match self
            .runs
            .begin(|| run(handle.spawn(child.run()).abort_handle()))
        {
            true => Ok(()),
            false => Err(Refused("This conversation has ended.".to_owned())),
        }
    }
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
