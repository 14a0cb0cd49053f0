//! Workers that all want the same at once: nothing is in two pairs of hands.

use std::collections::BTreeSet;
use std::sync::Mutex;
use std::thread;

use chela_store::{ClaimState, JobChanged, KnownRevision, LeaseAcquired, WaitHere as _, WorkClaim};

use super::inbox::{ask, message, outcome};
use super::jobs::{advance, plan, send};
use super::leases::acquire;
use super::{RuntimeHandle, RuntimePair, with_each_pair};

const WORKERS: usize = 4;

/// Lets all workers loose and gives what each of them says.
fn race<T: Send>(pair: &RuntimePair, work: impl Fn(&RuntimeHandle, &str) -> T + Sync) -> Vec<T> {
    thread::scope(|scope| {
        let running: Vec<_> = (0..WORKERS)
            .map(|worker| {
                let (handle, work) = (pair.handle(worker), &work);
                scope.spawn(move || work(handle, &format!("w{worker}")))
            })
            .collect();
        running.into_iter().map(|run| run.join().unwrap()).collect()
    })
}

fn assert_growing(claims: &[WorkClaim]) {
    let numbers: BTreeSet<u64> = claims.iter().map(|claim| claim.number).collect();
    assert_eq!(numbers.len(), claims.len(), "no number twice");
}

#[test]
fn the_same_message_from_everywhere_is_accepted_once() {
    with_each_pair(|pair| {
        let news = race(pair, |handle, _| {
            let accepted = |number: usize| {
                let id = format!("m{number}");
                let accepted = handle.inbox.accept(message(&id, "lane", 1));
                accepted.wait().unwrap() == chela_store::MessageAccepted::New
            };
            (0..10).filter(|number| accepted(*number)).count()
        });
        assert_eq!(news.iter().sum::<usize>(), 10);
        assert_eq!(pair.one.inbox.unanswered(None).wait().unwrap().len(), 10);
    });
}

#[test]
fn no_message_is_claimed_twice_and_no_lane_by_two() {
    with_each_pair(|pair| {
        const LANES: usize = 3;
        for number in 0..24 {
            let id = format!("m{number:02}");
            let lane = format!("lane {}", number % LANES);
            pair.one
                .inbox
                .accept(message(&id, &lane, 1))
                .wait()
                .unwrap();
        }
        let busy = Mutex::new(BTreeSet::new());
        let order = Mutex::new(Vec::new());
        let claims = race(pair, |handle, worker| {
            let mut claims = Vec::new();
            while !handle.inbox.unanswered(None).wait().unwrap().is_empty() {
                let Some(claimed) = handle.inbox.claim(ask(worker, 100, 1_000)).wait().unwrap()
                else {
                    thread::yield_now();
                    continue;
                };
                let lane = claimed.message.lane;
                assert!(busy.lock().unwrap().insert(lane.clone()), "{lane}");
                order
                    .lock()
                    .unwrap()
                    .push((lane.clone(), claimed.message.id));
                thread::yield_now();
                assert!(busy.lock().unwrap().remove(&lane));
                let finished = handle.inbox.finish(&claimed.claim, outcome(worker, 110));
                assert_eq!(finished.wait().unwrap(), ClaimState::Held);
                claims.push(claimed.claim);
            }
            claims
        });
        let claims = claims.concat();
        assert_eq!(claims.len(), 24);
        assert_growing(&claims);
        let mut order = order.into_inner().unwrap();
        // By lane, and as they were claimed within each.
        order.sort_by(|one, other| one.0.cmp(&other.0));
        assert!(order.is_sorted(), "{order:?}");
    });
}

#[test]
fn no_occurrence_is_sent_twice() {
    with_each_pair(|pair| {
        for number in 0..12 {
            let plan = plan(&format!("job {number:02}"), 100);
            let made = pair.two.jobs.put(plan, KnownRevision::New);
            assert_eq!(made.wait().unwrap(), JobChanged::Changed);
        }
        let sent = race(pair, |handle, worker| {
            let mut sent = 0;
            loop {
                let due = handle.jobs.due(100).wait().unwrap();
                let Some(job) = due.first() else {
                    return sent;
                };
                let advance = advance(job, Some(200), vec![send(&job.plan.id, 100, worker)]);
                let changed = handle.jobs.advance(advance).wait().unwrap();
                sent += usize::from(changed == JobChanged::Changed);
            }
        });
        assert_eq!(sent.iter().sum::<usize>(), 12);
        let waiting = pair.one.inbox.unanswered(None).wait().unwrap();
        let ids: BTreeSet<&str> = waiting.iter().map(|message| message.id.as_str()).collect();
        assert_eq!((waiting.len(), ids.len()), (12, 12));
    });
}

#[test]
fn a_lease_is_taken_by_one() {
    with_each_pair(|pair| {
        let mut last = 0;
        for round in 0..8 {
            let now = 100 * (round + 1);
            let taken = race(pair, |handle, worker| {
                match acquire(handle.leases.as_ref(), ("agent", worker), now, 100) {
                    LeaseAcquired::Acquired(lease) => Ok(lease.key.fence),
                    LeaseAcquired::Taken(by) => Err(by.key.fence),
                }
            });
            let won: Vec<u64> = taken.iter().filter_map(|one| one.ok()).collect();
            assert_eq!(won.len(), 1, "{taken:?}");
            assert!(
                taken
                    .iter()
                    .all(|one| *one == Ok(won[0]) || *one == Err(won[0]))
            );
            assert!(won[0] > last);
            last = won[0];
        }
    });
}
