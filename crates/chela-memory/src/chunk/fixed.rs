//! Runs of lines of a fixed size that overlap, as the reference cuts.

use super::NoteChunk;
use crate::day::CalendarDay;

/// The reference takes a token for four characters.
const CHARS_PER_TOKEN: usize = 4;

pub fn cut(
    text: &str,
    tokens: usize,
    overlap: usize,
    named: Option<CalendarDay>,
) -> Vec<NoteChunk> {
    let most = tokens * CHARS_PER_TOKEN;
    let shared = overlap.min(tokens / 2) * CHARS_PER_TOKEN;
    let mut chunks = Vec::new();
    let mut run: Vec<(u32, &str)> = Vec::new();
    let mut size = 0;
    for (number, line) in (1..).zip(text.lines()) {
        // A line longer than a chunk is cut by itself.
        for piece in pieces(line, most) {
            let length = piece.chars().count() + 1;
            if !run.is_empty() && size + length > most {
                push(&mut chunks, &run, named);
                (run, size) = tail(&run, shared);
            }
            run.push((number, piece));
            size += length;
        }
    }
    push(&mut chunks, &run, named);
    chunks
}

fn push(chunks: &mut Vec<NoteChunk>, run: &[(u32, &str)], named: Option<CalendarDay>) {
    let (Some(first), Some(last)) = (run.first(), run.last()) else {
        return;
    };
    let text = run
        .iter()
        .map(|(_, line)| *line)
        .collect::<Vec<_>>()
        .join("\n");
    if text.trim().is_empty() {
        return;
    }
    chunks.push(NoteChunk {
        start_line: first.0,
        end_line: last.0,
        section: chunks.len() as u32,
        date: named,
        text,
        ..NoteChunk::default()
    });
}

fn tail<'a>(run: &[(u32, &'a str)], shared: usize) -> (Vec<(u32, &'a str)>, usize) {
    let mut size = 0;
    let mut from = run.len();
    while from > 0 && size < shared {
        from -= 1;
        size += run.get(from).map_or(0, |line| line.1.chars().count()) + 1;
    }
    (run.get(from..).unwrap_or_default().to_vec(), size)
}

fn pieces(line: &str, most: usize) -> impl Iterator<Item = &str> {
    let mut rest = Some(line);
    std::iter::from_fn(move || {
        let line = rest.take()?;
        match line.char_indices().nth(most) {
            Some((at, _)) => {
                rest = Some(line.get(at..).unwrap_or_default());
                Some(line.get(..at).unwrap_or_default())
            }
            None => Some(line),
        }
    })
}
