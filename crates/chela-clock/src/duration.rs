//! Lengths of time as people write them: `30m`, `1h30m`, `2d`.

/// Why a text is not a length of time.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    #[error("`{0}` is not a length of time: write a number and a unit, such as 30m, 1h30m or 2d")]
    Unreadable(String),
    #[error("`{text}` has no unit `{unit}`; there are s, m, h, d and w")]
    UnknownUnit { text: String, unit: String },
    #[error("`{0}` is longer than a hundred years")]
    TooLong(String),
}

const LONGEST: u64 = 100 * 366 * 86_400_000;

const UNITS: [(&str, u64); 6] = [
    ("w", 7 * 86_400_000),
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1_000),
    ("ms", 1),
];

/// Milliseconds. A bare number is minutes.
pub fn parse_duration(text: &str) -> Result<u64, DurationError> {
    let plain = text.trim().to_lowercase().replace(' ', "");
    let unreadable = || DurationError::Unreadable(text.trim().to_owned());
    if let Ok(minutes) = plain.parse::<u64>() {
        return within(minutes.checked_mul(60_000), text);
    }
    let mut total = Some(0_u64);
    let mut rest = plain.as_str();
    if rest.is_empty() {
        return Err(unreadable());
    }
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(0);
        let (number, tail) = rest.split_at_checked(digits).ok_or_else(unreadable)?;
        let number: u64 = number.parse().map_err(|_| unreadable())?;
        let letters = tail
            .find(|c: char| c.is_ascii_digit())
            .unwrap_or(tail.len());
        let (unit, next) = tail.split_at_checked(letters).ok_or_else(unreadable)?;
        let length = unit_of(unit).ok_or_else(|| DurationError::UnknownUnit {
            text: text.trim().to_owned(),
            unit: unit.to_owned(),
        })?;
        total = total
            .zip(number.checked_mul(length))
            .and_then(|(sum, part)| sum.checked_add(part));
        rest = next;
    }
    within(total, text)
}

fn within(total: Option<u64>, text: &str) -> Result<u64, DurationError> {
    total
        .filter(|total| *total <= LONGEST)
        .ok_or_else(|| DurationError::TooLong(text.trim().to_owned()))
}

fn unit_of(word: &str) -> Option<u64> {
    let word = match word {
        "sec" | "secs" | "second" | "seconds" => "s",
        "min" | "mins" | "minute" | "minutes" => "m",
        "hour" | "hours" | "hr" | "hrs" => "h",
        "day" | "days" => "d",
        "week" | "weeks" => "w",
        other => other,
    };
    let unit = UNITS.iter().find(|(name, _)| *name == word);
    unit.map(|(_, length)| *length)
}

/// `1 hour 30 minutes`, from the two largest units.
pub fn duration_in_words(millis: u64) -> String {
    const NAMES: [(&str, u64); 4] = [
        ("day", 86_400_000),
        ("hour", 3_600_000),
        ("minute", 60_000),
        ("second", 1_000),
    ];
    let mut rest = millis;
    let mut parts = Vec::new();
    for (name, length) in NAMES {
        let count = rest / length;
        rest %= length;
        match count {
            0 => {}
            1 => parts.push(format!("1 {name}")),
            count => parts.push(format!("{count} {name}s")),
        }
    }
    parts.truncate(2);
    match parts.is_empty() {
        true => "0 seconds".to_owned(),
        false => parts.join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_as_people_write_them() {
        for (text, millis) in [
            ("30m", 1_800_000),
            ("1h30m", 5_400_000),
            ("90", 5_400_000),
            ("2 d", 172_800_000),
            ("45 min", 2_700_000),
            ("500ms", 500),
            ("0m", 0),
        ] {
            assert_eq!(parse_duration(text), Ok(millis), "{text}");
        }
        assert_eq!(duration_in_words(5_400_000), "1 hour 30 minutes");
        assert_eq!(duration_in_words(172_860_001), "2 days 1 minute");
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        for (text, words) in [
            ("soon", "not a length of time"),
            ("", "not a length of time"),
            ("5y", "no unit `y`"),
            ("-5m", "not a length of time"),
            ("99999999999999999999h", "not a length of time"),
            ("9999999999h", "longer than"),
        ] {
            let error = parse_duration(text).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
