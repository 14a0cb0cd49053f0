//! Text in plain letters: look-alikes folded, invisible characters left out, digits that stand
//! for letters put back, letters written apart joined, encodings undone.

use std::ops::Range;

use base64::Engine as _;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use unicode_normalization::UnicodeNormalization;

/// A text as it reads, and where each byte of it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlainView {
    pub text: String,
    pub form: PhraseForm,
    /// For each byte of the text, where it stood. Empty when all of it came from one place.
    starts: Vec<u32>,
    whole: Range<usize>,
}

/// How a phrase was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PhraseForm {
    Open,
    Base64,
    Hex,
    Percent,
    Spaced,
    /// In characters nobody sees.
    Invisible,
}

impl PhraseForm {
    pub fn text(self) -> &'static str {
        match self {
            Self::Open => "",
            Self::Base64 => " in base64",
            Self::Hex => " in hex",
            Self::Percent => " percent-encoded",
            Self::Spaced => " letter by letter",
            Self::Invisible => " in invisible characters",
        }
    }
}

impl PlainView {
    /// The stretch of the original text.
    pub fn original(&self, range: &Range<usize>) -> Range<usize> {
        let at = |byte: usize| match self.starts.get(byte) {
            Some(start) => usize::try_from(*start).unwrap_or(self.whole.end),
            None => self.whole.end,
        };
        if self.starts.is_empty() {
            return self.whole.clone();
        }
        at(range.start)..at(range.end)
    }
}

/// Decoded text is looked through up to this much.
const MOST_DECODED: usize = 64 * 1024;
/// Shorter runs of letters and digits are words, not encodings.
const SHORTEST_CODE: usize = 20;
/// This many letters in a row, written apart, are a phrase.
const FEWEST_APART: usize = 8;
const DEEPEST: usize = 2;

/// The text in plain letters, and each hidden text in it.
pub fn views(text: &str) -> Vec<PlainView> {
    let mut views = vec![plain(text)];
    let mut left = MOST_DECODED;
    hidden(text, 0..text.len(), DEEPEST, &mut left, &mut views);
    views
}

fn plain(text: &str) -> PlainView {
    let mut view = PlainView {
        text: String::with_capacity(text.len()),
        form: PhraseForm::Open,
        starts: Vec::with_capacity(text.len()),
        whole: 0..text.len(),
    };
    let mut word_start = 0;
    let mut push = |view: &mut PlainView, c: char, at: usize| {
        let before = view.text.len();
        if c.is_alphanumeric() || matches!(c, '@' | '$' | '!') {
            view.text.push(c);
        } else {
            unleet(&mut view.text, word_start);
            let blank = c.is_whitespace();
            let last = view.text.chars().next_back();
            if blank && (last.is_none_or(|last| last == '\n') || last == Some(' ') && c != '\n') {
                word_start = view.text.len();
                return;
            }
            if c == '\n' && last == Some(' ') {
                view.text.pop();
                view.starts.pop();
                view.text.push('\n');
                view.starts.push(u32::try_from(at).unwrap_or(u32::MAX));
                word_start = view.text.len();
                return;
            }
            view.text.push(if blank && c != '\n' { ' ' } else { c });
            word_start = view.text.len();
        }
        let start = u32::try_from(at).unwrap_or(u32::MAX);
        view.starts
            .resize(view.starts.len() + view.text.len() - before, start);
    };
    for (at, c) in text.char_indices() {
        if c.is_ascii() {
            push(&mut view, c.to_ascii_lowercase(), at);
            continue;
        }
        if is_hidden(c) {
            continue;
        }
        let mut buffer = [0; 4];
        for part in c.encode_utf8(&mut buffer).nfkd() {
            if !('\u{300}'..='\u{36F}').contains(&part) {
                for lower in alike(part).to_lowercase() {
                    push(&mut view, lower, at);
                }
            }
        }
    }
    unleet(&mut view.text, word_start);
    view
}

