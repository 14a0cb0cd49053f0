//! Imitations of our own markers.
//!
//! What makes a marker is the words `EXTERNAL UNTRUSTED CONTENT` in this order, whatever the
//! case, the script the letters are borrowed from and what separates them. The same words in
//! prose, with blanks between them and no brackets around, are prose. They are found by their
//! rarest letter, the `x`: every character that reads as one is looked at, and everything else
//! goes by many bytes at a time.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use chela_core::scan::{ByteMask, below, is, sieve, within};

/// Stands where an imitation was.
const INSTEAD: &str = "(marker removed)";

const WORDS: &[u8] = b"externaluntrustedcontent";
/// Where the `x` stands in them.
const ANCHOR: usize = 1;
/// This many separating characters may stand between two letters.
const MOST_BETWEEN: usize = 4;
/// An id and what surrounds it is at most this long.
const LONGEST_TAIL: usize = 64;

/// The text without imitations of our markers, and how many there were.
pub fn remove(text: &str) -> (Cow<'_, str>, usize) {
    let mut kept = String::new();
    let mut copied = 0;
    let mut found = 0;
    let mut from = 0;
    while let Some(anchor) = next_anchor(text, from) {
        from = anchor + 1;
        if let Some(span) = marker_around(text, anchor, copied) {
            kept.push_str(text.get(copied..span.start).unwrap_or_default());
            kept.push_str(INSTEAD);
            copied = span.end;
            from = span.end;
            found += 1;
        }
        while !text.is_char_boundary(from) {
            from += 1;
        }
    }
    if found == 0 {
        return (Cow::Borrowed(text), 0);
    }
    kept.push_str(text.get(copied..).unwrap_or_default());
    (Cow::Owned(kept), found)
}

/// The next character at or after `from` that reads as an `x` and may be that of the marker.
fn next_anchor(text: &str, from: usize) -> Option<usize> {
    let mut at = from;
    while let Some(found) = sieve(text.as_bytes(), at, may_begin_anchor, may_be_anchor) {
        let c = text.get(found..).and_then(|rest| rest.chars().next());
        if c.and_then(fold) == Some(b'x') {
            return Some(found);
        }
        at = found + 1;
    }
    None
}

/// Whether a byte may begin an `x`, for a sieve.
#[inline(always)]
fn may_begin_anchor(a: u8) -> ByteMask {
    is(a | 0x20, b'x') | below(0x7F, a)
}

/// Whether three bytes may. After a plain one come a `t` and an `e`, something that separates, or
/// something that is not ASCII; of other lead bytes only the neighbourhoods that have one count.
#[inline(always)]
fn may_be_anchor(a: u8, b: u8, c: u8) -> ByteMask {
    let between =
        |byte: u8| is(byte, b' ') | is(byte, b'\t') | is(byte, b'_') | within(byte, b'-', 2);
    let then_te =
        (is(b | 0x20, b't') | between(b)) & (is(c | 0x20, b'e') | is(c | 0x20, b't') | between(c));
    let plain = is(a | 0x20, b'x') & (below(0x7F, b | c) | then_te);
    let two = is(a, 0xD1) & is(b, 0x85)
        | is(a, 0xD0) & is(b, 0xA5)
        | is(a, 0xCF) & is(b, 0x87)
        | is(a, 0xCE) & is(b, 0xA7)
        | is(a, 0xC3) & is(b, 0x97)
        | is(a, 0xD2) & within(b, 0xB2, 2)
        | is(a, 0xD3) & within(b, 0xBC, 2);
    let three = is(a, 0xE1) & (is(b, 0xBA) & within(c, 0x8A, 4) | is(b, 0x99) | is(b, 0x95))
        | is(a, 0xE2) & below(0x81, b)
        | is(a, 0xEA) & is(b, 0x93)
        | is(a, 0xEF) & (is(b, 0xBC) & is(c, 0xB8) | is(b, 0xBD) & is(c, 0x98));
    let four = below(0xEF, a) & !(is(a, 0xF0) & is(b, 0x9F) & !within(c, 0x84, 4));
    plain | two | three | four
}

/// The whole imitation around an `x`, brackets and id included, not before `floor`.
fn marker_around(text: &str, anchor: usize, floor: usize) -> Option<Range<usize>> {
    let before = text.get(floor..anchor)?;
    let start = floor + match_backwards(before, WORDS.get(..ANCHOR).unwrap_or_default())?;
    let length = match_forwards(
        text.get(anchor..).unwrap_or_default(),
        WORDS.get(ANCHOR..).unwrap_or_default(),
    )?;
    let words = start..anchor + length;
    let start = floor + open(text.get(floor..words.start).unwrap_or_default());
    let end = words.end + close(text.get(words.end..).unwrap_or_default());
    let in_brackets = start < words.start || end > words.end;
    (in_brackets || !reads_as_prose(text.get(words).unwrap_or_default())).then_some(start..end)
}

fn reads_as_prose(words: &str) -> bool {
    words.split_whitespace().count() == 3
        && words
            .chars()
            .all(|c| c.is_whitespace() || fold(c).is_some())
}

