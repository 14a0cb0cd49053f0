//! Which characters are invisible, and which writing asks for them.
//!
//! Block ranges, not exact properties: a range decides only whether an invisible character next
//! to it may stay, and one more that stays beside a rare letter does no harm.

use std::ops::RangeInclusive;

use crate::scan::{ByteMask, below, is, within};
use unicode_general_category::{GeneralCategory, get_general_category};

pub const BLACK_FLAG: char = '\u{1F3F4}';
pub const CANCEL_TAG: char = '\u{E007F}';
pub const EMOJI_SELECTOR: char = '\u{FE0F}';
pub const ZERO_WIDTH_JOINER: char = '\u{200D}';

/// Why a character is invisible, which decides where it may stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InvisibleKind {
    /// U+E0000–E0FFF without the selectors: kept only inside the flag of a region.
    Tag,
    /// Embeddings, overrides, isolates: removed wherever they are.
    BidiControl,
    /// LRM, RLM, ALM: one at a time, on a line with right-to-left text.
    BidiMark,
    /// ZWJ and ZWNJ: in emoji sequences and beside letters that join.
    Joiner,
    /// ZWSP: beside scripts that write words without spaces.
    Space,
    /// Soft hyphen and word joiner: one at a time, on something visible.
    BreakHint,
    /// The combining grapheme joiner: beside a combining mark.
    BetweenMarks,
    /// Hangul fillers, blanks of some width: one of a kind beside another.
    Filler,
    /// Controls of one script: beside that script.
    WithScript(ControlScript),
    /// Variation selectors: one, on a character that can have one.
    Selector,
    ByteOrderMark,
    Control,
    /// Invisible operators, deprecated and unassigned ignorable characters.
    Nowhere,
}

/// Scripts with invisible controls of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ControlScript {
    HangulJamo,
    Khmer,
    Mongolian,
    Hieroglyphs,
    Shorthand,
    Music,
}

impl ControlScript {
    pub fn contains(self, c: char) -> bool {
        match self {
            Self::HangulJamo => matches!(
                c, '\u{1100}'..='\u{11FF}' | '\u{A960}'..='\u{A97F}' | '\u{D7B0}'..='\u{D7FF}'
            ),
            Self::Khmer => matches!(c, '\u{1780}'..='\u{17FF}'),
            Self::Mongolian => matches!(c, '\u{1800}'..='\u{18AF}' | '\u{11660}'..='\u{1167F}'),
            Self::Hieroglyphs => matches!(c, '\u{13000}'..='\u{143FF}'),
            Self::Shorthand => matches!(c, '\u{1BC00}'..='\u{1BCAF}'),
            Self::Music => matches!(c, '\u{1D100}'..='\u{1D1FF}'),
        }
    }
}

/// The kind of an invisible character; `None` for one that shows or separates.
pub fn invisible_kind(c: char) -> Option<InvisibleKind> {
    let kind = match c {
        '\t' | '\n' | '\r' | ' '..='~' | '\u{A0}'..='\u{AC}' | '\u{AE}'..='\u{34E}' => return None,
        '\0'..='\u{1F}' | '\u{7F}'..='\u{9F}' => InvisibleKind::Control,
        '\u{AD}' | '\u{2060}' => InvisibleKind::BreakHint,
        '\u{34F}' => InvisibleKind::BetweenMarks,
        '\u{61C}' | '\u{200E}' | '\u{200F}' => InvisibleKind::BidiMark,
        '\u{115F}' | '\u{1160}' => InvisibleKind::WithScript(ControlScript::HangulJamo),
        '\u{3164}' | '\u{FFA0}' => InvisibleKind::Filler,
        '\u{17B4}' | '\u{17B5}' => InvisibleKind::WithScript(ControlScript::Khmer),
        '\u{180B}'..='\u{180F}' => InvisibleKind::WithScript(ControlScript::Mongolian),
        '\u{200B}' => InvisibleKind::Space,
        '\u{200C}' | '\u{200D}' => InvisibleKind::Joiner,
        '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => InvisibleKind::BidiControl,
        '\u{2061}'..='\u{2065}' | '\u{206A}'..='\u{206F}' | '\u{FFF0}'..='\u{FFFB}' => {
            InvisibleKind::Nowhere
        }
        '\u{FE00}'..='\u{FE0F}' | '\u{E0100}'..='\u{E01EF}' => InvisibleKind::Selector,
        '\u{FEFF}' => InvisibleKind::ByteOrderMark,
        '\u{13430}'..='\u{1343F}' => InvisibleKind::WithScript(ControlScript::Hieroglyphs),
        '\u{1BCA0}'..='\u{1BCA3}' => InvisibleKind::WithScript(ControlScript::Shorthand),
        '\u{1D173}'..='\u{1D17A}' => InvisibleKind::WithScript(ControlScript::Music),
        '\u{E0000}'..='\u{E0FFF}' => InvisibleKind::Tag,
        _ => return None,
    };
    Some(kind)
}

