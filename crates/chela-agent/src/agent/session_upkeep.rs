//! Keeping house: what is on record goes when it is old or too much, sessions of sub-agents that
//! ended are put away, conversations that rest become notes, and sandboxes nobody uses are emptied.
//! Beside the conversation, never in its way.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use chela_config::LoadedConfig;
use chela_config::model::{BareUnit, OrOff};
use chela_core::{AgentId, lock, ok_or_warn};
use chela_ledger::{Ledger, LedgerRetention};
use chela_store::block_on;

use super::Agents;
use chela_session::{SessionError, SessionFilter, Sessions};

/// How often a process looks whether there is something to do.
const PAUSE_MS: u64 = 10 * 60_000;

/// Said once when a clock that had jumped deletes.
const AFTER_JUMP: &str = "This machine's clock jumped far ahead, and records that now look old \
     are being deleted, at most a quarter per day. If the clock is wrong, correct it; to keep \
     all records, set `ledger.keep.age` to off.";

/// `ledger.keep`, resolved.
pub fn retention(loaded: &LoadedConfig) -> LedgerRetention {
    let keep = &loaded.config.ledger.keep;
    LedgerRetention {
        age: match &keep.age {
            OrOff::On(text) => text
                .duration(BareUnit::Days)
                .and_then(|age| u64::try_from(age.as_millis()).ok())
                .filter(|millis| *millis > 0),
            OrOff::Off(_) => None,
        },
        bytes: match &keep.size {
            OrOff::On(size) => size.bytes().filter(|bytes| *bytes > 0),
            OrOff::Off(_) => None,
        },
    }
}

/// Work beside the conversations of a process.
#[derive(Debug, Default)]
pub(super) struct SessionUpkeep {
    /// Milliseconds since 1970.
    next: AtomicU64,
    at_work: Mutex<Option<JoinHandle<()>>>,
    /// What the owner should hear of it.
    notice: Mutex<Option<String>>,
}

impl Agents {
    /// Looks now and then whether something is to be put away, in a thread of its own with
    /// connections of its own. Returns at once.
    pub fn keep_house(self: &Arc<Self>) {
        let now = self.host.unix_millis();
        let due = self.keeping.next.load(Ordering::Relaxed) <= now;
        if !due {
            return;
        }
        let has_ledger = self.ledger().is_some();
        self.keeping.next.store(now + PAUSE_MS, Ordering::Relaxed);
        let agents = Arc::clone(self);
        // What cannot be put away now is put away another day.
        let work = move || {
            for agent in agents.loaded.agents() {
                ok_or_warn!(block_on(agents.put_away(&agent)), "old sessions are not archived", agent = %agent);
                ok_or_warn!(block_on(agents.note_resting(&agent)), "no notes of conversations", agent = %agent);
                agents.review_nightly(&agent);
            }
            chela_sandbox::prune(&agents.host, &agents.loaded);
            crate::leftovers::sweep_daily(&agents.host, &agents.loaded);
            if !has_ledger {
                return;
            }
            let ledger = Ledger::open_existing(&agents.host);
            if let Some(Some(ledger)) = ok_or_warn!(ledger, "old records are not deleted") {
                let kept = block_on(ledger.retain_daily(retention(&agents.loaded)));
                if let Some(Some(gone)) = ok_or_warn!(kept, "old records are not deleted")
                    && gone.after_jump
                    && !gone.is_empty()
                {
                    agents.leave_notice(AFTER_JUMP.to_owned());
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("keeping".to_owned())
            .spawn(work);
        *lock(&self.keeping.at_work) =
            ok_or_warn!(thread, "nothing is archived: no thread available");
    }

    /// Waits for what was begun, so that a process which lives for one answer gets it done too.
    pub fn finish_keeping(&self) {
        let thread = lock(&self.keeping.at_work).take();
        if let Some(thread) = thread
            && thread.join().is_err()
        {
            tracing::error!("archiving broke off");
        }
    }

    /// Something the owner should hear.
    pub(super) fn leave_notice(&self, notice: String) {
        *lock(&self.keeping.notice) = Some(notice);
    }

    /// What the owner should hear of what was put away; once.
    pub fn take_upkeep_notice(&self) -> Option<String> {
        lock(&self.keeping.notice).take()
    }

    /// Puts the sessions of sub-agents away that ended `archiveAfterMinutes` ago.
    async fn put_away(&self, agent: &AgentId) -> Result<(), SessionError> {
        let view = ok_or_warn!(self.view(agent), "old sessions are not archived", agent = %agent);
        let Some(view) = view else {
            return Ok(());
        };
        let minutes = view.subagents.value.archive_after_minutes;
        let Some(sessions) = Sessions::open_existing(&self.host, agent)?.filter(|_| minutes > 0)
        else {
            return Ok(());
        };
        let now = self.host.unix_millis();
        for info in sessions.list(&SessionFilter::default()).await? {
            let idle = now.saturating_sub(info.updated);
            let is_over = info.key.is_subagent()
                && !info.pinned
                && !self.is_running(&info.key)
                && idle >= minutes.saturating_mul(60_000);
            if is_over && let Some(session) = sessions.by_id(info.session_id.as_str()).await? {
                sessions.archive(&session).await?;
            }
        }
        Ok(())
    }
}