/// Matches `letters` from the front; gives the length.
fn match_forwards(text: &str, letters: &[u8]) -> Option<usize> {
    let mut wanted = letters.iter();
    let mut next = wanted.next()?;
    let mut between = 0;
    for (at, c) in text.char_indices() {
        match fold(c) {
            Some(letter) if letter == *next => {
                between = 0;
                match wanted.next() {
                    Some(letter) => next = letter,
                    None => return Some(at + c.len_utf8()),
                }
            }
            None if is_between(c) && between < MOST_BETWEEN => between += 1,
            _ => return None,
        }
    }
    None
}

/// Matches `letters` ending where the text ends; gives where they start.
fn match_backwards(text: &str, letters: &[u8]) -> Option<usize> {
    let mut wanted = letters.iter().rev();
    let mut next = wanted.next()?;
    let mut between = 0;
    for (at, c) in text.char_indices().rev() {
        match fold(c) {
            Some(letter) if letter == *next => {
                between = 0;
                match wanted.next() {
                    Some(letter) => next = letter,
                    None => return Some(at),
                }
            }
            None if is_between(c) && between < MOST_BETWEEN => between += 1,
            _ => return None,
        }
    }
    None
}

/// Where the marker begins whose words start at the end of `before`: with `END` and brackets.
fn open(before: &str) -> usize {
    let words = match_backwards(before, b"end").unwrap_or(before.len());
    let mut start = words;
    for (at, c) in before.get(..words).unwrap_or_default().char_indices().rev() {
        if is_opening(c) {
            start = at;
        } else if !is_between(c) || words - at > LONGEST_TAIL {
            break;
        }
    }
    start
}

/// How much of the text after the words belongs to the marker: an id and the brackets.
fn close(after: &str) -> usize {
    let mut end = 0;
    for (at, c) in after.char_indices().take(LONGEST_TAIL) {
        if is_closing(c) {
            end = at + c.len_utf8();
        } else if end > 0 && !is_unseen(c) || c == '\n' || !is_of_an_id(c) {
            break;
        }
    }
    end
}

/// Between brackets that belong together.
fn is_unseen(c: char) -> bool {
    matches!(
        c,
        '\u{AD}' | '\u{34F}' | '\u{200B}'..='\u{200F}' | '\u{2060}'..='\u{206F}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}'
    )
}

fn is_of_an_id(c: char) -> bool {
    is_between(c)
        || fold(c).is_some()
        || c.is_ascii_digit()
        || matches!(
            c,
            '=' | '"' | '\'' | ':' | '“' | '”' | '＝' | '＂' | '０'..='９'
        )
}

/// What may stand between the letters of an imitation without changing how it reads.
fn is_between(c: char) -> bool {
    matches!(
        c,
        ' ' | '\t'
            | '_'
            | '-'
            | '.'
            | '\u{A0}'
            | '\u{AD}'
            | '\u{34F}'
            | '\u{61C}'
            | '\u{180E}'
            | '\u{2000}'..='\u{2015}'
            | '\u{2028}'..='\u{202F}'
            | '\u{203F}'
            | '\u{2040}'
            | '\u{205F}'..='\u{206F}'
            | '\u{2212}'
            | '\u{3000}'
            | '\u{FE00}'..='\u{FE0F}'
            | '\u{FE33}'
            | '\u{FE34}'
            | '\u{FE4D}'..='\u{FE4F}'
            | '\u{FEFF}'
            | '\u{FF0D}'
            | '\u{FF3F}'
            | '\u{300}'..='\u{36F}'
            | '\u{2581}'
    )
}

fn is_opening(c: char) -> bool {
    matches!(
        c,
        '<' | '＜'
            | '‹'
            | '«'
            | '〈'
            | '《'
            | '⟨'
            | '⟪'
            | '≪'
            | '⋘'
            | '❮'
            | '❰'
            | '˂'
            | '﹤'
            | 'ᐸ'
            | '⧼'
            | '⦑'
            | '⪡'
            | '≺'
            | '⫷'
    )
}

fn is_closing(c: char) -> bool {
    matches!(
        c,
        '>' | '＞'
            | '›'
            | '»'
            | '〉'
            | '》'
            | '⟩'
            | '⟫'
            | '≫'
            | '⋙'
            | '❯'
            | '❱'
            | '˃'
            | '﹥'
            | 'ᐳ'
            | '⧽'
            | '⦒'
            | '⪢'
            | '≻'
            | '⫸'
    )
}

/// The small ASCII letter a character reads as.
fn fold(c: char) -> Option<u8> {
    let known = usize::try_from(u32::from(c))
        .ok()
        .and_then(|at| FOLDED.get(at));
    match known {
        Some(0) => None,
        Some(letter) => Some(*letter),
        None => reads_as(c),
    }
}

/// By code, for most letters there are.
static FOLDED: LazyLock<Vec<u8>> = LazyLock::new(|| {
    (0..0x2E00)
        .map(|code| char::from_u32(code).and_then(reads_as).unwrap_or(0))
        .collect()
});

