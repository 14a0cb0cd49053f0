//! A sub-agent at work: from its task to the mark of its end.

use std::sync::Arc;
use std::time::Duration;

use chela_core::{SessionKey, Trust, ok_or_debug, ok_or_warn};
use chela_model::Usage;
use chela_tools::{ChildCleanup, RunRow};
use tokio::sync::Notify;
use tokio::time::sleep;

use crate::conversation::{Conversation, InboundMessage};
use crate::entry_trust::has_read_foreign;
use crate::subagents::{
    ParentSurface, RunMark, RunSlot, RunState, RunStatus, RunningChildren, TellWhen,
};
use crate::surface::{TurnEnd, TurnOutcome};
use crate::turn::TurnError;
use chela_ledger::{UsageScope, dollars};
use chela_reply::Reply;
use chela_session::{OpenSession, SessionError, Sessions, TranscriptBranch, TranscriptEntry};

/// Said instead of an answer by a sub-agent that wants nobody to be told.
const QUIET: &str = "ANNOUNCE_SKIP";
/// Longest result that is told; the rest stays in the transcript.
const MOST_CHARS: usize = 8_000;
/// How often a run that is to end is told so: one that is just beginning may not hear it.
const PAUSE: Duration = Duration::from_millis(20);

/// A run that is about to begin.
pub(super) struct ChildRun {
    pub talk: Arc<Conversation>,
    pub run: String,
    pub label: String,
    pub task: String,
    pub seconds: Option<u64>,
    pub cleanup: ChildCleanup,
    pub kill: Arc<Notify>,
    pub began: u64,
    pub parent: SessionKey,
    /// Where the parent's session is kept, and the one it was at the start.
    pub sessions: Arc<Sessions>,
    pub session: OpenSession,
    pub seat: RunSlot,
}

/// What a run came to.
struct End {
    status: RunStatus,
    text: String,
    usage: Usage,
}

impl ChildRun {
    /// Runs to the end and marks it.
    pub async fn run(self) {
        let runs = Arc::clone(&self.seat.runs);
        let surface = ParentSurface {
            desk: Arc::clone(&runs),
            run: self.run.clone(),
            label: self.label.clone(),
        };
        let end = tokio::select! {
            biased;
            () = self.kill.notified() => End {
                status: RunStatus::Stopped,
                text: String::new(),
                usage: Usage::default(),
            },
            // Its time begins when it does.
            () = self.seat.take() => self.work(&surface).await,
        };
        tracing::info!(run = self.run, label = self.label, status = %end.status, "a sub-agent ended");
        self.mark(&end, &runs).await;
        if self.cleanup == ChildCleanup::Delete {
            // A transcript that stays too long does no harm. What it did stays on record: an
            // agent does not choose what the owner may see.
            let removed = self
                .talk
                .transcript
                .sessions
                .remove(&self.talk.session())
                .await;
            ok_or_debug!(removed, "the transcript of a sub-agent stays");
        }
    }

    async fn work(&self, surface: &ParentSurface) -> End {
        let talk = &self.talk;
        let work = converse(talk, &self.task, surface, &self.seat);
        tokio::pin!(work);
        let limit = async {
            match self.seconds {
                Some(seconds) => sleep(Duration::from_secs(seconds)).await,
                None => std::future::pending().await,
            }
        };
        let early = tokio::select! {
            biased;
            () = self.kill.notified() => RunStatus::Stopped,
            () = limit => RunStatus::Limit(format!(
                "{} seconds for this run (`runTimeoutSeconds`)",
                self.seconds.unwrap_or_default()
            )),
            end = &mut work => return end,
        };
        loop {
            talk.stop();
            tokio::select! {
                biased;
                // What it was stopped for is how it ended, unless it was just done.
                end = &mut work => return match end.status {
                    RunStatus::Stopped => End { status: early, ..end },
                    _ => end,
                },
                () = sleep(PAUSE) => {}
            }
        }
    }

    async fn mark(&self, end: &End, runs: &RunningChildren) {
        let host = &self.talk.scope.agents.host;
        let now = host.unix_millis();
        let seconds = now.saturating_sub(self.began) / 1_000;
        let own = self.talk.session();
        let branch = self.talk.transcript.sessions.branch(&own);
        let trust = taint_of_read(branch.await, self.talk.scope.grant.trust());
        let quiet = end.status == RunStatus::Done && end.text.trim() == QUIET;
        let mark = RunMark {
            run: self.run.clone(),
            parent: self.parent.to_string(),
            child: self.talk.scope.key.to_string(),
            label: self.label.clone(),
            at: now,
            state: RunState::Ended {
                status: end.status.clone(),
                result: shortened(&end.text),
                trust,
                stats: self.stats(end.usage, seconds).await,
                quiet,
            },
        };
        // The session may have begun anew meanwhile: whoever is there now is told.
        let current = self.sessions.look_up(&self.parent);
        let current =
            ok_or_warn!(current.await, "the session of the parent is not found").flatten();
        let session = current.as_ref().unwrap_or(&self.session);
        // Without a mark the run reads as interrupted.
        ok_or_warn!(
            mark.write(&self.sessions, session).await,
            "the end of a sub-agent is not marked"
        );
        let row = RunRow {
            run: self.run.clone(),
            session: self.talk.scope.key.clone(),
            label: self.label.clone(),
            status: end.status.to_string(),
            seconds,
            doing: None,
        };
        // Whoever stopped it knows.
        let tell = match quiet || end.status == RunStatus::Stopped {
            true => TellWhen::Later,
            false => TellWhen::AtOnce,
        };
        runs.note_end(&self.run, Some((row, tell)));
    }