/// Whether a byte may begin an invisible character, for a sieve: controls, and what is not ASCII.
#[inline(always)]
pub fn may_begin_invisible(a: u8) -> ByteMask {
    below(a, b' ') & !is(a, b'\n') | is(a | 0x80, 0xFF) | below(0x7F, a)
}

/// Whether three bytes may: of each lead byte only the neighbourhoods that have one.
#[inline(always)]
pub fn may_be_invisible(a: u8, b: u8, c: u8) -> ByteMask {
    let control = below(a, b' ') & !(is(a, b'\n') | is(a, b'\t') | is(a, b'\r')) | is(a, 0x7F);
    let two =
        is(a, 0xC2) & (below(b, 0xA0) | is(b, 0xAD)) | is(a, 0xCD) | is(a, 0xD8) & is(b, 0x9C);
    let general = is(a, 0xE2)
        & (is(b, 0x80) & (within(c, 0x8B, 5) | within(c, 0xAA, 5)) | is(b, 0x81) & below(0x9F, c));
    let three = is(a, 0xE1) & (is(b, 0x85) | is(b, 0x9E) | is(b, 0xA0))
        | is(a, 0xE3) & is(b, 0x85)
        | is(a, 0xEF) & below(0xB7, b) & !is(b & 0xFE, 0xBC);
    let four = below(0xEF, a) & !(is(a, 0xF0) & is(b, 0x9F));
    control | two | general | three | four
}

/// Length in bytes of the tags that turn a black flag into that of a region: a country in two
/// letters, a subdivision in one to four letters or digits, and the cancel tag.
pub fn flag_tags(text: &str) -> Option<usize> {
    const COUNTRY: usize = 2;
    const LONGEST: usize = 6;
    const TAG_BYTES: usize = 4;
    let region = text
        .chars()
        .take(LONGEST + 1)
        .position(|c| c == CANCEL_TAG)?;
    let shaped = text
        .chars()
        .take(region)
        .enumerate()
        .all(|(at, c)| match c {
            '\u{E0061}'..='\u{E007A}' => true,
            '\u{E0030}'..='\u{E0039}' => at >= COUNTRY,
            _ => false,
        });
    (shaped && region > COUNTRY).then_some((region + 1) * TAG_BYTES)
}

/// Whether a variation selector has a meaning on `base`: the first sixteen on symbols, emoji,
/// keycaps and letters beyond ASCII, the others only on Han characters.
pub fn can_be_varied(base: char, selector: char) -> bool {
    if invisible_kind(base).is_some() {
        return false;
    }
    match selector {
        '\u{FE00}'..='\u{FE0F}' => match base {
            '0'..='9' | '#' | '*' => true,
            _ => !base.is_ascii() && !base.is_whitespace(),
        },
        _ => is_han(base),
    }
}

