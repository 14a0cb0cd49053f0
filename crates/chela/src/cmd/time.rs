//! Times for people.

/// `2026-11-15 12:30 UTC`.
pub fn utc(seconds: u64) -> String {
    let stamp = chela_session::iso(seconds.saturating_mul(1_000));
    // `2026-11-15T12:30:…`: the date, and the time to the minute.
    match (stamp.split_once('T'), stamp.get(11..16)) {
        (Some((date, _)), Some(time)) => format!("{date} {time} UTC"),
        _ => stamp,
    }
}

#[cfg(test)]
mod tests {
    use super::utc;

    #[test]
    fn dates_are_right_around_leap_days() {
        assert_eq!(utc(0), "1970-01-01 00:00 UTC");
        assert_eq!(utc(951_782_400), "2000-02-29 00:00 UTC");
        assert_eq!(utc(1_700_000_000), "2023-11-14 22:13 UTC");
        assert_eq!(utc(4_107_542_400), "2100-03-01 00:00 UTC");
    }
}
