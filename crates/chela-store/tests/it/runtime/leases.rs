//! What a store of leases has to do.

use chela_store::{
    LeaseAcquired, LeaseAsk, LeaseKey, LeaseRecord, LeaseStore, LeaseTime, block_on,
};

use super::with_each_pair;

pub fn acquire(
    store: &dyn LeaseStore,
    (name, holder): (&str, &str),
    now: u64,
    ttl: u64,
) -> LeaseAcquired {
    let ask = LeaseAsk {
        name: name.to_owned(),
        holder: holder.to_owned(),
        time: LeaseTime { now, ttl },
    };
    block_on(store.acquire(ask)).unwrap()
}

fn acquired(store: &dyn LeaseStore, what: (&str, &str), now: u64, ttl: u64) -> LeaseRecord {
    match acquire(store, what, now, ttl) {
        LeaseAcquired::Acquired(lease) => lease,
        LeaseAcquired::Taken(by) => panic!("{what:?} is taken: {by:?}"),
    }
}

fn renew(store: &dyn LeaseStore, key: &LeaseKey, now: u64, ttl: u64) -> Option<LeaseRecord> {
    block_on(store.renew(key, LeaseTime { now, ttl })).unwrap()
}

fn current(store: &dyn LeaseStore, name: &str, now: u64) -> Option<LeaseRecord> {
    block_on(store.current(name, now)).unwrap()
}

#[test]
fn one_holder_at_a_time() {
    with_each_pair(|pair| {
        let (one, two) = (pair.one.leases.as_ref(), pair.two.leases.as_ref());
        assert_eq!(current(one, "agent", 0), None);
        let held = acquired(one, ("agent", "node-1"), 100, 50);
        assert_eq!((held.holder.as_str(), held.until), ("node-1", 150));
        let taken = acquire(two, ("agent", "node-2"), 149, 50);
        assert_eq!(taken, LeaseAcquired::Taken(held.clone()));
        // Another name is another lease.
        let other = acquired(two, ("other", "node-2"), 149, 50);
        assert!(other.key.fence > held.key.fence);
        assert_eq!(
            block_on(one.list(149)).unwrap(),
            [held.clone(), other.clone()]
        );
        assert_eq!(current(two, "agent", 149), Some(held));
        assert_eq!(current(two, "agent", 150), None);
        assert_eq!(block_on(one.list(150)).unwrap(), [other]);
    });
}

#[test]
fn who_was_late_has_lost_it() {
    with_each_pair(|pair| {
        let (one, two) = (pair.one.leases.as_ref(), pair.two.leases.as_ref());
        let old = acquired(one, ("agent", "node-1"), 100, 50);
        let new = acquired(two, ("agent", "node-2"), 150, 50);
        assert!(new.key.fence > old.key.fence);
        assert_eq!(renew(one, &old.key, 151, 500), None);
        assert!(!block_on(one.release(&old.key)).unwrap());
        assert_eq!(current(one, "agent", 151), Some(new.clone()));
        // Late, but nobody took it.
        let longer = renew(two, &new.key, 300, 50).unwrap();
        assert_eq!((longer.until, &longer.key), (350, &new.key));
        assert_eq!(
            acquire(one, ("agent", "node-1"), 349, 50),
            LeaseAcquired::Taken(longer)
        );
    });
}

#[test]
fn a_holder_that_starts_again_gets_a_new_fence() {
    with_each_pair(|pair| {
        let (one, two) = (pair.one.leases.as_ref(), pair.two.leases.as_ref());
        let before = acquired(one, ("agent", "node"), 100, 1_000);
        let after = acquired(two, ("agent", "node"), 101, 1_000);
        assert!(after.key.fence > before.key.fence);
        assert_eq!(renew(one, &before.key, 102, 5_000), None);
        assert_eq!(current(one, "agent", 102), Some(after));
    });
}

#[test]
fn what_is_released_can_be_taken_and_no_fence_comes_back() {
    with_each_pair(|pair| {
        let (one, two) = (pair.one.leases.as_ref(), pair.two.leases.as_ref());
        let mut last = 0;
        for turn in 0..6 {
            let store = [one, two][turn % 2];
            let lease = acquired(store, ("agent", &format!("node-{turn}")), 100, 1_000);
            assert!(lease.key.fence > last);
            last = lease.key.fence;
            assert!(block_on(store.release(&lease.key)).unwrap());
            assert!(!block_on(store.release(&lease.key)).unwrap());
            assert_eq!(renew(store, &lease.key, 101, 1_000), None);
            assert_eq!(current(store, "agent", 101), None);
        }
    });
}
