//! Words in lower case and without accents. Shared with the build script, which keeps the words of
//! other languages by what is left.

use unicode_normalization::UnicodeNormalization;

/// A word in lower case and without accents, as terms are.
pub fn folded(word: &str) -> String {
    let mut out = String::with_capacity(word.len());
    for c in word.chars() {
        push_folded(&mut out, c);
    }
    out
}

/// Appends a letter in lower case and without its accent.
pub fn push_folded(word: &mut String, c: char) {
    if c.is_ascii() {
        word.push(c.to_ascii_lowercase());
        return;
    }
    // Letters that are no letter with an accent, as they are written without them.
    let plain = match c {
        'ß' | 'ẞ' => "ss",
        'æ' | 'Æ' => "ae",
        'œ' | 'Œ' => "oe",
        'ø' | 'Ø' => "o",
        'ł' | 'Ł' => "l",
        'đ' | 'Đ' => "d",
        'ı' | 'İ' => "i",
        // A letter of its own, without which endings cannot be told.
        'й' | 'Й' => "й",
        _ => "",
    };
    if !plain.is_empty() {
        word.push_str(plain);
        return;
    }
    for part in std::iter::once(c).nfkd().filter(|part| !is_accent(*part)) {
        word.extend(part.to_lowercase());
    }
}

/// A mark that may be left out: an accent, a point, a vowel of a script that is written without.
/// Marks of other scripts are vowels as good as letters.
fn is_accent(c: char) -> bool {
    matches!(c, '\u{300}'..='\u{36f}' | '\u{591}'..='\u{5c7}' | '\u{64b}'..='\u{65f}' | '\u{670}')
}

/// Whether a character belongs to a script written without spaces.
pub fn is_cjk(c: char) -> bool {
    matches!(c,
        '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{ac00}'..='\u{d7af}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{2fa1f}'
        | '\u{0e00}'..='\u{0e7f}' | '\u{0e80}'..='\u{0eff}' | '\u{1780}'..='\u{17ff}')
}
