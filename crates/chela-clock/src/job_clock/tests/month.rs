//! Months in a second: every job runs exactly when and as often as it should.

use super::*;

/// Twenty jobs of every kind, in zones on both sides of the world.
fn jobs(start: UnixMillis) -> Vec<JobSpec> {
    let expressions = [
        ("30 2 * * *", "Europe/Berlin"),
        ("*/30 2 * * *", "Europe/Berlin"),
        ("0 0 * * *", "Europe/Berlin"),
        ("30 2 * * *", "America/New_York"),
        ("30 1 * * *", "America/New_York"),
        ("0 * * * *", "America/New_York"),
        ("15 2 * * *", "Australia/Lord_Howe"),
        ("0 9 * * MON", "Asia/Tokyo"),
        ("0 8 1 * *", "Europe/London"),
        ("0 8 L * *", "Europe/London"),
        ("0 8 * * FRI#2", "UTC"),
        ("*/20 9-17 * * MON-FRI", "Europe/Berlin"),
        ("30 15 6 * * *", "UTC"),
        ("0 12 29 2 *", "UTC"),
    ];
    let by_cron = expressions.iter().enumerate();
    let mut jobs: Vec<JobSpec> = by_cron
        .map(|(number, (expression, zone))| spec(&format!("c{number}"), cron(expression, zone)))
        .collect();
    for (number, minutes) in [45_u64, 180, 1_440, 10_080].into_iter().enumerate() {
        let every = minutes * MINUTE;
        let anchor = start;
        jobs.push(spec(
            &format!("e{number}"),
            JobSchedule::Every { every, anchor },
        ));
    }
    for (number, day) in [3_u64, 17].into_iter().enumerate() {
        let at = start + day * DAY + 12_345;
        jobs.push(spec(&format!("a{number}"), JobSchedule::At { at }));
    }
    jobs
}

fn run_month(start: &str, days: u64) -> (Home, Vec<JobSpec>) {
    let mut home = Home::new(start);
    let jobs = jobs(home.now);
    for job in &jobs {
        home.add(job.clone());
    }
    for _ in 0..days {
        home.restart();
        home.pass(home.now + DAY, "ok");
    }
    (home, jobs)
}

#[test]
fn over_both_changes_of_the_clocks_every_job_runs_as_planned() {
    for (start, both_passes) in [("2026-03-05T12:00:00Z", 0), ("2026-10-10T12:00:00Z", 2)] {
        let (home, jobs) = run_month(start, 31);
        assert_eq!(jobs.len(), 20);
        for job in &jobs {
            let first = job.schedule.next_after(utc(start));
            let planned = std::iter::successors(first, |moment| job.schedule.next_after(*moment));
            let planned: Vec<u64> = planned.take_while(|moment| *moment < home.now).collect();
            assert_eq!(home.ran(&job.name), planned, "{} from {start}", job.name);
        }
        // By the calendar, not by the schedule: 31 nights, in one of which half past two is
        // missing or comes twice.
        assert_eq!(home.ran("c0").len(), 31);
        if both_passes > 0 {
            assert_eq!(home.ran("c1").len(), 31 * 2 + both_passes);
        }
        let ran: usize = home.ran.values().map(Vec::len).sum();
        let runs = home.book().runs(None, 100_000).unwrap();
        assert_eq!(runs.len(), ran, "nothing was sent that did not fire");
    }
}
