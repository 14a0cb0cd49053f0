//! A question on record for other processes, for as long as it is open.

use std::time::{SystemTime, UNIX_EPOCH};

use chela_guard::approval::ApprovalQuestion;
use chela_tools::approvals::{OpenCall, OpenQuestion, OpenQuestionRecord};

use super::RunningTurn;

impl RunningTurn<'_> {
    /// Whoever waits behind a question can see it: `chela approvals`, another process at the lane.
    pub(super) fn note_open(&self, question: &ApprovalQuestion) -> Option<OpenQuestionRecord> {
        let scope = self.parts.scope;
        // The file is read by people and programs; what looks like a key stays out of it.
        let redactor = scope.agents.redactor();
        let calls = question.calls.iter().map(|call| OpenCall {
            tool: call.tool.clone(),
            summary: redactor.redact(&call.summary).into_owned(),
            exact: call
                .exact
                .iter()
                .map(|(name, value)| (name.clone(), redactor.redact(value).into_owned()))
                .collect(),
            why: call.why.clone(),
        });
        let open = OpenQuestion {
            agent: scope.view.id.to_string(),
            session: scope.key.to_string(),
            calls: calls.collect(),
            ..OpenQuestion::of_this_process(
                &question.id,
                (millis(question.asked), millis(question.expires)),
            )
        };
        open.keep(&scope.agents.host)
    }
}

fn millis(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}
