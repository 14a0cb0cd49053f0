//! One run per session, whichever process it is in.

use std::time::Duration;

use chela_files::LockFile;

use super::Conversation;
use crate::turn::{Surface, TurnEvent};

/// How often a taken lane is tried again.
const PAUSE: Duration = Duration::from_millis(50);
/// After so many tries the person is told why nothing happens.
const TRIES_BEFORE_NOTICE: u32 = 20;

/// The right to run a turn in a session. Given back when it is dropped, or when the process ends
/// in whatever way.
#[derive(Debug)]
pub(super) struct Lane {
    _lock: Option<LockFile>,
}

impl Conversation {
    /// Waits until no other process runs a turn in this session. Where no lock can be had, as on
    /// some network drives, the turn runs without one.
    pub(super) async fn lane(&self, surface: &dyn Surface) -> Lane {
        let path = self.agents.spool(&self.view.id, &self.key).join(".lane");
        // A turn may take hours, and whoever waits can stop: this wait has no limit, and blocks
        // nobody.
        for tries in 1.. {
            match LockFile::try_take(&path) {
                Ok(None) => {}
                Ok(lock) => return Lane { _lock: lock },
                Err(error) => {
                    tracing::warn!(%error, "no lock on the session: the turn runs without one");
                    break;
                }
            }
            if tries == TRIES_BEFORE_NOTICE {
                tracing::info!(key = %self.key, "waiting for another process to end its turn");
                let notice = "Another process runs a turn in this session; waiting for it to end.";
                surface.event(TurnEvent::Notice(notice.to_owned()));
            }
            tokio::time::sleep(PAUSE).await;
        }
        Lane { _lock: None }
    }
}
