//! `API_KEY=…`, `password: …`: values that a name says are secret.

use std::ops::Range;

use super::shape::{ShapedSecret, run};

/// Ends of names that announce a secret.
pub const WORDS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "token",
    "credential",
    "credentials",
    "apikey",
    "api key",
    "secretkey",
    "accesskey",
    "privatekey",
    "accountkey",
    "encryptkey",
    "_key",
    "-key",
    "private_key_data",
    "_pass",
    "_auth",
    // In addresses.
    "?key",
    "&key",
    "?sig",
    "&sig",
    "x-amz-signature",
    "x-goog-signature",
];

/// Words before `key` or `token` with which it opens nothing.
const HARMLESS: &[&str] = &[
    "public",
    "primary",
    "foreign",
    "cache",
    "sort",
    "partition",
    "session",
    "idempotency",
    "dedupe",
    "hash",
    "row",
    "index",
    "group",
    "object",
    "storage",
    "query",
    "lookup",
    "map",
    "translation",
    "message",
    "hot",
    "next",
    "page",
    "continuation",
    "cursor",
    "sync",
    "eos",
    "bos",
    "pad",
    "unk",
    "stop",
    "routing",
    "config",
    "registry",
    "sub",
    "host",
    "known",
];

const LONGEST: usize = 1_024;

/// The value assigned to a name that ends with the word found.
pub fn value(text: &[u8], word: Range<usize>) -> Option<ShapedSecret> {
    let start = assigned(text, word.end)?;
    if is_harmless(text, &word) || in_stand_in(text, word.start) {
        return None;
    }
    let quoted = start.checked_sub(1).map(|at| text[at]);
    let quoted = quoted.is_some_and(|byte| matches!(byte, b'"' | b'\'' | b'`'));
    let window = &text[start..text.len().min(start + LONGEST)];
    let length = run(window, is_value);
    let mut value = &window[..length];
    while let Some((b'.' | b',' | b'!' | b'?' | b':', rest)) = value.split_last() {
        value = rest;
    }
    let next = window.get(length).copied();
    let called = matches!(next, Some(b'(' | b'[' | b'{')) && !quoted;
    let named = text[word.clone()].eq_ignore_ascii_case(b"password")
        || text[word.clone()].eq_ignore_ascii_case(b"passwd")
        || text[word].eq_ignore_ascii_case(b"passphrase");
    let least = if named { 6 } else { 12 };
    let secret = !called
        && value.len() >= least
        && !is_placeholder(value)
        && (quoted || !is_code(value))
        && (is_random_enough(value) || named && has_letters_and_digits(value));
    secret.then_some(ShapedSecret {
        range: start..start + value.len(),
        kind: "assigned",
    })
}

/// Whether a value can be guessed, so that looking for it everywhere would hide ordinary words.
pub fn is_guessable(value: &str) -> bool {
    let value = value.trim().as_bytes();
    let word = value.len() < 16 && value.iter().all(|byte| byte.is_ascii_lowercase());
    let number = value.len() < 12 && value.iter().all(u8::is_ascii_digit);
    let place = value.first() == Some(&b'/') || value.starts_with(b"./");
    value.len() < 6 || word || number || place
}

/// Letters and digits mixed as nobody writes them.
pub fn is_random_enough(value: &[u8]) -> bool {
    if !has_letters_and_digits(value) {
        return false;
    }
    let mut counts = [0_u32; 256];
    value
        .iter()
        .for_each(|byte| counts[usize::from(*byte)] += 1);
    let length = value.len() as f64;
    let bits: f64 = counts
        .iter()
        .filter(|count| **count > 0)
        .map(|count| {
            let share = f64::from(*count) / length;
            -share * share.log2()
        })
        .sum();
    bits >= if value.len() >= 20 { 3.2 } else { 2.8 }
}

fn has_letters_and_digits(value: &[u8]) -> bool {
    value.iter().any(u8::is_ascii_digit) && value.iter().any(u8::is_ascii_alphabetic)
}

