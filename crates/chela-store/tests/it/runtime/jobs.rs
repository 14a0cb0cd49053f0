//! What a store of jobs has to do.

use chela_store::{
    JobAdvance, JobChanged, JobPlan, JobRecord, JobStore, KnownRevision, MessageStanding,
    OccurrenceChange, OccurrenceLimit, OccurrenceQuery, OccurrenceRecord, OccurrenceStep, block_on,
};

use super::inbox::{ask, message, outcome};
use super::with_each_pair;

pub fn plan(id: &str, next: u64) -> JobPlan {
    JobPlan {
        id: id.to_owned(),
        spec: "every hour".to_owned(),
        next: Some(next),
        enabled: true,
        state: "{}".to_owned(),
    }
}

/// The message of an occurrence, sent at the moment it was planned for.
pub fn send(job: &str, planned: u64, note: &str) -> OccurrenceStep {
    let id = format!("{job}:{planned}");
    step(
        planned,
        planned,
        OccurrenceChange::Send {
            message: message(&id, job, planned),
            note: note.to_owned(),
        },
    )
}

pub fn step(planned: u64, at: u64, change: OccurrenceChange) -> OccurrenceStep {
    OccurrenceStep {
        planned,
        at,
        change,
    }
}

pub fn advance(job: &JobRecord, next: Option<u64>, steps: Vec<OccurrenceStep>) -> JobAdvance {
    JobAdvance {
        id: job.plan.id.clone(),
        revision: job.revision,
        next,
        enabled: job.plan.enabled,
        state: job.plan.state.clone(),
        steps,
    }
}

fn put(store: &dyn JobStore, plan: &JobPlan, known: KnownRevision) -> JobChanged {
    block_on(store.put(plan.clone(), known)).unwrap()
}

fn job(store: &dyn JobStore, id: &str) -> JobRecord {
    block_on(store.job(id)).unwrap().unwrap()
}

fn occurrences(store: &dyn JobStore, job: Option<&str>) -> Vec<OccurrenceRecord> {
    let query = OccurrenceQuery {
        job: job.map(str::to_owned),
        limit: 100,
    };
    block_on(store.occurrences(query)).unwrap()
}

fn end(note: &str) -> OccurrenceChange {
    OccurrenceChange::End {
        note: note.to_owned(),
    }
}

#[test]
fn jobs_are_kept_by_id() {
    with_each_pair(|pair| {
        let (one, two) = (pair.one.jobs.as_ref(), pair.two.jobs.as_ref());
        assert_eq!(block_on(one.job("b")).unwrap(), None);
        for (id, next) in [("b", 200), ("a", 100)] {
            assert_eq!(
                put(one, &plan(id, next), KnownRevision::New),
                JobChanged::Changed
            );
        }
        // Nobody takes the place of another, and nobody changes what is not there.
        let other = plan("b", 1);
        assert_eq!(put(two, &other, KnownRevision::New), JobChanged::Outdated);
        let absent = put(two, &plan("c", 1), KnownRevision::At(1));
        assert_eq!(absent, JobChanged::Outdated);
        let changed = JobPlan {
            spec: "every day".to_owned(),
            next: None,
            enabled: false,
            state: "{\"runs\":1}".to_owned(),
            ..plan("b", 0)
        };
        let known = KnownRevision::At(job(two, "b").revision);
        assert_eq!(put(two, &changed, known), JobChanged::Changed);
        assert_eq!(put(one, &other, known), JobChanged::Outdated, "read before");
        let all: Vec<JobPlan> = block_on(one.list())
            .unwrap()
            .into_iter()
            .map(|job| job.plan)
            .collect();
        assert_eq!(all, [plan("a", 100), changed]);
        assert!(block_on(one.remove("b", outcome("gone", 5))).unwrap());
        assert!(!block_on(two.remove("b", outcome("gone", 5))).unwrap());
        assert_eq!(block_on(two.list()).unwrap().len(), 1);
    });
}

