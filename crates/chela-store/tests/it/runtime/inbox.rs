//! What a store of accepted messages has to do.

use chela_store::{
    ClaimAsk, ClaimHolder, ClaimState, ClaimedMessage, InboxMessage, InboxStore, LaneRoom,
    LeaseTime, MessageAccepted, MessageOutcome, NewMessage, WorkClaim, block_on,
};

use super::with_each_pair;

pub fn message(id: &str, lane: &str, at: u64) -> NewMessage {
    NewMessage {
        id: id.to_owned(),
        lane: lane.to_owned(),
        body: format!("{id} says hello"),
        at,
    }
}

pub fn ask(worker: &str, now: u64, ttl: u64) -> ClaimAsk {
    ClaimAsk {
        worker: worker.to_owned(),
        time: LeaseTime { now, ttl },
    }
}

pub fn outcome(text: &str, at: u64) -> MessageOutcome {
    MessageOutcome {
        text: text.to_owned(),
        at,
    }
}

fn accept(store: &dyn InboxStore, id: &str, lane: &str) {
    let accepted = block_on(store.accept(message(id, lane, 10))).unwrap();
    assert_eq!(accepted, MessageAccepted::New, "{id}");
}

fn claim(store: &dyn InboxStore, worker: &str, now: u64, ttl: u64) -> Option<ClaimedMessage> {
    block_on(store.claim(ask(worker, now, ttl))).unwrap()
}

/// What a worker gets that holds it for as long as these tests last.
fn claimed(store: &dyn InboxStore, worker: &str) -> Option<(String, WorkClaim)> {
    claim(store, worker, 100, 1_000).map(|claimed| (claimed.message.id, claimed.claim))
}

fn finish(store: &dyn InboxStore, claim: &WorkClaim, text: &str) -> ClaimState {
    block_on(store.finish(claim, outcome(text, 200))).unwrap()
}

fn waiting(store: &dyn InboxStore, lane: Option<&str>) -> Vec<String> {
    let found = block_on(store.unanswered(lane)).unwrap();
    found.into_iter().map(|message| message.id).collect()
}

#[test]
fn a_message_is_accepted_once_however_often_it_comes() {
    with_each_pair(|pair| {
        let (one, two) = (pair.one.inbox.as_ref(), pair.two.inbox.as_ref());
        assert_eq!(block_on(one.by_id("m1")).unwrap(), None);
        accept(one, "m1", "lane");
        let kept = InboxMessage {
            id: "m1".to_owned(),
            lane: "lane".to_owned(),
            body: "m1 says hello".to_owned(),
            accepted: 10,
            tries: 0,
            holder: None,
            outcome: None,
        };
        // What comes with a known id changes nothing.
        let again = NewMessage {
            body: "something else".to_owned(),
            ..message("m1", "another lane", 11)
        };
        let known = block_on(two.accept(again.clone())).unwrap();
        assert_eq!(known, MessageAccepted::Known(Box::new(kept.clone())));
        assert_eq!(block_on(two.by_id("m1")).unwrap(), Some(kept));
        let (_, claim) = claimed(one, "w").unwrap();
        assert_eq!(finish(one, &claim, "answered"), ClaimState::Held);
        // And nobody answers it twice.
        let MessageAccepted::Known(known) = block_on(two.accept(again)).unwrap() else {
            panic!("accepted twice")
        };
        assert_eq!(known.outcome, Some(outcome("answered", 200)));
        assert_eq!(claimed(two, "w"), None);
        assert!(waiting(two, None).is_empty());
    });
}

#[test]
fn a_lane_is_worked_on_in_order_and_one_at_a_time() {
    with_each_pair(|pair| {
        let (one, two) = (pair.one.inbox.as_ref(), pair.two.inbox.as_ref());
        for (id, lane) in [("a1", "a"), ("a2", "a"), ("b1", "b"), ("a3", "a")] {
            accept(one, id, lane);
        }
        assert_eq!(waiting(two, None), ["a1", "a2", "b1", "a3"]);
        assert_eq!(waiting(two, Some("a")), ["a1", "a2", "a3"]);
        assert!(waiting(two, Some("none")).is_empty());
        let (first, a1) = claimed(one, "w1").unwrap();
        let (second, b1) = claimed(two, "w2").unwrap();
        assert_eq!((first.as_str(), second.as_str()), ("a1", "b1"));
        assert!(b1.number > a1.number);
        assert_eq!(claimed(two, "w2"), None, "both lanes are busy");
        assert_eq!(finish(one, &a1, "done"), ClaimState::Held);
        assert_eq!(waiting(one, None), ["a2", "b1", "a3"]);
        assert_eq!(claimed(two, "w2").unwrap().0, "a2");
        assert_eq!(claimed(one, "w1"), None);
    });
}

