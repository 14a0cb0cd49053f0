//! Letters as a person sees them: whatever case, width or invisible characters they come with.

use unicode_normalization::char::{decompose_compatible, is_combining_mark};

/// What a character is to someone who looks for a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoldedChar {
    /// A letter or digit, in lower case and plain form.
    Letter(char),
    Underscore,
    Dash,
    Space,
    /// Cannot be seen: zero-width characters, soft hyphens, combining marks, direction marks.
    Nothing,
    /// Punctuation, symbols, markup.
    Other,
}

pub fn seen(c: char) -> FoldedChar {
    match c {
        'a'..='z' | '0'..='9' => return FoldedChar::Letter(c),
        'A'..='Z' => return FoldedChar::Letter(c.to_ascii_lowercase()),
        '_' => return FoldedChar::Underscore,
        '-' => return FoldedChar::Dash,
        ' ' | '\n' | '\t' | '\r' => return FoldedChar::Space,
        _ if c.is_ascii_control() => return FoldedChar::Nothing,
        _ if c.is_ascii() => return FoldedChar::Other,
        _ => {}
    }
    if is_invisible(c) || is_combining_mark(c) {
        return FoldedChar::Nothing;
    }
    if c.is_whitespace() {
        return FoldedChar::Space;
    }
    let mut first = c;
    let mut found = false;
    decompose_compatible(c, |part| {
        if !found && !is_combining_mark(part) {
            first = part;
            found = true;
        }
    });
    match first {
        '_' | '\u{203f}' | '\u{2040}' | '\u{2054}' => FoldedChar::Underscore,
        '-' | '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{2043}' | '\u{30fb}' => FoldedChar::Dash,
        ' ' => FoldedChar::Space,
        _ if first.is_alphanumeric() => {
            FoldedChar::Letter(first.to_lowercase().next().unwrap_or(first))
        }
        _ => FoldedChar::Other,
    }
}

fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff9}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}'
    ) || (c.is_control() && !c.is_whitespace())
}

#[cfg(test)]
mod tests {
    use super::{FoldedChar, seen};

    #[test]
    fn looks_decide() {
        for c in ['n', 'N', 'Ｎ', 'ｎ', '𝐍', '𝓷', 'Ⓝ', 'Ñ'] {
            assert_eq!(seen(c), FoldedChar::Letter('n'), "{c}");
        }
        for c in ['_', '＿', '‿', '\u{fe4d}'] {
            assert_eq!(seen(c), FoldedChar::Underscore, "{c}");
        }
        for c in ['-', '‐', '–', '—', '－', '−'] {
            assert_eq!(seen(c), FoldedChar::Dash, "{c}");
        }
        for c in ['\u{200b}', '\u{feff}', '\u{ad}', '\u{301}', '\0'] {
            assert_eq!(seen(c), FoldedChar::Nothing, "{c:?}");
        }
        for c in [' ', '\u{a0}', '\u{3000}', '\u{2009}', '\n'] {
            assert_eq!(seen(c), FoldedChar::Space, "{c:?}");
        }
        assert_eq!(seen('*'), FoldedChar::Other);
        assert_eq!(seen('名'), FoldedChar::Letter('名'));
    }
}