/// Where the value begins, if an assignment follows the name.
fn assigned(text: &[u8], end: usize) -> Option<usize> {
    // The quote that closes the name, marks of emphasis, blanks.
    let closing = run(text.get(end..)?, |byte| {
        matches!(
            byte,
            b'"' | b'\'' | b'`' | b'*' | b'\\' | b' ' | b'\t' | b']'
        )
    });
    let sign = end + closing;
    if closing > 6 || !matches!(text.get(sign), Some(b'=' | b':')) {
        return None;
    }
    let mut at = sign + 1;
    match (text[sign], text.get(at)) {
        (b'=', Some(b'=')) | (b':', Some(b':' | b'/')) => return None,
        (b'=', Some(b'>')) | (b':', Some(b'=')) => at += 1,
        _ => {}
    }
    let opening = run(text.get(at..)?, |byte| {
        matches!(byte, b'"' | b'\'' | b'`' | b'*' | b'\\' | b' ' | b'\t')
    });
    (opening <= 12).then_some(at + opening)
}

fn is_value(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || byte >= 0x80
        || matches!(
            byte,
            b'_' | b'-'
                | b'.'
                | b'/'
                | b'+'
                | b'='
                | b'~'
                | b'!'
                | b'@'
                | b'#'
                | b'$'
                | b'%'
                | b'^'
                | b'&'
                | b'*'
                | b'?'
                | b':'
        )
}

fn is_harmless(text: &[u8], word: &Range<usize>) -> bool {
    let name = &text[word.clone()];
    let generic = name.eq_ignore_ascii_case(b"_key")
        || name.eq_ignore_ascii_case(b"-key")
        || name.eq_ignore_ascii_case(b"token");
    if !generic {
        return false;
    }
    let before = &text[word.start.saturating_sub(24)..word.start];
    let before: Vec<u8> = before.iter().map(u8::to_ascii_lowercase).collect();
    let before = match before.as_slice() {
        [rest @ .., b'_' | b'-' | b' '] => rest,
        all => all,
    };
    HARMLESS
        .iter()
        .any(|word| before.ends_with(word.as_bytes()))
}

/// The names in stand-ins end like this too.
fn in_stand_in(text: &[u8], at: usize) -> bool {
    let before = &text[at.saturating_sub(120)..at];
    let open = before.iter().rposition(|byte| *byte == b'[');
    open.is_some_and(|open| {
        let inside = &before[open + 1..];
        !inside.contains(&b']')
            && (inside.starts_with(b"secret:")
                || inside.is_empty() && text[at..].starts_with(b"secret:"))
    })
}

fn is_placeholder(value: &[u8]) -> bool {
    const WORDS: [&[u8]; 8] = [
        b"xxxx",
        b"****",
        b"your",
        b"placeholder",
        b"changeme",
        b"example",
        b"redacted",
        b"....",
    ];
    let lower: Vec<u8> = value.iter().map(u8::to_ascii_lowercase).collect();
    matches!(value[0], b'$' | b'%' | b'*')
        || WORDS
            .iter()
            .any(|word| lower.windows(word.len()).any(|part| part == *word))
}

/// Names of a program, paths and addresses: `config.api_key`, `./keys/a1`, `https://…`.
fn is_code(value: &[u8]) -> bool {
    let address = value.windows(3).any(|part| part == b"://");
    let path = value.starts_with(b"/") || value.starts_with(b"./") || value.starts_with(b"~/");
    let is_name = |part: &[u8]| {
        part.first()
            .is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
            && part
                .iter()
                .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
            && part.iter().filter(|byte| byte.is_ascii_digit()).count() <= 2
    };
    let parts: Vec<&[u8]> = value.split(|byte| matches!(byte, b'.' | b':')).collect();
    let names = parts.iter().all(|part| part.is_empty() || is_name(part));
    let dotted = parts.len() > 1 && names;
    let snake =
        names && value.contains(&b'_') && value.iter().all(|byte| !byte.is_ascii_uppercase());
    let constant =
        names && value.contains(&b'_') && value.iter().all(|byte| !byte.is_ascii_lowercase());
    address || path || dotted || snake || constant
}
