//! Text that is hidden in another: what a blob says once it is decoded.

use super::about::LineStance;
use super::scanned_file::{LineZone, ScannedFile};
use super::words::WordKinds;

/// Shorter blobs hold no command.
const MIN_BLOB: usize = 24;
/// In a line that speaks of decoding.
const MIN_SPOKEN_BLOB: usize = 10;
/// Blobs looked into per page.
const MAX_BLOBS: usize = 64;

/// A text that was found encoded in a line.
#[derive(Debug)]
pub(super) struct DecodedText {
    pub path: String,
    pub line: u32,
    /// The line as it is written.
    pub raw: String,
    pub about: LineStance,
    pub zone: LineZone,
    pub page: ScannedFile,
}

/// Everything on a page that decodes to readable text.
pub(super) fn pages(page: &ScannedFile) -> Vec<DecodedText> {
    let mut found = Vec::new();
    for line in &page.lines {
        for text in texts(&line.raw) {
            if found.len() >= MAX_BLOBS {
                return found;
            }
            found.push(DecodedText {
                path: page.path.clone(),
                line: line.number,
                raw: line.raw.clone(),
                about: line.about,
                zone: line.zone,
                page: ScannedFile::read("decoded.sh", &text),
            });
        }
    }
    found
}

fn texts(line: &str) -> Vec<String> {
    let lower = line.to_ascii_lowercase();
    // Where something is decoded, even a short text is worth reading.
    let spoken = ["decode", "b64", "atob", "base64"]
        .iter()
        .any(|word| lower.contains(word));
    let least = if spoken { MIN_SPOKEN_BLOB } else { MIN_BLOB };
    let mut found: Vec<String> = blobs(line, least).filter_map(decoded).collect();
    found.extend(escaped(line));
    found.extend(percent(line));
    if lower.contains("[::-1]") || lower.contains("| rev") || lower.contains(".reverse()") {
        found.extend(literals(line).map(|text| text.chars().rev().collect()));
    }
    if lower.contains("rot13") || lower.contains("rot_13") || lower.contains("tr 'a-z") {
        found.extend(literals(line).map(rot13));
    }
    if lower.contains("b85") || lower.contains("a85") {
        found.extend(literals(line).filter_map(base85).filter_map(readable));
    }
    // One layer in another.
    let inner: Vec<String> = found
        .iter()
        .flat_map(|text| {
            blobs(text, MIN_BLOB)
                .filter_map(decoded)
                .collect::<Vec<_>>()
        })
        .collect();
    found.extend(inner);
    found
}

fn blobs(line: &str, least: usize) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=' | '-' | '_')))
        .filter(move |word| word.len() >= least && word.len() < 200_000)
}

/// The text a word stands for, when it stands for one: base64 in either alphabet, or hex.
fn decoded(word: &str) -> Option<String> {
    let is_hex = word.len().is_multiple_of(2) && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let bytes = if is_hex { hex(word) } else { base64(word) }?;
    readable(bytes)
}

/// Text, if most of it can be read; PowerShell encodes in two bytes per letter.
fn readable(bytes: Vec<u8>) -> Option<String> {
    let wide = bytes.len() >= 8 && bytes.iter().skip(1).step_by(2).all(|byte| *byte == 0);
    let bytes: Vec<u8> = if wide {
        bytes.into_iter().step_by(2).collect()
    } else {
        bytes
    };
    let text = String::from_utf8(bytes).ok()?;
    let odd = text
        .chars()
        .filter(|c| c.is_control() && !c.is_whitespace())
        .count();
    if odd > 0 {
        None
    } else if text.chars().any(|c| c == ' ' || c == '/' || c == '(') {
        Some(text)
    } else {
        run_together(&text)
    }
}