#[test]
fn what_is_due_is_read_and_stays_due() {
    with_each_pair(|pair| {
        let (one, two) = (pair.one.jobs.as_ref(), pair.two.jobs.as_ref());
        for (id, next) in [
            ("later", 300),
            ("second", 200),
            ("first", 100),
            ("also", 200),
        ] {
            put(one, &plan(id, next), KnownRevision::New);
        }
        let off = JobPlan {
            enabled: false,
            ..plan("off", 1)
        };
        let never = JobPlan {
            next: None,
            ..plan("never", 1)
        };
        put(one, &off, KnownRevision::New);
        put(one, &never, KnownRevision::New);
        let due = |store: &dyn JobStore, now| -> Vec<String> {
            let due = block_on(store.due(now)).unwrap();
            due.into_iter().map(|job| job.plan.id).collect()
        };
        assert_eq!(due(one, 99), [""; 0]);
        for store in [one, two, one] {
            assert_eq!(due(store, 200), ["first", "also", "second"]);
            assert_eq!(block_on(store.list()).unwrap().len(), 6);
            assert_eq!(block_on(store.next_due()).unwrap(), Some(100));
        }
    });
}

#[test]
fn an_occurrence_and_its_message_are_written_together_and_once() {
    with_each_pair(|pair| {
        let (one, two) = (pair.one.jobs.as_ref(), pair.two.jobs.as_ref());
        put(one, &plan("job", 100), KnownRevision::New);
        let read = job(two, "job");
        let fire = || advance(&read, Some(200), vec![send("job", 100, "sent")]);
        assert_eq!(block_on(one.advance(fire())).unwrap(), JobChanged::Changed);
        assert_eq!(block_on(two.advance(fire())).unwrap(), JobChanged::Outdated);
        let waiting = block_on(pair.two.inbox.unanswered(None)).unwrap();
        assert_eq!(waiting.len(), 1);
        assert_eq!(waiting[0].id, "job:100");
        let open = block_on(two.open_occurrences()).unwrap();
        assert_eq!(open[0].message, MessageStanding::Waits);
        assert_eq!((open[0].record.planned, open[0].record.tries), (100, 1));
        assert_eq!(job(one, "job").plan.next, Some(200));
        // Whoever decides the same anew, having read it since, sends nothing either.
        let again = advance(&job(one, "job"), Some(200), vec![send("job", 100, "twice")]);
        assert_eq!(block_on(one.advance(again)).unwrap(), JobChanged::Changed);
        assert_eq!(occurrences(one, None)[0].note, "sent");
        assert_eq!(block_on(pair.one.inbox.unanswered(None)).unwrap().len(), 1);
    });
}

#[test]
fn an_occurrence_says_what_came_of_its_message() {
    with_each_pair(|pair| {
        let (one, two) = (pair.one.jobs.as_ref(), pair.two.jobs.as_ref());
        put(one, &plan("job", 100), KnownRevision::New);
        let fire = advance(&job(one, "job"), Some(200), vec![send("job", 100, "sent")]);
        block_on(one.advance(fire)).unwrap();
        let claimed = block_on(pair.two.inbox.claim(ask("w", 100, 50)))
            .unwrap()
            .unwrap();
        block_on(
            pair.two
                .inbox
                .finish(&claimed.claim, outcome("failed", 120)),
        )
        .unwrap();
        let open = block_on(one.open_occurrences()).unwrap();
        assert_eq!(
            open[0].message,
            MessageStanding::Finished(outcome("failed", 120))
        );
        // It is tried again, under another message.
        let wait = OccurrenceChange::Again {
            due: 150,
            note: "waits".to_owned(),
        };
        let later = advance(&job(one, "job"), Some(200), vec![step(100, 130, wait)]);
        block_on(one.advance(later)).unwrap();
        assert_eq!(block_on(two.next_due()).unwrap(), Some(150));
        let open = block_on(two.open_occurrences()).unwrap();
        assert_eq!(open[0].message, MessageStanding::None);
        let change = OccurrenceChange::Send {
            message: message("job:100:2", "job", 150),
            note: "second".to_owned(),
        };
        let second = advance(&job(two, "job"), Some(200), vec![step(100, 150, change)]);
        block_on(two.advance(second)).unwrap();
        let record = &occurrences(one, Some("job"))[0];
        assert_eq!((record.tries, record.due, record.begun), (2, None, 100));
        assert_eq!(record.message.as_deref(), Some("job:100:2"));
        let over = advance(
            &job(one, "job"),
            Some(200),
            vec![step(100, 160, end("done"))],
        );
        block_on(one.advance(over)).unwrap();
        assert_eq!(block_on(two.open_occurrences()).unwrap(), []);
        assert_eq!(block_on(two.next_due()).unwrap(), Some(200));
        // What is over stays as it is.
        let late = advance(
            &job(one, "job"),
            Some(200),
            vec![step(100, 170, end("late"))],
        );
        block_on(one.advance(late)).unwrap();
        let record = &occurrences(two, None)[0];
        assert_eq!((record.ended, record.note.as_str()), (Some(160), "done"));
    });
}

