//! Where a turn waits: one runs per session, whichever process it is in.

use std::time::Duration;

use chela_core::sanitize::literal;
use chela_files::LockFile;
use chela_tools::approvals::OpenQuestion;

use super::Conversation;
use crate::halt::{HaltNotice, LANE_FILE};
use crate::surface::{TurnEvent, TurnSurface};
use crate::turn::TurnError;

/// How often a taken lane is tried again.
const PAUSE: Duration = Duration::from_millis(50);
/// After so many tries the person is told why nothing happens; a short turn is not worth a word.
const TRIES_BEFORE_NOTICE: u32 = 5;
/// So often it is looked whether the other process has a question open.
const TRIES_BETWEEN_LOOKS: u32 = 10;

/// The right to run a turn in a session. Given back when it is dropped, or when the process ends
/// in whatever way.
#[derive(Debug)]
pub(super) struct Lane {
    _lock: Option<LockFile>,
}

/// What the person has heard about the wait.
#[derive(Debug, Default)]
struct ToldWait {
    turn: bool,
    /// The id of the question.
    question: Option<String>,
}

impl Conversation {
    /// Waits until no other process runs a turn in this session. Where no lock can be had, as on
    /// some network drives, the turn runs without one. A stop from now on is for the turn that
    /// waits here.
    pub(super) async fn wait_for_lane(
        &self,
        surface: Option<&dyn TurnSurface>,
    ) -> Result<Lane, TurnError> {
        let host = &self.scope.agents.host;
        let path = self.scope.spool().join(LANE_FILE);
        self.control.begin();
        let mut told = ToldWait::default();
        // A turn may take hours, and whoever waits can stop: this wait has no limit, and blocks
        // nobody.
        for tries in 1.. {
            if let Some(halt) = HaltNotice::look(host) {
                return Err(TurnError::Halted(halt));
            }
            match LockFile::try_take(&path) {
                Ok(None) => {}
                Ok(lock) => return Ok(Lane { _lock: lock }),
                Err(error) => {
                    tracing::warn!(%error, "no lock on the session: the turn runs without one");
                    break;
                }
            }
            if let Some(notice) = self.why_it_waits(&mut told, tries)
                && let Some(surface) = surface
            {
                surface.event(TurnEvent::Notice(notice));
            }
            tokio::select! {
                biased;
                () = self.control.until_stopped(host) => match HaltNotice::look(host) {
                    Some(halt) => return Err(TurnError::Halted(halt)),
                    None => return Err(TurnError::StoppedWaiting),
                },
                () = tokio::time::sleep(PAUSE) => {}
            }
        }
        Ok(Lane { _lock: None })
    }

    /// What the person should know about the wait and does not yet: a question that is open in the
    /// other process at once, a turn that only takes its time after a moment.
    fn why_it_waits(&self, told: &mut ToldWait, tries: u32) -> Option<String> {
        if tries % TRIES_BETWEEN_LOOKS == 1
            && let Some(open) = self.question_elsewhere()
            && told.question.as_ref() != Some(&open.id)
        {
            tracing::info!(key = %self.scope.key, question = open.id, "waiting for an answer in another process");
            told.question = Some(open.id.clone());
            told.turn = true;
            return Some(format!(
                "Waiting: this conversation has an open question in another terminal (process \
                 {}): {}. Answer it there (`chela approvals show {}` shows it in full). Ctrl-C \
                 stops waiting; `--session NAME` uses another conversation.",
                open.pid,
                literal(&open.summary()),
                literal(&open.id)
            ));
        }
        if tries < TRIES_BEFORE_NOTICE || told.turn {
            return None;
        }
        told.turn = true;
        tracing::info!(key = %self.scope.key, "waiting for another process to end its turn");
        Some(
            "Waiting: another process is running a turn in this conversation. Ctrl-C stops \
             waiting; `--session NAME` uses another conversation."
                .to_owned(),
        )
    }

    fn question_elsewhere(&self) -> Option<OpenQuestion> {
        let key = self.scope.key.to_string();
        let open = OpenQuestion::all(&self.scope.agents.host).into_iter();
        let mut elsewhere = open.filter(|open| open.pid != std::process::id());
        elsewhere.find(|open| open.session == key)
    }
}
