//! What a store of jobs has to do.

use chela_store::{
    ClaimHolder, ClaimState, ClaimedJob, JobFinished, JobNext, JobPlan, JobRecord, JobStore,
    LeaseTime, WorkClaim, block_on,
};

use super::inbox::ask;
use super::with_each_pair;

pub fn plan(name: &str, next: u64) -> JobPlan {
    JobPlan {
        name: name.to_owned(),
        schedule: "every hour".to_owned(),
        next: Some(next),
        enabled: true,
        state: "{}".to_owned(),
    }
}

fn upsert(store: &dyn JobStore, plan: &JobPlan) {
    block_on(store.upsert(plan.clone())).unwrap();
}

fn claim(store: &dyn JobStore, worker: &str, now: u64, ttl: u64) -> Option<ClaimedJob> {
    block_on(store.claim_due(ask(worker, now, ttl))).unwrap()
}

fn finish(store: &dyn JobStore, claim: &WorkClaim, next: Option<u64>) -> JobFinished {
    let next = JobNext {
        next,
        state: "ran".to_owned(),
    };
    block_on(store.finish(claim, next)).unwrap()
}

fn by_name(store: &dyn JobStore, name: &str) -> JobRecord {
    block_on(store.by_name(name)).unwrap().unwrap()
}

#[test]
fn jobs_are_kept_by_name() {
    with_each_pair(|pair| {
        let (one, two) = (pair.one.jobs.as_ref(), pair.two.jobs.as_ref());
        assert_eq!(block_on(one.by_name("b")).unwrap(), None);
        upsert(one, &plan("b", 200));
        upsert(one, &plan("a", 100));
        let changed = JobPlan {
            schedule: "every day".to_owned(),
            next: None,
            enabled: false,
            state: "{\"runs\":1}".to_owned(),
            ..plan("b", 0)
        };
        upsert(two, &changed);
        let record = |plan: &JobPlan| JobRecord {
            plan: plan.clone(),
            holder: None,
        };
        let all = [record(&plan("a", 100)), record(&changed)];
        assert_eq!(block_on(one.list()).unwrap(), all);
        assert_eq!(by_name(one, "b"), all[1]);
        assert!(block_on(one.remove("b")).unwrap());
        assert!(!block_on(two.remove("b")).unwrap());
        assert_eq!(block_on(two.list()).unwrap(), all[..1]);
    });
}

#[test]
fn what_has_been_due_for_longest_is_claimed_first_and_once() {
    with_each_pair(|pair| {
        let (one, two) = (pair.one.jobs.as_ref(), pair.two.jobs.as_ref());
        for (name, next) in [
            ("later", 300),
            ("second", 200),
            ("first", 100),
            ("also", 200),
        ] {
            upsert(one, &plan(name, next));
        }
        let off = JobPlan {
            enabled: false,
            ..plan("off", 1)
        };
        let never = JobPlan {
            next: None,
            ..plan("never", 1)
        };
        upsert(one, &off);
        upsert(one, &never);
        assert_eq!(claim(one, "w", 99, 1_000), None);
        let mut names = Vec::new();
        for store in [one, two, one] {
            names.push(claim(store, "w", 200, 1_000).unwrap().claim.name);
        }
        assert_eq!(names, ["first", "also", "second"]);
        assert_eq!(claim(two, "w", 200, 1_000), None);
        assert_eq!(
            claim(two, "w", 300, 1_000).unwrap().plan,
            plan("later", 300)
        );
    });
}

#[test]
fn a_run_says_when_the_next_one_is_due() {
    with_each_pair(|pair| {
        let (one, two) = (pair.one.jobs.as_ref(), pair.two.jobs.as_ref());
        upsert(one, &plan("job", 100));
        let run = claim(one, "w", 100, 1_000).unwrap();
        assert_eq!(finish(one, &run.claim, Some(200)), JobFinished::Finished);
        assert_eq!(finish(one, &run.claim, Some(300)), JobFinished::Lost);
        let kept = by_name(two, "job");
        assert_eq!(
            (kept.plan.next, kept.plan.state.as_str()),
            (Some(200), "ran")
        );
        assert_eq!(kept.holder, None);
        assert_eq!(claim(two, "w", 199, 1_000), None);
        let last = claim(two, "w", 200, 1_000).unwrap();
        assert_eq!(finish(two, &last.claim, None), JobFinished::Finished);
        assert_eq!(claim(one, "w", u64::MAX, 1_000), None);
    });
}