fn is_han(c: char) -> bool {
    matches!(
        c,
        '\u{2E80}'..='\u{2FDF}'
            | '\u{3005}'..='\u{3007}'
            | '\u{3021}'..='\u{3029}'
            | '\u{3400}'..='\u{4DBF}'
            | '\u{4E00}'..='\u{9FFF}'
            | '\u{F900}'..='\u{FAFF}'
            | '\u{20000}'..='\u{3FFFD}'
    )
}

/// Characters that emoji sequences are made of.
pub fn is_emoji(c: char) -> bool {
    matches!(
        c,
        '\u{20E3}' | '\u{A9}' | '\u{AE}' | '\u{203C}' | '\u{2049}' | '\u{2122}' | '\u{2139}'
            | '\u{2190}'..='\u{21FF}'
            | '\u{2300}'..='\u{23FF}'
            | '\u{24C2}'
            | '\u{25A0}'..='\u{27BF}'
            | '\u{2900}'..='\u{297F}'
            | '\u{2B00}'..='\u{2BFF}'
            | '\u{3030}' | '\u{303D}' | '\u{3297}' | '\u{3299}'
            | '\u{1F000}'..='\u{1FAFF}'
    )
}

/// Hebrew, Arabic and their neighbours, Indic scripts and those that came from them: there ZWJ
/// and ZWNJ decide how letters join.
pub fn needs_joiners(c: char) -> bool {
    is_in(
        c,
        &[
            '\u{0590}'..='\u{109F}',
            '\u{1700}'..='\u{1CFF}',
            '\u{A800}'..='\u{A8FF}',
            '\u{A930}'..='\u{A9FF}',
            '\u{AA00}'..='\u{AAFF}',
            '\u{ABC0}'..='\u{ABFF}',
            '\u{FB1D}'..='\u{FDFF}',
            '\u{FE70}'..='\u{FEFC}',
            '\u{10A00}'..='\u{10FFF}',
            '\u{11000}'..='\u{11FFF}',
            '\u{1E900}'..='\u{1EEFF}',
        ],
    )
}

/// Thai, Lao, Tibetan, Burmese, Khmer and their neighbours mark words with ZWSP.
pub fn writes_without_spaces(c: char) -> bool {
    is_in(
        c,
        &[
            '\u{0E00}'..='\u{109F}',
            '\u{1780}'..='\u{17FF}',
            '\u{1950}'..='\u{1AAF}',
            '\u{1B00}'..='\u{1BFF}',
            '\u{A980}'..='\u{A9FF}',
            '\u{AA60}'..='\u{AADF}',
        ],
    )
}

pub fn is_right_to_left(c: char) -> bool {
    invisible_kind(c).is_none()
        && is_in(
            c,
            &[
                '\u{0590}'..='\u{08FF}',
                '\u{FB1D}'..='\u{FDFF}',
                '\u{FE70}'..='\u{FEFC}',
                '\u{10800}'..='\u{10FFF}',
                '\u{1E800}'..='\u{1EFFF}',
            ],
        )
}

pub fn is_combining(c: char) -> bool {
    use GeneralCategory::{EnclosingMark, NonspacingMark, SpacingMark};
    matches!(
        get_general_category(c),
        NonspacingMark | SpacingMark | EnclosingMark
    )
}

fn is_in(c: char, ranges: &[RangeInclusive<char>]) -> bool {
    ranges.iter().any(|range| range.contains(&c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_invisible_character_gets_through_the_sieve() {
        for c in '\0'..=char::MAX {
            let mut bytes = [b' '; 4];
            c.encode_utf8(&mut bytes);
            let [a, b, c_, _] = bytes;
            let named = may_begin_invisible(a) & may_be_invisible(a, b, c_) != 0;
            assert!(
                named || invisible_kind(c).is_none(),
                "U+{:04X}",
                u32::from(c)
            );
        }
    }
}
