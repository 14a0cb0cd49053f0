//! The request before, from memory where that is as good as the store.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use chela_core::lock;
use chela_store::StoredContents;

use crate::mark::SectionMark;
use crate::request::RecordId;

/// What all of them together may weigh, in bytes of their bodies. The one kept longest ago goes
/// first.
const MOST_BYTES: usize = 8 << 20;

/// A request, as far as the next one of its session is concerned.
#[derive(Debug)]
pub struct RecentRequest {
    pub record: RecordId,
    /// As it is stored.
    pub body: Vec<u8>,
    /// Where its pieces are; none where it was read back.
    pub cuts: Vec<Range<usize>>,
    /// What they are in the store, as long as it is on record.
    pub contents: StoredContents,
    pub model: String,
    pub url: String,
    pub sections: Vec<SectionMark>,
}

/// The newest request of each session that this process recorded.
#[derive(Debug, Default)]
pub struct RecentRequests(Mutex<RecentState>);

#[derive(Debug, Default)]
struct RecentState {
    by_session: HashMap<String, (u64, Arc<RecentRequest>)>,
    bytes: usize,
    /// Grows with every request.
    clock: u64,
}

impl RecentRequests {
    pub fn of(&self, session: &str) -> Option<Arc<RecentRequest>> {
        let state = lock(&self.0);
        let (_, recent) = state.by_session.get(session)?;
        Some(Arc::clone(recent))
    }

    pub fn keep(&self, session: &str, recent: RecentRequest) {
        let mut state = lock(&self.0);
        state.clock += 1;
        state.bytes += recent.body.len();
        let kept = (state.clock, Arc::new(recent));
        let before = state.by_session.insert(session.to_owned(), kept);
        state.bytes -= before.map_or(0, |(_, before)| before.body.len());
        state.make_room(session);
    }
}

impl RecentState {
    /// Lets go of the oldest, but never of `session`'s.
    fn make_room(&mut self, session: &str) {
        while self.bytes > MOST_BYTES {
            let others = self.by_session.iter().filter(|(id, _)| *id != session);
            let oldest = others.min_by_key(|(_, (kept, _))| *kept);
            let Some(oldest) = oldest.map(|(id, _)| id.clone()) else {
                return;
            };
            let gone = self.by_session.remove(&oldest);
            self.bytes -= gone.map_or(0, |(_, gone)| gone.body.len());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{MOST_BYTES, RecentRequest, RecentRequests};
    use crate::request::RecordId;

    fn request(number: i64, bytes: usize) -> RecentRequest {
        RecentRequest {
            record: RecordId(number),
            body: vec![b'x'; bytes],
            cuts: Vec::new(),
            contents: Default::default(),
            model: String::new(),
            url: String::new(),
            sections: Vec::new(),
        }
    }

    #[test]
    fn hundreds_of_short_ones_are_kept_and_the_oldest_long_ones_are_not() {
        let recents = RecentRequests::default();
        for number in 0..200 {
            recents.keep(&format!("s{number}"), request(number, 30_000));
        }
        for number in 0..200 {
            assert!(recents.of(&format!("s{number}")).is_some(), "{number}");
        }
        recents.keep("long", request(200, MOST_BYTES / 2));
        assert!(recents.of("s0").is_none());
        assert!(recents.of("s199").is_some());
        // What is longer than all may be is kept alone, for the next request of its session.
        recents.keep("longest", request(201, MOST_BYTES + 1));
        assert!(recents.of("longest").is_some());
        assert!(recents.of("long").is_none());
        recents.keep("longest", request(202, 1));
        recents.keep("s0", request(203, 1));
        assert_eq!(
            recents.of("longest").map(|kept| kept.record),
            Some(RecordId(202))
        );
    }
}