#[test]
fn a_lane_that_is_full_takes_nothing_but_what_it_knows() {
    with_each_pair(|pair| {
        let (one, two) = (pair.one.inbox.as_ref(), pair.two.inbox.as_ref());
        let room = LaneRoom {
            most: 2,
            apart: "aside:",
        };
        let take = |id: &str| block_on(one.accept_within(message(id, "lane", 10), room)).unwrap();
        assert_eq!(take("m1"), MessageAccepted::New);
        // What somebody works on takes no room.
        claimed(two, "w").unwrap();
        for id in ["m2", "aside:1", "m3"] {
            assert_eq!(take(id), MessageAccepted::New, "{id}");
        }
        assert_eq!(take("m4"), MessageAccepted::Full { waiting: 2 });
        assert!(matches!(take("m2"), MessageAccepted::Known(_)));
        assert_eq!(take("aside:2"), MessageAccepted::New);
        let other = block_on(one.accept_within(message("m4", "other", 10), room)).unwrap();
        assert_eq!(other, MessageAccepted::New);
        assert_eq!(
            waiting(two, None),
            ["m1", "m2", "aside:1", "m3", "aside:2", "m4"]
        );
    });
}

#[test]
fn as_many_heads_of_lanes_are_claimed_as_there_is_room_for() {
    with_each_pair(|pair| {
        let (one, two) = (pair.one.inbox.as_ref(), pair.two.inbox.as_ref());
        for (id, lane) in [("a1", "a"), ("a2", "a"), ("b1", "b"), ("c1", "c")] {
            accept(one, id, lane);
        }
        let up_to = |most| {
            let claimed = block_on(two.claim_up_to(ask("w", 100, 50), most)).unwrap();
            let ids = claimed.into_iter().map(|one| one.message.id);
            ids.collect::<Vec<_>>()
        };
        assert_eq!(up_to(2), ["a1", "b1"]);
        assert_eq!(up_to(2), ["c1"]);
        assert!(up_to(2).is_empty());
    });
}

#[test]
fn what_a_dead_worker_held_is_claimed_again_and_its_claim_is_lost() {
    with_each_pair(|pair| {
        let (one, two) = (pair.one.inbox.as_ref(), pair.two.inbox.as_ref());
        accept(one, "m", "lane");
        let dead = claim(one, "dead", 100, 50).unwrap();
        let holder = |worker: &str, until| {
            let worker = worker.to_owned();
            Some(ClaimHolder { worker, until })
        };
        assert_eq!(dead.message.holder, holder("dead", 150));
        assert_eq!(claim(two, "w", 149, 50), None);
        let next = claim(two, "w", 150, 50).unwrap();
        assert_eq!(
            (next.message.tries, &next.message.holder),
            (2, &holder("w", 200))
        );
        assert!(next.claim.number > dead.claim.number);
        let time = LeaseTime { now: 150, ttl: 500 };
        assert_eq!(finish(one, &dead.claim, "late"), ClaimState::Lost);
        assert_eq!(
            block_on(one.renew(&dead.claim, time)).unwrap(),
            ClaimState::Lost
        );
        assert_eq!(
            block_on(one.give_back(&dead.claim)).unwrap(),
            ClaimState::Lost
        );
        let kept = block_on(one.by_id("m")).unwrap().unwrap();
        assert_eq!(kept, next.message, "none of that changed anything");
        // One that is late but alone may still finish, once.
        assert_eq!(finish(two, &next.claim, "done"), ClaimState::Held);
        assert_eq!(finish(two, &next.claim, "done twice"), ClaimState::Lost);
        let kept = block_on(one.by_id("m")).unwrap().unwrap();
        assert_eq!(
            (kept.holder, kept.outcome),
            (None, Some(outcome("done", 200)))
        );
    });
}

