//! The ways in which a value is written when it is carried somewhere.

use serde::{Deserialize, Serialize};

/// How a value is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SecretForm {
    #[default]
    Plain,
    /// As inside the quotes of JSON.
    Json,
    /// The same, with what is not ASCII and every slash escaped.
    JsonAscii,
    /// The same, with escaped slashes only.
    JsonSlash,
    /// As in an address.
    Url,
    /// The same in lower case.
    UrlLower,
    /// As a form sends it.
    UrlForm,
    Hex,
    HexUpper,
    /// Base64 of a text in which so many bytes (0 to 2, counted in threes) stand before it. Only
    /// the characters it decides alone.
    Base64(u8),
    Base64Url(u8),
    Reversed,
}

impl SecretForm {
    pub const ALL: [Self; 16] = [
        Self::Plain,
        Self::Json,
        Self::JsonAscii,
        Self::JsonSlash,
        Self::Url,
        Self::UrlLower,
        Self::UrlForm,
        Self::Hex,
        Self::HexUpper,
        Self::Base64(0),
        Self::Base64(1),
        Self::Base64(2),
        Self::Base64Url(0),
        Self::Base64Url(1),
        Self::Base64Url(2),
        Self::Reversed,
    ];

    pub fn write(self, value: &str) -> String {
        match self {
            Self::Plain => value.to_owned(),
            Self::Json => json(value),
            Self::JsonAscii => ascii(&json(value)).replace('/', "\\/"),
            Self::JsonSlash => json(value).replace('/', "\\/"),
            Self::Url => url(value, |byte| format!("%{byte:02X}")),
            Self::UrlLower => url(value, |byte| format!("%{byte:02x}")),
            Self::UrlForm => url(value, |byte| match byte {
                b' ' => "+".to_owned(),
                byte => format!("%{byte:02X}"),
            }),
            Self::Hex => value.bytes().map(|byte| format!("{byte:02x}")).collect(),
            Self::HexUpper => value.bytes().map(|byte| format!("{byte:02X}")).collect(),
            Self::Base64(before) => base64(value, before, b"+/"),
            Self::Base64Url(before) => base64(value, before, b"-_"),
            Self::Reversed => value.chars().rev().collect(),
        }
    }
}

/// As JSON writes it inside quotes.
fn json(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for c in value.chars() {
        match c {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            '\u{8}' => text.push_str("\\b"),
            '\u{c}' => text.push_str("\\f"),
            c if u32::from(c) < 0x20 => text += &format!("\\u{:04x}", u32::from(c)),
            c => text.push(c),
        }
    }
    text
}

fn url(value: &str, escaped: impl Fn(u8) -> String) -> String {
    let mut text = String::with_capacity(value.len());
    for byte in value.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                text.push(char::from(byte));
            }
            byte => text += &escaped(byte),
        }
    }
    text
}

/// What is not ASCII as JSON may write it.
fn ascii(text: &str) -> String {
    let mut written = String::with_capacity(text.len());
    for c in text.chars() {
        match c.is_ascii() {
            true => written.push(c),
            false => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    written += &format!("\\u{unit:04x}");
                }
            }
        }
    }
    written
}

fn base64(value: &str, before: u8, last_two: &[u8; 2]) -> String {
    let before = usize::from(before.min(2));
    let mut bytes = vec![0; before];
    bytes.extend(value.as_bytes());
    let letter = |six: usize| match six {
        0..=25 => b'A' + six as u8,
        26..=51 => b'a' + (six - 26) as u8,
        52..=61 => b'0' + (six - 52) as u8,
        62 => last_two[0],
        _ => last_two[1],
    };
    let bit = |at: usize| usize::from(bytes[at / 8] >> (7 - at % 8) & 1);
    let first = (before * 8).div_ceil(6);
    let end = bytes.len() * 8 / 6;
    (first..end)
        .map(|at| {
            let six = (0..6).fold(0, |six, offset| six << 1 | bit(at * 6 + offset));
            char::from(letter(six))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::SecretForm;

    #[test]
    fn values_are_found_however_they_are_written() {
        assert_eq!(
            SecretForm::Json.write("a\"b\\\n\u{1}"),
            "a\\\"b\\\\\\n\\u0001"
        );
        assert_eq!(
            SecretForm::JsonAscii.write("a/ü😀"),
            "a\\/\\u00fc\\ud83d\\ude00"
        );
        assert_eq!(SecretForm::JsonSlash.write("a/ü"), "a\\/ü");
        assert_eq!(SecretForm::Url.write("a b/ü"), "a%20b%2F%C3%BC");
        assert_eq!(SecretForm::UrlLower.write("a b/ü"), "a%20b%2f%c3%bc");
        assert_eq!(SecretForm::UrlForm.write("a b/ü"), "a+b%2F%C3%BC");
        assert_eq!(SecretForm::Hex.write("aZ"), "615a");
        // "hunter2" is aHVudGVyMg==, "xhunter2" eGh1bnRlcjI=, "xxhunter2" eHhodW50ZXIy
        assert_eq!(SecretForm::Base64(0).write("hunter2"), "aHVudGVyM");
        assert_eq!(SecretForm::Base64(1).write("hunter2"), "h1bnRlcj");
        assert!("eGh1bnRlcjI=".contains(&SecretForm::Base64(1).write("hunter2")));
        assert!("eHhodW50ZXIy".contains(&SecretForm::Base64(2).write("hunter2")));
        assert_eq!(SecretForm::Reversed.write("abc"), "cba");
    }
}
