//! What the code reads: the accesses to fields in a file of Rust, found without a compiler.

use std::collections::BTreeSet;

/// One file, as far as it matters who reads what.
pub struct SourceFile {
    /// Every name in it.
    pub names: BTreeSet<String>,
    /// Every access to a field.
    accesses: Vec<FieldAccess>,
}

struct FieldAccess {
    field: String,
    /// The name before it: `config` of `config.hooks`.
    of: Option<String>,
}

impl SourceFile {
    pub fn new(text: &str) -> Self {
        let tokens = tokens(text);
        Self {
            names: tokens.iter().filter_map(Token::name).cloned().collect(),
            accesses: accesses(&tokens),
        }
    }

    pub fn reads(&self, field: &str) -> bool {
        self.accesses.iter().any(|access| access.field == field)
    }

    /// Whether the field is read of something called `parent`.
    pub fn reads_of(&self, field: &str, parent: &str) -> bool {
        self.accesses.iter().any(|access| {
            access.field == field && access.of.as_deref().is_some_and(|of| of == parent)
        })
    }

    pub fn reads_any(&self, fields: &BTreeSet<String>) -> bool {
        self.accesses
            .iter()
            .any(|access| fields.contains(&access.field))
    }
}

enum Token {
    Name(String),
    Sign(char),
}

impl Token {
    fn name(&self) -> Option<&String> {
        match self {
            Self::Name(name) => Some(name),
            Self::Sign(_) => None,
        }
    }

    fn is(&self, sign: char) -> bool {
        matches!(self, Self::Sign(found) if *found == sign)
    }
}

/// Names and signs, without comments and the inside of texts. What follows `mod tests {` at the
/// end of a file is no part of the program.
fn tokens(text: &str) -> Vec<Token> {
    let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or(text);
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let after = match first {
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '"' => end_of_text(rest),
            'r' if rest.starts_with("r\"") || rest.starts_with("r#") => end_of_raw_text(rest),
            '\'' => end_of_char(rest),
            c if is_name(c) => {
                let end = rest.find(|c| !is_name(c)).unwrap_or(rest.len());
                tokens.push(Token::Name(rest[..end].to_owned()));
                end
            }
            c => {
                if !c.is_whitespace() {
                    tokens.push(Token::Sign(c));
                }
                c.len_utf8()
            }
        };
        rest = &rest[after..];
    }
    tokens
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn end_of_text(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn end_of_raw_text(text: &str) -> usize {
    let marks = text[1..].chars().take_while(|c| *c == '#').count();
    if !text[1 + marks..].starts_with('"') {
        return 1 + marks;
    }
    let close = format!("\"{}", "#".repeat(marks));
    let start = 2 + marks;
    text[start..]
        .find(&close)
        .map_or(text.len(), |at| start + at + close.len())
}

/// A character, or the quote of a lifetime.
fn end_of_char(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    match (chars.next(), chars.next()) {
        (Some((_, '\\')), _) => text[2..].find('\'').map_or(1, |at| 3 + at),
        (_, Some((at, '\''))) => at + 1,
        _ => 1,
    }
}

fn accesses(tokens: &[Token]) -> Vec<FieldAccess> {
    let mut found = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let Some(field) = token.name() else { continue };
        let is_field = at > 0
            && tokens[at - 1].is('.')
            && !tokens.get(at + 1).is_some_and(|next| next.is('('));
        if is_field {
            found.push(FieldAccess {
                field: field.clone(),
                of: at
                    .checked_sub(2)
                    .and_then(|before| tokens[before].name().cloned()),
            });
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::SourceFile;

    #[test]
    fn a_field_is_read_and_a_text_a_call_or_a_comment_is_not() {
        let text = r##"
            // view.comment
            let on = loaded.config.hooks.get("x").internal?.enabled;
            say("agents.list.quoted", r#"a.raw"#, '"', b.method());
            #[cfg(test)]
            mod tests { fn f() { a.tested } }
        "##;
        let file = SourceFile::new(&text.replace(
            "            #[cfg(test)]\n            mod",
            "#[cfg(test)]\nmod",
        ));
        for read in ["config", "hooks", "internal", "enabled"] {
            assert!(file.reads(read), "{read}");
        }
        for not in ["comment", "quoted", "raw", "method", "tested", "get"] {
            assert!(!file.reads(not), "{not}");
        }
        assert!(file.reads_of("hooks", "config"));
        assert!(!file.reads_of("internal", "config"));
    }
}
