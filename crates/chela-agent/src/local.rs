//! The day and the hour where the owner is.

use chela_core::Host;
use chela_memory::day::{CalendarDay, OwnerZone};
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Minutes east of UTC, now. An unknown zone is UTC.
pub fn offset_minutes(host: &Host, zone: Option<&str>) -> i32 {
    offset_seconds(&zone_of(host, zone), host.unix_time()) / 60
}

/// Whether a time zone is known here. Where none is, any may be right.
pub fn is_time_zone(name: &str) -> bool {
    TimeZone::get(name).is_ok() || TimeZone::get("Europe/London").is_err()
}

/// The owner's time zone: as the config says, else the machine.
fn zone_of(host: &Host, zone: Option<&str>) -> TimeZone {
    zone.or(host.facts.time_zone.as_deref())
        .and_then(|name| TimeZone::get(name).ok())
        .unwrap_or(TimeZone::UTC)
}

/// Seconds east of UTC at a moment.
fn offset_seconds(zone: &TimeZone, at: u64) -> i32 {
    let at = i64::try_from(at)
        .ok()
        .and_then(|seconds| Timestamp::from_second(seconds).ok())
        .unwrap_or_default();
    zone.to_offset(at).seconds()
}

/// The owner's calendar, for moments of the past.
#[derive(Debug, Clone)]
pub struct OwnerCalendar(TimeZone);

impl OwnerCalendar {
    pub fn of(host: &Host, zone: Option<&str>) -> Self {
        Self(zone_of(host, zone))
    }

    /// For memory, which knows the days of notes and of what was said.
    pub fn for_memory(self) -> OwnerZone {
        OwnerZone::new(move |at| i64::from(offset_seconds(&self.0, at)))
    }

    /// The day of a moment, in milliseconds since 1970, as `2026-11-15`.
    pub fn day(&self, at: u64) -> String {
        CalendarDay::of_unix(self.wall(at / 1_000)).to_string()
    }

    /// When the day of a moment began, in milliseconds since 1970.
    pub fn midnight(&self, at: u64) -> u64 {
        let wall = self.wall(at / 1_000);
        let midnight = wall - wall % 86_400;
        // The offset may have been another one at midnight.
        let near = (at / 1_000).saturating_sub(wall - midnight);
        let offset = i64::from(offset_seconds(&self.0, near));
        midnight.saturating_add_signed(-offset) * 1_000
    }

    fn wall(&self, at: u64) -> u64 {
        at.saturating_add_signed(i64::from(offset_seconds(&self.0, at)))
    }
}

/// Seconds since 1970 as a clock on the owner's wall would count them.
fn wall_time(host: &Host, zone: Option<&str>) -> u64 {
    let offset = i64::from(offset_minutes(host, zone)) * 60;
    host.unix_time().saturating_add_signed(offset)
}

pub fn day(host: &Host, zone: Option<&str>) -> CalendarDay {
    CalendarDay::of_unix(wall_time(host, zone))
}

/// Hour and minute.
pub fn time(host: &Host, zone: Option<&str>) -> (u32, u32) {
    let minutes = wall_time(host, zone) / 60 % (24 * 60);
    let part = |number: u64| u32::try_from(number).unwrap_or_default();
    (part(minutes / 60), part(minutes % 60))
}

#[cfg(test)]
mod tests {
    use super::OwnerCalendar;
    use chela_core::Host;

    const HOUR: u64 = 3_600_000;

    #[test]
    fn a_day_begins_where_the_owner_is() {
        let host = Host::fixed("/nowhere");
        // 2023-11-14 22:13 UTC.
        let at = 1_700_000_000_000;
        for (zone, day) in [
            ("UTC", "2023-11-14"),
            ("Europe/Vienna", "2023-11-14"),
            ("Asia/Tokyo", "2023-11-15"),
            ("nowhere/known", "2023-11-14"),
        ] {
            let calendar = OwnerCalendar::of(&host, Some(zone));
            assert_eq!(calendar.day(at), day, "{zone}");
            let midnight = calendar.midnight(at);
            assert_eq!(calendar.day(midnight), day, "{zone}");
            assert_ne!(calendar.day(midnight - 1), day, "{zone}");
        }
    }

    #[test]
    fn a_day_with_a_missing_hour_begins_at_midnight_too() {
        let calendar = OwnerCalendar::of(&Host::fixed("/nowhere"), Some("Europe/Vienna"));
        // 2023-03-26 12:00 there; the clocks went forward at 2.
        let noon = 1_679_824_800_000;
        let midnight = calendar.midnight(noon);
        assert_eq!(noon - midnight, 11 * HOUR);
        assert_eq!(calendar.day(midnight), "2023-03-26");
        assert_eq!(calendar.day(midnight - 1), "2023-03-25");
    }
}
