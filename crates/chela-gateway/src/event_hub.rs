//! What happens in the process, numbered, for whoever watches: a caller who waits for a streamed
//! answer, clients on the WebSocket. Clients that lost their connection ask for what they missed.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use chela_core::lock;
use serde::Serialize;
use serde_json::Value;
use tokio::sync::{broadcast, mpsc};

/// So many events are kept for clients that come back.
const KEPT: usize = 4_096;
/// Of these, no more than so many bytes.
const KEPT_BYTES: usize = 4 * 1024 * 1024;
/// So many a slow client may be behind before it has to ask for what it missed.
const BEHIND: usize = 1_024;

/// Something that happened.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GatewayEvent {
    /// Counts from 1 in each run of the process.
    pub seq: u64,
    /// Milliseconds since 1970.
    pub at: u64,
    /// Such as `turn.text`, `approval.asked`.
    pub event: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub work: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    pub data: Value,
}

/// An event before it has its number.
#[derive(Debug)]
pub struct NewEvent {
    pub at: u64,
    pub event: &'static str,
    pub work: Option<String>,
    pub session: Option<String>,
    pub data: Value,
}

/// What was missed since a number.
#[derive(Debug)]
pub struct MissedEvents {
    pub events: Vec<Arc<GatewayEvent>>,
    /// Some that were asked for are not kept any more.
    pub has_gap: bool,
}

/// Where events go.
#[derive(Debug)]
pub struct EventHub {
    state: Mutex<HubState>,
    live: broadcast::Sender<Arc<GatewayEvent>>,
    /// How many clients can put a question to the owner.
    askers: AtomicUsize,
}

#[derive(Debug, Default)]
struct HubState {
    last: u64,
    kept: VecDeque<Arc<GatewayEvent>>,
    kept_bytes: usize,
    /// Who waits for the events of one piece of work.
    followers: HashMap<String, Vec<mpsc::UnboundedSender<Arc<GatewayEvent>>>>,
}

impl Default for EventHub {
    fn default() -> Self {
        Self {
            state: Mutex::default(),
            live: broadcast::channel(BEHIND).0,
            askers: AtomicUsize::new(0),
        }
    }
}

impl EventHub {
    /// Numbers an event and hands it to everybody.
    pub fn publish(&self, new: NewEvent) {
        let mut state = lock(&self.state);
        state.last += 1;
        let event = Arc::new(GatewayEvent {
            seq: state.last,
            at: new.at,
            event: new.event,
            work: new.work,
            session: new.session,
            data: new.data,
        });
        state.kept_bytes += size_of(&event.data);
        state.kept.push_back(Arc::clone(&event));
        while state.kept.len() > KEPT || state.kept_bytes > KEPT_BYTES {
            let Some(oldest) = state.kept.pop_front() else {
                break;
            };
            state.kept_bytes -= size_of(&oldest.data);
        }
        if let Some(work) = &event.work
            && let Some(followers) = state.followers.get_mut(work)
        {
            followers.retain(|follower| follower.send(Arc::clone(&event)).is_ok());
        }
        // Nobody may be listening. Sent under the lock, so that numbers come in their order.
        let _ = self.live.send(event);
    }

    /// The events of one piece of work from now on.
    pub fn follow(&self, work: &str) -> mpsc::UnboundedReceiver<Arc<GatewayEvent>> {
        let (follower, events) = mpsc::unbounded_channel();
        let mut state = lock(&self.state);
        let followers = state.followers.entry(work.to_owned()).or_default();
        followers.push(follower);
        events
    }

    /// Forgets followers of a piece of work that have gone.
    pub fn forget_gone(&self, work: &str) {
        let mut state = lock(&self.state);
        if let Some(followers) = state.followers.get_mut(work) {
            followers.retain(|follower| !follower.is_closed());
            if followers.is_empty() {
                state.followers.remove(work);
            }
        }
    }

    /// Nobody hears of this work any more.
    pub fn end_work(&self, work: &str) {
        lock(&self.state).followers.remove(work);
    }

    /// Everything from now on, and what came after a number before.
    pub fn listen(
        &self,
        since: Option<u64>,
    ) -> (broadcast::Receiver<Arc<GatewayEvent>>, MissedEvents) {
        let state = lock(&self.state);
        let live = self.live.subscribe();
        let Some(since) = since else {
            let missed = MissedEvents {
                events: Vec::new(),
                has_gap: false,
            };
            return (live, missed);
        };
        let first = state.kept.front().map_or(state.last + 1, |event| event.seq);
        let events = state.kept.iter().filter(|event| event.seq > since);
        let missed = MissedEvents {
            events: events.cloned().collect(),
            // A number of the future is one of another run of the process.
            has_gap: since + 1 < first || since > state.last,
        };
        (live, missed)
    }

    /// The number of the newest event.
    pub fn last_seq(&self) -> u64 {
        lock(&self.state).last
    }

    /// One client more that shows questions to the owner, for as long as this is kept.
    pub fn add_asker(self: &Arc<Self>) -> AskerSeat {
        self.askers.fetch_add(1, Ordering::SeqCst);
        AskerSeat(Arc::clone(self))
    }

    /// How many clients show questions to the owner.
    pub fn asker_count(&self) -> usize {
        self.askers.load(Ordering::SeqCst)
    }
}

/// A client that shows questions to the owner.
#[derive(Debug)]
pub struct AskerSeat(Arc<EventHub>);

impl Drop for AskerSeat {
    fn drop(&mut self) {
        self.0.askers.fetch_sub(1, Ordering::SeqCst);
    }
}

/// About so many bytes a value takes.
fn size_of(value: &Value) -> usize {
    // A member of an object has its name, its value and a place in the index.
    const MEMBER: usize = 48;
    std::mem::size_of::<Value>()
        + match value {
            Value::String(text) => text.len(),
            Value::Array(items) => items.iter().map(size_of).sum(),
            Value::Object(members) => members
                .iter()
                .map(|(name, value)| MEMBER + name.len() + size_of(value))
                .sum(),
            _ => 0,
        }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::{EventHub, KEPT, NewEvent};

    fn event(work: &str) -> NewEvent {
        NewEvent {
            at: 1,
            event: "turn.text",
            work: Some(work.to_owned()),
            session: None,
            data: Value::Null,
        }
    }

    #[test]
    fn whoever_comes_back_gets_what_it_missed_or_hears_that_some_is_gone() {
        let hub = EventHub::default();
        for _ in 0..3 {
            hub.publish(event("w"));
        }
        let (_, missed) = hub.listen(Some(1));
        let seqs: Vec<u64> = missed.events.iter().map(|event| event.seq).collect();
        assert_eq!((seqs, missed.has_gap), (vec![2, 3], false));
        // Of a run of the process before this one.
        assert!(hub.listen(Some(9)).1.has_gap);
        for _ in 0..KEPT {
            hub.publish(event("w"));
        }
        let (_, missed) = hub.listen(Some(1));
        assert_eq!(missed.events.len(), KEPT);
        assert!(missed.has_gap);
    }

    #[test]
    fn a_follower_hears_of_its_own_work_only() {
        let hub = EventHub::default();
        let mut events = hub.follow("mine");
        hub.publish(event("other"));
        hub.publish(event("mine"));
        hub.end_work("mine");
        assert_eq!(events.try_recv().map(|event| event.seq).ok(), Some(2));
        assert!(events.try_recv().is_err());
    }
}