    async fn stats(&self, usage: Usage, seconds: u64) -> String {
        let session = self.talk.session().id.to_string();
        let spent = UsageScope::Session(&session);
        let spent = self.talk.scope.agents.spent_on(spent).await;
        let cost = spent
            .filter(|sum| sum.requests > sum.unpriced)
            .map(|sum| format!(", {}", dollars(sum.cost)))
            .unwrap_or_default();
        format!(
            "{seconds} s, {} tokens in, {} out{cost}; session {}, transcript {}",
            chela_core::grouped(usize::try_from(usage.input).unwrap_or(usize::MAX)),
            chela_core::grouped(usize::try_from(usage.output).unwrap_or(usize::MAX)),
            self.talk.scope.key,
            self.talk.session().id
        )
    }
}

/// The task, and then whatever its own sub-agents have to tell.
async fn converse(talk: &Conversation, task: &str, surface: &ParentSurface, seat: &RunSlot) -> End {
    let mut usage = Usage::default();
    let mut message = format!("[Subagent Task]\n{task}");
    loop {
        let inbound = InboundMessage {
            text: message,
            ..InboundMessage::default()
        };
        let outcome = talk.say(inbound, surface).await;
        if let Ok(outcome) = &outcome {
            usage += outcome.usage;
        }
        let (status, text) = told(outcome);
        let has_children = talk.background.runs.running() > 0;
        if status != RunStatus::Done || !has_children {
            return End {
                status,
                text,
                usage,
            };
        }
        seat.give_back();
        let seated = async {
            talk.background.runs.until_quiet().await;
            seat.take().await;
        };
        tokio::select! {
            biased;
            never = talk.background.runs.desk.relay(surface) => match never {},
            () = talk.control.until_stopped(&talk.scope.agents.host) => {
                return End { status: RunStatus::Stopped, text, usage };
            }
            () = seated => {}
        }
        message = "[Subagent Events]\nYour sub-agents have ended. Finish your task with what they report.".to_owned();
    }
}

fn told(outcome: Result<TurnOutcome, TurnError>) -> (RunStatus, String) {
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(error) => return (RunStatus::Failed(error.to_string()), String::new()),
    };
    let text = match outcome.reply {
        Reply::Deliver(delivery) => delivery.text,
        Reply::Silent { .. } => String::new(),
    };
    let status = match outcome.ended {
        TurnEnd::Done if text.trim().is_empty() => {
            RunStatus::Failed("it ended without a result".to_owned())
        }
        TurnEnd::Done => RunStatus::Done,
        TurnEnd::Stopped => RunStatus::Stopped,
        TurnEnd::Limit(why) => RunStatus::Limit(why),
        TurnEnd::Loop(why) => RunStatus::Failed(why),
    };
    (status, text)
}

/// The trust of whatever is written after `branch` was read, by somebody trusted no further
/// than `most`.
pub(super) fn taint(branch: &[TranscriptEntry], most: Trust, owners: &[String]) -> Trust {
    match has_read_foreign(branch, owners) {
        true => Trust::External,
        false => most.join(Trust::Agent),
    }
}

/// The same of a transcript that may not have been readable: nobody can tell then what its words
/// came from, so they count as foreign.
pub(in crate::conversation) fn taint_of_read(
    branch: Result<TranscriptBranch, SessionError>,
    most: Trust,
) -> Trust {
    let branch = ok_or_warn!(
        branch,
        "a transcript cannot be read: what was said in it counts as foreign"
    );
    // A sub-agent is told by its parent, never by a person.
    branch.map_or(Trust::External, |branch| taint(&branch, most, &[]))
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MOST_CHARS) {
        Some((at, _)) => format!(
            "{}\n[cut here; sessions_history has the rest]",
            text.get(..at).unwrap_or_default()
        ),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use chela_core::Trust;
    use chela_session::{SessionError, TranscriptBranch};

    use super::taint_of_read;

    #[test]
    fn what_comes_from_an_unreadable_transcript_is_foreign() {
        let readable = Ok(TranscriptBranch::default());
        assert_eq!(taint_of_read(readable, Trust::Owner), Trust::Agent);
        let unreadable = SessionError::Archive {
            path: "sessions.sqlite".into(),
            source: std::io::ErrorKind::InvalidData.into(),
        };
        let trust = taint_of_read(Err(unreadable), Trust::Owner);
        assert_eq!(trust, Trust::External);
    }
}
