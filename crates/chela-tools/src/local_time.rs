//! The time of day, where the owner is.

use chela_config::model::TimeFormat;
use jiff::Timestamp;
use jiff::tz::TimeZone;

/// `2026-03-04 17:05:09 +01:00 (Europe/Berlin, Wednesday)`. An unknown zone is UTC.
pub fn local_time(unix: u64, zone: Option<&str>) -> String {
    local_time_as(unix, zone, TimeFormat::Auto)
}

/// The same as the operator wants it.
pub fn local_time_as(unix: u64, zone: Option<&str>, format: TimeFormat) -> String {
    let stamp = i64::try_from(unix)
        .ok()
        .and_then(|unix| Timestamp::from_second(unix).ok())
        .unwrap_or_default();
    let known = zone.and_then(|zone| Some((TimeZone::get(zone).ok()?, zone)));
    let (zone, name) = known.unwrap_or((TimeZone::UTC, "UTC"));
    let local = stamp.to_zoned(zone);
    format!(
        "{} ({name}, {})",
        local.strftime(match format {
            TimeFormat::Twelve => "%F %I:%M:%S %p %:z",
            TimeFormat::Auto | TimeFormat::TwentyFour => "%F %T %:z",
        }),
        local.strftime("%A")
    )
}

#[cfg(test)]
mod tests {
    use super::local_time;

    #[test]
    fn the_offset_is_the_one_of_that_day() {
        let zone = Some("Europe/Berlin");
        // Without a zone database the zone is unknown, and UTC is the honest answer.
        if jiff::tz::TimeZone::get("Europe/Berlin").is_ok() {
            assert_eq!(
                local_time(1_772_640_309, zone),
                "2026-03-04 17:05:09 +01:00 (Europe/Berlin, Wednesday)"
            );
            assert!(local_time(1_783_000_000, zone).contains("+02:00"));
        }
        assert_eq!(
            local_time(1_772_640_309, Some("Nowhere/Land")),
            "2026-03-04 16:05:09 +00:00 (UTC, Wednesday)"
        );
        assert_eq!(
            local_time(u64::MAX, None),
            "1970-01-01 00:00:00 +00:00 (UTC, Thursday)"
        );
    }
}