/// `1gn0r3` reads as `ignore`: digits among letters of one word. The length stays.
fn unleet(text: &mut String, from: usize) {
    let word = text.get(from..).unwrap_or_default();
    let letters = word.bytes().filter(u8::is_ascii_alphabetic).count();
    let others = word.len() - letters;
    if others == 0 || letters < 2 || letters < others || word.len() > 20 || !word.is_ascii() {
        return;
    }
    let read: String = word
        .trim_end_matches('!')
        .chars()
        .map(|c| match c {
            '0' => 'o',
            '1' | '!' => 'i',
            '3' => 'e',
            '4' | '@' => 'a',
            '5' | '$' => 's',
            '7' => 't',
            c => c,
        })
        .collect();
    text.replace_range(from..from + read.len(), &read);
}

fn is_hidden(c: char) -> bool {
    matches!(c,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{180E}' | '\u{200B}'..='\u{200F}' | '\u{202A}'..='\u{202E}'
        | '\u{2060}'..='\u{206F}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{E0000}'..='\u{E0FFF}')
}

/// Letters of other alphabets that read as Latin ones.
pub fn alike(c: char) -> char {
    match c {
        'а' | 'А' | 'α' | 'Α' | 'ɑ' => 'a',
        'В' | 'в' | 'Β' | 'β' | 'Ь' | 'ь' => 'b',
        'с' | 'С' | 'ϲ' | 'ᴄ' => 'c',
        'ԁ' | 'ɗ' => 'd',
        'е' | 'Е' | 'ε' | 'Ε' | 'є' | 'ҽ' => 'e',
        'ɡ' | 'ց' | 'ɢ' => 'g',
        'һ' | 'Н' | 'н' | 'Η' | 'հ' => 'h',
        'і' | 'І' | 'ι' | 'Ι' | 'ı' | 'ɩ' | 'ӏ' | 'Ӏ' => 'i',
        'ј' | 'Ј' => 'j',
        'к' | 'К' | 'κ' | 'Κ' => 'k',
        'ʟ' => 'l',
        'м' | 'М' | 'Μ' => 'm',
        'ո' | 'п' | 'Ν' | 'η' | 'ɴ' => 'n',
        'о' | 'О' | 'ο' | 'Ο' | 'օ' | 'σ' | 'ᴏ' => 'o',
        'р' | 'Р' | 'ρ' | 'Ρ' => 'p',
        'ԛ' => 'q',
        'г' | 'ʀ' => 'r',
        'ѕ' | 'Ѕ' => 's',
        'т' | 'Т' | 'τ' | 'Τ' => 't',
        'υ' | 'ս' | 'μ' => 'u',
        'ν' | 'ѵ' => 'v',
        'ԝ' | 'ω' | 'ш' => 'w',
        'х' | 'Х' | 'χ' | 'Χ' => 'x',
        'у' | 'У' | 'γ' | 'Υ' => 'y',
        'Ζ' => 'z',
        c => c,
    }
}

/// Adds what is hidden in a text, each piece as a view of its own.
fn hidden(
    text: &str,
    place: Range<usize>,
    depth: usize,
    left: &mut usize,
    views: &mut Vec<PlainView>,
) {
    let add = |decoded: String,
               form: PhraseForm,
               range: Range<usize>,
               left: &mut usize,
               views: &mut Vec<PlainView>| {
        if decoded.len() > *left || depth == 0 {
            return;
        }
        *left -= decoded.len();
        // Inside of something decoded there are no places of the original any more.
        let whole = if depth == DEEPEST {
            range
        } else {
            place.clone()
        };
        views.push(PlainView {
            form,
            starts: Vec::new(),
            whole: whole.clone(),
            ..plain(&decoded)
        });
        hidden(&decoded, whole, depth - 1, left, views);
    };
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let length = bytes
            .iter()
            .skip(at)
            .take_while(|byte| is_of_a_code(**byte))
            .count();
        if length >= SHORTEST_CODE {
            let code = text.get(at..at + length).unwrap_or_default();
            if let Some((decoded, form)) = decode(code) {
                add(decoded, form, at..at + length, left, views);
            }
        }
        at += length.max(1);
    }
    if text.bytes().filter(|byte| *byte == b'%').count() >= 4
        && let Some((decoded, range)) = unpercent(text)
    {
        add(decoded, PhraseForm::Percent, range, left, views);
    }
    if !text.is_ascii() {
        let smuggled: String = text.chars().filter_map(from_tag).collect();
        if smuggled.len() >= 4 {
            add(smuggled, PhraseForm::Invisible, 0..text.len(), left, views);
        }
    }
    for (joined, range) in apart(text) {
        add(joined, PhraseForm::Spaced, range, left, views);
    }
}

