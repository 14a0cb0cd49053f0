//! Splitting a text into the pieces within which tokens are merged.
//!
//! The o200k vocabulary defines its pieces by a regular expression with these alternatives, the
//! first that matches taking the piece:
//!
//! 1. a word ending in lower case, `[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+`,
//!    with an English contraction `(?i:'s|'t|'re|'ve|'m|'ll|'d)?`;
//! 2. a word in upper case, the same with `+` and `*` exchanged;
//! 3. up to three digits, `\p{N}{1,3}`;
//! 4. punctuation, ` ?[^\s\p{L}\p{N}]+[\r\n/]*`;
//! 5. white space that ends in line breaks, `\s*[\r\n]+`;
//! 6. white space but for the last character before a word, `\s+(?!\S)`;
//! 7. white space, `\s+`.
//!
//! Written out by hand it needs no regex engine and never backtracks over more than it has seen.

use unicode_general_category::{GeneralCategory, get_general_category};

/// What the alternatives ask about a character.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Upper,
    Lower,
    /// A letter without case: counts as both.
    Letter,
    /// Counts as both, and as punctuation.
    Mark,
    Number,
    /// White space other than line breaks.
    Space,
    Break,
    Other,
}

/// The pieces of a text, in order and without gaps.
#[derive(Debug, Clone)]
pub struct TextPieces<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> TextPieces<'a> {
    pub fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }
}

impl<'a> Iterator for TextPieces<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        let start = self.at;
        let (class, length) = class_at(self.text, start)?;
        self.at = piece_end(self.text, start, class, length);
        self.text.get(start..self.at)
    }
}

/// Where the piece ends that starts with this character.
fn piece_end(text: &str, start: usize, class: Class, length: usize) -> usize {
    let after = start + length;
    match class {
        Class::Upper | Class::Lower | Class::Letter => word_end(text, start).unwrap_or(after),
        Class::Number => numbers_end(text, after),
        Class::Break => space_end(text, start),
        Class::Space => word_end(text, after)
            .or_else(|| {
                if is_space_bar(text, start) {
                    signs_end(text, after)
                } else {
                    None
                }
            })
            .unwrap_or_else(|| space_end(text, start)),
        // Alone, a mark is a word of one character; as the sign before a word it joins it.
        Class::Mark => lower_word_end(text, after)
            .or_else(|| lower_word_end(text, start))
            .map_or(after, |end| contraction_end(text, end)),
        Class::Other => word_end(text, after)
            .or_else(|| signs_end(text, start))
            .unwrap_or(after),
    }
}

/// Alternatives 1 and 2 without the sign in front.
fn word_end(text: &str, start: usize) -> Option<usize> {
    let end = lower_word_end(text, start).or_else(|| {
        // No lower case and nothing that counts as such: upper case alone.
        let end = skip(text, start, |class| class == Class::Upper);
        (end > start).then_some(end)
    })?;
    Some(contraction_end(text, end))
}

/// As much upper case as there is, then at least one character of lower case; what counts as both
/// is given back when nothing else is left for the second part.
fn lower_word_end(text: &str, start: usize) -> Option<usize> {
    let mut at = start;
    let mut last_of_both = None;
    loop {
        match class_at(text, at) {
            Some((Class::Upper, length)) => at += length,
            Some((Class::Letter | Class::Mark, length)) => {
                at += length;
                last_of_both = Some(at);
            }
            Some((Class::Lower, length)) => {
                return Some(skip(text, at + length, |class| {
                    matches!(class, Class::Lower | Class::Letter | Class::Mark)
                }));
            }
            _ => return last_of_both,
        }
    }
}

