//! Starting a sub-agent, which is a conversation of its own: who may be started, and what it is
//! given.

mod child;
mod send;
mod start;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use chela_config::AgentView;
use chela_core::{AgentId, Audience, ContentHash, SessionForm, SessionKey, ok_or_debug};
use chela_sandbox::{SandboxAsk, wants};
use chela_store::block_on;
use chela_tools::{
    ChildContext, ChildSpawner, PolicyAsk, RunRow, SandboxChoice, SendAsk, SendFuture, SpawnAsk,
    SpawnReceipt, SpawnRefused, ToolRules, WhichChildren,
};
use tokio::sync::Notify;

use super::Conversation;
use crate::context_builder::SkillInUse;
use crate::guarding::ProvenanceTracker;
use crate::scope::{ConversationScope, paths_of};
use crate::subagents::{
    ChildShare, RunEntry, RunMark, RunSlot, RunState, RunningChildren, SessionGrant, SpendingPayer,
};
use crate::turn::job_of;
use chela_session::{OpenSession, Sessions, TranscriptEntry};
pub(super) use child::taint_of_read;
use child::{ChildRun, taint};
use start::SubagentStart;

/// What starts sub-agents for one conversation. Holds nothing of the conversation itself, which
/// holds this.
pub(super) struct SubagentSpawner {
    pub scope: Arc<ConversationScope>,
    pub sessions: Arc<Sessions>,
    pub runs: Arc<RunningChildren>,
    pub seen: Arc<ProvenanceTracker>,
}

impl ChildSpawner for SubagentSpawner {
    fn spawn(&self, ask: SpawnAsk) -> Result<SpawnReceipt, SpawnRefused> {
        block_on(self.start(ask))
    }

    fn runs(&self) -> Vec<RunRow> {
        self.runs.rows(self.scope.agents.host.unix_millis())
    }

    fn steer(&self, run: &str, text: &str) -> Result<String, SpawnRefused> {
        self.runs.steer(run, text)
    }

    fn kill(&self, which: WhichChildren<'_>) -> Result<Vec<String>, SpawnRefused> {
        self.runs.kill(which)
    }

    fn send(&self, ask: SendAsk) -> SendFuture<'_> {
        Box::pin(self.deliver(ask))
    }
}

impl SubagentSpawner {
    async fn start(&self, ask: SpawnAsk) -> Result<SpawnReceipt, SpawnRefused> {
        let agent = self.agent(ask.agent.as_deref())?;
        let view = self.scope.agents.view(&agent).map_err(refused)?;
        if agent != self.scope.view.id && ask.context == ChildContext::Fork {
            return Err(SpawnRefused(format!(
                "Another agent does not get this conversation. Start `{agent}` with context `isolated` and put what it needs into the task."
            )));
        }
        let parent = self.session().await?;
        let branch = self.sessions.branch(&parent).await.map_err(refused)?;
        let grant = self.share(&view, &parent, &branch, &ask)?;
        let run = self.new_id();
        let seat = self.seat(&run)?;
        let key = self.child_key(&agent, &run);
        if self.sandboxed(&self.scope.view, &self.scope.key) == SandboxChoice::Yes
            && self.sandboxed(&view, &key) == SandboxChoice::No
        {
            return Err(SpawnRefused(format!(
                "Agent `{agent}` is not sandboxed and this session is: it starts nobody who may do more."
            )));
        }
        let start = SubagentStart {
            spawner: self,
            ask: &ask,
            parent: &parent,
            grant: &grant,
            key: &key,
            run: &run,
        };
        start.check_model(&view)?;
        let (talk, context, mut warnings) = start.open(&agent, &view).await?;
        warnings.extend(seat.has_to_wait());
        let begun = async {
            let receipt = start.receipt(&talk, context, warnings).await?;
            start.put_on_record(&receipt).await?;
            self.begin(&start, talk.clone(), seat).await?;
            Ok(receipt)
        }
        .await;
        if begun.is_err() {
            tracing::warn!(run, "a sub-agent did not start");
            // Nothing was said in it yet.
            let removed = talk.transcript.sessions.remove(&talk.session()).await;
            ok_or_debug!(removed, "the empty session of a sub-agent stays");
        }
        begun
    }

