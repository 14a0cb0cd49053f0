//! Ways in which schedulers of agents are known to go wrong, one each.

use super::*;

fn daily() -> JobSchedule {
    cron("0 8 * * *", "Europe/Berlin")
}

/// It ran, the process was restarted, and it ran again.
#[test]
fn a_restart_runs_nothing_twice() {
    let mut home = Home::new("2026-03-02T06:59:00Z");
    home.add(spec("daily", daily()));
    home.now = utc("2026-03-02T07:00:00Z");
    // Restarted right after it was sent, and again and again after it ran.
    home.tick();
    home.restart();
    home.tick();
    home.work("ok");
    for _ in 0..3 {
        home.restart();
        home.sleep(10_000);
        home.tick();
        home.work("ok");
    }
    assert_eq!(home.ran("daily"), [utc("2026-03-02T07:00:00Z")]);
}

/// The timer was late, and the run was skipped without a word.
#[test]
fn a_late_timer_skips_nothing_in_silence() {
    let mut home = Home::new("2026-03-02T06:59:00Z");
    home.add(spec("daily", daily()));
    home.now = utc("2026-03-02T07:00:59Z");
    home.tick();
    home.work("ok");
    home.tick();
    assert_eq!(home.ran("daily").len(), 1);
    // And what is skipped is on record, with the reason.
    home.now = utc("2026-03-03T12:00:00Z");
    home.tick();
    let runs = home.book().runs(None, 10).unwrap();
    assert_eq!(runs[0].note.status, RunStatus::Skipped);
    assert!(runs[0].note.why.as_ref().unwrap().contains("too late"));
}

/// After an edit the run of the same day was lost.
#[test]
fn an_edit_takes_no_run_away() {
    let mut home = Home::new("2026-03-02T06:00:00Z");
    let row = home.add(spec("daily", daily()));
    let edited = JobSpec {
        payload: JobPayload::Message {
            text: "other words".to_owned(),
        },
        ..row.spec.clone()
    };
    home.book().edit(&row, edited, home.now).unwrap();
    home.pass(utc("2026-03-02T07:01:00Z"), "ok");
    assert_eq!(home.ran("other words"), [utc("2026-03-02T07:00:00Z")]);
}

/// A daily job ran every second day, because the next run was computed from when it ended.
#[test]
fn a_run_that_takes_long_does_not_skip_a_day() {
    let mut home = Home::new("2026-03-02T06:00:00Z");
    home.add(spec("daily", daily()));
    for day in 0..5 {
        home.now = utc("2026-03-02T07:00:00Z") + day * DAY + 500;
        home.tick();
        // It takes 23 hours and 59 minutes.
        home.now += DAY - MINUTE;
        home.work("ok");
        home.tick();
    }
    let planned: Vec<u64> = (0..5)
        .map(|day| utc("2026-03-02T07:00:00Z") + day * DAY)
        .collect();
    assert_eq!(home.ran("daily"), planned);
}

/// Whoever listed the jobs moved them on.
#[test]
fn looking_moves_nothing() {
    let mut home = Home::new("2026-03-02T06:59:00Z");
    let row = home.add(spec("daily", daily()));
    home.now = utc("2026-03-02T07:00:30Z");
    let before = home.book().list().unwrap();
    for _ in 0..10 {
        home.book().list().unwrap();
        home.book().find(&row.id).unwrap();
        home.book().runs(Some(&row.id), 5).unwrap();
        row.spec.schedule.preview(home.now, 3);
        block_on(home.store.next_due()).unwrap();
    }
    assert_eq!(home.book().list().unwrap(), before);
    home.tick();
    home.work("ok");
    assert_eq!(home.ran("daily"), [utc("2026-03-02T07:00:00Z")]);
}

