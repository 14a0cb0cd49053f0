use proptest::prelude::*;

use super::*;

fn berlin() -> LocalZone {
    LocalZone::named("Europe/Berlin").unwrap()
}

fn utc(text: &str) -> UnixMillis {
    unix_millis(text.parse().unwrap()).unwrap()
}

fn cron(expression: &str, zone: &str) -> JobSchedule {
    JobSchedule::read_cron(expression, &LocalZone::named(zone).unwrap()).unwrap()
}

fn next_in_words(schedule: &JobSchedule, after: &str, count: usize) -> Vec<String> {
    let zone = match schedule {
        JobSchedule::Cron { zone, .. } => LocalZone::named(zone).unwrap(),
        _ => berlin(),
    };
    let next = schedule.preview(utc(after), count);
    next.into_iter()
        .map(|moment| zone.at(moment).strftime("%m-%d %H:%M%:z").to_string())
        .collect()
}

#[test]
fn a_moment_is_read_with_its_zone_or_in_the_owners() {
    let now = utc("2026-03-01T10:00:00Z");
    for (text, moment) in [
        ("2026-03-09T08:00:00Z", "2026-03-09T08:00:00Z"),
        ("2026-03-09T08:00:00+05:00", "2026-03-09T03:00:00Z"),
        ("2026-03-09T08:00[Asia/Tokyo]", "2026-03-08T23:00:00Z"),
        ("2026-03-09T08:00", "2026-03-09T07:00:00Z"),
        ("2026-03-09 08:00", "2026-03-09T07:00:00Z"),
        ("2026-07-09T08:00", "2026-07-09T06:00:00Z"),
        ("20m", "2026-03-01T10:20:00Z"),
        ("in 2h", "2026-03-01T12:00:00Z"),
        ("+1d", "2026-03-02T10:00:00Z"),
        ("12:00", "2026-03-01T11:00:00Z"),
        ("08:00", "2026-03-02T07:00:00Z"),
    ] {
        let at = JobSchedule::read_at(text, &berlin(), now);
        assert_eq!(at, Ok(JobSchedule::At { at: utc(moment) }), "{text}");
    }
}

#[test]
fn what_is_wrong_with_a_schedule_is_said() {
    let (zone, now) = (berlin(), utc("2026-03-01T10:00:00Z"));
    let at = |text| JobSchedule::read_at(text, &zone, now).map(drop);
    let every = |text| JobSchedule::read_every(text, now).map(drop);
    let by_cron = |text| JobSchedule::read_cron(text, &zone).map(drop);
    for (read, words) in [
        (at("next year"), "not a moment"),
        (at("2026"), "not a moment"),
        (at("25:00"), "not a moment"),
        (at("2026-02-30T08:00"), "not a moment"),
        (
            at("2026-02-01T08:00"),
            "Sun 1 February 2026, 08:00 (Europe/Berlin) has passed",
        ),
        (every("0"), "too often"),
        (every("a while"), "not a length of time"),
        (by_cron("* * *"), "not a cron expression"),
        (by_cron("61 * * * *"), "not a cron expression"),
        (by_cron("0 0 30 2 *"), "never comes"),
        (by_cron("* * * * * * 2026"), "not a cron expression"),
    ] {
        let error = read.unwrap_err().to_string();
        assert!(error.contains(words), "{error}");
    }
    let zone = LocalZone::named("Europe/Berlyn").unwrap_err().to_string();
    assert!(zone.contains("no time zone `Europe/Berlyn`"), "{zone}");
}

#[test]
fn in_spring_an_hour_is_missing_and_nothing_is_left_out() {
    let daily = cron("30 2 * * *", "Europe/Berlin");
    assert_eq!(
        next_in_words(&daily, "2026-03-27T12:00:00Z", 3),
        [
            "03-28 02:30+01:00",
            "03-29 03:00+02:00",
            "03-30 02:30+02:00"
        ]
    );
}

#[test]
fn in_autumn_an_hour_comes_twice_and_a_daily_job_once() {
    let daily = cron("30 2 * * *", "Europe/Berlin");
    assert_eq!(
        next_in_words(&daily, "2026-10-24T12:00:00Z", 3),
        [
            "10-25 02:30+02:00",
            "10-26 02:30+01:00",
            "10-27 02:30+01:00"
        ]
    );
    let half_hours = cron("*/30 2 * * *", "Europe/Berlin");
    assert_eq!(
        next_in_words(&half_hours, "2026-10-24T12:00:00Z", 5),
        [
            "10-25 02:00+02:00",
            "10-25 02:30+02:00",
            "10-25 02:00+01:00",
            "10-25 02:30+01:00",
            "10-26 02:00+01:00"
        ]
    );
}