/// `IgnoreAllRulesAbove` with its blanks.
fn run_together(text: &str) -> Option<String> {
    const MANY_WORDS: usize = 4;
    let words = text.chars().filter(char::is_ascii_uppercase).count();
    let plain = text.chars().all(|c| c.is_ascii_alphabetic());
    let spaced =
        plain && words >= MANY_WORDS && words * 12 >= text.len() && words * 3 <= text.len();
    spaced.then(|| {
        let mut out = String::with_capacity(text.len() + words);
        for c in text.chars() {
            if c.is_ascii_uppercase() {
                out.push(' ');
            }
            out.push(c);
        }
        out.trim_start().to_owned()
    })
}

fn hex(word: &str) -> Option<Vec<u8>> {
    (0..word.len())
        .step_by(2)
        .map(|at| u8::from_str_radix(word.get(at..at + 2)?, 16).ok())
        .collect()
}

/// Lenient about padding and about both alphabets, like the tools that would decode it.
pub(super) fn base64(word: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(word.len() * 3 / 4);
    let (mut bits, mut count) = (0u32, 0u32);
    for byte in word.trim_end_matches('=').bytes() {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(value);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from((bits >> count) & 0xff).ok()?);
        }
    }
    Some(bytes)
}

/// `\x63\x75\x72\x6c`, `\u0063…`, `chr(99)+chr(117)`, `fromCharCode(99, 117)`.
fn escaped(line: &str) -> Option<String> {
    let words = WordKinds::of(&line.to_ascii_lowercase());
    if !words.have(WordKinds::GARBLED) {
        return None;
    }
    let mut bytes: Vec<u8> = Vec::new();
    let mut rest = line;
    while let Some(at) = rest.find("\\x").or_else(|| rest.find("\\u00")) {
        let here = rest.get(at..).unwrap_or_default();
        let skip = if here.starts_with("\\x") { 2 } else { 4 };
        let digits = rest.get(at + skip..at + skip + 2);
        bytes.extend(digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()));
        rest = rest.get(at + skip..).unwrap_or_default();
    }
    if bytes.len() < 8 {
        bytes = numbers(line);
    }
    if bytes.len() < 8 {
        None
    } else {
        readable(bytes)
    }
}

fn numbers(line: &str) -> Vec<u8> {
    line.split(|c: char| !c.is_ascii_digit())
        .filter_map(|number| number.parse::<u8>().ok())
        .filter(|byte| (9..127).contains(byte))
        .collect()
}

/// What stands between quotes in a line.
fn literals(line: &str) -> impl Iterator<Item = &str> {
    const LEAST: usize = 8;
    ['"', '\'', '`'].into_iter().flat_map(move |quote| {
        line.split(quote)
            .skip(1)
            .step_by(2)
            .filter(|text| text.len() >= LEAST)
    })
}

fn rot13(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            'a'..='m' | 'A'..='M' => char::from(c as u8 + 13),
            'n'..='z' | 'N'..='Z' => char::from(c as u8 - 13),
            c => c,
        })
        .collect()
}

/// `%63%75%72%6c`: letters nobody needs to write like this.
fn percent(line: &str) -> Option<String> {
    const LEAST: usize = 6;
    let mut bytes = Vec::new();
    let mut encoded = 0;
    let mut rest = line.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let digits = tail.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let byte = digits
            .filter(|_| *first == b'%')
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match byte {
            Some(byte) => {
                encoded += usize::from(byte.is_ascii_alphanumeric());
                bytes.push(byte);
                rest = tail.get(2..).unwrap_or_default();
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    if encoded < LEAST {
        return None;
    }
    readable(bytes)
}

/// The alphabet Python and git use, five letters to four bytes.
fn base85(text: &str) -> Option<Vec<u8>> {
    const LETTERS: &[u8] =
        b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
    let mut bytes = Vec::new();
    for group in text.as_bytes().chunks(5) {
        let mut value: u32 = 0;
        for at in 0..5 {
            let letter = group.get(at).copied().unwrap_or(b'~');
            let digit = LETTERS.iter().position(|known| *known == letter)?;
            value = value
                .checked_mul(85)?
                .checked_add(u32::try_from(digit).ok()?)?;
        }
        let whole = value.to_be_bytes();
        bytes.extend(whole.iter().take(group.len().saturating_sub(1)));
    }
    Some(bytes)
}
