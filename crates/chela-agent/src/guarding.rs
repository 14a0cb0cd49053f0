//! What the guard knows of a conversation: what was read in it, the rules it is judged by, the
//! questions that wait for the owner.

mod approved_versions;
mod provenance;
mod typed_addresses;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use chela_config::model::{BareUnit, GuardPolicy};
use chela_core::{ContentHash, Origin, Trust};
use chela_guard::flow::{CallJudge, Provenance, SessionTaint};
use chela_ledger::SectionMark;
use chela_session::{OpenSession, SessionError, TranscriptBranch, TranscriptEntry};
use chela_tools::approvals::{ApprovalsDocument, KnownState};
use chela_tools::{Effect, Toolbox};
use chela_workspace::CoreFile;

use crate::guard_mark::GuardMark;
use crate::scope::ConversationScope;
use crate::transcript::Transcript;
use approved_versions::{ApprovedVersions, PromptTrust};
use provenance::EntryInterpreter;

use typed_addresses::TypedAddresses;

pub(crate) use provenance::ProvenanceTracker;

/// What the guard knows of a conversation.
pub(crate) struct Guarding {
    scope: Arc<ConversationScope>,
    transcript: Arc<Transcript>,
    /// What was read and told in it.
    pub provenance: Arc<ProvenanceTracker>,
    typed: TypedAddresses,
    /// Questions that wait for the owner.
    waiting: AtomicUsize,
}

/// A question that waits, for as long as this is kept.
pub(crate) struct WaitingQuestion<'a>(&'a AtomicUsize);

impl Drop for WaitingQuestion<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The rules a conversation is judged by.
pub(crate) struct GuardRules {
    pub policy: GuardPolicy,
    pub egress: Vec<String>,
    pub confirm: Vec<Effect>,
}

impl GuardRules {
    pub fn judge(&self) -> CallJudge<'_> {
        CallJudge {
            policy: self.policy,
            egress: &self.egress,
            confirm: &self.confirm,
        }
    }
}

impl Guarding {
    pub fn new(
        scope: Arc<ConversationScope>,
        transcript: Arc<Transcript>,
        inherited: Option<Provenance>,
    ) -> Self {
        Self {
            scope,
            transcript,
            provenance: Arc::new(ProvenanceTracker::inheriting(inherited)),
            typed: TypedAddresses::default(),
            waiting: AtomicUsize::new(0),
        }
    }

    /// Reads what the transcript has gained since the guard last looked; gives all of it.
    pub async fn catch_up(
        &self,
        session: &OpenSession,
        toolbox: &Toolbox,
        prompt: &[SectionMark],
    ) -> Result<TranscriptBranch, SessionError> {
        let branch = self.transcript.sessions.branch(session).await?;
        let workspace = self.scope.workspace_root();
        let approved = ApprovedVersions::of(&self.scope);
        let prompt_tells = prompt.iter().any(tells_of_owner);
        let prompt = PromptTrust::of(prompt, &approved);
        let interpreter = EntryInterpreter {
            toolbox,
            owners: &self.scope.view.owner_allow_from.value,
            prompt: prompt.trust,
            prompt_tells,
            workspace: &workspace,
            approved: &approved,
        };
        self.provenance.catch_up(session, &branch, &interpreter);
        let typed = self.typed.all();
        self.provenance.with(|seen| {
            for address in &typed {
                seen.name_address(address);
            }
        });
        self.mark_prompt(session, &branch, prompt).await?;
        Ok(branch)
    }

    /// Words of somebody else's in the prompt are on record with the session: what is said in it
    /// comes back as theirs.
    async fn mark_prompt(
        &self,
        session: &OpenSession,
        branch: &[TranscriptEntry],
        prompt: PromptTrust,
    ) -> Result<(), SessionError> {
        let is_marked = |entry: &TranscriptEntry| {
            matches!(
                GuardMark::of(&entry.body),
                Some(GuardMark::PromptForeign { .. })
            )
        };
        if prompt.trust >= Trust::Agent || branch.iter().any(is_marked) {
            return Ok(());
        }
        let mark = GuardMark::PromptForeign {
            trust: prompt.trust,
            files: prompt.foreign_files,
        };
        self.transcript
            .sessions
            .append(session, mark.into())
            .await
            .map(drop)
    }

    /// Addresses of the owner that no record keeps whole.
    pub fn typed_addresses(&self) -> &TypedAddresses {
        &self.typed
    }

    /// Whether this session has read text from outside.
    pub fn taint(&self) -> SessionTaint {
        self.provenance.taint()
    }

    /// What was read so far is no reason to ask. The words keep their labels.
    pub async fn release(&self) -> Result<(), SessionError> {
        let session = self.transcript.session();
        let mark = GuardMark::Released.into();
        self.transcript.sessions.append(&session, mark).await?;
        self.provenance.with(Provenance::release);
        Ok(())
    }

    pub fn questions_waiting(&self) -> usize {
        self.waiting.load(Ordering::SeqCst)
    }

    /// One question more waits, for as long as this is kept.
    pub fn wait_for_answer(&self) -> WaitingQuestion<'_> {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        WaitingQuestion(&self.waiting)
    }

    /// Policy of the agent and of the channel: the stricter counts.
    pub fn rules(&self) -> GuardRules {
        let scope = &self.scope;
        let strictness = |policy: &GuardPolicy| match policy {
            GuardPolicy::Open => 0,
            GuardPolicy::Standard => 1,
            GuardPolicy::Strict => 2,
        };
        let newer = scope.agents.newer();
        let newer_view = newer.as_ref().and_then(|newer| newer.agent(&scope.view.id));
        let view = newer_view.as_ref().unwrap_or(&scope.view);
        let config = newer.as_ref().unwrap_or(&scope.agents.loaded);
        let by_channel = &config.config.guard.by_channel;
        let channel = scope.ask.channel.as_ref();
        let of_channel = channel.and_then(|channel| by_channel.get(channel).copied());
        let own = view.guard_policy.value;
        let policy = [Some(own), of_channel]
            .into_iter()
            .flatten()
            .max_by_key(strictness)
            .unwrap_or(own);
        let confirm = view.guard_confirm.value.iter();
        GuardRules {
            policy,
            egress: view.guard_egress.value.clone(),
            confirm: confirm.map(|effect| (*effect).into()).collect(),
        }
    }

    /// Whether the owner allowed calls of this shape for good.
    pub fn is_always_allowed(&self, shape: ContentHash) -> bool {
        ApprovalsDocument::load(&ApprovalsDocument::path(&self.scope.agents.host)).is_ok_and(
            |document| {
                document
                    .calls(&self.scope.view.id)
                    .any(|call| call.state == KnownState::Always && call.shape == shape)
            },
        )
    }

    /// How long a question stands.
    pub fn patience(&self) -> Duration {
        let config = self.scope.agents.rules_config();
        let lasts = &config.config.guard.approvals.expires_after;
        lasts
            .duration(BareUnit::Seconds)
            .unwrap_or(Duration::from_secs(600))
    }
}

/// Whether a part of the prompt is a file about the owner that says more than it did when Chela
/// made it.
fn tells_of_owner(section: &SectionMark) -> bool {
    let Origin::File { path, hash } = &section.origin else {
        return false;
    };
    let name = path.rsplit(['/', '\\']).next().unwrap_or(path);
    let Some(file @ (CoreFile::User | CoreFile::Memory)) = CoreFile::of(name) else {
        return false;
    };
    let is_template = |text: &str| {
        [text, text.trim(), text.trim_end()]
            .map(ContentHash::of)
            .contains(hash)
    };
    !file.template().is_some_and(is_template)
}