    pub(super) async fn session(&self) -> Result<OpenSession, SpawnRefused> {
        self.sessions
            .look_up(&self.scope.key)
            .await
            .map_err(refused)?
            .ok_or_else(|| SpawnRefused("This session is gone.".to_owned()))
    }

    /// Who is to be started: oneself, or one of `allowAgents`.
    fn agent(&self, named: Option<&str>) -> Result<AgentId, SpawnRefused> {
        let settings = &self.scope.view.subagents.value;
        let Some(named) = named else {
            return match settings.require_agent_id {
                true => Err(SpawnRefused(
                    "Say which agent to start: agentId is required here. agents_list names them."
                        .to_owned(),
                )),
                false => Ok(self.scope.view.id.clone()),
            };
        };
        let agent = AgentId::normalize(named);
        let allowed = settings.allow_agents.iter().flatten();
        let may = agent == self.scope.view.id
            || allowed
                .into_iter()
                .any(|name| name == "*" || AgentId::normalize(name) == agent);
        match may {
            true => Ok(agent),
            false => Err(SpawnRefused(format!(
                "Agent `{named}` may not be started from here. agents_list names those that may."
            ))),
        }
    }

    /// Whether a session is to run in a sandbox.
    fn sandboxed(&self, view: &AgentView, key: &SessionKey) -> SandboxChoice {
        let is_child = *key != self.scope.key;
        match wants(&SandboxAsk {
            host: &self.scope.agents.host,
            loaded: &self.scope.agents.loaded,
            view,
            session: key,
            channel: self.scope.ask.channel.as_deref().filter(|_| !is_child),
            readable: &[],
            folders: &[],
        }) {
            true => SandboxChoice::Yes,
            false => SandboxChoice::No,
        }
    }

    /// What the child is given: what this session has now, and less where the config says so.
    fn share(
        &self,
        view: &AgentView,
        parent: &OpenSession,
        branch: &[TranscriptEntry],
        ask: &SpawnAsk,
    ) -> Result<SessionGrant, SpawnRefused> {
        let settings = &self.scope.view.subagents.value;
        let depth = self.scope.key.subagent_depth();
        let deepest = settings.max_spawn_depth as usize;
        let none =
            || SpawnRefused("Sub-agents start no others here. Do the work yourself.".to_owned());
        if depth >= deepest {
            return Err(none());
        }
        let policy = ToolRules::of(&PolicyAsk {
            loaded: &self.scope.agents.loaded,
            view: &self.scope.view,
            session: &self.scope.key,
            provider: None,
            model: None,
            sender: self.scope.ask.speaker.sender(),
            sandboxed: self.sandboxed(&self.scope.view, &self.scope.key),
        });
        // The skills in use here bind whoever is started from here.
        let policy = SkillInUse::active(branch)
            .into_iter()
            .fold(policy, |policy, bound| bound.narrow(policy));
        let (offered, turn) = self.runs.offered();
        let own = [
            ask.timeout_seconds.filter(|seconds| *seconds > 0),
            Some(settings.run_timeout_seconds).filter(|seconds| *seconds > 0),
        ];
        let share = ChildShare {
            tools: offered
                .into_iter()
                .filter(|tool| policy.allows(tool))
                .collect(),
            paths: self.folders_for(view),
            steps: Some(self.scope.view.max_steps.value.min(view.max_steps.value)),
            // The call may ask for less time than the config gives, not for more.
            seconds: own.into_iter().flatten().min(),
            trust: taint(
                branch,
                self.scope.grant.trust(),
                &self.scope.view.owner_allow_from.value,
            ),
            levels: u32::try_from(deepest - depth - 1).unwrap_or(0),
            payer: SpendingPayer {
                agent: self.scope.view.id.to_string(),
                session: parent.id.as_str().to_owned(),
                turn,
                job: job_of(&self.scope.key).to_owned(),
            },
        };
        self.scope.grant.child(share).ok_or_else(none)
    }

