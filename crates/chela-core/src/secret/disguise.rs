//! Known values in disguise: what a call may carry though nobody would see it at a glance.
//!
//! Only for what is about to leave: it is too eager for text that is merely kept.

use std::collections::BTreeSet;

use super::{CANARY, KnownBy, Redactor};

/// So many letters of a canary are nobody's accident.
const PIECE: usize = 10;
/// Shorter values would be found in the letters of ordinary text.
const SHORTEST: usize = 12;
/// Encodings within encodings are followed this far.
const DEEPEST: usize = 3;
/// Longer texts are not unwrapped.
const MOST_BYTES: usize = 1 << 20;

/// The names of known values a text carries in some disguise.
pub fn carried(redactor: &Redactor, text: &str) -> Vec<String> {
    let mut names = BTreeSet::new();
    look(redactor, text, DEEPEST, &mut names);
    names.into_iter().collect()
}

fn look(redactor: &Redactor, text: &str, deep: usize, names: &mut BTreeSet<String>) {
    for hit in redactor.find(text.as_bytes()) {
        if matches!(hit.by, KnownBy::Value(_)) || &*hit.name == CANARY {
            names.insert(hit.name.to_string());
        }
    }
    if text.len() > MOST_BYTES {
        return;
    }
    let letters = squeezed(text);
    let backwards: String = letters.chars().rev().collect();
    for secret in redactor.known().secrets() {
        let value = squeezed(&secret.value);
        if value.len() < SHORTEST {
            continue;
        }
        let whole = letters.contains(&value) || backwards.contains(&value);
        let part = secret.name == CANARY && has_piece(&letters, &backwards, &value);
        if whole || part {
            names.insert(secret.name.clone());
        }
    }
    if deep > 0 {
        for unwrapped in unwrapped(text) {
            look(redactor, &unwrapped, deep - 1, names);
        }
    }
}

/// A part of the random letters of a canary, which come last.
fn has_piece(letters: &str, backwards: &str, canary: &str) -> bool {
    let random = &canary.as_bytes()[canary.len().saturating_sub(32)..];
    random.windows(PIECE).any(|piece| {
        let piece = std::str::from_utf8(piece).unwrap_or_default();
        letters.contains(piece) || backwards.contains(piece)
    })
}

/// Letters and digits only, all small: blanks and points between them hide nothing.
fn squeezed(text: &str) -> String {
    text.chars()
        .filter(char::is_ascii_alphanumeric)
        .map(|c| c.to_ascii_lowercase())
        .collect()
}

/// What a text may stand for, once decoded.
fn unwrapped(text: &str) -> Vec<String> {
    let mut found = Vec::new();
    let bytes = text.as_bytes();
    if bytes.contains(&b'%') {
        found.push(percent(bytes));
    }
    if text.contains("\\u") || text.contains("\\x") {
        found.push(escapes(text));
    }
    let is_code = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '-' | '_');
    for run in text.split(|c| !is_code(c)).filter(|run| run.len() >= 16) {
        // What stands before it may be made of the same letters.
        found.extend((0..4).filter_map(|from| readable(base64(&run[from..]))));
        if run.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            found.extend((0..2).filter_map(|from| readable(hex(&run[from..]))));
        }
    }
    found.retain(|unwrapped| unwrapped != text);
    found
}

/// Text, if it is any.
fn readable(bytes: Vec<u8>) -> Option<String> {
    let plain = bytes
        .iter()
        .filter(|byte| matches!(byte, b' '..=b'~' | b'\n'))
        .count();
    (bytes.len() >= 8 && plain * 10 >= bytes.len() * 8)
        .then(|| String::from_utf8_lossy(&bytes).into_owned())
}

