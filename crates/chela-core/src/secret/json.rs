//! Keeping JSON whole when secrets are taken out of it.

use std::ops::Range;

use super::{KnownBy, SecretHit};

/// Cuts shapes to the string they begin in; drops hits that begin in none or in the middle of an
/// escape, and known values that would have to be cut.
pub fn clip(text: &[u8], hits: &mut Vec<SecretHit>) {
    let strings = strings(text);
    hits.retain_mut(|hit| {
        let after = strings.partition_point(|string| string.start <= hit.range.start);
        let Some(string) = after.checked_sub(1).map(|at| &strings[at]) else {
            return false;
        };
        if hit.range.start >= string.end || escapes(text, string.start, hit.range.start) {
            return false;
        }
        let mut end = hit.range.end.min(string.end);
        if escapes(text, string.start, end) {
            end -= 1;
        }
        // A value that goes on past its string, or stops within an escape, is another text that
        // only looks like it.
        let whole = end == hit.range.end;
        hit.range.end = end;
        !hit.range.is_empty() && (whole || matches!(hit.by, KnownBy::Shape))
    });
}

/// What stands between quotes.
fn strings(text: &[u8]) -> Vec<Range<usize>> {
    let mut strings = Vec::new();
    let mut at = 0;
    while let Some(start) = text[at..].iter().position(|byte| *byte == b'"') {
        let start = at + start + 1;
        let mut end = start;
        while end < text.len() && text[end] != b'"' {
            end += 1 + usize::from(text[end] == b'\\');
        }
        let end = end.min(text.len());
        strings.push(start..end);
        at = (end + 1).min(text.len());
    }
    strings
}

/// Whether the character at this place belongs to the backslash before it.
fn escapes(text: &[u8], from: usize, at: usize) -> bool {
    let backslashes = text[from..at]
        .iter()
        .rev()
        .take_while(|byte| **byte == b'\\')
        .count();
    backslashes % 2 == 1
}
