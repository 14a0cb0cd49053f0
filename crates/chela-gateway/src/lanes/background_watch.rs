//! What a turn leaves running in the background: its agent hears of the end at once, as it was
//! promised, and not with whatever somebody happens to say next.

use std::sync::Arc;

use chela_agent::prelude::Conversation;
use chela_core::lock;
use serde_json::json;

use super::WorkLanes;
use super::run_work::told_background;
use crate::turn_wire::write_outcome;
use crate::work_item::WorkItem;
use crate::work_surface::WorkSurface;

impl WorkLanes {
    /// Looks after what runs on, as long as something does. One watch for each conversation.
    pub(super) fn watch_background(&self, conversation: &Arc<Conversation>, item: &WorkItem) {
        let place = Arc::as_ptr(conversation) as usize;
        if is_quiet(conversation) || !lock(&self.0.watched).insert(place) {
            return;
        }
        let lane = item.lane();
        let surface = WorkSurface {
            work: format!("wake:{}", self.0.host.random_hex(8)),
            ..self.surface_of(item)
        };
        let (lanes, conversation) = (self.clone(), Arc::clone(conversation));
        tokio::spawn(async move {
            while !is_quiet(&conversation) {
                lanes.watch_once(&conversation, &lane, &surface).await;
            }
            lock(&lanes.0.watched).remove(&place);
            surface.tell("background.ended", serde_json::Value::Null);
        });
    }

    /// Waits for an end and tells the agent; not while a turn runs, which hears of it by itself.
    async fn watch_once(&self, conversation: &Conversation, lane: &str, surface: &WorkSurface) {
        let (began, ended) = (self.0.began.notified(), self.0.ended.notified());
        if lock(&self.0.running).contains_key(lane) {
            return ended.await;
        }
        tokio::select! {
            () = conversation.background().until_woken(surface) => {}
            () = began => return,
        }
        surface.tell(
            "work.began",
            json!({ "source": { "kind": "runtime", "what": "wake" } }),
        );
        let told = match conversation.wake(surface).await {
            Ok(Some(outcome)) => json!({
                "status": "answered", "reply": outcome.reply.text(),
                "turn": write_outcome(&outcome), "background": told_background(conversation),
            }),
            Ok(None) => json!({ "status": "silent", "background": told_background(conversation) }),
            Err(error) => {
                tracing::warn!(%error, lane, "the agent did not hear of what ended");
                json!({ "status": "failed", "error": error.to_string() })
            }
        };
        surface.tell("work.ended", told);
    }
}

fn is_quiet(conversation: &Conversation) -> bool {
    let background = conversation.background();
    background.running().in_words().is_empty() && background.ended_untold().is_empty()
}