#[test]
fn a_job_whose_claimer_died_is_due_again() {
    with_each_pair(|pair| {
        let (one, two) = (pair.one.jobs.as_ref(), pair.two.jobs.as_ref());
        upsert(one, &plan("job", 100));
        let dead = claim(one, "dead", 100, 50).unwrap();
        let holder = by_name(two, "job").holder;
        let (worker, until) = ("dead".to_owned(), 150);
        assert_eq!(holder, Some(ClaimHolder { worker, until }));
        assert_eq!(claim(two, "w", 149, 50), None);
        let next = claim(two, "w", 150, 50).unwrap();
        assert_eq!(next.plan, dead.plan);
        assert!(next.claim.number > dead.claim.number);
        let time = LeaseTime { now: 160, ttl: 90 };
        assert_eq!(finish(one, &dead.claim, Some(900)), JobFinished::Lost);
        assert_eq!(
            block_on(one.renew(&dead.claim, time)).unwrap(),
            ClaimState::Lost
        );
        assert_eq!(
            block_on(one.give_back(&dead.claim)).unwrap(),
            ClaimState::Lost
        );
        // The other one goes on for longer, and puts it back.
        assert_eq!(
            block_on(two.renew(&next.claim, time)).unwrap(),
            ClaimState::Held
        );
        assert_eq!(claim(one, "w", 249, 50), None);
        assert_eq!(
            block_on(two.give_back(&next.claim)).unwrap(),
            ClaimState::Held
        );
        assert_eq!(claim(one, "w", 161, 50).unwrap().plan, plan("job", 100));
    });
}

#[test]
fn a_job_that_was_replaced_while_it_ran_is_what_it_was_replaced_by() {
    with_each_pair(|pair| {
        let (one, two) = (pair.one.jobs.as_ref(), pair.two.jobs.as_ref());
        upsert(one, &plan("job", 100));
        let run = claim(one, "w", 100, 1_000).unwrap();
        let changed = JobPlan {
            schedule: "every minute".to_owned(),
            ..plan("job", 120)
        };
        upsert(two, &changed);
        assert_eq!(claim(two, "w2", 120, 1_000), None, "it still runs");
        assert_eq!(finish(one, &run.claim, Some(3_700)), JobFinished::Replaced);
        assert_eq!(by_name(one, "job").plan, changed);
        let next = claim(two, "w2", 120, 1_000).unwrap();
        assert_eq!(finish(two, &next.claim, Some(180)), JobFinished::Finished);
        assert_eq!(by_name(one, "job").plan.next, Some(180));
    });
}

#[test]
fn a_run_does_not_outlive_its_job() {
    with_each_pair(|pair| {
        let (one, two) = (pair.one.jobs.as_ref(), pair.two.jobs.as_ref());
        upsert(one, &plan("job", 100));
        let old = claim(one, "w", 100, 1_000).unwrap();
        assert!(block_on(two.remove("job")).unwrap());
        assert_eq!(finish(one, &old.claim, Some(900)), JobFinished::Lost);
        // Another job of the same name is none of its business.
        upsert(two, &plan("job", 100));
        let new = claim(two, "w", 100, 1_000).unwrap();
        assert!(new.claim.number > old.claim.number);
        assert_eq!(finish(one, &old.claim, Some(900)), JobFinished::Lost);
        assert_eq!(by_name(one, "job").plan.next, Some(100));
        assert_eq!(finish(two, &new.claim, Some(200)), JobFinished::Finished);
    });
}