/// What was made up for after a restart was computed in UTC, whatever the zone of the job.
#[test]
fn catching_up_keeps_the_zone_of_the_job() {
    let mut home = Home::new("2026-07-01T00:00:00Z");
    home.add(spec("new york", cron("0 9 * * *", "America/New_York")));
    // 9:00 in New York is 13:00 in UTC; in UTC it would have been due at 9:00.
    home.now = utc("2026-07-01T10:30:00Z");
    home.restart();
    home.tick();
    home.work("ok");
    assert_eq!(home.ran("new york"), [0; 0]);
    home.now = utc("2026-07-01T14:30:00Z");
    home.restart();
    home.tick();
    home.work("ok");
    assert_eq!(home.ran("new york"), [utc("2026-07-01T13:00:00Z")]);
    let next = home.book().find("new-york").unwrap().next;
    assert_eq!(next, Some(utc("2026-07-02T13:00:00Z")));
}

/// The machine was off over the weekend, and on Monday everything ran that nobody wanted any more.
#[test]
fn what_nobody_wants_any_more_is_not_caught_up_with() {
    let mut home = Home::new("2026-03-06T06:00:00Z");
    home.add(spec("daily", daily()));
    home.add(spec("hourly", cron("0 * * * *", "UTC")));
    home.sleep(3 * DAY + 6 * HOUR + 30 * MINUTE);
    home.tick();
    home.work("ok");
    assert_eq!(home.ran("daily"), [0; 0]);
    assert_eq!(home.ran("hourly"), [utc("2026-03-09T12:00:00Z")]);
}

/// The process died while a run was under way, and it was never heard of again.
#[test]
fn a_run_that_was_interrupted_is_taken_up_again() {
    let mut home = Home::new("2026-03-02T06:59:59Z");
    home.add(spec("daily", daily()));
    home.sleep(1_000);
    home.tick();
    let ask = ClaimAsk {
        worker: "dead".to_owned(),
        time: LeaseTime {
            now: home.now,
            ttl: MINUTE,
        },
    };
    let claimed = block_on(home.store.claim(ask)).unwrap().unwrap();
    assert_eq!(claimed.message.body, "daily");
    home.restart();
    home.sleep(2 * MINUTE);
    home.tick();
    home.work("ok");
    home.tick();
    assert_eq!(home.ran("daily"), [utc("2026-03-02T07:00:00Z")]);
    let runs = home.book().runs(None, 10).unwrap();
    assert_eq!((runs.len(), runs[0].note.status), (1, RunStatus::Ok));
}

#[test]
fn a_clock_that_is_set_back_leaves_no_job_waiting_for_years() {
    let mut home = Home::new("2026-03-02T06:00:00Z");
    home.add(spec("daily", daily()));
    // A wrong clock, for a moment.
    home.now = utc("2031-01-01T00:00:00Z");
    home.tick();
    home.work("ok");
    home.now = utc("2026-03-02T06:30:00Z");
    home.pass(utc("2026-03-04T12:00:00Z"), "ok");
    let planned: Vec<u64> = (0..3)
        .map(|day| utc("2026-03-02T07:00:00Z") + day * DAY)
        .collect();
    assert_eq!(home.ran("daily"), planned);
    // Set back by an hour after it ran: it does not run again.
    home.now = utc("2026-03-04T06:50:00Z");
    home.pass(utc("2026-03-04T12:00:00Z"), "ok");
    assert_eq!(home.ran("daily"), planned);
}

#[test]
fn what_fails_is_tried_again_with_pauses_and_given_up_at_last() {
    let mut home = Home::new("2026-03-02T06:59:00Z");
    let row = home.add(spec("daily", daily()));
    home.pass(utc("2026-03-02T08:00:00Z"), "no model answers");
    assert_eq!(home.ran("daily").len(), 4, "once, and three times more");
    let run = &home.book().runs(Some(&row.id), 1).unwrap()[0];
    assert_eq!((run.tries, run.note.status), (4, RunStatus::Failed));
    assert_eq!(run.note.why.as_deref(), Some("no model answers"));
    assert_eq!(run.note.input_tokens, 40);
    assert_eq!(run.note.micro_dollars, Some(20));
    assert_eq!(run.ended, Some(utc("2026-03-02T07:00:00Z") + 390_000));
    home.pass(utc("2026-03-30T08:00:00Z"), "no model answers");
    let row = home.book().find("daily").unwrap();
    assert!(!row.enabled);
    assert_eq!(row.state.end, Some(JobEnd::FailedTooOften { failures: 10 }));
    // The owner mends it and switches it on.
    home.book().resume(&row, home.now).unwrap();
    home.pass(home.now + DAY, "ok");
    assert_eq!(home.book().find("daily").unwrap().state.failures, 0);
}

