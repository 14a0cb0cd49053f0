//! Memory that takes care of itself: conversations that rest become notes, and once a night the
//! owner is told what of the notes belongs into MEMORY.md.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chela_config::model::{BareUnit, OrOff};
use chela_core::{AgentId, Audience, SessionForm, ok_or_warn};
use chela_memory::ProposalExtent;
use chela_session::{SessionError, SessionFilter, SessionInfo, Sessions};

use super::Agents;
use super::session_noting::SessionNoting;
use crate::local;
use crate::noted_sessions::NotedSessions;

/// What rested longer was noted before, or is nobody's business any more.
const LONGEST_REST: Duration = Duration::from_secs(3 * 24 * 3_600);
/// From this hour on the night is over for notes: what was said late belongs to the day before.
const NIGHT_HOUR: u32 = 3;

impl Agents {
    /// Writes notes of what was said in conversations that rest.
    pub(super) async fn note_resting(
        self: &Arc<Self>,
        agent: &AgentId,
    ) -> Result<(), SessionError> {
        let idle = match &self.loaded.config.memory.capture.idle {
            OrOff::On(text) => text.duration(BareUnit::Minutes),
            OrOff::Off(_) => None,
        };
        let Some(idle) = idle else {
            return Ok(());
        };
        let view = ok_or_warn!(self.view(agent), "no notes of conversations", agent = %agent);
        let Some(view) = view else {
            return Ok(());
        };
        let Some(sessions) = Sessions::open_existing(&self.host, agent)? else {
            return Ok(());
        };
        sessions.hide_with(self.redactor());
        let filter = SessionFilter {
            active_within: Some(LONGEST_REST),
            ..SessionFilter::default()
        };
        let now = self.host.unix_millis();
        let noted = NotedSessions::of(&self.host, agent);
        for info in sessions.list(&filter).await? {
            let rests = Duration::from_millis(now.saturating_sub(info.interacted)) >= idle;
            let is_new = info.entries > noted.entries_of(info.session_id.as_str()) as u64;
            if !(rests && is_new && is_with_owner(&info)) {
                continue;
            }
            if let Some(session) = sessions.by_id(info.session_id.as_str()).await? {
                let noting = SessionNoting {
                    agents: self,
                    view: &view,
                    key: &info.key,
                    sessions: &sessions,
                };
                if let Some(note) = noting.write(&session).await {
                    tracing::info!(key = %info.key, note = %note.display(), "a conversation that rests is noted");
                }
            }
        }
        Ok(())
    }

    /// Once a night: says how much of the notes could be taken over. Nothing is written.
    pub(super) fn review_nightly(&self, agent: &AgentId) {
        if !self.loaded.config.memory.consolidate.nightly {
            return;
        }
        let view = ok_or_warn!(self.view(agent), "the notes are not looked through");
        let Some(view) = view else {
            return;
        };
        let zone = view.user_timezone.value.as_deref();
        let today = local::day(&self.host, zone).to_string();
        let done = self.reviewed_file(agent);
        if local::time(&self.host, zone).0 < NIGHT_HOUR
            || std::fs::read_to_string(&done).is_ok_and(|day| day.trim() == today)
        {
            return;
        }
        let Some(memory) = self.memory(agent) else {
            return;
        };
        if let Some(folder) = done.parent() {
            ok_or_warn!(
                std::fs::create_dir_all(folder),
                "the notes are not looked through"
            );
        }
        // Noted before it is tried: what fails is not tried every ten minutes.
        ok_or_warn!(
            std::fs::write(&done, &today),
            "the notes are not looked through"
        );
        let review = memory
            .open()
            .map(|memory| memory.review_notes(ProposalExtent::All));
        let review = ok_or_warn!(review, "the notes are not looked through");
        let lines = review
            .and_then(|review| review.proposal)
            .map_or(0, |found| found.lines.len());
        if lines > 0 {
            let what = match lines {
                1 => "1 line of your notes could".to_owned(),
                lines => format!("{lines} lines of your notes could"),
            };
            let them = if lines == 1 { "it" } else { "them" };
            self.leave_notice(format!(
                "{what} go into MEMORY.md: `chela memory consolidate` shows {them}."
            ));
        }
    }

    fn reviewed_file(&self, agent: &AgentId) -> PathBuf {
        let folder = self.host.state_dir().join("state").join("memory");
        folder.join(format!("{}.reviewed", agent.as_str()))
    }
}

/// A conversation between the owner and the agent alone. What jobs, heartbeats and sub-agents do
/// is told elsewhere.
fn is_with_owner(info: &SessionInfo) -> bool {
    let key = &info.key;
    let is_background = key.is_reserved() || matches!(key.form, SessionForm::Heartbeat { .. });
    key.audience() == Audience::Private && !key.is_incognito() && !is_background
}
