//! The request before, from memory where that is as good as the store.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use chela_core::{ContentHash, lock};
use chela_store::StoredContents;

use crate::mark::SectionList;
use crate::request::RecordId;

/// What all of them together may weigh, in bytes of their bodies. The one kept longest ago goes
/// first.
const MOST_BYTES: usize = 16 << 20;
/// Pieces longer than this are kept once for all requests that have them: prompts, tools.
const SHARED: usize = 512;
/// What a piece takes besides its bytes.
const PIECE_BYTES: usize = 24;

/// A request, as far as the next one of its session is concerned.
#[derive(Debug)]
pub struct RecentRequest {
    pub record: RecordId,
    /// As it is stored.
    pub body: KeptBody,
    /// What its pieces are in the store, as long as it is on record.
    pub contents: StoredContents,
    pub model: String,
    pub url: String,
    pub sections: SectionList,
}

/// The body of a request in its pieces, of which it may have some in common with others.
#[derive(Debug, Default)]
pub struct KeptBody {
    own: Vec<u8>,
    pieces: Vec<KeptPiece>,
}

#[derive(Debug)]
enum KeptPiece {
    Own(Range<usize>),
    Shared(SharedPiece),
}

/// A piece that several may have.
#[derive(Debug, Clone)]
struct SharedPiece {
    bytes: Arc<[u8]>,
    /// What it is known by, once it is kept.
    hash: Option<ContentHash>,
}

impl KeptBody {
    /// One that is not cut.
    pub fn whole(body: Vec<u8>) -> Self {
        Self {
            pieces: vec![KeptPiece::Own(0..body.len())],
            own: body,
        }
    }

    /// Cut where it is stored in pieces.
    pub fn new(body: &[u8], cuts: &[Range<usize>]) -> Self {
        let mut kept = Self::default();
        kept.pieces.reserve_exact(cuts.len());
        for cut in cuts {
            let bytes = body.get(cut.clone()).unwrap_or_default();
            kept.pieces.push(match bytes.len() > SHARED {
                true => KeptPiece::Shared(SharedPiece {
                    bytes: bytes.into(),
                    hash: None,
                }),
                false => {
                    let start = kept.own.len();
                    kept.own.extend_from_slice(bytes);
                    KeptPiece::Own(start..kept.own.len())
                }
            });
        }
        kept.own.shrink_to_fit();
        kept
    }

    /// How many pieces it has.
    pub fn len(&self) -> usize {
        self.pieces.len()
    }

    pub fn pieces(&self) -> impl DoubleEndedIterator<Item = &[u8]> {
        self.pieces.iter().map(|piece| match piece {
            KeptPiece::Own(range) => self.own.get(range.clone()).unwrap_or_default(),
            KeptPiece::Shared(piece) => &piece.bytes,
        })
    }

    /// What it takes by itself.
    fn weight(&self) -> usize {
        self.own.len() + self.pieces.len() * PIECE_BYTES
    }

    pub fn joined(&self) -> Vec<u8> {
        let length = self.pieces().map(<[u8]>::len).sum();
        let mut body = Vec::with_capacity(length);
        self.pieces()
            .for_each(|piece| body.extend_from_slice(piece));
        body
    }
}

/// The newest request of each session that this process recorded.
#[derive(Debug, Default)]
pub struct RecentRequests(Mutex<RecentState>);

#[derive(Debug, Default)]
struct RecentState {
    by_session: HashMap<String, (u64, Arc<RecentRequest>)>,
    /// Pieces that requests have in common, and how many have each.
    shared: HashMap<ContentHash, (Arc<[u8]>, usize)>,
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

    pub fn keep(&self, session: &str, mut recent: RecentRequest) {
        let mut state = lock(&self.0);
        state.clock += 1;
        let before = state.by_session.remove(session);
        state.share(
            &mut recent.body,
            before.as_ref().map(|(_, before)| &before.body),
        );
        if let Some((_, before)) = before {
            state.release(&before.body);
        }
        let kept = (state.clock, Arc::new(recent));
        state.by_session.insert(session.to_owned(), kept);
        state.make_room(session);
    }
}