fn contraction_end(text: &str, end: usize) -> usize {
    let Some(rest) = text.as_bytes().get(end + 1..) else {
        return end;
    };
    if text.as_bytes()[end] != b'\'' {
        return end;
    }
    let lower = |at: usize| rest.get(at).map_or(0, u8::to_ascii_lowercase);
    let length = match (lower(0), lower(1)) {
        (b's' | b't' | b'm' | b'd', _) => 1,
        (b'r' | b'v', b'e') | (b'l', b'l') => 2,
        // The long s is an s to whoever ignores case.
        _ if rest.starts_with("ſ".as_bytes()) => 2,
        _ => return end,
    };
    end + 1 + length
}

fn numbers_end(text: &str, mut at: usize) -> usize {
    for _ in 0..2 {
        match class_at(text, at) {
            Some((Class::Number, length)) => at += length,
            _ => break,
        }
    }
    at
}

/// Alternative 4 without the space in front.
fn signs_end(text: &str, start: usize) -> Option<usize> {
    let end = skip(text, start, |class| {
        matches!(class, Class::Other | Class::Mark)
    });
    let breaks = |byte: &&u8| matches!(byte, b'\r' | b'\n' | b'/');
    (end > start).then(|| end + text.as_bytes()[end..].iter().take_while(breaks).count())
}

/// Alternatives 5 to 7.
fn space_end(text: &str, start: usize) -> usize {
    let mut at = start;
    let mut last = start;
    let mut after_break = None;
    while let Some((class @ (Class::Space | Class::Break), length)) = class_at(text, at) {
        last = at;
        at += length;
        if class == Class::Break {
            after_break = Some(at);
        }
    }
    match after_break {
        Some(end) => end,
        None if at == text.len() || last == start => at,
        None => last,
    }
}

fn skip(text: &str, mut at: usize, wanted: impl Fn(Class) -> bool) -> usize {
    while let Some((class, length)) = class_at(text, at)
        && wanted(class)
    {
        at += length;
    }
    at
}

fn is_space_bar(text: &str, at: usize) -> bool {
    text.as_bytes().get(at) == Some(&b' ')
}

/// Class and length in bytes of the character at `at`, a character boundary.
#[inline]
fn class_at(text: &str, at: usize) -> Option<(Class, usize)> {
    let byte = *text.as_bytes().get(at)?;
    match ASCII.get(usize::from(byte)) {
        Some(class) => Some((*class, 1)),
        None => text
            .get(at..)?
            .chars()
            .next()
            .map(|c| (class_beyond_ascii(c), c.len_utf8())),
    }
}

static ASCII: [Class; 128] = {
    let mut table = [Class::Other; 128];
    let mut byte = 0_u8;
    while byte < 128 {
        table[byte as usize] = match byte {
            b'A'..=b'Z' => Class::Upper,
            b'a'..=b'z' => Class::Lower,
            b'0'..=b'9' => Class::Number,
            b'\r' | b'\n' => Class::Break,
            b' ' | b'\t' | 0x0B | 0x0C => Class::Space,
            _ => Class::Other,
        };
        byte += 1;
    }
    table
};

fn class_beyond_ascii(c: char) -> Class {
    use GeneralCategory::{
        DecimalNumber, EnclosingMark, LetterNumber, LowercaseLetter, ModifierLetter,
        NonspacingMark, OtherLetter, OtherNumber, SpacingMark, TitlecaseLetter, UppercaseLetter,
    };
    // Han, Kana letters and Hangul syllables make up whole texts.
    if matches!(c, '\u{4E00}'..='\u{9FFF}' | '\u{3041}'..='\u{3096}' | '\u{AC00}'..='\u{D7A3}') {
        return Class::Letter;
    }
    match get_general_category(c) {
        UppercaseLetter | TitlecaseLetter => Class::Upper,
        LowercaseLetter => Class::Lower,
        ModifierLetter | OtherLetter => Class::Letter,
        NonspacingMark | SpacingMark | EnclosingMark => Class::Mark,
        DecimalNumber | LetterNumber | OtherNumber => Class::Number,
        _ if c.is_whitespace() => Class::Space,
        _ => Class::Other,
    }
}

#[cfg(test)]
mod tests;
