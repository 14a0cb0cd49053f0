//! When jobs are due, as people and agents write it: nothing panics, every planned moment comes
//! after the one before, and looking back finds what looking forward gave.
#![no_main]

use chela_clock::{JobSchedule, LocalZone, parse_duration};
use libfuzzer_sys::fuzz_target;

/// 2026-03-09T08:00:00Z.
const NOW: u64 = 1_773_043_200_000;

fuzz_target!(|input: (&str, u16)| {
    let (text, days) = input;
    let now = NOW + u64::from(days) * 86_400_000;
    let _ = parse_duration(text);
    for zone in ["UTC", "Europe/Berlin"].map(LocalZone::named) {
        let Ok(zone) = zone else { continue };
        let read = [
            JobSchedule::read_at(text, &zone, now),
            JobSchedule::read_every(text, now),
            JobSchedule::read_cron(text, &zone),
        ];
        for schedule in read.into_iter().flatten() {
            let _ = schedule.in_words(&zone);
            let mut last = now;
            for moment in schedule.preview(now, 3) {
                assert!(moment > last, "{schedule:?}: {moment} after {last}");
                assert!(schedule.last_until(moment).is_none_or(|at| at == moment), "{schedule:?}");
                last = moment;
            }
        }
    }
});
