//! The owner's yes: given to a question, spent by a call, kept where nobody was there.

use std::sync::Mutex;
use std::time::Duration;

use chela_config::model::HeadlessApproval;
use chela_core::{ContentHash, lock, ok_or_debug, ok_or_warn};
use chela_guard::approval::{
    ApprovalQuestion, ApprovalScope, AskedCall, OwnerGrant, QuestionTiming,
};
use chela_guard::flow::{CallVerdict, Decision, DecisionRule, ProposedCall};
use chela_model::ToolCall;
use chela_tools::approvals::{ApprovalsDocument, KnownCall, KnownState};

use super::JudgedCall;
use crate::blocking_work::on_blocking_thread;
use crate::guard_mark::GuardMark;
use crate::turn::{RunningTurn, TurnEvent};
use chela_session::SessionError;

/// The calls of one answer, and each yes the owner gave to some of them.
#[derive(Default)]
pub(in crate::turn) struct BatchApproval {
    pub(super) calls: Vec<ToolCall>,
    pub(super) granted: Mutex<Vec<GrantedQuestion>>,
}

impl BatchApproval {
    pub(super) fn add(&self, granted: GrantedQuestion) {
        let mut all = lock(&self.granted);
        all.push(granted);
    }

    /// Whether a yes was given for this call.
    pub(super) fn has_grant_for(&self, call: &ToolCall) -> bool {
        let all = lock(&self.granted);
        all.iter().any(|one| one.calls.contains(&call.id))
    }
}

/// A yes, and the question it answers.
pub(super) struct GrantedQuestion {
    pub grant: OwnerGrant,
    pub question: String,
    /// The ids of the calls it was about.
    pub calls: Vec<String>,
}

/// The owner's yes to one call.
#[derive(Debug, Clone)]
pub(in crate::turn) struct OwnerApproval {
    pub scope: ApprovalScope,
    /// The word of the choice that was made.
    pub choice: String,
    /// The question it answers, by its id in the audit chain.
    pub question: String,
}

/// Why a call that needs a yes has none.
pub(in crate::turn) struct MissingApproval {
    /// What the model is told.
    pub(super) words: String,
    pub question: String,
    pub why: DenialKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::turn) enum DenialKind {
    /// The owner said no.
    Denied,
    /// Nobody said anything that counts.
    Open,
}