#[test]
fn six_fields_begin_with_seconds() {
    let schedule = cron("15 0 8 * * MON", "UTC");
    let first = schedule.next_after(utc("2026-03-01T10:00:00Z"));
    assert_eq!(first, Some(utc("2026-03-02T08:00:15Z")));
}

#[test]
fn every_is_counted_from_its_anchor() {
    let schedule = JobSchedule::Every {
        every: 1_000,
        anchor: 10_500,
    };
    assert_eq!(schedule.next_after(0), Some(10_500));
    assert_eq!(schedule.next_after(10_500), Some(11_500));
    assert_eq!(schedule.next_after(11_499), Some(11_500));
    assert_eq!(schedule.last_until(11_499), Some(10_500));
    assert_eq!(schedule.last_until(10_499), None);
}

#[test]
fn a_schedule_reads_like_one() {
    let zone = berlin();
    let now = utc("2026-03-01T10:00:00Z");
    let words = |schedule: JobSchedule| schedule.in_words(&zone);
    let once = JobSchedule::read_at("2026-03-09T08:00", &zone, now).unwrap();
    assert_eq!(words(once), "once, Mon 9 March 2026, 08:00 (Europe/Berlin)");
    let every = JobSchedule::read_every("90m", now).unwrap();
    assert_eq!(words(every), "every 1 hour 30 minutes");
    let weekly = words(cron("0 8 * * MON", "Europe/Berlin"));
    assert!(
        weekly.contains("08:00") && weekly.contains("Monday"),
        "{weekly}"
    );
    assert!(weekly.ends_with("(Europe/Berlin)"), "{weekly}");
}

const ZONES: [&str; 6] = [
    "UTC",
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",
    "Asia/Kathmandu",
    "Pacific/Apia",
];

fn schedules() -> impl Strategy<Value = JobSchedule> {
    let zone = prop::sample::select(&ZONES[..]);
    let minute = prop_oneof![
        Just("*/20".to_owned()),
        (0..60_u8).prop_map(|m| m.to_string())
    ];
    let hour = prop_oneof![Just("*".to_owned()), (0..24_u8).prop_map(|h| h.to_string())];
    let weekday = prop_oneof![Just("*".to_owned()), (0..7_u8).prop_map(|d| d.to_string())];
    prop_oneof![
        (1_000_u64..10_000_000, 0_u64..2_000_000_000_000)
            .prop_map(|(every, anchor)| JobSchedule::Every { every, anchor }),
        (minute, hour, weekday, zone).prop_map(|(minute, hour, weekday, zone)| {
            cron(&format!("{minute} {hour} * * {weekday}"), zone)
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Moments come in order, none is left out between two, and none is found from behind that
    /// is not found from before.
    #[test]
    fn the_next_moment_is_later_and_nothing_lies_between(
        schedule in schedules(),
        after in 1_600_000_000_000_u64..1_900_000_000_000,
        within in 0_u64..1_000,
    ) {
        let next = schedule.next_after(after).unwrap();
        prop_assert!(next > after);
        let between = after + (next - after) * within / 1_000;
        prop_assert_eq!(schedule.next_after(between), Some(next));
        prop_assert_eq!(schedule.last_until(next), Some(next));
        if let Some(last) = schedule.last_until(between) {
            prop_assert!(last <= after, "{} lies between {} and {}", last, after, next);
            prop_assert_eq!(schedule.next_after(last), Some(next));
        }
    }
}

/// The day on which an hour is left out has no time twice, and the day with an hour more neither.
#[test]
fn a_time_of_day_comes_once_a_day_also_beside_the_hour_that_is_left_out() {
    for (zone, days) in [
        ("America/New_York", ["2026-03-07", "2026-10-31"]),
        ("Europe/Berlin", ["2026-03-28", "2026-10-24"]),
        ("Europe/London", ["2026-03-28", "2026-10-24"]),
        ("Australia/Lord_Howe", ["2026-04-04", "2026-10-03"]),
    ] {
        let known = LocalZone::named(zone).unwrap();
        for (day, hour) in days
            .iter()
            .flat_map(|day| (0..24).map(move |hour| (day, hour)))
        {
            let schedule = cron(&format!("30 {hour} * * *"), zone);
            let start = utc(&format!("{day}T00:00:00Z"));
            let planned = schedule.preview(start, 5);
            let dates: Vec<_> = planned
                .iter()
                .map(|moment| known.at(*moment).date())
                .collect();
            let following = |pair: &[jiff::civil::Date]| pair[0].tomorrow().unwrap() == pair[1];
            assert!(
                dates.windows(2).all(following),
                "{zone} {hour}:30: {dates:?}"
            );
            for pair in planned.windows(2) {
                let between = pair[1] - 60_000;
                assert_eq!(
                    schedule.last_until(between),
                    Some(pair[0]),
                    "{zone} {hour}:30"
                );
            }
        }
    }
}
