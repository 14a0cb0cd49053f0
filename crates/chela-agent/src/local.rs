//! The day and the hour where the owner is.

use chela_core::Host;
use chela_memory::day::Day;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Minutes east of UTC, now. An unknown zone is UTC.
pub fn offset_minutes(host: &Host, zone: Option<&str>) -> i32 {
    let zone = zone
        .or(host.facts.time_zone.as_deref())
        .and_then(|name| TimeZone::get(name).ok())
        .unwrap_or(TimeZone::UTC);
    let now = i64::try_from(host.unix_time())
        .ok()
        .and_then(|seconds| Timestamp::from_second(seconds).ok())
        .unwrap_or_default();
    zone.to_offset(now).seconds() / 60
}

/// Seconds since 1970 as a clock on the owner's wall would count them.
fn wall_time(host: &Host, zone: Option<&str>) -> u64 {
    let offset = i64::from(offset_minutes(host, zone)) * 60;
    host.unix_time().saturating_add_signed(offset)
}

pub fn day(host: &Host, zone: Option<&str>) -> Day {
    Day::of_unix(wall_time(host, zone))
}

/// Hour and minute.
pub fn time(host: &Host, zone: Option<&str>) -> (u32, u32) {
    let minutes = wall_time(host, zone) / 60 % (24 * 60);
    let part = |number: u64| u32::try_from(number).unwrap_or_default();
    (part(minutes / 60), part(minutes % 60))
}