#[test]
fn a_reminder_goes_when_it_was_given_and_stays_when_it_was_missed() {
    let mut home = Home::new("2026-03-02T06:00:00Z");
    let at = |text| JobSchedule::At { at: utc(text) };
    home.add(spec("given", at("2026-03-02T07:00:00Z")));
    home.add(spec("missed", at("2026-03-03T07:00:00Z")));
    home.pass(utc("2026-03-02T08:00:00Z"), "ok");
    assert_eq!(home.ran("given").len(), 1);
    assert!(home.book().find("given").is_err());
    home.now = utc("2026-03-04T07:00:00Z");
    home.tick();
    let missed = home.book().find("missed").unwrap();
    assert!(!missed.enabled);
    assert_eq!(missed.state.end, Some(JobEnd::MissedOnce));
    assert_eq!(home.book().runs(None, 10).unwrap().len(), 2);
}

#[test]
fn a_run_by_hand_is_one_more_and_moves_nothing() {
    let mut home = Home::new("2026-03-02T06:00:00Z");
    let row = home.add(spec("daily", daily()));
    let paused = home.book().pause(&row).unwrap();
    let begun = block_on(home.clock().run_now(&paused.id, home.now)).unwrap();
    begun.unwrap();
    home.work("ok");
    home.tick();
    assert_eq!(home.ran("daily"), [home.now]);
    let runs = home.book().runs(None, 10).unwrap();
    assert!(runs[0].note.by_hand);
    assert_eq!(home.book().find("daily").unwrap().next, row.next);
}

#[test]
fn a_job_that_cannot_be_run_says_why() {
    let mut home = Home::new("2026-03-02T06:59:00Z");
    home.add(spec("impossible", daily()));
    home.pass(utc("2026-03-02T08:00:00Z"), "ok");
    let runs = home.book().runs(None, 10).unwrap();
    assert_eq!(runs[0].note.why.as_deref(), Some("the agent is gone"));
    let row = home.book().find("impossible").unwrap();
    assert_eq!(row.state.failures, 1);
}

#[test]
fn an_agent_makes_no_job_that_runs_all_the_time_and_nobody_makes_too_many() {
    let mut home = Home::new("2026-03-02T06:00:00Z");
    let by_agent = |schedule: JobSchedule| {
        let mut spec = spec("often", schedule);
        spec.made.by = JobMaker::Agent;
        spec
    };
    let book = home.book();
    let entropy = FixedEntropy(1);
    let every = |every: u64| JobSchedule::Every { every, anchor: 0 };
    for schedule in [every(MINUTE - 1), cron("*/20 * * * * *", "UTC")] {
        let refused = book
            .add(by_agent(schedule), &entropy, home.now)
            .unwrap_err();
        assert!(refused.to_string().contains("once a minute"), "{refused}");
    }
    let row = book
        .add(by_agent(every(MINUTE)), &entropy, home.now)
        .unwrap();
    let refused = book.edit(&row, by_agent(every(1_000)), home.now);
    assert!(refused.is_err());
    for number in 1..200 {
        home.add(spec(&format!("n{number}"), every(HOUR)));
    }
    let spec = spec("one-more", every(HOUR));
    let refused = book.add(spec, &entropy, home.now).unwrap_err();
    assert!(refused.to_string().contains("200 jobs"), "{refused}");
}
