//! Shapes that are more than a beginning and what follows it.

use std::ops::Range;

use super::assigned::is_random_enough;
use super::shape::{ShapedSecret, begins, run};

/// Judges what stands around the place where something was found.
pub type ContextJudge = fn(&[u8], Range<usize>) -> Option<ShapedSecret>;

/// The longest private key that is followed to its end.
const LONGEST_KEY: usize = 32_768;

fn is_url(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')
}

/// A signed web token: three parts, the first two of them JSON.
pub fn web_token(text: &[u8], start: Range<usize>) -> Option<ShapedSecret> {
    if &text[start.clone()] != b"eyJ" || !begins(text, start.start) {
        return None;
    }
    let first = start.start + run(&text[start.start..], is_url);
    let rest = text.get(first..)?.strip_prefix(b".eyJ")?;
    let second = first + 4 + run(rest, is_url);
    let signature = match text.get(second) {
        Some(b'.') => 1 + run(&text[second + 1..], is_url),
        _ => 0,
    };
    (first - start.start >= 12).then_some(ShapedSecret {
        range: start.start..second + signature,
        kind: "web-token",
    })
}

/// The number of a Telegram bot, a colon, and 35 letters that begin with `AA`.
pub fn telegram(text: &[u8], start: Range<usize>) -> Option<ShapedSecret> {
    if &text[start.clone()] != b":AA" {
        return None;
    }
    let digits = text[..start.start]
        .iter()
        .rev()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let tail = run(&text[start.start + 1..], is_url);
    ((8..=10).contains(&digits) && (34..=36).contains(&tail)).then_some(ShapedSecret {
        range: start.start - digits..start.start + 1 + tail,
        kind: "telegram-token",
    })
}

/// Three parts of fixed lengths; found by the first point between them.
pub fn discord(text: &[u8], point: Range<usize>) -> Option<ShapedSecret> {
    let second = point.end..point.end + 6;
    if text.get(second.end) != Some(&b'.') || !text[second.clone()].iter().all(|b| is_url(*b)) {
        return None;
    }
    let before = &text[point.start.saturating_sub(30)..point.start];
    let mut first = before
        .iter()
        .rev()
        .take_while(|byte| is_url(**byte))
        .count();
    // A line end as JSON writes it ends in a letter.
    if first > 0 && first < before.len() && before[before.len() - first - 1] == b'\\' {
        first -= 1;
    }
    let start = point.start - first;
    let last = run(&text[second.end + 1..], is_url);
    let shaped = (23..=28).contains(&first)
        && matches!(text[start], b'M' | b'N' | b'O')
        && (27..=40).contains(&last);
    shaped.then_some(ShapedSecret {
        range: start..second.end + 1 + last,
        kind: "discord-token",
    })
}

/// A private key between its lines, or as much of it as there is.
pub fn private_key(text: &[u8], start: Range<usize>) -> Option<ShapedSecret> {
    let line = run(&text[start.end..], |byte| {
        byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' '
    });
    let title = &text[start.end..start.end + line];
    let is_key = title.windows(11).any(|word| word == b"PRIVATE KEY");
    let after = start.end + line;
    if !is_key || !text[after..].starts_with(b"-----") {
        return None;
    }
    let body = after + 5;
    let window = &text[body..text.len().min(body + LONGEST_KEY)];
    let end = match window.windows(9).position(|word| word == b"-----END ") {
        Some(end) => {
            let last = run(&window[end + 9..], |byte| {
                byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b' '
            });
            (body + end + 9 + last + 5).min(text.len())
        }
        None => body + run(window, is_key_text),
    };
    Some(ShapedSecret {
        range: start.start..char_end(text, end),
        kind: "private-key",
    })
}

/// A key of PuTTY, up to its checksum.
pub fn putty_key(text: &[u8], start: Range<usize>) -> Option<ShapedSecret> {
    let window = &text[start.end..text.len().min(start.end + LONGEST_KEY)];
    let lines = window
        .windows(14)
        .position(|word| word == b"Private-Lines:")?;
    let body = start.end + lines + 14;
    let key = run(
        &text[body..text.len().min(start.end + LONGEST_KEY)],
        is_key_text,
    );
    Some(ShapedSecret {
        range: body..body + key,
        kind: "private-key",
    })
}

/// The password in `scheme://user:password@host`.
pub fn address(text: &[u8], start: Range<usize>) -> Option<ShapedSecret> {
    let window = &text[start.end..text.len().min(start.end + 512)];
    let authority = run(window, |byte| {
        !matches!(
            byte,
            b'/' | b'?' | b'#' | b'"' | b'\'' | b'<' | b'>' | b'\\' | b'`' | b')'
        ) && !byte.is_ascii_whitespace()
    });
    let authority = &window[..authority];
    let at = authority.iter().rposition(|byte| *byte == b'@')?;
    let colon = authority[..at].iter().position(|byte| *byte == b':')?;
    let password = &authority[colon + 1..at];
    let placeholder = password.len() < 3
        // Taken out already.
        || authority.windows(8).any(|word| word == b"[secret:")
        || matches!(password[0], b'$' | b'{' | b'<' | b'*' | b'[' | b'%')
        || [&b"password"[..], b"pass", b"pw", b"xxx", b"secret"]
            .iter()
            .any(|word| password.eq_ignore_ascii_case(word));
    (!placeholder).then_some(ShapedSecret {
        range: start.end + colon + 1..start.end + at,
        kind: "address-password",
    })
}

/// What follows `Bearer` or `Basic`.
pub fn authorization(text: &[u8], start: Range<usize>) -> Option<ShapedSecret> {
    if !begins(text, start.start) {
        return None;
    }
    let tail = run(&text[start.end..], |byte| {
        byte.is_ascii_alphanumeric()
            || matches!(byte, b'_' | b'-' | b'.' | b'~' | b'+' | b'/' | b'=')
    });
    let body = &text[start.end..start.end + tail];
    (tail >= 16 && is_random_enough(body)).then_some(ShapedSecret {
        range: start.end..start.end + tail,
        kind: "authorization",
    })
}

/// Base64 and line ends, also as JSON writes them.
fn is_key_text(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(byte, b'+' | b'/' | b'=' | b'\\' | b'-' | b':' | b',')
        || byte.is_ascii_whitespace()
}

/// Not in the middle of a character.
fn char_end(text: &[u8], mut at: usize) -> usize {
    while at < text.len() && text[at] & 0b1100_0000 == 0b1000_0000 {
        at += 1;
    }
    at
}
