//! Sums of money for people.

/// Micro-dollars for people: `$1.23`, and more digits where less is at stake.
pub fn dollars(micro: u64) -> String {
    let (whole, part) = (micro / 1_000_000, micro % 1_000_000);
    match micro {
        0 => "$0".to_owned(),
        1..10_000 => {
            let digits = format!("{part:06}");
            format!("$0.{}", digits.trim_end_matches('0'))
        }
        _ => {
            let cents = (part + 5_000) / 10_000;
            format!("${}.{:02}", whole + cents / 100, cents % 100)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::dollars;

    #[test]
    fn dollars_are_readable() {
        for (micro, text) in [
            (0, "$0"),
            (25, "$0.000025"),
            (9_990, "$0.00999"),
            (10_000, "$0.01"),
            (1_234_567, "$1.23"),
            (999_999, "$1.00"),
        ] {
            assert_eq!(dollars(micro), text);
        }
    }
}
