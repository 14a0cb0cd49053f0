//! Until when a certificate is valid, read from its bytes: the library that judges certificates
//! does not say.

/// The end of its validity, in seconds since 1970. `None` where the bytes cannot be read.
pub(super) fn valid_until(certificate: &[u8]) -> Option<u64> {
    let (whole, _) = element(certificate, SEQUENCE)?;
    let (mut rest, _) = element(whole, SEQUENCE)?;
    // The version may be left out.
    if rest.first() == Some(&VERSION) {
        rest = element(rest, VERSION)?.1;
    }
    for kind in [INTEGER, SEQUENCE, SEQUENCE] {
        rest = element(rest, kind)?.1;
    }
    let (validity, _) = element(rest, SEQUENCE)?;
    let (_, end) = any_element(validity)?;
    let (kind, text, _) = tagged(end)?;
    read_time(kind, std::str::from_utf8(text).ok()?)
}

const INTEGER: u8 = 0x02;
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const SHORT_TIME: u8 = 0x17;
const LONG_TIME: u8 = 0x18;

/// The first element: its kind, what is in it, and what follows.
fn tagged(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (kind, rest) = bytes.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(*first), rest),
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(first - 0x80))?;
            let length = digits
                .iter()
                .fold(0, |sum, byte| sum << 8 | usize::from(*byte));
            (length, rest)
        }
        _ => return None,
    };
    let (inside, rest) = rest.split_at_checked(length)?;
    Some((*kind, inside, rest))
}

fn element(bytes: &[u8], wanted: u8) -> Option<(&[u8], &[u8])> {
    let (kind, inside, rest) = tagged(bytes)?;
    (kind == wanted).then_some((inside, rest))
}

fn any_element(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (_, inside, rest) = tagged(bytes)?;
    Some((inside, rest))
}

/// `YYMMDDHHMMSSZ`, or with four digits of the year.
fn read_time(kind: u8, text: &str) -> Option<u64> {
    let text = text.strip_suffix('Z')?;
    let (year, rest) = match kind {
        SHORT_TIME => {
            let year: u64 = text.get(..2)?.parse().ok()?;
            (
                if year < 50 { 2000 + year } else { 1900 + year },
                text.get(2..)?,
            )
        }
        LONG_TIME => (text.get(..4)?.parse().ok()?, text.get(4..)?),
        _ => return None,
    };
    let number = |at: usize| rest.get(at..at + 2)?.parse::<u64>().ok();
    let (month, day) = (number(0)?, number(2)?);
    let days = days_since_1970(year, month, day)?;
    Some(((days * 24 + number(4)?) * 60 + number(6)?) * 60 + number(8)?)
}

/// Years begin in March here, so that the leap day is the last of one.
fn days_since_1970(year: u64, month: u64, day: u64) -> Option<u64> {
    let is_fine =
        (1970..=9999).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    let year = if month > 2 {
        year
    } else {
        year.checked_sub(1)?
    };
    let in_year = (153 * ((month + 9) % 12) + 2) / 5 + day.checked_sub(1)?;
    let days = year * 365 + year / 4 - year / 100 + year / 400 + in_year;
    is_fine.then(|| days.checked_sub(719_468))?
}

#[cfg(test)]
mod tests {
    use super::{LONG_TIME, SHORT_TIME, days_since_1970, read_time, valid_until};

    #[test]
    fn both_forms_of_time_are_read() {
        assert_eq!(read_time(SHORT_TIME, "700101000000Z"), Some(0));
        assert_eq!(read_time(SHORT_TIME, "240229123456Z"), Some(1_709_210_096));
        assert_eq!(read_time(LONG_TIME, "20500101000000Z"), Some(2_524_608_000));
        for (kind, text) in [
            (SHORT_TIME, "240229123456"),
            (SHORT_TIME, "24022912345"),
            (LONG_TIME, "20501301000000Z"),
            (LONG_TIME, "äöü0101000000Z"),
            (0x04, "240229123456Z"),
        ] {
            assert_eq!(read_time(kind, text), None, "{text}");
        }
        assert_eq!(days_since_1970(1970, 3, 1), Some(59));
    }

    #[test]
    fn bytes_that_are_no_certificate_are_not_read() {
        for bytes in [
            &b""[..],
            b"\x30",
            b"\x30\x84\xff\xff\xff\xff",
            b"\x30\x02\x30\x00",
            b"GET /",
        ] {
            assert_eq!(valid_until(bytes), None);
        }
    }
}
