//! The string literals of a Rust file, without those of its tests.

/// A string literal: the line it starts in, and its text with joined lines.
#[derive(Debug)]
pub struct Literal {
    pub line: usize,
    pub text: String,
}

/// Comments and characters are passed over; a test module ends the file.
pub fn read_literals(source: &str) -> Vec<Literal> {
    let mut rest = source
        .find("#[cfg(test)]\nmod ")
        .map_or(source, |at| &source[..at]);
    let whole = rest;
    let mut found = Vec::new();
    while let Some(first) = rest.chars().next() {
        if rest.starts_with("//") {
            rest = rest.find('\n').map_or("", |end| &rest[end..]);
        } else if let Some((text, after)) = raw_string(rest).or_else(|| plain_string(rest)) {
            let before = &whole[..whole.len() - rest.len()];
            let line = before.matches('\n').count() + 1;
            found.push(Literal { line, text });
            rest = after;
        } else if let Some(after) = character(rest) {
            rest = after;
        } else {
            // A name is passed over whole: its last letter is no sign of a raw string.
            let name = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
            let step = name.filter(|&length| length > 0);
            rest = &rest[step.unwrap_or(first.len_utf8())..];
        }
    }
    found
}

/// `r"…"`, `r#"…"#` and the same with a `b` or `c` before it.
fn raw_string(rest: &str) -> Option<(String, &str)> {
    let start = rest.strip_prefix(['b', 'c']).unwrap_or(rest);
    let start = start.strip_prefix('r')?;
    let hashes = start.len() - start.trim_start_matches('#').len();
    let inside = start[hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let (text, after) = inside.split_once(&end)?;
    Some((text.to_owned(), after))
}

fn plain_string(rest: &str) -> Option<(String, &str)> {
    let inside = rest.strip_prefix('"')?;
    let mut text = String::new();
    let mut letters = inside.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return Some((text, &inside[at + 1..])),
            '\\' => match letters.next()?.1 {
                '\n' => {
                    let left = letters.as_str();
                    let blanks = left.len() - left.trim_start().len();
                    letters.by_ref().take(blanks).for_each(drop);
                }
                'n' => text.push('\n'),
                other => text.push(other),
            },
            other => text.push(other),
        }
    }
    None
}

/// `'x'` or `'\n'`, not the name of a lifetime.
fn character(rest: &str) -> Option<&str> {
    let inside = rest.strip_prefix('\'')?;
    let end = match inside.strip_prefix('\\') {
        Some(escaped) => 2 + escaped.get(1..)?.find('\'')?,
        None => inside.chars().next()?.len_utf8(),
    };
    inside.get(end..)?.strip_prefix('\'')
}