    /// Where the file tools of a child may be: where this session's may, or in the workspace of
    /// another agent, which comes with the operator's word that it may be started. Nobody else's
    /// files come with it, and its tools are those both have.
    fn folders_for(&self, view: &AgentView) -> Option<BTreeSet<PathBuf>> {
        let loaded = &self.scope.agents.loaded;
        let own = paths_of(loaded, &self.scope.view)?;
        match paths_of(loaded, view) {
            Some(theirs) if view.id != self.scope.view.id => Some(theirs),
            _ => Some(own),
        }
    }

    /// Different from every other, even where randomness is fixed.
    fn new_id(&self) -> String {
        let host = &self.scope.agents.host;
        let count = self.scope.agents.spawned.fetch_add(1, Ordering::Relaxed);
        let seed = format!(
            "{}:{}:{}:{}:{count}",
            host.random_hex(16),
            self.scope.key,
            host.unix_millis(),
            std::process::id()
        );
        ContentHash::of(seed)
            .to_string()
            .get(..12)
            .unwrap_or_default()
            .to_owned()
    }

    /// A place among those that run, which it may have to wait for.
    fn seat(&self, run: &str) -> Result<RunSlot, SpawnRefused> {
        let settings = &self.scope.view.subagents.value;
        let children = self.runs.running();
        if children >= settings.max_children_per_agent as usize {
            return Err(SpawnRefused(format!(
                "{children} sub-agents run for this session, which is the most (`maxChildrenPerAgent`). Wait for one to end."
            )));
        }
        Ok(RunSlot::new(
            Arc::clone(&self.scope.agents),
            Arc::clone(&self.runs),
            run,
            settings.max_concurrent as usize,
        ))
    }

    /// A key below this one. Where others read along, it says so: a child knows no more than
    /// may be told there.
    fn child_key(&self, agent: &AgentId, run: &str) -> SessionKey {
        let (parent, mut chain) = match &self.scope.key.form {
            SessionForm::Subagent { parent, chain } => (parent.clone(), chain.clone()),
            form => {
                let shared = self.scope.key.audience() == Audience::Shared;
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
        start: &SubagentStart<'_>,
        talk: Arc<Conversation>,
        seat: RunSlot,
    ) -> Result<(), SpawnRefused> {
        let handle = tokio::runtime::Handle::try_current().map_err(refused)?;
        let began = self.scope.agents.host.unix_millis();
        let label = start.label();
        let mark = RunMark {
            run: start.run.to_owned(),
            parent: self.scope.key.to_string(),
            child: start.key.to_string(),
            label: label.clone(),
            at: began,
            state: RunState::Started {
                pid: std::process::id(),
                boot: Some(chela_files::this_boot().to_owned()),
            },
        };
        mark.write(&self.sessions, start.parent)
            .await
            .map_err(refused)?;
        tracing::info!(run = start.run, key = %start.key, label, "a sub-agent starts");
        let kill = Arc::new(Notify::new());
        let child = ChildRun {
            talk: Arc::clone(&talk),
            run: start.run.to_owned(),
            label: label.clone(),
            task: start.ask.task.clone(),
            seconds: start.grant.seconds(),
            cleanup: start.ask.cleanup,
            kill: Arc::clone(&kill),
            began,
            parent: self.scope.key.clone(),
            sessions: Arc::clone(&self.sessions),
            session: start.parent.clone(),
            seat,
        };
        let run = |task| RunEntry {
            id: start.run.to_owned(),
            key: start.key.clone(),
            label,
            began,
            seated: false,
            doing: None,
            control: Arc::clone(&talk.control),
            kill,
            task,
        };
        match self
            .runs
            .begin(|| run(handle.spawn(child.run()).abort_handle()))
        {
            true => Ok(()),
            false => Err(SpawnRefused("This conversation has ended.".to_owned())),
        }
    }
}

fn refused(error: impl std::fmt::Display) -> SpawnRefused {
    SpawnRefused(format!("Nothing was started: {error}."))
}