impl RunningTurn<'_> {
    /// Spends the yes for a call, if it was given for exactly this one.
    pub(super) async fn spend(
        &self,
        leave: &BatchApproval,
        call: &ToolCall,
        case: &JudgedCall,
    ) -> Result<Option<OwnerApproval>, SessionError> {
        let deed = case.deed();
        let yes = {
            let mut granted = lock(&leave.granted);
            let spent = self.parts.guarding.provenance.with(|seen| {
                let mut all = granted.iter_mut();
                all.position(|one| one.grant.spend(&deed, seen).is_ok())
            });
            let Some(granted) = spent.and_then(|at| granted.get(at)) else {
                return Ok(None);
            };
            OwnerApproval {
                scope: granted.grant.scope(),
                choice: granted.grant.choice().to_owned(),
                question: granted.question.clone(),
            }
        };
        self.mark(GuardMark::Allowed {
            call: call.id.clone(),
            shape: deed.shape(),
            scope: yes.scope,
            question: Some(yes.question.clone()),
        })
        .await?;
        if yes.scope == ApprovalScope::Always && !has_own_list(&deed) {
            self.keep_always(&deed).await;
        }
        Ok(Some(yes))
    }

    /// The question to which the owner said yes for good, or for this session.
    pub(in crate::turn) async fn question_behind(&self, case: &JudgedCall) -> Option<String> {
        let shape = case.deed().shape();
        let branch = self.parts.transcript.sessions.branch(&self.session);
        let branch = ok_or_warn!(branch.await, "answers that were kept cannot be read")?;
        let here = branch
            .iter()
            .rev()
            .find_map(|entry| match GuardMark::of(&entry.body)? {
                GuardMark::Allowed {
                    shape: allowed,
                    question,
                    ..
                } if allowed == shape => question,
                _ => None,
            });
        here.or_else(|| {
            let path = ApprovalsDocument::path(&self.parts.scope.agents.host);
            let document = ok_or_warn!(ApprovalsDocument::load(&path), "approvals cannot be read")?;
            let mut known = document.calls(&self.parts.scope.view.id);
            let found = known.find(|call| call.shape == shape)?;
            Some(found.id.clone())
        })
    }

    /// Spends a yes the owner gave later, to a question that nobody was there to answer.
    pub(super) async fn spend_kept(
        &self,
        call: &ToolCall,
        case: &JudgedCall,
    ) -> Result<Option<OwnerApproval>, SessionError> {
        let shape = case.deed().shape();
        let Some(id) = self.take_kept(shape).await else {
            return Ok(None);
        };
        self.mark(GuardMark::Allowed {
            call: call.id.clone(),
            shape,
            scope: ApprovalScope::Once,
            question: Some(id.clone()),
        })
        .await?;
        Ok(Some(OwnerApproval {
            scope: ApprovalScope::Once,
            choice: ApprovalScope::Once.as_str().to_owned(),
            question: id,
        }))
    }

    /// Takes a yes that was given later, for exactly this; gives the id it had. One for good
    /// stays.
    pub(in crate::turn) async fn take_kept(&self, shape: ContentHash) -> Option<String> {
        let session = self.parts.scope.key.to_string();
        let matches = move |known: &&KnownCall| {
            let is_for_now = known.state == KnownState::Once && known.session == session;
            known.shape == shape && (is_for_now || known.state == KnownState::Always)
        };
        let path = ApprovalsDocument::path(&self.parts.scope.agents.host);
        let agent = self.parts.scope.view.id.clone();
        let taken = on_blocking_thread(move || {
            let document = ApprovalsDocument::load(&path);
            let document = ok_or_debug!(document, "approvals cannot be read")?;
            let known = document.calls(&agent).find(matches)?;
            let id = known.id.clone();
            if known.state == KnownState::Always {
                return Some(id);
            }
            let mut taken = false;
            let changed = ApprovalsDocument::change(&path, |document| {
                taken = document.forget_call(&id).is_some();
            });
            ok_or_warn!(changed, "a yes that was kept cannot be spent")?;
            taken.then_some(id)
        });
        taken.await
    }

    /// Puts a question aside for an owner who is not there, where the config says so.
    pub(in crate::turn) async fn queued(&self, question: &ApprovalQuestion) -> Option<String> {
        let config = self.parts.scope.agents.rules_config();
        if config.config.guard.approvals.headless != HeadlessApproval::Queue {
            return None;
        }
        let mut ids = Vec::new();
        for call in &question.calls {
            ids.push(self.know(call, KnownState::Pending).await);
        }
        let typed: Vec<String> = ids
            .iter()
            .map(|id| format!("`/approve {id} once`"))
            .collect();
        let (ids, typed) = (ids.join(", "), typed.join(", "));
        self.surface.event(TurnEvent::Notice(format!(
            "Waiting for your approval: {ids} (`chela approvals show ID`, then `chela approvals \
                allow ID`)."
        )));
        Some(format!(
            "The owner is not there; the question waits as {ids}. Show the user what would run and {typed} (or `always`, `deny` in place of `once`), and go on with what needs no yes. Once it is allowed, make exactly the same call again. "
        ))
    }

    /// Keeps a yes for good.
    async fn keep_always(&self, deed: &ProposedCall<'_>) {
        let decision = Decision::about(deed, CallVerdict::Allow, DecisionRule::ApprovedShape);
        let asking = QuestionTiming {
            id: "",
            now: self.parts.scope.agents.host.clock.now(),
            lasts: Duration::ZERO,
        };
        let question = self
            .parts
            .guarding
            .provenance
            .with(|seen| ApprovalQuestion::about(&[(*deed, decision)], seen, asking));
        for call in &question.calls {
            self.know(call, KnownState::Always).await;
        }
    }

    /// Writes a call down for other processes; gives the id it has there.
    async fn know(&self, call: &AskedCall, state: KnownState) -> String {
        let host = &self.parts.scope.agents.host;
        // The file is read by people and programs; what looks like a key stays out of it.
        let redactor = self.parts.scope.agents.redactor();
        let exact = call.exact.iter().map(|(name, value)| {
            let value = redactor.redact(value).into_owned();
            (name.clone(), value)
        });
        let known = KnownCall {
            id: host.random_hex(4),
            shape: call.shape,
            state,
            tool: call.tool.clone(),
            summary: call.summary.clone(),
            exact: exact.collect(),
            why: call.why.clone(),
            session: self.parts.scope.key.to_string(),
            at: host.unix_millis(),
            other: serde_json::Map::new(),
        };
        let id = known.id.clone();
        let agent = self.parts.scope.view.id.clone();
        let path = ApprovalsDocument::path(host);
        let change = on_blocking_thread(move || {
            ApprovalsDocument::change(&path, |document| document.know(agent.as_str(), known))
        });
        if let Err(error) = change.await {
            self.surface.event(TurnEvent::Notice(error.to_string()));
        }
        id
    }
}

/// Commands have a list of their own, which a yes for good goes to.
fn has_own_list(deed: &ProposedCall<'_>) -> bool {
    deed.binds.is_some()
}
