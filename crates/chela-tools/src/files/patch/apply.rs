//! Finding the place of each chunk, and changing it.

use super::parse::PatchChunk;

/// Lines of a patch that are not in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MissingLines {
    pub(super) lines: String,
    /// The line after which they were looked for, from 1.
    from: usize,
}

impl MissingLines {
    pub(super) fn after(&self) -> String {
        match self.from {
            0 => String::new(),
            from => format!(" after line {from}"),
        }
    }
}

/// The text with all chunks applied, one after the other.
pub(super) fn apply(body: &str, chunks: &[PatchChunk]) -> Result<String, MissingLines> {
    let mut lines: Vec<String> = body.split('\n').map(str::to_owned).collect();
    // What ends with a line break has an empty last piece.
    let ends_with_break = lines.last().is_some_and(String::is_empty);
    if ends_with_break {
        lines.pop();
    }
    let mut from = 0;
    for chunk in chunks {
        for after in &chunk.after {
            let wanted = std::slice::from_ref(after);
            let at = find(&lines, wanted, from, false).ok_or_else(|| missing(wanted, from))?;
            from = at + 1;
        }
        from = place(&mut lines, chunk, from)?;
    }
    let mut text = lines.join("\n");
    if (ends_with_break || body.is_empty()) && !lines.is_empty() {
        text.push('\n');
    }
    Ok(text)
}

/// Applies a chunk; gives the line after it.
fn place(lines: &mut Vec<String>, chunk: &PatchChunk, from: usize) -> Result<usize, MissingLines> {
    if chunk.old.is_empty() {
        // Nothing to hold on to: after the named line, or at the end.
        let at = match chunk.after.is_empty() {
            true => lines.len(),
            false => from,
        };
        lines.splice(at..at, chunk.new.iter().cloned());
        return Ok(at + chunk.new.len());
    }
    let at = find(lines, &chunk.old, from, chunk.at_end)
        // `@@` may name the first line of the chunk itself.
        .or_else(|| {
            let back = from.checked_sub(chunk.after.len().min(1))?;
            find(lines, &chunk.old, back, chunk.at_end)
        })
        .ok_or_else(|| missing(&chunk.old, from))?;
    let end = at + chunk.old.len();
    let new = kept_as_they_are(lines.get(at..end).unwrap_or_default(), chunk);
    let length = new.len();
    lines.splice(at..end, new);
    Ok(at + length)
}

/// The new lines; those the chunk keeps stay as the file has them, blanks included.
fn kept_as_they_are(found: &[String], chunk: &PatchChunk) -> Vec<String> {
    let mut pairs = chunk.old.iter().zip(found);
    chunk
        .new
        .iter()
        .map(|new| {
            let mut rest = pairs.clone();
            match rest.find(|(old, _)| *old == new) {
                Some((_, found)) => {
                    pairs = rest;
                    found.clone()
                }
                None => new.clone(),
            }
        })
        .collect()
}

fn missing(lines: &[String], from: usize) -> MissingLines {
    MissingLines {
        lines: lines.join("\n"),
        from,
    }
}

/// How far two lines may differ and still be the same.
const LOOKS: [fn(&str) -> String; 4] = [
    |line| line.to_owned(),
    |line| line.trim_end().to_owned(),
    |line| line.trim().to_owned(),
    |line| plain(line.trim()),
];

/// The first place at or after `from` where the lines stand; looking less closely each time.
fn find(lines: &[String], wanted: &[String], from: usize, at_end: bool) -> Option<usize> {
    let last = lines.len().checked_sub(wanted.len())?;
    LOOKS.iter().find_map(|look| {
        let wanted: Vec<String> = wanted.iter().map(|line| look(line)).collect();
        let stands = |at: &usize| {
            let there = lines.iter().skip(*at);
            there
                .zip(&wanted)
                .all(|(line, wanted)| look(line) == *wanted)
        };
        if at_end {
            return Some(last).filter(|at| *at >= from).filter(|at| stands(at));
        }
        (from..=last).find(stands)
    })
}

/// Typographic quotes, dashes and spaces as the keyboard has them.
fn plain(line: &str) -> String {
    line.chars()
        .map(|c| match c {
            '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
            '\u{2018}'..='\u{201B}' => '\'',
            '\u{201C}'..='\u{201F}' => '"',
            '\u{00A0}' | '\u{2002}'..='\u{200A}' | '\u{202F}' | '\u{3000}' => ' ',
            c => c,
        })
        .collect()
}
