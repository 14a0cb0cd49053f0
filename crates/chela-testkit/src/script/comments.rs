//! Comments in JSON, turned into blanks: what follows keeps its line and column.

/// The text with everything from `//` to the end of its line as blanks, outside of strings.
pub fn blank(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let at = comment_start(line).unwrap_or(line.len());
        out.push_str(&line[..at]);
        out.extend(
            line[at..]
                .chars()
                .map(|c| if c == '\n' { '\n' } else { ' ' }),
        );
    }
    out
}

/// Where a line's comment begins. A string cannot go over the end of a line in JSON.
fn comment_start(line: &str) -> Option<usize> {
    let (mut in_string, mut escaped) = (false, false);
    for (at, c) in line.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' if in_string => escaped = true,
            '"' => in_string = !in_string,
            '/' if !in_string && line[at..].starts_with("//") => return Some(at),
            _ => {}
        }
    }
    None
}
