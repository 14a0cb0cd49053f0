//! Moments as transcripts carry them: `2026-01-18T00:20:12.345Z`.

/// Milliseconds since 1970 as ISO 8601.
pub fn iso(millis: u64) -> String {
    let (year, month, day) = civil(millis / 86_400_000);
    let (seconds, millis) = (millis / 1000 % 86_400, millis % 1000);
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{millis:03}Z",
        seconds / 3600,
        seconds / 60 % 60,
        seconds % 60,
    )
}

/// Reads what [`iso`] writes, without or with fractions, with `Z` or an offset.
pub fn parse_iso(text: &str) -> Option<u64> {
    let number = |range: std::ops::Range<usize>| text.get(range)?.parse::<i64>().ok();
    let days = days_of(number(0..4)?, number(5..7)?, number(8..10)?)?;
    let clock = number(11..13)? * 3600 + number(14..16)? * 60 + number(17..19).unwrap_or(0);
    let rest = text.get(19..).unwrap_or("");
    let digits = rest.strip_prefix('.').map_or("", |rest| {
        rest.split(|c: char| !c.is_ascii_digit())
            .next()
            .unwrap_or("")
    });
    let fraction: i64 = format!("{:0<3.3}", digits).parse().unwrap_or(0);
    let zone = rest
        .trim_start_matches('.')
        .trim_start_matches(|c: char| c.is_ascii_digit());
    let offset = match zone.get(..1) {
        Some(sign @ ("+" | "-")) => {
            let hours: i64 = zone.get(1..3)?.parse().ok()?;
            let minutes: i64 = zone
                .get(4..6)
                .and_then(|text| text.parse().ok())
                .unwrap_or(0);
            (hours * 60 + minutes) * if sign == "+" { 60 } else { -60 }
        }
        _ => 0,
    };
    u64::try_from((days * 86_400 + clock - offset) * 1000 + fraction).ok()
}

/// Days from 1970-01-01, by the Gregorian calendar: years are taken to begin in March, so that
/// the leap day is the last of its year.
fn days_of(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(era * 146_097 + day_of_era - 719_468)
}

fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 {
        shifted_month + 3
    } else {
        shifted_month - 9
    };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::{iso, parse_iso};

    #[test]
    fn moments_survive_being_written_and_read() {
        for millis in [0, 951_782_400_123, 1_700_000_000_000, 4_107_542_399_999] {
            assert_eq!(parse_iso(&iso(millis)), Some(millis), "{}", iso(millis));
        }
        assert_eq!(iso(1_768_695_612_345), "2026-01-18T00:20:12.345Z");
        assert_eq!(
            parse_iso("2026-01-18T01:20:12+01:00"),
            Some(1_768_695_612_000)
        );
        assert_eq!(parse_iso("2026-01-18T00:20:12.3Z"), Some(1_768_695_612_300));
        assert_eq!(parse_iso("yesterday"), None);
        assert_eq!(parse_iso("2026-13-18T00:20:12Z"), None);
        assert_eq!(parse_iso("ééééééééééé"), None);
    }
}
