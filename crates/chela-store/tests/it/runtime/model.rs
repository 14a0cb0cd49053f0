//! However two workers take turns, and however late they are, a store and a simple model agree.

use std::collections::{BTreeMap, BTreeSet};

use chela_store::{
    ClaimHolder, ClaimState, InboxMessage, LeaseAcquired, LeaseKey, LeaseRecord, LeaseTime,
    MessageAccepted, WaitHere as _, WorkClaim,
};
use proptest::prelude::*;

use super::inbox::{ask, message, outcome};
use super::leases::acquire;
use super::{PAIRS, RuntimeHandle};

/// What may happen. Claims and fences are taken modulo how many were ever given, so that old ones
/// are shown again.
#[derive(Debug, Clone)]
enum Step {
    Wait {
        time: u64,
    },
    /// Accepts a message or takes a lease.
    Add {
        worker: usize,
        what: usize,
        group: usize,
    },
    Claim {
        worker: usize,
        ttl: u64,
    },
    Finish {
        worker: usize,
        claim: usize,
    },
    Renew {
        worker: usize,
        claim: usize,
        ttl: u64,
    },
    GiveBack {
        worker: usize,
        claim: usize,
    },
    /// Forgets finished messages.
    Remove {
        worker: usize,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let worker = || 0_usize..2;
    let claim = || 0_usize..64;
    let step = prop_oneof![
        2 => (1_u64..12).prop_map(|time| Step::Wait { time }),
        4 => (worker(), 0_usize..8, 0_usize..3)
            .prop_map(|(worker, what, group)| Step::Add { worker, what, group }),
        5 => (worker(), 0_u64..20).prop_map(|(worker, ttl)| Step::Claim { worker, ttl }),
        3 => (worker(), claim()).prop_map(|(worker, claim)| Step::Finish { worker, claim }),
        1 => (worker(), claim(), 0_u64..20)
            .prop_map(|(worker, claim, ttl)| Step::Renew { worker, claim, ttl }),
        1 => (worker(), claim()).prop_map(|(worker, claim)| Step::GiveBack { worker, claim }),
        1 => worker().prop_map(|worker| Step::Remove { worker }),
    ];
    prop::collection::vec(step, 1..60)
}

fn name(worker: usize) -> String {
    format!("w{worker}")
}

/// The clock, and every claim that was ever given.
#[derive(Default)]
struct Past {
    now: u64,
    claims: Vec<WorkClaim>,
}

impl Past {
    fn shown(&self, claim: usize) -> Option<WorkClaim> {
        let at = claim.checked_rem(self.claims.len())?;
        self.claims.get(at).cloned()
    }

    fn given(&mut self, claim: WorkClaim) {
        let last = self.claims.last().map_or(0, |claim| claim.number);
        assert!(claim.number > last, "{claim:?} after {last}");
        self.claims.push(claim);
    }

