//! Strings, numbers and escapes of JSON5.

use serde_json::Number;

use super::scan::ends_line;
use crate::span::{after, cut};

/// Why a literal cannot be read, and where exactly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LiteralError {
    pub at: usize,
    pub message: &'static str,
    pub hint: Option<&'static str>,
}

fn fail<T>(at: usize, message: &'static str, hint: &'static str) -> Result<T, LiteralError> {
    Err(LiteralError {
        at,
        message,
        hint: Some(hint),
    })
}

/// The string whose opening quote stands at `start`: what it says, and where it ends.
pub fn string(text: &str, start: usize) -> Result<(String, usize), LiteralError> {
    let quote = text.as_bytes().get(start).copied();
    let mut said = String::new();
    let mut pos = start + 1;
    loop {
        let rest = after(text, pos);
        let plain = rest
            .bytes()
            .take_while(|byte| !matches!(byte, b'\\' | b'\n' | b'\r') && Some(*byte) != quote)
            .count();
        let (plain, rest) = cut(rest, plain);
        said.push_str(plain);
        pos += plain.len();
        match rest.bytes().next() {
            Some(b'\\') => pos = escape(text, pos, &mut said)?,
            byte @ Some(_) if byte == quote => return Ok((said, pos + 1)),
            Some(_) => {
                return fail(
                    start,
                    "the string that starts here does not end on its line",
                    "close it with the same quote; a line break inside is written `\\n`",
                );
            }
            None => {
                return fail(
                    start,
                    "the string that starts here never ends",
                    "close it with the same quote",
                );
            }
        }
    }
}

/// Reads the escape at `at` into `said` and tells where the text goes on.
fn escape(text: &str, at: usize, said: &mut String) -> Result<usize, LiteralError> {
    let Some(c) = after(text, at + 1).chars().next() else {
        return fail(
            at,
            "the text ends in the middle of an escape",
            "a backslash itself is written `\\\\`",
        );
    };
    let end = at + 1 + c.len_utf8();
    let rest = after(text, end);
    match c {
        'n' => said.push('\n'),
        't' => said.push('\t'),
        'r' => said.push('\r'),
        'b' => said.push('\u{8}'),
        'f' => said.push('\u{c}'),
        'v' => said.push('\u{b}'),
        '0' if !rest.starts_with(|c: char| c.is_ascii_digit()) => said.push('\0'),
        '0'..='9' => {
            return fail(
                at,
                "a backslash before a digit means nothing here",
                "a backslash itself is written `\\\\`",
            );
        }
        'x' => {
            let Some(code) = hex(text, end, 2) else {
                return fail(at, "`\\x` needs two hex digits", "for example `\\x41`");
            };
            said.extend(char::from_u32(code));
            return Ok(end + 2);
        }
        'u' => return unicode_escape(text, at, said),
        '\r' if rest.starts_with('\n') => return Ok(end + 1),
        c if ends_line(c) => {}
        c => said.push(c),
    }
    Ok(end)
}

/// `\uXXXX`, where characters beyond the first plane are written as two of them.
fn unicode_escape(text: &str, at: usize, said: &mut String) -> Result<usize, LiteralError> {
    let first = at + 2;
    let Some(code) = hex(text, first, 4) else {
        return fail(at, "`\\u` needs four hex digits", "for example `\\u00e9`");
    };
    if let Some(c) = char::from_u32(code) {
        said.push(c);
        return Ok(first + 4);
    }
    let second = (text.get(first + 4..first + 6) == Some("\\u"))
        .then(|| hex(text, first + 6, 4))
        .flatten();
    let pair =
        second.filter(|low| (0xd800..0xdc00).contains(&code) && (0xdc00..0xe000).contains(low));
    match pair.and_then(|low| char::from_u32(0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00))) {
        Some(c) => {
            said.push(c);
            Ok(first + 10)
        }
        None => fail(
            at,
            "this `\\u` escape is half a character (a lone surrogate)",
            "write the character itself, or both halves",
        ),
    }
}

fn hex(text: &str, at: usize, digits: usize) -> Option<u32> {
    let digits = text.get(at..at + digits)?;
    digits
        .bytes()
        .all(|byte| byte.is_ascii_hexdigit())
        .then(|| u32::from_str_radix(digits, 16).ok())?
}

/// An unquoted key with its `\u` escapes resolved.
pub fn unescape_identifier(written: &str) -> Option<String> {
    if !written.contains('\\') {
        return Some(written.to_owned());
    }
    let mut key = String::new();
    let mut pos = 0;
    while let Some(c) = after(written, pos).chars().next() {
        if c == '\\' {
            pos = after(written, pos)
                .starts_with("\\u")
                .then(|| unicode_escape(written, pos, &mut key).ok())??;
        } else {
            key.push(c);
            pos += c.len_utf8();
        }
    }
    Some(key)
}

/// The number written as `text`, which stands at `at`.
pub fn number(text: &str, at: usize) -> Result<Number, LiteralError> {
    const SHAPE: &str = "numbers look like 42, -1.5, 1e6 or 0x1F; put quotes around text";
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if matches!(digits, "Infinity" | "NaN") {
        return fail(
            at,
            "`Infinity` and `NaN` cannot be used in the config",
            "write a number, or leave the key out",
        );
    }
    let too_large = || fail(at, "this number is too large", SHAPE);
    if let Some(hex) = digits
        .strip_prefix("0x")
        .or_else(|| digits.strip_prefix("0X"))
    {
        if hex.is_empty() || !hex.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return fail(at, "this is not a number", SHAPE);
        }
        let Ok(size) = u64::from_str_radix(hex, 16) else {
            return too_large();
        };
        return match (negative, 0_i64.checked_sub_unsigned(size)) {
            (false, _) => Ok(size.into()),
            (true, Some(below)) => Ok(below.into()),
            (true, None) => too_large(),
        };
    }
    if !is_decimal(digits) {
        return fail(at, "this is not a number", SHAPE);
    }
    if matches!(digits.as_bytes(), [b'0', b'0'..=b'9', ..]) {
        return fail(
            at,
            "a number does not start with 0",
            "drop the leading zero, or put quotes around text",
        );
    }
    let signed = text.strip_prefix('+').unwrap_or(text);
    // Minus zero is no whole number: as one, it would lose its sign.
    if let Ok(whole) = signed.parse::<i64>()
        && !(negative && whole == 0)
    {
        return Ok(whole.into());
    }
    if let Ok(whole) = signed.parse::<u64>() {
        return Ok(whole.into());
    }
    match signed.parse::<f64>().ok().and_then(Number::from_f64) {
        Some(number) => Ok(number),
        None => too_large(),
    }
}

/// Digits, perhaps a point, perhaps an exponent.
fn is_decimal(text: &str) -> bool {
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (text, None),
    };
    let all_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let exponent_fine = exponent.is_none_or(|exponent| {
        let digits = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
        !digits.is_empty() && all_digits(digits)
    });
    all_digits(whole)
        && all_digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
        && exponent_fine
}

/// A string as JSON5 text, in the given quotes.
pub fn quoted(text: &str, quote: char) -> String {
    let mut written = String::with_capacity(text.len() + 2);
    written.push(quote);
    for c in text.chars() {
        match c {
            '\\' => written.push_str("\\\\"),
            '\n' => written.push_str("\\n"),
            '\r' => written.push_str("\\r"),
            '\t' => written.push_str("\\t"),
            c if c == quote => written.extend(['\\', c]),
            c if c.is_control() || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}') => {
                written.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            c => written.push(c),
        }
    }
    written.push(quote);
    written
}