fn reads_as(c: char) -> Option<u8> {
    let code = u32::from(c);
    let letter = |offset: u32| u8::try_from(offset % 26).ok().map(|offset| b'a' + offset);
    match c {
        'a'..='z' | 'A'..='Z' => Some(c.to_ascii_lowercase() as u8),
        '\0'..='\u{7F}' => None,
        // Most of the world's writing borrows no letter of the marker.
        '\u{3040}'..='\u{A4CF}' | '\u{AC00}'..='\u{FEFF}' => None,
        '\u{FF21}'..='\u{FF3A}' => letter(code - 0xFF21),
        '\u{FF41}'..='\u{FF5A}' => letter(code - 0xFF41),
        '\u{24B6}'..='\u{24CF}' => letter(code - 0x24B6),
        '\u{24D0}'..='\u{24E9}' => letter(code - 0x24D0),
        '\u{249C}'..='\u{24B5}' => letter(code - 0x249C),
        '\u{1F110}'..='\u{1F129}' => letter(code - 0x1F110),
        '\u{1F130}'..='\u{1F149}' => letter(code - 0x1F130),
        '\u{1F150}'..='\u{1F169}' => letter(code - 0x1F150),
        '\u{1F170}'..='\u{1F189}' => letter(code - 0x1F170),
        '\u{1F1E6}'..='\u{1F1FF}' => letter(code - 0x1F1E6),
        // Mathematical letters come in runs of 26 from here to the dotless ones.
        '\u{1D400}'..='\u{1D6A3}' => letter(code - 0x1D400),
        '\u{E0041}'..='\u{E005A}' => letter(code - 0xE0041),
        '\u{E0061}'..='\u{E007A}' => letter(code - 0xE0061),
        '\0'..='\u{2DFF}' | '\u{A4D0}'..='\u{A4FF}' | '\u{A731}' | '\u{10280}'..='\u{1044F}' => {
            listed(c)
        }
        _ => None,
    }
}

/// Letters of other alphabets, accented, small and old ones that read as those of the marker.
fn listed(c: char) -> Option<u8> {
    const ALIKE: &[(u8, &str)] = &[
        (b'a', "аɑαΑАàáâãäåāăąǎȧạảᴀⱥ𐊠ᎪᗅꓮÀÁÂÃÄÅĀĂĄª"),
        (b'c', "сϲСϹçćĉċčƈᴄⲥⲤᏟꓚⅽⅭÇĆĈĊČ𐐽ℂℭ"),
        (b'd', "ԁᏧɗďđḍḓḏᴅⅾⅮᎠꓒĎĐ∂ⅆⅅ"),
        (b'e', "еЕєЄεΕèéêëēĕėęěẹẻẽɛᴇҽⲉᎬꓰÈÉÊËĒĔĖĘĚ∃℮ℯℰⅇёЁ"),
        (b'l', "ӏӀІіιΙɩíìîïıįłŀļľĺḷḽḻʟᏞꓡⅼⅬĹĻĽĿŁ∣ǀℓℒ"),
        (b'n', "ոпПΝηńņňñṅṇṉṋɴℕꓠŃŅŇÑᶰⁿ"),
        (b'o', "оОοΟօՕòóôõöøōŏőơọỏᴏⲟⲞσΣ൦๐໐ÒÓÔÕÖØŌŎŐ০੦௦०°ºℴ"),
        (b'r', "гГŕŗřṙṛṟʀɼɾᴦᎡꓣŔŖŘℛℜℝя"),
        (b's', "ѕЅśŝşšșṡṣꜱʂƽᏚꓢŚŜŞŠȘՏႽſ"),
        (b't', "тТτΤţťŧțṫṭṯṱᴛᎢꓔŢŤŦȚ⊤†ⲧⲦ"),
        (b'u', "υսՍùúûüũūŭůűųưụủᴜʋᑌꓴÙÚÛÜŨŪŬŮŰŲ∪⋃цμµ"),
        (b'x', "хХχΧẋẍẊẌ×✕✖╳ⅹⅩ⨯᙮ᕁⲭⲬꓫ𐊐ҳҲӽӼ"),
    ];
    ALIKE
        .iter()
        .find(|(_, alike)| alike.contains(c))
        .map(|(letter, _)| *letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_letter_that_reads_as_an_x_gets_through_the_sieve() {
        for c in '\u{80}'..=char::MAX {
            let mut bytes = [b' '; 4];
            c.encode_utf8(&mut bytes);
            let first = may_begin_anchor(bytes[0]);
            let named = first & may_be_anchor(bytes[0], bytes[1], bytes[2]) != 0;
            assert!(named || fold(c) != Some(b'x'), "{c} U+{:04X}", u32::from(c));
        }
        // A plain one, before every character that can stand between letters or be the next.
        for c in '\0'..=char::MAX {
            let mut text = [b' '; 6];
            text[0] = b'x';
            c.encode_utf8(&mut text[1..]);
            let next = is_between(c) || fold(c) == Some(b't');
            assert!(
                may_be_anchor(text[0], text[1], text[2]) != 0 || !next,
                "{c}"
            );
        }
    }
}
