//! Foreign text as it may stand in a question.

use std::fmt::Write as _;

/// More than this is cut in the middle, and said so.
const LONGEST: usize = 2000;
/// This many blanks in a row push nothing out of sight.
const MOST_BLANKS: usize = 3;

/// Text that can neither move the cursor, turn the direction of writing, hide, nor push the rest
/// out of sight. What was there is written out.
pub fn shown(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    let mut blanks = 0;
    for c in text.chars() {
        if c == ' ' {
            blanks += 1;
            continue;
        }
        pad(&mut safe, &mut blanks);
        match c {
            '\n' => safe.push_str("\\n"),
            '\t' => safe.push_str("\\t"),
            '\r' => safe.push_str("\\r"),
            c if is_seen(c) => safe.push(c),
            c => {
                let _ = write!(safe, "\\u{{{:x}}}", u32::from(c));
            }
        }
    }
    pad(&mut safe, &mut blanks);
    cut(safe)
}

fn pad(safe: &mut String, blanks: &mut usize) {
    match *blanks {
        0 => {}
        few if few <= MOST_BLANKS => safe.extend(std::iter::repeat_n(' ', few)),
        many => {
            let _ = write!(safe, "\\u{{20}}*{many}");
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