#[test]
fn a_message_the_inbox_forgot_is_said_to_be_forgotten() {
    with_each_pair(|pair| {
        let one = pair.one.jobs.as_ref();
        put(one, &plan("job", 100), KnownRevision::New);
        let fire = advance(&job(one, "job"), None, vec![send("job", 100, "sent")]);
        block_on(one.advance(fire)).unwrap();
        let claimed = block_on(pair.one.inbox.claim(ask("w", 100, 50)))
            .unwrap()
            .unwrap();
        block_on(pair.one.inbox.finish(&claimed.claim, outcome("done", 120))).unwrap();
        assert_eq!(block_on(pair.one.inbox.forget_finished(500)).unwrap(), 1);
        let open = block_on(one.open_occurrences()).unwrap();
        assert_eq!(open[0].message, MessageStanding::Forgotten);
    });
}

#[test]
fn a_job_that_goes_takes_along_what_was_not_begun() {
    with_each_pair(|pair| {
        let (one, two) = (pair.one.jobs.as_ref(), pair.two.jobs.as_ref());
        for id in ["begun", "waits"] {
            put(one, &plan(id, 100), KnownRevision::New);
            let fire = advance(&job(one, id), Some(200), vec![send(id, 100, "sent")]);
            block_on(one.advance(fire)).unwrap();
        }
        let begun = block_on(pair.two.inbox.claim(ask("w", 100, 50)))
            .unwrap()
            .unwrap();
        assert_eq!(begun.message.id, "begun:100");
        for id in ["begun", "waits"] {
            assert!(block_on(two.remove(id, outcome("removed", 110))).unwrap());
        }
        let waiting = block_on(pair.one.inbox.unanswered(None)).unwrap();
        let waiting: Vec<&str> = waiting.iter().map(|message| message.id.as_str()).collect();
        assert_eq!(waiting, ["begun:100"], "what runs ends by itself");
        assert_eq!(block_on(one.open_occurrences()).unwrap(), []);
        assert_eq!(occurrences(one, None).len(), 2, "the record stays");
    });
}

#[test]
fn old_occurrences_are_forgotten_by_age_and_by_number() {
    with_each_pair(|pair| {
        let one = pair.one.jobs.as_ref();
        put(one, &plan("job", 100), KnownRevision::New);
        put(one, &plan("other", 100), KnownRevision::New);
        let steps = (1..=8)
            .map(|at| step(at * 10, at * 10, end("done")))
            .collect();
        block_on(one.advance(advance(&job(one, "job"), None, steps))).unwrap();
        let steps = vec![send("other", 5, "open"), step(60, 60, end("done"))];
        block_on(one.advance(advance(&job(one, "other"), None, steps))).unwrap();
        let limit = OccurrenceLimit {
            before: 30,
            most: 4,
        };
        assert_eq!(block_on(one.forget_occurrences(limit)).unwrap(), 4);
        let kept = |job: &str| -> Vec<u64> {
            let kept = occurrences(one, Some(job));
            kept.iter().map(|one| one.planned).collect()
        };
        assert_eq!(kept("job"), [80, 70, 60, 50]);
        assert_eq!(kept("other"), [60, 5], "what is open stays");
    });
}
