//! The smallest pieces of JSON5: white space, comments, identifiers.

use crate::span::after;

/// A stretch of text between two tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TextTrivia {
    pub kind: TriviaKind,
    pub start: usize,
    pub end: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TriviaKind {
    Space,
    Newline,
    LineComment,
    BlockComment,
}

impl TextTrivia {
    pub fn is_comment(&self) -> bool {
        matches!(
            self.kind,
            TriviaKind::LineComment | TriviaKind::BlockComment
        )
    }
}

/// A block comment without its end; it starts here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnclosedComment(pub usize);

/// The white space or comment that starts at `pos`, if one does.
pub fn trivia_at(text: &str, pos: usize) -> Result<Option<TextTrivia>, UnclosedComment> {
    let bytes = text.as_bytes();
    let piece = |kind, end| {
        Ok(Some(TextTrivia {
            kind,
            start: pos,
            end,
        }))
    };
    match bytes.get(pos) {
        Some(b' ' | b'\t' | 0x0b | 0x0c) => {
            let run = bytes
                .iter()
                .skip(pos)
                .take_while(|b| matches!(b, b' ' | b'\t' | 0x0b | 0x0c));
            piece(TriviaKind::Space, pos + run.count())
        }
        Some(b'\n') => piece(TriviaKind::Newline, pos + 1),
        Some(b'\r') => {
            let crlf = bytes.get(pos + 1) == Some(&b'\n');
            piece(TriviaKind::Newline, pos + 1 + usize::from(crlf))
        }
        Some(b'/') => match bytes.get(pos + 1) {
            Some(b'/') => {
                let rest = after(text, pos);
                piece(
                    TriviaKind::LineComment,
                    pos + rest.find(ends_line).unwrap_or(rest.len()),
                )
            }
            Some(b'*') => match after(text, pos + 2).find("*/") {
                Some(length) => piece(TriviaKind::BlockComment, pos + 2 + length + 2),
                None => Err(UnclosedComment(pos)),
            },
            _ => Ok(None),
        },
        Some(byte) if !byte.is_ascii() => match after(text, pos).chars().next() {
            Some(c @ ('\u{2028}' | '\u{2029}')) => piece(TriviaKind::Newline, pos + c.len_utf8()),
            Some(c) if is_wide_space(c) => piece(TriviaKind::Space, pos + c.len_utf8()),
            _ => Ok(None),
        },
        _ => Ok(None),
    }
}

/// What ends a line, and with it a `//` comment.
pub fn ends_line(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}')
}

/// White space beyond ASCII, as JSON5 has it.
fn is_wide_space(c: char) -> bool {
    matches!(
        c,
        '\u{a0}' | '\u{1680}' | '\u{2000}'
            ..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' | '\u{feff}'
    )
}

pub fn starts_identifier(c: char) -> bool {
    c == '_' || c == '$' || c.is_alphabetic()
}

pub fn continues_identifier(c: char) -> bool {
    c == '_' || c == '$' || c.is_alphanumeric() || matches!(c, '\u{200c}' | '\u{200d}')
}

/// Whether a key can be written without quotes so that every reader agrees.
pub fn is_plain_identifier(key: &str) -> bool {
    let mut bytes = key.bytes();
    bytes
        .next()
        .is_some_and(|b| b.is_ascii_alphabetic() || b == b'_' || b == b'$')
        && bytes.all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'$')
}