    fn time(&self, ttl: u64) -> LeaseTime {
        LeaseTime { now: self.now, ttl }
    }
}

fn is_free(holder: Option<&ClaimHolder>, now: u64) -> bool {
    holder.is_none_or(|holder| holder.until <= now)
}

fn held_by(worker: usize, time: LeaseTime) -> Option<ClaimHolder> {
    Some(ClaimHolder {
        worker: name(worker),
        until: time.until(),
    })
}

/// Messages in the order they were accepted, each with the number of its claim.
#[derive(Default)]
struct InboxModel {
    past: Past,
    messages: Vec<(InboxMessage, u64)>,
}

impl InboxModel {
    fn follow(&mut self, store: &RuntimeHandle, step: &Step) {
        let store = store.inbox.as_ref();
        match *step {
            Step::Wait { time } => self.past.now += time,
            Step::Add { what, group, .. } => {
                let new = message(&format!("m{what}"), &format!("lane {group}"), self.past.now);
                let accepted = store.accept(new.clone()).wait().unwrap();
                let known = self.messages.iter().find(|(known, _)| known.id == new.id);
                assert_eq!(
                    accepted,
                    match known {
                        Some((known, _)) => MessageAccepted::Known(Box::new(known.clone())),
                        None => MessageAccepted::New,
                    }
                );
                if known.is_none() {
                    let kept = InboxMessage {
                        id: new.id,
                        lane: new.lane,
                        body: new.body,
                        accepted: new.at,
                        tries: 0,
                        holder: None,
                        outcome: None,
                    };
                    self.messages.push((kept, 0));
                }
            }
            Step::Claim { worker, ttl } => {
                let time = self.past.time(ttl);
                let claimed = store
                    .claim(ask(&name(worker), time.now, ttl))
                    .wait()
                    .unwrap();
                let mut lanes = BTreeSet::new();
                let head = self.messages.iter_mut().find(|(message, _)| {
                    message.outcome.is_none()
                        && lanes.insert(message.lane.clone())
                        && is_free(message.holder.as_ref(), time.now)
                });
                let Some((message, number)) = head else {
                    assert_eq!(claimed, None);
                    return;
                };
                message.tries += 1;
                message.holder = held_by(worker, time);
                let claimed = claimed.unwrap();
                assert_eq!(&claimed.message, message);
                *number = claimed.claim.number;
                self.past.given(claimed.claim);
            }
            Step::Finish { claim, .. } => {
                let outcome = outcome("done", self.past.now);
                self.with_claim(claim, |claim, held| {
                    let state = store.finish(claim, outcome.clone()).wait().unwrap();
                    if let Some((message, _)) = held {
                        message.holder = None;
                        message.outcome = Some(outcome);
                    }
                    state
                });
            }
            Step::Renew { claim, ttl, .. } => {
                let time = self.past.time(ttl);
                self.with_claim(claim, |claim, held| {
                    if let Some((message, _)) = held {
                        message.holder.as_mut().unwrap().until = time.until();
                    }
                    store.renew(claim, time).wait().unwrap()
                });
            }
            Step::GiveBack { claim, .. } => self.with_claim(claim, |claim, held| {
                if let Some((message, number)) = held {
                    (message.holder, *number) = (None, 0);
                }
                store.give_back(claim).wait().unwrap()
            }),
            Step::Remove { .. } => {
                let before = self.past.now;
                let count = self.messages.len();
                let is_old = |message: &InboxMessage| {
                    let outcome = message.outcome.as_ref();
                    outcome.is_some_and(|outcome| outcome.at < before)
                };
                self.messages.retain(|(message, _)| !is_old(message));
                let gone = store.forget_finished(before).wait().unwrap();
                assert_eq!(gone, count - self.messages.len());
            }
        }
        let all: Vec<InboxMessage> = self
            .messages
            .iter()
            .filter(|(message, _)| message.outcome.is_none())
            .map(|(message, _)| message.clone())
            .collect();
        assert_eq!(store.unanswered(None).wait().unwrap(), all);
        for (message, _) in &self.messages {
            let kept = store.by_id(&message.id).wait().unwrap();
            assert_eq!(kept.as_ref(), Some(message));
        }
    }