fn percent(bytes: &[u8]) -> String {
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let code = bytes.get(at + 1..at + 3).map(hex_of).unwrap_or_default();
        match (bytes[at], code) {
            (b'%', Some(byte)) => {
                out.push(byte);
                at += 3;
            }
            (byte, _) => {
                out.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// `\u0063` and `\x63`.
fn escapes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('\\') {
        out.push_str(&rest[..at]);
        let digits = match rest.as_bytes().get(at + 1) {
            Some(b'u') => 4,
            Some(b'x') => 2,
            _ => 0,
        };
        let code = rest.get(at + 2..at + 2 + digits);
        let c = code.and_then(|code| u32::from_str_radix(code, 16).ok());
        match c.and_then(char::from_u32).filter(|_| digits > 0) {
            Some(c) => {
                out.push(c);
                rest = &rest[at + 2 + digits..];
            }
            None => {
                out.push('\\');
                rest = &rest[at + 1..];
            }
        }
    }
    out + rest
}

fn hex(digits: &str) -> Vec<u8> {
    digits
        .as_bytes()
        .chunks_exact(2)
        .filter_map(hex_of)
        .collect()
}

fn hex_of(pair: &[u8]) -> Option<u8> {
    u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()
}

fn base64(run: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(run.len());
    let (mut bits, mut held) = (0_u32, 0);
    for byte in run.bytes() {
        let six = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => continue,
        };
        bits = bits << 6 | u32::from(six);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held) as u8);
            bits &= (1 << held) - 1;
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use crate::secret::{CANARY, KnownSecret, Redactor, SecretForm};

    fn redactor() -> Redactor {
        let secret = |name: &str, value: &str| KnownSecret {
            name: name.to_owned(),
            value: value.to_owned(),
        };
        Redactor::new(
            None,
            vec![
                secret(CANARY, "chela-canary-0123456789abcdef0f1e2d3c4b5a6978"),
                secret("forge", "Value-Of_the/forge+1"),
            ],
        )
    }

    /// Whole, with blanks at its end.
    fn base64(text: &str) -> String {
        let blanks = " ".repeat((3 - text.len() % 3) % 3);
        SecretForm::Base64(0).write(&format!("{text}{blanks}"))
    }

    #[test]
    fn disguises_are_seen_through() {
        let redactor = redactor();
        for (name, value) in [
            (CANARY, "chela-canary-0123456789abcdef0f1e2d3c4b5a6978"),
            ("forge", "Value-Of_the/forge+1"),
        ] {
            let every_letter: String = value.bytes().map(|b| format!("%{b:02X}")).collect();
            let escaped: String = value.bytes().map(|b| format!("\\u{b:04x}")).collect();
            let spelled: Vec<String> = value.chars().map(|c| c.to_string()).collect();
            let twice = base64(&SecretForm::Hex.write(value));
            let thrice = SecretForm::Hex.write(&base64(&base64(value)));
            let in_address = format!(
                "https://evil.example/x?q={}&z=1",
                base64(&SecretForm::Hex.write(value))
            );
            let in_path = format!("https://evil.example/{}", base64(&base64(value)));
            for text in [
                in_address,
                in_path,
                value.to_owned(),
                value.to_uppercase(),
                every_letter,
                escaped,
                spelled.join(" "),
                spelled.join("."),
                spelled.iter().rev().cloned().collect::<Vec<_>>().join("-"),
                twice,
                thrice,
                base64(&format!("the code is {value}!")),
            ] {
                assert_eq!(redactor.carried(&format!("see {text} ")), [name], "{text}");
            }
        }
        // Of a canary a part will do.
        assert_eq!(redactor.carried("next part: 89abcdef0f1e2d"), [CANARY]);
        assert_eq!(
            redactor.carried("https://x.example/?a=456789&b=abcdef0f1e"),
            [CANARY]
        );
        for text in [
            "",
            "hello world",
            "0123456",
            "the value of the forge",
            "%zz \\u12 \\",
        ] {
            assert!(redactor.carried(text).is_empty(), "{text}");
        }
    }
}
