//! Whatever two processes decide about jobs, each by what it read and some of it late, a store and
//! a simple model agree; and no occurrence has two messages under way.

use std::collections::BTreeMap;

use chela_store::{
    JobChanged, JobRecord, KnownRevision, OccurrenceChange, OccurrenceQuery, WaitHere as _,
};
use proptest::prelude::*;

use super::inbox::message;
use super::jobs::{advance, plan, step};
use super::{PAIRS, RuntimePair};

#[derive(Debug, Clone)]
enum Deed {
    /// Reads a job, to decide about it later.
    Read {
        worker: usize,
        job: usize,
    },
    Make {
        worker: usize,
        job: usize,
    },
    /// Decides by what was read last, which may be long ago.
    Advance {
        worker: usize,
        planned: u64,
        change: usize,
    },
}

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let worker = || 0_usize..2;
    let deed = prop_oneof![
        3 => (worker(), 0_usize..3).prop_map(|(worker, job)| Deed::Read { worker, job }),
        2 => (worker(), 0_usize..3).prop_map(|(worker, job)| Deed::Make { worker, job }),
        6 => (worker(), 1_u64..5, 0_usize..3)
            .prop_map(|(worker, planned, change)| Deed::Advance { worker, planned, change }),
    ];
    prop::collection::vec(deed, 1..60)
}

/// An occurrence: how often it was sent, whether a message is under way, whether it is over.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Known {
    tries: u64,
    sent: bool,
    over: bool,
}

#[derive(Default)]
struct Model {
    revisions: BTreeMap<String, u64>,
    occurrences: BTreeMap<(String, u64), Known>,
    read: [Option<JobRecord>; 2],
    messages: usize,
    clock: u64,
}

impl Model {
    fn follow(&mut self, pair: &RuntimePair, deed: &Deed) {
        self.clock += 1;
        match *deed {
            Deed::Read { worker, job } => {
                let store = pair.handle(worker).jobs.as_ref();
                self.read[worker] = store.job(&format!("job {job}")).wait().unwrap();
            }
            Deed::Make { worker, job } => {
                let store = pair.handle(worker).jobs.as_ref();
                let id = format!("job {job}");
                let made = store.put(plan(&id, 1), KnownRevision::New).wait().unwrap();
                let is_new = !self.revisions.contains_key(&id);
                assert_eq!(made == JobChanged::Changed, is_new);
                self.revisions.entry(id).or_insert(1);
            }
            Deed::Advance {
                worker,
                planned,
                change,
            } => {
                let Some(read) = self.read[worker].clone() else {
                    return;
                };
                let id = read.plan.id.clone();
                let change = self.change(&id, planned, change);
                let steps = vec![step(planned, self.clock, change.clone())];
                let store = pair.handle(worker).jobs.as_ref();
                let changed = store
                    .advance(advance(&read, Some(1), steps))
                    .wait()
                    .unwrap();
                let known = self.revisions.get_mut(&id).unwrap();
                if *known != read.revision {
                    assert_eq!(changed, JobChanged::Outdated);
                    return;
                }
                assert_eq!(changed, JobChanged::Changed);
                *known += 1;
                self.apply(&id, planned, &change);
            }
        }
        self.compare(pair);
    }

    fn change(&self, id: &str, planned: u64, change: usize) -> OccurrenceChange {
        let note = String::new();
        match change {
            0 => OccurrenceChange::End { note },
            1 => OccurrenceChange::Again { due: 1_000, note },
            _ => OccurrenceChange::Send {
                message: message(&format!("{id}:{planned}:{}", self.clock), id, self.clock),
                note,
            },
        }
    }

    fn apply(&mut self, id: &str, planned: u64, change: &OccurrenceChange) {
        let key = (id.to_owned(), planned);
        let known = self.occurrences.get(&key).copied();
        let next = match (change, known) {
            (_, Some(known)) if known.over => Some(known),
            (OccurrenceChange::Send { .. }, known) => {
                let known = known.unwrap_or_default();
                self.messages += usize::from(!known.sent);
                Some(Known {
                    tries: known.tries + u64::from(!known.sent),
                    sent: true,
                    over: false,
                })
            }
            (OccurrenceChange::Again { .. }, known) => known.map(|known| Known {
                sent: false,
                ..known
            }),
            (OccurrenceChange::End { .. }, known) => Some(Known {
                over: true,
                ..known.unwrap_or_default()
            }),
        };
        if let Some(next) = next {
            self.occurrences.insert(key, next);
        }
    }

    fn compare(&self, pair: &RuntimePair) {
        let query = OccurrenceQuery {
            job: None,
            limit: 1_000,
        };
        let kept = pair.one.jobs.occurrences(query).wait().unwrap();
        let kept: BTreeMap<(String, u64), (u64, bool)> = kept
            .into_iter()
            .map(|one| ((one.job, one.planned), (one.tries, one.ended.is_some())))
            .collect();
        let known = self.occurrences.iter();
        let known = known
            .map(|(key, one)| (key.clone(), (one.tries, one.over)))
            .collect();
        assert_eq!(kept, known);
        let waiting = pair.two.inbox.unanswered(None).wait().unwrap();
        assert_eq!(waiting.len(), self.messages);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn jobs_agree_with_a_model(deeds in deeds()) {
        for make in PAIRS {
            let pair = make();
            let mut model = Model::default();
            for deed in &deeds {
                model.follow(&pair, deed);
            }
        }
    }
}
