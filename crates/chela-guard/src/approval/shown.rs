//! Foreign text as it may stand in a question.

/// More than this is cut in the middle, and said so.
const LONGEST: usize = 2000;
/// This many blanks in a row push nothing out of sight.
const MOST_BLANKS: usize = 3;
/// The same in text of several lines, whose columns mean something.
const MOST_BLANKS_IN_BLOCK: usize = 16;
/// A line may begin with so many.
const MOST_INDENT: usize = 40;

/// Text on one line that can neither move the cursor, turn the direction of writing, hide, nor
/// push the rest out of sight. What was there is written out; what is too long is cut.
pub fn shown(text: &str) -> String {
    cut(spelled(text, Layout::Line))
}

/// The same for what is to be read whole: nothing is cut, and line ends stay. Whoever prints it
/// begins each line with a mark of its own.
pub fn shown_block(text: &str) -> String {
    spelled(text.trim_end_matches('\n'), Layout::Block)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Layout {
    Line,
    Block,
}

fn spelled(text: &str, layout: Layout) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut blanks = 0;
    for c in text.chars() {
        if c == ' ' {
            blanks += 1;
            continue;
        }
        pad(&mut safe, &mut blanks, layout);
        match c {
            '\n' if layout == Layout::Block => safe.push('\n'),
            '\n' => safe.push_str("\\n"),
            '\t' => safe.push_str("\\t"),
            '\r' => safe.push_str("\\r"),
            c if is_seen(c) => safe.push(c),
            c => {
                safe.push_str(&format!("\\u{{{:x}}}", u32::from(c)));
            }
        }
    }
    pad(&mut safe, &mut blanks, layout);
    safe
}

fn pad(safe: &mut String, blanks: &mut usize, layout: Layout) {
    let most = match layout {
        Layout::Line => MOST_BLANKS,
        Layout::Block if safe.is_empty() || safe.ends_with('\n') => MOST_INDENT,
        Layout::Block => MOST_BLANKS_IN_BLOCK,
    };
    match *blanks {
        0 => {}
        few if few <= most => safe.extend(std::iter::repeat_n(' ', few)),
        many => {
            safe.push_str(&format!("\\u{{20}}*{many}"));
        }
    }
    *blanks = 0;
}

fn is_seen(c: char) -> bool {
    let literal = chela_core::sanitize::literal(c.encode_utf8(&mut [0; 4]))
        .chars()
        .eq([c]);
    literal && !c.is_control() && !(c.is_whitespace() && c != ' ')
}

fn cut(text: String) -> String {
    let Some(many) = text
        .chars()
        .count()
        .checked_sub(LONGEST)
        .filter(|many| *many > 0)
    else {
        return text;
    };
    let head: String = text.chars().take(LONGEST / 2).collect();
    let tail: String = text.chars().skip(LONGEST / 2 + many).collect();
    format!("{head} [… {many} characters …] {tail}")
}
