//! Stretches of a text. One that is not there is empty: no offset, however wrong, stops the
//! program.

/// What stands from `at` on.
pub fn after(text: &str, at: usize) -> &str {
    text.get(at..).unwrap_or_default()
}

/// What stands before `at`.
pub fn before(text: &str, at: usize) -> &str {
    text.get(..at).unwrap_or_default()
}

pub fn between(text: &str, start: usize, end: usize) -> &str {
    text.get(start..end).unwrap_or_default()
}

/// The first `length` bytes, and the rest.
pub fn cut(text: &str, length: usize) -> (&str, &str) {
    text.split_at_checked(length).unwrap_or((text, ""))
}

/// How many bytes of blanks and tabs it starts with.
pub fn blank_length(text: &str) -> usize {
    text.len() - text.trim_start_matches([' ', '\t']).len()
}
