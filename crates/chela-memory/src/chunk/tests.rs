use super::{ChunkCut, MessageSpeaker, NoteChunk};
use proptest::prelude::*;

fn units(text: &str) -> Vec<NoteChunk> {
    ChunkCut::default().markdown("memory/notes.md", text)
}

fn show(chunks: &[NoteChunk]) -> String {
    chunks
        .iter()
        .map(|c| {
            let date = c.date.map(|d| format!(" {d}")).unwrap_or_default();
            format!(
                "{}-{} [{}]{date} s{}: {:?}\n",
                c.start_line, c.end_line, c.heading, c.section, c.text
            )
        })
        .collect()
}

#[test]
fn markdown_is_cut_into_entries() {
    let text = "\
---
title: x
date: 2026-01-02
---
# Home

First paragraph,
second line.

## Shopping 2026-03-04
- milk
- eggs
  - brown ones
- [ ] flour

```rust
# not a heading
fn main() {}
```
| a | b |
|---|---|
| 1 | 2 |

## Empty
";
    insta::assert_snapshot!(show(&units(text)), @r###"
    1-4 [] 2026-01-02 s0: "---\ntitle: x\ndate: 2026-01-02\n---"
    7-8 [Home] 2026-01-02 s2: "First paragraph,\nsecond line."
    11-11 [Home > Shopping 2026-03-04] 2026-03-04 s3: "- milk"
    12-13 [Home > Shopping 2026-03-04] 2026-03-04 s3: "- eggs\n  - brown ones"
    14-14 [Home > Shopping 2026-03-04] 2026-03-04 s3: "- [ ] flour"
    16-19 [Home > Shopping 2026-03-04] 2026-03-04 s3: "```rust\n# not a heading\nfn main() {}\n```"
    20-22 [Home > Shopping 2026-03-04] 2026-03-04 s3: "| a | b |\n|---|---|\n| 1 | 2 |"
    24-24 [Home > Empty] 2026-03-04 s4: "## Empty"
    "###);
}

#[test]
fn names_that_keep_speaking_are_speakers() {
    let chunks =
        units("- Ann: hi\n- Bob: hello\n- Ann: how are you?\n- Ann: well?\n- Due: Friday\n");
    let bodies: Vec<&str> = chunks.iter().map(NoteChunk::body).collect();
    assert_eq!(
        bodies,
        ["hi", "Bob: hello", "how are you?", "well?", "Due: Friday"]
    );
    let chunks =
        units("User: a\n\nAssistant: b\n\nUser: c\n\nUser: d\n\nAssistant: e\n\nAssistant: f\n");
    assert_eq!(chunks[0].speaker, Some(MessageSpeaker::User));
    assert_eq!(chunks[1].speaker, Some(MessageSpeaker::Assistant));
    assert_eq!(chunks[1].body(), "b");
}

#[test]
fn dates_come_from_the_name_too() {
    let chunks = ChunkCut::default().markdown("memory/2026-03-04-dentist.md", "tooth 7");
    assert_eq!(chunks[0].date.unwrap().to_string(), "2026-03-04");
}

#[test]
fn long_lines_are_cut_after_sentences() {
    let text = "This is a sentence of some length that goes on. ".repeat(100);
    let chunks = units(&text);
    assert!(chunks.len() > 3, "{}", chunks.len());
    assert!(chunks.iter().all(|c| c.text.trim_end().ends_with('.')));
    assert_eq!(
        chunks.iter().map(|c| c.text.as_str()).collect::<String>(),
        text
    );
    let text = "今日は天気がいいから散歩しましょう。".repeat(60);
    let chunks = units(&text);
    assert!(chunks.len() > 3);
    assert_eq!(
        chunks.iter().map(|c| c.text.as_str()).collect::<String>(),
        text
    );
}

#[test]
fn fixed_cuts_overlap() {
    let text: String = (1..=200)
        .map(|i| format!("line number {i} of the note\n"))
        .collect();
    let chunks = ChunkCut::Fixed {
        tokens: 400,
        overlap: 80,
    }
    .markdown("x.md", &text);
    for pair in chunks.windows(2) {
        assert!(
            pair[1].start_line <= pair[0].end_line,
            "{:?}",
            (pair[0].end_line, pair[1].start_line)
        );
        assert!(pair[1].start_line > pair[0].start_line);
    }
    assert!(chunks.iter().all(|c| c.text.chars().count() <= 1600));
    assert_eq!(chunks.last().unwrap().end_line, 200);
}

proptest! {
    /// Every line with something on it is in a chunk, in order, and no chunk lies about its lines.
    #[test]
    fn nothing_is_lost(lines in prop::collection::vec("(# [a-z]{1,5}|- [a-z]{1,9}|  - [a-z]{1,9}|[a-z é東]{0,20}|```|\\| a \\||[0-9]\\. x|---)", 0..40), fixed in any::<bool>()) {
        let text = lines.join("\n");
        let cut = if fixed { ChunkCut::Fixed { tokens: 20, overlap: 5 } } else { ChunkCut::Units { tokens: 16 } };
        let chunks = cut.markdown("x.md", &text);
        let all: Vec<&str> = text.lines().collect();
        let mut covered = vec![false; all.len()];
        let mut last = 0;
        for chunk in &chunks {
            prop_assert!(chunk.start_line >= 1 && chunk.end_line as usize <= all.len() && chunk.start_line <= chunk.end_line);
            prop_assert!(chunk.start_line >= last);
            last = chunk.start_line;
            for line in chunk.start_line..=chunk.end_line { covered[line as usize - 1] = true; }
            prop_assert!(chunk.text.is_char_boundary(chunk.body_at as usize));
        }
        for (at, line) in all.iter().enumerate() {
            let heading = line.starts_with('#');
            prop_assert!(covered[at] || line.trim().is_empty() || heading, "line {} {:?} lost in {:?}", at + 1, line, chunks);
        }
    }

    #[test]
    fn any_text_is_cut(text in "\\PC{0,300}", tokens in 1_usize..50) {
        let _ = ChunkCut::Units { tokens }.markdown("x.md", &text);
        let _ = ChunkCut::Fixed { tokens, overlap: 7 }.markdown("x.md", &text);
    }
}
