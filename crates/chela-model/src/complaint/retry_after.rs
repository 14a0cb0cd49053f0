//! How long an endpoint asks to wait.

use std::time::Duration;

use chela_config::model::{BareUnit, parse_duration};
use reqwest::header::HeaderMap;

/// From the headers: milliseconds, seconds, a date, or the time a limit is lifted. Dates are
/// compared with the endpoint's own clock.
pub fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    if let Some(ms) = text("retry-after-ms").and_then(|ms| ms.trim().parse::<f64>().ok()) {
        return Duration::try_from_secs_f64(ms / 1_000.0).ok();
    }
    if let Some(after) = text("retry-after") {
        if let Ok(seconds) = after.trim().parse::<f64>() {
            return Duration::try_from_secs_f64(seconds).ok();
        }
        if let (Some(then), Some(now)) = (http_date(after), text("date").and_then(http_date)) {
            return Some(Duration::from_secs(then.saturating_sub(now)));
        }
    }
    ["x-ratelimit-reset-requests", "x-ratelimit-reset-tokens"]
        .iter()
        .filter_map(|name| parse_duration(text(name)?, BareUnit::Seconds))
        // Some give the time of day here instead of a length.
        .filter(|length| *length < Duration::from_secs(86_400))
        .max()
}

/// `Sun, 06 Nov 1994 08:49:37 GMT` as seconds since 1970.
fn http_date(text: &str) -> Option<u64> {
    let mut words = text.trim().split_once(", ")?.1.split(' ');
    let day: u64 = words.next()?.parse().ok()?;
    let month = words.next()?;
    let year: u64 = words.next()?.parse().ok()?;
    let mut clock = words.next()?.split(':').map(str::parse::<u64>);
    let (hours, minutes, seconds) = (
        clock.next()?.ok()?,
        clock.next()?.ok()?,
        clock.next()?.ok()?,
    );
    let names = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let month = names.iter().position(|name| *name == month)? as u64 + 1;
    if !(1970..10_000).contains(&year) || !(1..=31).contains(&day) {
        return None;
    }
    // Days since 1970 in the proleptic calendar, with the year starting in March.
    let (y, m) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1;
    let days = days.checked_sub(719_468)?;
    Some(days * 86_400 + hours * 3_600 + minutes * 60 + seconds)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use reqwest::header::{HeaderMap, HeaderValue};

    use super::{http_date, retry_after};

    fn wait(headers: &[(&'static str, &'static str)]) -> Option<Duration> {
        let map: HeaderMap = headers
            .iter()
            .map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_static(value)))
            .collect();
        retry_after(&map)
    }

    #[test]
    fn every_way_to_say_it_is_understood() {
        let seconds = |seconds| Some(Duration::from_secs_f64(seconds));
        assert_eq!(wait(&[("retry-after", "7")]), seconds(7.0));
        assert_eq!(wait(&[("retry-after", "1.5")]), seconds(1.5));
        assert_eq!(
            wait(&[("retry-after-ms", "250"), ("retry-after", "9")]),
            seconds(0.25)
        );
        assert_eq!(
            wait(&[
                ("date", "Sun, 06 Nov 1994 08:49:37 GMT"),
                ("retry-after", "Sun, 06 Nov 1994 08:50:07 GMT"),
            ]),
            seconds(30.0)
        );
        assert_eq!(
            wait(&[("x-ratelimit-reset-requests", "1m0.5s")]),
            seconds(60.5)
        );
        assert_eq!(wait(&[("retry-after", "soon")]), None);
        assert_eq!(wait(&[]), None);
    }

    #[test]
    fn dates_are_counted_right() {
        assert_eq!(http_date("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(
            http_date("Sun, 06 Nov 1994 08:49:37 GMT"),
            Some(784_111_777)
        );
        assert_eq!(
            http_date("Thu, 29 Feb 2024 00:00:00 GMT"),
            Some(1_709_164_800)
        );
        assert_eq!(http_date("yesterday"), None);
    }
}
