//! The words of the reader's complaints.

use super::scan;

/// What is being read, for the wording of problems.
#[derive(Debug, Clone, Copy)]
pub enum ReadingPlace<'a> {
    Document,
    Member(&'a str),
    List,
}

impl std::fmt::Display for ReadingPlace<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Document => f.write_str("the config"),
            Self::Member(key) => write!(f, "`{key}`"),
            Self::List => f.write_str("the list"),
        }
    }
}

impl ReadingPlace<'_> {
    pub fn expected_after(&self, close: char) -> String {
        match self {
            Self::Member(key) => format!("expected `,` or `{close}` after the value of `{key}`"),
            Self::List | Self::Document => {
                format!("expected `,` or `{close}` after this value in the list")
            }
        }
    }
}

pub fn closing(bracket: char) -> char {
    if bracket == '{' { '}' } else { ']' }
}

pub fn begins_element(c: char) -> bool {
    matches!(c, '"' | '\'' | '{' | '[' | '-' | '+' | '.') || scan::continues_identifier(c)
}

/// A character as a message shows it: invisible ones by their number.
pub fn shown(c: char) -> String {
    if c.is_control()
        || c.is_whitespace()
        || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}')
    {
        format!("an invisible character (U+{:04X})", u32::from(c))
    } else {
        format!("`{c}`")
    }
}

pub fn unexpected_hint(c: char) -> Option<&'static str> {
    match c {
        '\u{2018}'..='\u{201f}' | '\u{ab}' | '\u{bb}' => Some("use straight quotes: \" or '"),
        '#' => Some("comments start with `//`"),
        '`' => Some("use \" or ' around text"),
        '/' => Some("a comment starts with `//` or `/*`"),
        '$' => Some("put quotes around `${NAME}`"),
        _ => None,
    }
}
