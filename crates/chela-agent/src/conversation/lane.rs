//! One run per session, whichever process it is in.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use chela_core::ok_or_warn;
use rustix::fs::{FlockOperation, flock};

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
    _file: Option<File>,
}

impl Conversation {
    /// Waits until no other process runs a turn in this session. Where no lock can be had, as on
    /// some network drives, the turn runs without one.
    pub(super) async fn lane(&self, surface: &dyn Surface) -> Lane {
        let Some(file) = lock_file(&self.agents.spool(&self.view.id, &self.key)) else {
            return Lane { _file: None };
        };
        for tries in 1.. {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Err(rustix::io::Errno::WOULDBLOCK) => {}
                Ok(()) => return Lane { _file: Some(file) },
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
        Lane { _file: None }
    }
}

fn lock_file(folder: &Path) -> Option<File> {
    ok_or_warn!(
        std::fs::create_dir_all(folder),
        "no folder for the lock of a session"
    )?;
    let opened = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(folder.join(".lane"));
    ok_or_warn!(opened, "the lock of a session cannot be opened")
}
