//! A few calls of one tool that send something, one after the other, are one question: three
//! invitations are read as one list, as if one call had three recipients.
//!
//! Money, deletions, passwords, commands and files are not of that kind: each is asked about alone.

use chela_guard::flow::{CallVerdict, Decision};
use chela_model::ToolCall;
use chela_session::SessionError;
use chela_tools::{Effect, SinkKind, Toolbox};

use super::{AskedDeed, BatchApproval, JudgedCall, MissingApproval};
use crate::turn::RunningTurn;

/// So many are still read before they are allowed.
const MOST_ALIKE: usize = 4;

impl RunningTurn<'_> {
    /// Asks about a call together with those of the same tool right behind it, where there are
    /// any. A yes is kept for them; without one, the decision and what is missing come back.
    pub(super) async fn ask_alike(
        &self,
        call: &ToolCall,
        case: &JudgedCall,
        toolbox: &Toolbox,
        leave: &BatchApproval,
    ) -> Result<Option<(Decision, MissingApproval)>, SessionError> {
        if !sends(case) || leave.has_grant_for(call) {
            return Ok(None);
        }
        let at = leave.calls.iter().position(|other| other.id == call.id);
        let Some(at) = at else {
            return Ok(None);
        };
        let behind = leave
            .calls
            .get(at + 1..)
            .unwrap_or_default()
            .iter()
            .take(MOST_ALIKE - 1);
        let behind =
            behind.take_while(|other| other.name == call.name && other.malformed.is_none());
        let cases: Vec<(&ToolCall, JudgedCall)> = behind
            .map_while(|other| Some((other, self.case_of(other, toolbox).ok()?)))
            .take_while(|(_, other)| sends(other))
            .collect();
        let mut asked: Vec<AskedDeed<'_>> = Vec::new();
        let alike = cases.iter().map(|(other, case)| (*other, case));
        for (other, case) in std::iter::once((call, case)).chain(alike) {
            let decision = self.before_tool_call(other, case).await;
            if decision.verdict != CallVerdict::Ask {
                break;
            }
            asked.push(AskedDeed {
                call: other,
                case,
                decision,
                drafts: Vec::new(),
            });
        }
        if asked.len() < 2 {
            return Ok(None);
        }
        match self.ask(&asked).await? {
            Ok(granted) => {
                leave.add(granted);
                Ok(None)
            }
            Err(missing) => Ok(asked.into_iter().next().map(|one| (one.decision, missing))),
        }
    }
}

/// Whether a call sends something that is neither a secret nor a command.
fn sends(case: &JudgedCall) -> bool {
    let spec = case.prepared.tool.spec();
    let is_grave = |kind| matches!(kind, SinkKind::Secret | SinkKind::Command);
    case.prospect.effect == Effect::WriteOutward
        && !spec.sinks.iter().any(|sink| is_grave(sink.kind))
}