    /// Shows a claim of the past; it holds for the message that has its number and no outcome.
    fn with_claim(
        &mut self,
        claim: usize,
        work: impl FnOnce(&WorkClaim, Option<&mut (InboxMessage, u64)>) -> ClaimState,
    ) {
        let Some(claim) = self.past.shown(claim) else {
            return;
        };
        let held = self
            .messages
            .iter_mut()
            .find(|(message, number)| *number == claim.number && message.outcome.is_none());
        let expected = match held {
            Some(_) => ClaimState::Held,
            None => ClaimState::Lost,
        };
        assert_eq!(work(&claim, held), expected);
    }
}

#[derive(Default)]
struct LeaseModel {
    now: u64,
    keys: Vec<LeaseKey>,
    leases: BTreeMap<String, LeaseRecord>,
}

impl LeaseModel {
    fn follow(&mut self, store: &RuntimeHandle, step: &Step) {
        let store = store.leases.as_ref();
        match *step {
            Step::Wait { time } => self.now += time,
            Step::Add {
                worker,
                group,
                what,
            } => {
                let (lease, holder, ttl) = (format!("lease {group}"), name(worker), what as u64);
                let got = acquire(store, (&lease, &holder), self.now, ttl);
                match self.leases.get(&lease) {
                    Some(held) if held.until > self.now && held.holder != holder => {
                        assert_eq!(got, LeaseAcquired::Taken(held.clone()));
                    }
                    _ => {
                        let LeaseAcquired::Acquired(record) = got else {
                            panic!("{lease} is free: {got:?}")
                        };
                        let last = self.keys.last().map_or(0, |key| key.fence);
                        assert!(record.key.fence > last);
                        assert_eq!((&record.key.name, &record.holder), (&lease, &holder));
                        assert_eq!(record.until, self.now + ttl);
                        self.keys.push(record.key.clone());
                        self.leases.insert(lease, record);
                    }
                }
            }
            Step::Renew { claim, ttl, .. } => {
                let Some(key) = self.shown(claim) else { return };
                let time = LeaseTime { now: self.now, ttl };
                let renewed = store.renew(&key, time).wait().unwrap();
                let held = self.leases.get_mut(&key.name);
                let held = held.filter(|held| held.key == key).map(|held| {
                    held.until = time.until();
                    held.clone()
                });
                assert_eq!(renewed, held);
            }
            Step::Finish { claim, .. } | Step::GiveBack { claim, .. } => {
                let Some(key) = self.shown(claim) else { return };
                let released = store.release(&key).wait().unwrap();
                let is_held = self
                    .leases
                    .get(&key.name)
                    .is_some_and(|held| held.key == key);
                assert_eq!(released, is_held);
                if is_held {
                    self.leases.remove(&key.name);
                }
            }
            Step::Claim { .. } | Step::Remove { .. } => {}
        }
        let live = self.leases.values().filter(|held| held.until > self.now);
        let live: Vec<LeaseRecord> = live.cloned().collect();
        assert_eq!(store.list(self.now).wait().unwrap(), live);
        for group in 0..3 {
            let lease = format!("lease {group}");
            let current = store.current(&lease, self.now).wait().unwrap();
            let expected = live.iter().find(|held| held.key.name == lease);
            assert_eq!(current.as_ref(), expected);
        }
    }

    fn shown(&self, key: usize) -> Option<LeaseKey> {
        let at = key.checked_rem(self.keys.len())?;
        self.keys.get(at).cloned()
    }
}

/// Whose turn it is; time passes for both.
fn worker_of(step: &Step) -> usize {
    match *step {
        Step::Wait { .. } => 0,
        Step::Add { worker, .. }
        | Step::Claim { worker, .. }
        | Step::Finish { worker, .. }
        | Step::Renew { worker, .. }
        | Step::GiveBack { worker, .. }
        | Step::Remove { worker, .. } => worker,
    }
}

fn with_stores(steps: &[Step], mut model: impl FnMut() -> Box<dyn FnMut(&RuntimeHandle, &Step)>) {
    for make in PAIRS {
        let pair = make();
        let mut follow = model();
        for step in steps {
            follow(pair.handle(worker_of(step)), step);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, ..ProptestConfig::default() })]

    #[test]
    fn an_inbox_agrees_with_a_model(steps in steps()) {
        with_stores(&steps, || {
            let mut model = InboxModel::default();
            Box::new(move |store, step| model.follow(store, step))
        });
    }

    #[test]
    fn leases_agree_with_a_model(steps in steps()) {
        with_stores(&steps, || {
            let mut model = LeaseModel::default();
            Box::new(move |store, step| model.follow(store, step))
        });
    }
}
