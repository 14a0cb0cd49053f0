use proptest::prelude::*;

use super::MarkdownStream;
use crate::chat::ink::{StyledLine, count_columns};
use crate::chat::pieces;
use crate::screen::ColourMode;

fn shown(source: &str, width: usize) -> String {
    let mut flow = MarkdownStream::new(width, ColourMode::Plain);
    let mut lines = flow.push(source);
    lines.extend(flow.finish());
    joined(&lines)
}

fn joined(lines: &[StyledLine]) -> String {
    let text: Vec<String> = lines
        .iter()
        .map(|line| line.text().trim_end().to_owned())
        .collect();
    text.join("\n")
}

const SAMPLE: &str = "\
# Plan

Some **bold**, *italic* and `code` with a [link](https://example.org/a).
A second line stays one.

1. first
2. second item that is long enough to wrap around
   - nested
   - more
3. third

> quoted words that go on
> and on

```rust
fn main() {
\tprintln!(\"hi\");
}
```

| name | size |
|------|-----:|
| a | 10 |
| longer name | 2,000 |

- [x] done
- [ ] open

---
The end.";

#[test]
fn everything_at_forty_columns() {
    insta::assert_snapshot!(shown(SAMPLE, 40));
}

#[test]
fn everything_at_sixteen_columns() {
    insta::assert_snapshot!(shown(SAMPLE, 16));
}

#[test]
fn code_and_items_are_given_as_they_come() {
    let mut flow = MarkdownStream::new(40, ColourMode::Plain);
    assert_eq!(joined(&flow.push("```sh\nls -l\n")), "ls -l");
    assert_eq!(joined(&flow.push("echo")), "");
    assert_eq!(joined(&flow.tail()), "echo");
    assert_eq!(joined(&flow.push("\n```\n- one\n- tw")), "echo");
    assert_eq!(joined(&flow.push("o\n- three\n")), "\n• one\n• two");
    assert_eq!(joined(&flow.tail()), "• three");
    assert_eq!(joined(&flow.push("\nAnd then")), "");
    assert_eq!(joined(&flow.push(".\n")), "• three");
    assert_eq!(joined(&flow.finish()), "\nAnd then.");
}

#[test]
fn unfinished_marks_are_previewed_as_they_are() {
    let mut flow = MarkdownStream::new(40, ColourMode::Plain);
    flow.push("some **bol");
    assert_eq!(joined(&flow.tail()), "some **bol");
    flow.push("d** words");
    assert_eq!(joined(&flow.tail()), "some bold words");
}

#[test]
fn a_list_can_be_made_narrower_in_the_middle() {
    let mut flow = MarkdownStream::new(40, ColourMode::Plain);
    flow.push("- one two three four five\n- six\n- seven\n");
    flow.resize(12);
    flow.push("- eight\n");
    assert!(joined(&flow.finish()).ends_with("• eight"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// The pieces in which a reply arrives make no difference to what is on the screen.
    #[test]
    fn pieces_give_what_the_whole_gives(
        source in proptest::collection::vec(
            prop_oneof![
                Just("```\n"), Just("~~~~ rust\n"), Just("- "), Just("  - "), Just("1. "), Just("> "),
                Just("# "), Just("| a | b |\n"), Just("|---|---|\n"), Just("**"), Just("`"), Just("_"),
                Just("\n"), Just("\n\n"), Just("word "), Just("漢字"), Just("[x](y)"), Just("    "),
                Just("---\n"), Just("<b>"), Just("\t"), Just("[a]: http://b\n"), Just("[a]"),
            ],
            0..30,
        ),
        cuts in proptest::collection::vec(0usize..120, 0..8),
        width in 8usize..40,
    ) {
        let source = source.concat();
        let mut flow = MarkdownStream::new(width, ColourMode::Plain);
        let mut lines = Vec::new();
        for piece in pieces(&source, &cuts) {
            lines.extend(flow.push(piece));
            // A preview changes nothing.
            flow.tail();
        }
        lines.extend(flow.finish());
        prop_assert_eq!(joined(&lines), shown(&source, width));
    }

    /// Plain words get through, whatever marks stand around them.
    #[test]
    fn no_letter_is_lost(source in "[a-z*_#> \n-]{0,120}", width in 12usize..40) {
        let letters = |text: &str| text.chars().filter(char::is_ascii_lowercase).collect::<String>();
        prop_assert_eq!(letters(&shown(&source, width)), letters(&source));
    }

    /// Also where lists are nested deeper than the screen is wide.
    #[test]
    fn no_line_is_wider_than_the_screen(source in "(- ){0,8}[a-z漢*`| \n-]{0,120}", width in 12usize..40) {
        for line in shown(&source, width).lines() {
            prop_assert!(count_columns(line) <= width, "{line:?} at {width}");
        }
    }
}