impl RecentState {
    /// Puts what is kept already in the place of the pieces of a body.
    fn share(&mut self, body: &mut KeptBody, before: Option<&KeptBody>) {
        self.bytes += body.weight();
        let before = before.into_iter().flat_map(|before| &before.pieces);
        let mut before = before.filter_map(|piece| match piece {
            KeptPiece::Shared(piece) => Some(piece),
            KeptPiece::Own(_) => None,
        });
        for piece in &mut body.pieces {
            let KeptPiece::Shared(piece) = piece else {
                continue;
            };
            // Mostly it is what the request before had at this place, so it needs no new hash.
            let same = before.next().filter(|same| same.bytes == piece.bytes);
            let hash = same.and_then(|same| same.hash);
            let hash = hash.unwrap_or_else(|| ContentHash::of(&piece.bytes));
            let (bytes, users) = self.shared.entry(hash).or_insert_with(|| {
                self.bytes += piece.bytes.len();
                (Arc::clone(&piece.bytes), 0)
            });
            *users += 1;
            *piece = SharedPiece {
                bytes: Arc::clone(bytes),
                hash: Some(hash),
            };
        }
    }

    /// A body is not kept any more.
    fn release(&mut self, body: &KeptBody) {
        self.bytes -= body.weight();
        for piece in &body.pieces {
            if let KeptPiece::Shared(piece) = piece
                && let Some(hash) = piece.hash
                && let Some((_, users)) = self.shared.get_mut(&hash)
            {
                *users -= 1;
                if *users == 0 {
                    self.shared.remove(&hash);
                    self.bytes -= piece.bytes.len();
                }
            }
        }
    }

    /// Lets go of the oldest, but never of `session`'s.
    fn make_room(&mut self, session: &str) {
        while self.bytes > MOST_BYTES {
            let others = self.by_session.iter().filter(|(id, _)| *id != session);
            let oldest = others.min_by_key(|(_, (kept, _))| *kept);
            let Some(oldest) = oldest.map(|(id, _)| id.clone()) else {
                return;
            };
            if let Some((_, gone)) = self.by_session.remove(&oldest) {
                self.release(&gone.body);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{KeptBody, MOST_BYTES, RecentRequest, RecentRequests, SHARED};
    use crate::request::RecordId;

    /// One long piece that all have, and one of its own.
    fn request(number: i64, bytes: usize) -> RecentRequest {
        let prompt = vec![b'p'; 30_000];
        let own = number.to_string().into_bytes().into_iter().cycle();
        let body: Vec<u8> = prompt.into_iter().chain(own.take(bytes)).collect();
        RecentRequest {
            record: RecordId(number),
            body: KeptBody::new(&body, &[0..30_000, 30_000..body.len()]),
            contents: Default::default(),
            model: String::new(),
            url: String::new(),
            sections: Default::default(),
        }
    }

    #[test]
    fn thousands_of_short_ones_are_kept_and_the_oldest_long_ones_are_not() {
        let recents = RecentRequests::default();
        for number in 0..2_000 {
            recents.keep(&format!("s{number}"), request(number, 3_000));
        }
        for number in 0..2_000 {
            assert!(recents.of(&format!("s{number}")).is_some(), "{number}");
        }
        recents.keep("long", request(2_000, MOST_BYTES - 1_000_000));
        assert!(recents.of("s0").is_none());
        assert!(recents.of("s1999").is_some());
        // What is longer than all may be is kept alone, for the next request of its session.
        recents.keep("longest", request(2_001, MOST_BYTES + 1));
        assert!(recents.of("longest").is_some());
        assert!(recents.of("long").is_none());
        recents.keep("longest", request(2_002, 1));
        recents.keep("s0", request(2_003, 1));
        assert_eq!(
            recents.of("longest").map(|kept| kept.record),
            Some(RecordId(2_002))
        );
    }

    #[test]
    fn a_body_is_what_it_was_and_its_weight_goes_with_it() {
        let recents = RecentRequests::default();
        let bodies = [request(1, 10), request(2, SHARED * 3), request(3, 7)];
        let whole: Vec<Vec<u8>> = bodies.iter().map(|one| one.body.joined()).collect();
        for one in bodies {
            // Twice in one session: the second takes the first one's place.
            recents.keep(&format!("s{}", one.record.0 % 2), one);
        }
        for (session, body) in [("s0", &whole[1]), ("s1", &whole[2])] {
            let kept = recents.of(session).expect("it is kept");
            assert_eq!(&kept.body.joined(), body);
            assert_eq!(kept.body.pieces().count(), kept.body.len());
        }
        let weight = super::lock(&recents.0).bytes;
        assert!((30_000..34_000).contains(&weight), "{weight}");
    }
}
