//! Lines of code: as they can be copied, in the colours of their language.

use anstyle::Style;
use unicode_segmentation::UnicodeSegmentation;

use crate::chat::ink::{StyledLine, count_columns, look};
use crate::chat::view::diff_line;

/// A line of code, nothing before it and nothing after it. A long one goes on in the next line.
pub fn code_rows(line: &str, language: &str, width: usize) -> Vec<StyledLine> {
    let width = width.max(1);
    let mut rows = vec![StyledLine::default()];
    let mut column = 0;
    for (text, style) in coloured(line, language) {
        for grapheme in text.graphemes(true) {
            let wide = count_columns(grapheme);
            if column + wide > width && column > 0 {
                rows.push(StyledLine::default());
                column = 0;
            }
            column += wide;
            if let Some(row) = rows.last_mut() {
                row.push(grapheme, style);
            }
        }
    }
    rows
}

/// How a language writes what is coloured.
struct CodeSyntax {
    names: &'static [&'static str],
    comment: &'static str,
    quotes: &'static [char],
    keywords: &'static [&'static str],
}

const C_LIKE: &[&str] = &[
    "as",
    "async",
    "await",
    "bool",
    "break",
    "case",
    "catch",
    "class",
    "const",
    "continue",
    "crate",
    "default",
    "defer",
    "do",
    "else",
    "enum",
    "export",
    "extends",
    "false",
    "final",
    "finally",
    "fn",
    "for",
    "from",
    "func",
    "function",
    "go",
    "if",
    "impl",
    "import",
    "in",
    "interface",
    "let",
    "loop",
    "match",
    "mod",
    "move",
    "mut",
    "new",
    "nil",
    "null",
    "package",
    "private",
    "pub",
    "public",
    "return",
    "self",
    "Self",
    "static",
    "struct",
    "super",
    "switch",
    "this",
    "throw",
    "trait",
    "true",
    "try",
    "type",
    "use",
    "var",
    "void",
    "where",
    "while",
];

const SYNTAXES: &[CodeSyntax] = &[
    CodeSyntax {
        names: &[
            "c",
            "cpp",
            "cs",
            "csharp",
            "go",
            "java",
            "javascript",
            "js",
            "json",
            "json5",
            "jsonc",
            "jsx",
            "kotlin",
            "kt",
            "rs",
            "rust",
            "swift",
            "ts",
            "tsx",
            "typescript",
        ],
        comment: "//",
        quotes: &['"', '`'],
        keywords: C_LIKE,
    },
    CodeSyntax {
        names: &["py", "python"],
        comment: "#",
        quotes: &['"', '\''],
        keywords: &[
            "and", "as", "assert", "async", "await", "class", "def", "del", "elif", "else",
            "except", "False", "finally", "for", "from", "if", "import", "in", "is", "lambda",
            "None", "nonlocal", "not", "or", "pass", "raise", "return", "self", "True", "try",
            "while", "with", "yield",
        ],
    },
    CodeSyntax {
        names: &["bash", "console", "sh", "shell", "zsh", "fish"],
        comment: "#",
        quotes: &['"', '\''],
        keywords: &[
            "case", "do", "done", "elif", "else", "esac", "export", "fi", "for", "function", "if",
            "in", "local", "return", "then", "while",
        ],
    },
    CodeSyntax {
        names: &[
            "toml",
            "yaml",
            "yml",
            "ini",
            "dockerfile",
            "make",
            "makefile",
            "ruby",
            "rb",
        ],
        comment: "#",
        quotes: &['"', '\''],
        keywords: &["true", "false", "null", "def", "end", "FROM", "RUN", "COPY"],
    },
    CodeSyntax {
        names: &["sql", "lua"],
        comment: "--",
        quotes: &['\''],
        keywords: &[
            "and", "by", "create", "delete", "end", "from", "function", "group", "insert", "into",
            "join", "limit", "local", "not", "on", "or", "order", "select", "set", "table", "then",
            "update", "values", "where", "AND", "BY", "CREATE", "DELETE", "FROM", "GROUP",
            "INSERT", "INTO", "JOIN", "LIMIT", "NOT", "ON", "OR", "ORDER", "SELECT", "SET",
            "TABLE", "UPDATE", "VALUES", "WHERE",
        ],
    },
];

/// The line in pieces that look alike. What belongs to a comment or a string that began on an
/// earlier line is not known here, and stays plain.
fn coloured<'t>(line: &'t str, language: &str) -> Vec<(&'t str, Style)> {
    let language = language.to_ascii_lowercase();
    if matches!(language.as_str(), "diff" | "patch") {
        let style = diff_line(line).first_style();
        return vec![(line, style)];
    }
    let syntax = SYNTAXES
        .iter()
        .find(|syntax| syntax.names.contains(&language.as_str()));
    let Some(syntax) = syntax else {
        return vec![(line, look::CODE)];
    };
    let mut pieces = Vec::new();
    let mut rest = line;
    let mut before = ' ';
    while !rest.is_empty() {
        let (length, style) = next_piece(rest, before, syntax);
        let (piece, after) = rest.split_at(length);
        before = piece.chars().next_back().unwrap_or(' ');
        pieces.push((piece, style));
        rest = after;
    }
    pieces
}

fn next_piece(rest: &str, before: char, syntax: &CodeSyntax) -> (usize, Style) {
    let first = rest.chars().next().unwrap_or(' ');
    // `$#` and `a#b` are no comments.
    let begins = before.is_whitespace() || syntax.comment == "//";
    if begins && rest.starts_with(syntax.comment) {
        return (rest.len(), look::DIM);
    }
    if syntax.quotes.contains(&first) {
        return (quoted_length(rest, first), look::GOOD);
    }
    if first.is_alphanumeric() || first == '_' {
        let length = rest
            .find(|c: char| !(c.is_alphanumeric() || c == '_'))
            .unwrap_or(rest.len());
        let word = rest.get(..length).unwrap_or_default();
        let style = match syntax.keywords.contains(&word) {
            true => look::HEADING,
            false => look::PLAIN,
        };
        return (length, style);
    }
    (first.len_utf8(), look::PLAIN)
}

/// From a quote to the one that closes it, or to the end.
fn quoted_length(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::{code_rows, coloured};
    use crate::chat::ink::{StyledLine, look};

    #[test]
    fn nothing_is_added_to_a_line_that_is_copied() {
        let rows = code_rows("let x = \"a // b\"; // why", "rust", 80);
        assert_eq!(rows.len(), 1);
        assert_eq!(rows[0].text(), "let x = \"a // b\"; // why");
        let wrapped: Vec<String> = code_rows("abcdef", "", 4)
            .iter()
            .map(StyledLine::text)
            .collect();
        assert_eq!(wrapped, ["abcd", "ef"]);
    }

    #[test]
    fn words_strings_and_comments_have_their_colours() {
        let pieces = coloured("let x = \"a // b\"; // why", "rust");
        let of = |wanted| pieces.iter().find(|(text, _)| *text == wanted).unwrap().1;
        assert_eq!(of("let"), look::HEADING);
        assert_eq!(of("x"), look::PLAIN);
        assert_eq!(of("\"a // b\""), look::GOOD);
        assert_eq!(of("// why"), look::DIM);
        assert_eq!(coloured("echo $# a#b", "sh").last().unwrap().1, look::PLAIN);
        assert_eq!(coloured("+ new", "diff")[0].1, look::GOOD);
        assert_eq!(coloured("what", "nosuch")[0].1, look::CODE);
    }
}