#[test]
fn a_claim_is_prolonged_or_given_back() {
    with_each_pair(|pair| {
        let (one, two) = (pair.one.inbox.as_ref(), pair.two.inbox.as_ref());
        accept(one, "m1", "lane");
        accept(one, "m2", "lane");
        let held = claim(one, "w1", 100, 10).unwrap().claim;
        let time = LeaseTime { now: 105, ttl: 100 };
        assert_eq!(block_on(one.renew(&held, time)).unwrap(), ClaimState::Held);
        assert_eq!(claim(two, "w2", 204, 10), None);
        assert_eq!(block_on(one.give_back(&held)).unwrap(), ClaimState::Held);
        assert_eq!(finish(one, &held, "late"), ClaimState::Lost);
        let again = claim(two, "w2", 106, 10).unwrap();
        assert_eq!((again.message.id.as_str(), again.message.tries), ("m1", 2));
        // A claim without end is one that no clock ends.
        let forever = claim(one, "w1", 116, u64::MAX).unwrap();
        assert_eq!(forever.message.id, "m1");
        assert_eq!(claim(two, "w2", u64::MAX / 4, 10), None);
    });
}

#[test]
fn what_was_finished_is_forgotten_and_what_waits_is_not() {
    with_each_pair(|pair| {
        let store = pair.one.inbox.as_ref();
        for id in ["old", "new", "waiting"] {
            accept(store, id, id);
        }
        for at in [200, 300] {
            let claim = claim(store, "w", 100, 10).unwrap().claim;
            block_on(store.finish(&claim, outcome("done", at))).unwrap();
        }
        assert_eq!(block_on(store.forget_finished(300)).unwrap(), 1);
        assert_eq!(block_on(store.by_id("old")).unwrap(), None);
        assert!(block_on(store.by_id("new")).unwrap().is_some());
        assert_eq!(block_on(store.forget_finished(u64::MAX)).unwrap(), 1);
        assert_eq!(block_on(store.forget_finished(u64::MAX)).unwrap(), 0);
        assert_eq!(waiting(store, None), ["waiting"]);
        accept(store, "old", "old");
        assert_eq!(waiting(store, None), ["waiting", "old"]);
    });
}

#[test]
fn whoever_holds_a_message_may_take_the_next_of_its_lane_along() {
    with_each_pair(|pair| {
        let (one, two) = (pair.one.inbox.as_ref(), pair.two.inbox.as_ref());
        for (id, lane) in [("a1", "a"), ("b1", "b"), ("a2", "a"), ("a3", "a")] {
            accept(one, id, lane);
        }
        let (_, first) = claimed(one, "w").unwrap();
        let behind = |store: &dyn InboxStore, claim: &WorkClaim| {
            let next = block_on(store.claim_behind(claim, ask("w", 100, 1_000))).unwrap();
            next.map(|next| (next.message.id, next.claim))
        };
        let (id, second) = behind(one, &first).unwrap();
        assert_eq!(id, "a2");
        let (id, third) = behind(two, &first).unwrap();
        assert_eq!(id, "a3");
        assert_eq!(behind(one, &first), None);
        // What was given back waits where it was.
        assert_eq!(block_on(two.give_back(&third)).unwrap(), ClaimState::Held);
        assert_eq!(
            finish(one, &second, "read with the first"),
            ClaimState::Held
        );
        assert_eq!(finish(one, &first, "done"), ClaimState::Held);
        // A claim that is over takes nothing along.
        assert_eq!(behind(one, &first), None);
        assert_eq!(claimed(two, "w").map(|(id, _)| id), Some("b1".to_owned()));
        assert_eq!(claimed(two, "w").map(|(id, _)| id), Some("a3".to_owned()));
    });
}

#[test]
fn what_dead_workers_held_waits_again_at_once() {
    with_each_pair(|pair| {
        let (one, two) = (pair.one.inbox.as_ref(), pair.two.inbox.as_ref());
        for id in ["m1", "m2", "m3"] {
            accept(one, id, id);
        }
        let done = claim(one, "w", 100, u64::MAX).unwrap().claim;
        finish(one, &done, "done");
        let dead = claim(one, "w", 100, u64::MAX).unwrap().claim;
        assert_eq!(block_on(two.release_claims()).unwrap(), 1);
        assert_eq!(finish(one, &dead, "late"), ClaimState::Lost);
        let again = claim(two, "v", 101, 10).unwrap();
        assert_eq!((again.message.id.as_str(), again.message.tries), ("m2", 2));
        assert_eq!(waiting(two, None), ["m2", "m3"]);
    });
}
