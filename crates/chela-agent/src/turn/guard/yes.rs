//! The owner's yes: given to a question, spent by a call, kept where nobody was there.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use chela_config::model::HeadlessApproval;
use chela_core::ok_or_warn;
use chela_guard::approval::{AskedCall, Asking, Grant, Question, Scope};
use chela_guard::flow::{Decision, Deed, Rule, Verdict};
use chela_model::ToolCall;
use chela_tools::approvals::{Document, KnownCall, KnownState};

use super::Case;
use crate::conversation::GuardMark;
use crate::turn::{Turn, TurnEvent};
use chela_session::SessionError;

/// A yes the owner gave to several calls of one answer.
#[derive(Default)]
pub(in crate::turn) struct Leave(pub(super) Mutex<Option<Granted>>);

/// A yes, and the question it answers.
pub(super) struct Granted {
    pub grant: Grant,
    pub question: String,
}

/// The owner's yes to one call.
#[derive(Debug, Clone)]
pub(in crate::turn) struct Yes {
    pub scope: Scope,
    /// The question it answers, by its id in the audit chain.
    pub question: String,
}

/// Why a call that needs a yes has none.
pub(in crate::turn) struct Unallowed {
    /// What the model is told.
    pub(super) words: String,
    pub question: String,
    pub why: NoYes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::turn) enum NoYes {
    /// The owner said no.
    Denied,
    /// Nobody said anything that counts.
    Open,
}

impl Turn<'_> {
    /// Spends the yes for a call, if it was given for exactly this one.
    pub(super) async fn spend(
        &self,
        leave: &Leave,
        call: &ToolCall,
        case: &Case,
    ) -> Result<Option<Yes>, SessionError> {
        let deed = case.deed();
        let yes = {
            let mut granted = leave.0.lock().unwrap_or_else(PoisonError::into_inner);
            let Some(granted) = granted.as_mut() else {
                return Ok(None);
            };
            let spent = self.talk.seen.with(|seen| granted.grant.spend(&deed, seen));
            match spent {
                Ok(()) => Yes {
                    scope: granted.grant.scope(),
                    question: granted.question.clone(),
                },
                Err(_) => return Ok(None),
            }
        };
        self.mark(GuardMark::Allowed {
            call: call.id.clone(),
            shape: deed.shape(),
            scope: yes.scope,
            question: Some(yes.question.clone()),
        })
        .await?;
        if yes.scope == Scope::Always && !has_own_list(&deed) {
            self.keep_always(&deed);
        }
        Ok(Some(yes))
    }

    /// The question to which the owner said yes for good, or for this session.
    pub(in crate::turn) async fn question_behind(&self, case: &Case) -> Option<String> {
        let shape = case.deed().shape();
        let branch = self.talk.sessions.branch(&self.session);
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
            let path = Document::path(&self.talk.agents.host);
            let document = ok_or_warn!(Document::load(&path), "approvals cannot be read")?;
            let mut known = document.calls(&self.talk.view.id);
            let found = known.find(|call| call.shape == shape)?;
            Some(found.id.clone())
        })
    }

    /// Spends a yes the owner gave later, to a question that nobody was there to answer.
    pub(super) async fn spend_kept(
        &self,
        call: &ToolCall,
        case: &Case,
    ) -> Result<Option<Yes>, SessionError> {
        let shape = case.deed().shape();
        let session = self.talk.key.to_string();
        let matches = |known: &KnownCall| {
            known.shape == shape && known.state == KnownState::Once && known.session == session
        };
        let path = Document::path(&self.talk.agents.host);
        let Ok(document) = Document::load(&path) else {
            return Ok(None);
        };
        let found = document
            .calls(&self.talk.view.id)
            .find(|call| matches(call));
        let Some(id) = found.map(|known| known.id.clone()) else {
            return Ok(None);
        };
        let mut taken = false;
        let changed = Document::change(&path, |document| {
            taken = document.forget_call(&id).is_some();
        });
        if changed.is_err() || !taken {
            return Ok(None);
        }
        self.mark(GuardMark::Allowed {
            call: call.id.clone(),
            shape,
            scope: Scope::Once,
            question: Some(id.clone()),
        })
        .await?;
        Ok(Some(Yes {
            scope: Scope::Once,
            question: id,
        }))
    }

    /// Puts a question aside for an owner who is not there, where the config says so.
    pub(super) fn queued(&self, question: &Question) -> Option<String> {
        let approvals = &self.talk.agents.loaded.config.guard.approvals;
        if approvals.headless != HeadlessApproval::Queue {
            return None;
        }
        let ids: Vec<String> = question
            .calls
            .iter()
            .map(|call| self.know(call, KnownState::Pending))
            .collect();
        let ids = ids.join(", ");
        self.surface.event(TurnEvent::Notice(format!(
            "Waits for your yes: {ids} (`chela approvals show ID`, then `chela approvals allow ID`)."
        )));
        Some(format!(
            "The owner is not there; the question waits as {ids}. Say so, and go on with what needs no yes. Once it is allowed, make exactly the same call again. "
        ))
    }

    /// Keeps a yes for good.
    fn keep_always(&self, deed: &Deed<'_>) {
        let decision = Decision::about(deed, Verdict::Allow, Rule::ApprovedShape);
        let asking = Asking {
            id: "",
            now: self.talk.agents.host.clock.now(),
            lasts: Duration::ZERO,
        };
        let question = self
            .talk
            .seen
            .with(|seen| Question::about(&[(*deed, decision)], seen, asking));
        for call in &question.calls {
            self.know(call, KnownState::Always);
        }
    }

    /// Writes a call down for other processes; gives the id it has there.
    fn know(&self, call: &AskedCall, state: KnownState) -> String {
        let host = &self.talk.agents.host;
        let known = KnownCall {
            id: host.random_hex(4),
            shape: call.shape,
            state,
            tool: call.tool.clone(),
            summary: call.summary.clone(),
            exact: call.exact.clone(),
            why: call.why.clone(),
            session: self.talk.key.to_string(),
            at: host.unix_millis(),
            other: serde_json::Map::new(),
        };
        let id = known.id.clone();
        let agent = self.talk.view.id.as_str();
        let path = Document::path(host);
        if let Err(error) = Document::change(&path, |document| document.know(agent, known)) {
            self.surface.event(TurnEvent::Notice(error.to_string()));
        }
        id
    }
}

/// Commands have a list of their own, which a yes for good goes to.
fn has_own_list(deed: &Deed<'_>) -> bool {
    deed.binds.is_some()
}