fn is_of_a_code(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_')
}

/// Letters written in the plane of tags, which nothing shows.
fn from_tag(c: char) -> Option<char> {
    let code = u32::from(c).checked_sub(0xE0000)?;
    (0x20..0x7F)
        .contains(&code)
        .then(|| char::from_u32(code))
        .flatten()
}

fn decode(code: &str) -> Option<(String, PhraseForm)> {
    const ENGINE: GeneralPurposeConfig = GeneralPurposeConfig::new()
        .with_decode_padding_mode(DecodePaddingMode::Indifferent)
        .with_decode_allow_trailing_bits(true);
    if code.len().is_multiple_of(2) && code.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        let bytes = (0..code.len())
            .step_by(2)
            .map_while(|at| u8::from_str_radix(code.get(at..at + 2)?, 16).ok());
        return readable(bytes.collect()).map(|text| (text, PhraseForm::Hex));
    }
    let code = code
        .trim_end_matches('=')
        .trim_start_matches(['-', '_', '=']);
    // A word of prose is not an encoding: those mix cases and digits.
    let mixed = code.bytes().any(|byte| byte.is_ascii_uppercase())
        && code.bytes().any(|byte| byte.is_ascii_lowercase());
    if !mixed {
        return None;
    }
    let alphabet = if code.contains(['-', '_']) {
        base64::alphabet::URL_SAFE
    } else {
        base64::alphabet::STANDARD
    };
    let bytes = GeneralPurpose::new(&alphabet, ENGINE).decode(code).ok()?;
    readable(bytes).map(|text| (text, PhraseForm::Base64))
}

fn readable(bytes: Vec<u8>) -> Option<String> {
    let text = String::from_utf8(bytes).ok()?;
    let total = text.chars().count();
    let letters = text
        .chars()
        .filter(|c| c.is_alphabetic() || *c == ' ')
        .count();
    (total >= 8
        && letters * 10 >= total * 7
        && !text.chars().any(|c| c.is_control() && !c.is_whitespace()))
    .then_some(text)
}

fn unpercent(text: &str) -> Option<(String, Range<usize>)> {
    let bytes = text.as_bytes();
    let first = text.find('%')?;
    let mut decoded = Vec::with_capacity(text.len());
    let mut at = first;
    let mut end = first;
    let mut undone = 0;
    while let Some(byte) = bytes.get(at) {
        let code = text.get(at + 1..at + 3).filter(|_| *byte == b'%');
        if let Some(byte) = code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            decoded.push(byte);
            undone += 1;
            at += 3;
            end = at;
        } else {
            decoded.push(*byte);
            at += 1;
        }
    }
    let text = String::from_utf8_lossy(&decoded).into_owned();
    (undone >= 4).then_some((text, first..end))
}

/// Letters written apart: `i g n o r e   a l l`. More than one blank is between words.
fn apart(text: &str) -> Vec<(String, Range<usize>)> {
    let mut found = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    let before = |at: usize| at.checked_sub(1).and_then(|before| bytes.get(before));
    while let Some([this, next, _]) = bytes.get(at..at + 3) {
        let alone = this.is_ascii_alphabetic()
            && before(at).is_none_or(|byte| !byte.is_ascii_alphanumeric());
        if !alone || next.is_ascii_alphanumeric() || !next.is_ascii() {
            at += 1;
            continue;
        }
        let start = at;
        let mut joined = String::new();
        let mut letters = 0;
        while let Some(letter) = bytes.get(at)
            && letter.is_ascii_alphanumeric()
            && bytes
                .get(at + 1)
                .is_none_or(|next| !next.is_ascii_alphanumeric())
        {
            joined.push(char::from(*letter));
            letters += 1;
            at += 1;
            let gap = bytes
                .iter()
                .skip(at)
                .take_while(|byte| matches!(byte, b' ' | b'.' | b'-' | b'_' | b'*'))
                .count();
            if gap == 0 || gap > 4 {
                break;
            }
            if gap > 1 {
                joined.push(' ');
            }
            at += gap;
        }
        if letters >= FEWEST_APART {
            found.push((joined, start..at));
        }
        at = at.max(start + 1);
    }
    found
}
