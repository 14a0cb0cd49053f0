//! `.env` files: how they are read, and that the state folder's adds to the environment without
//! ever overriding it.

use std::path::{Path, PathBuf};

use chela_core::{Host, HostEnv};

use super::read::{ReadProblem, read_text};
use crate::diagnostic::{ConfigDiagnostic, Severity, SourcePlace};
use crate::span::{after, before};

/// The environment of the host, and what `.env` of the state folder adds to it.
pub(crate) fn effective_env(host: &Host, diagnostics: &mut Vec<ConfigDiagnostic>) -> HostEnv {
    let mut env = host.env.clone();
    for (name, value) in read_entries(&host.state_dir().join(".env"), diagnostics) {
        env.entry(name).or_insert(value);
    }
    env
}

/// The assignments of one file, in its order; what cannot be read is told.
pub(super) fn read_entries(
    path: &Path,
    diagnostics: &mut Vec<ConfigDiagnostic>,
) -> Vec<(String, String)> {
    let source = match read_text(path) {
        Ok(source) => source,
        // A folder named .env is a Python environment, and nobody's mistake.
        Err(ReadProblem::Missing | ReadProblem::Directory) => return Vec::new(),
        Err(problem) => {
            let mut diagnostic =
                problem.to_diagnostic(&format!("the environment file {}", path.display()), None);
            diagnostic.severity = Severity::Warning;
            diagnostic.code = "env-file";
            diagnostics.push(diagnostic);
            return Vec::new();
        }
    };
    let mut found = Vec::new();
    for (line, entry) in entries(&source) {
        match entry {
            Ok(entry) => found.push(entry),
            Err(why) => diagnostics.push(ConfigDiagnostic {
                place: Some(SourcePlace {
                    file: PathBuf::from(path),
                    line: u32::try_from(line).unwrap_or(u32::MAX),
                    column: 1,
                }),
                ..ConfigDiagnostic::whole(
                    Severity::Warning,
                    "env-file",
                    format!("this line is skipped: {why}"),
                    "write NAME=value",
                )
            }),
        }
    }
    found
}

type Entry = Result<(String, String), &'static str>;

/// The assignments of a `.env` text with their line numbers. Quoted values may span lines.
fn entries(source: &str) -> Vec<(usize, Entry)> {
    let mut rest = source.trim_start_matches('\u{feff}');
    let mut line = 1;
    let mut found = Vec::new();
    while !rest.is_empty() {
        let text = rest.lines().next().unwrap_or_default();
        let trimmed = text.trim_start();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            rest = after_line(rest);
            line += 1;
            continue;
        }
        let (entry, tail) = assignment(rest);
        let read = rest.len() - tail.len();
        found.push((line, entry));
        line += before(rest, read).matches('\n').count();
        rest = tail;
    }
    found
}

/// One `NAME=value` and what follows its line.
fn assignment(text: &str) -> (Entry, &str) {
    let skip = |why| (Err(why), after_line(text));
    let first_line = text.lines().next().unwrap_or_default();
    let Some((name, unquoted)) = first_line.split_once('=') else {
        return skip("it has no `=`");
    };
    let value = after(text, name.len() + 1).trim_start_matches([' ', '\t']);
    let name = name.trim();
    let name = name
        .strip_prefix("export")
        .filter(|rest| rest.starts_with([' ', '\t']))
        .unwrap_or(name)
        .trim();
    if !is_name(name) {
        return skip("the part before `=` is not a variable name");
    }
    match value.chars().next() {
        Some(quote @ ('"' | '\'')) => match quoted(after(value, 1), quote) {
            Some((said, tail)) => (Ok((name.to_owned(), said)), after_line(tail)),
            None => skip("its quote is never closed"),
        },
        _ => {
            let value = without_comment(unquoted.trim()).to_owned();
            (Ok((name.to_owned(), value)), after_line(text))
        }
    }
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// What stands up to the closing quote, and what follows it. Double quotes know `\n`, `\t`,
/// `\"` and `\\`; single quotes know nothing.
fn quoted(text: &str, quote: char) -> Option<(String, &str)> {
    let mut said = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            c if c == quote => return Some((said, chars.as_str())),
            '\\' if quote == '"' => match chars.next()? {
                'n' => said.push('\n'),
                'r' => said.push('\r'),
                't' => said.push('\t'),
                c @ ('"' | '\\' | '$') => said.push(c),
                c => said.extend(['\\', c]),
            },
            c => said.push(c),
        }
    }
    None
}

/// A value without quotes ends where a comment starts.
fn without_comment(value: &str) -> &str {
    if value.starts_with('#') {
        return "";
    }
    value
        .match_indices('#')
        .map(|(at, _)| before(value, at))
        .find(|kept| kept.ends_with([' ', '\t']))
        .map_or(value, str::trim_end)
}

fn after_line(text: &str) -> &str {
    text.split_once('\n').map_or("", |(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::entries;

    #[test]
    fn common_shapes_are_read() {
        let source = "\u{feff}# top\nA=1\r\n export B = two words # note\n\nC='it is #1' # x\nD=\"a\\n\\\"b\\\"\"\n\
                      E=\nF=a#b\nG=\"two\nlines\"\nH=last";
        let read: Vec<_> = entries(source)
            .into_iter()
            .map(|(line, entry)| (line, entry.unwrap()))
            .collect();
        let expected = [
            (2, "A", "1"),
            (3, "B", "two words"),
            (5, "C", "it is #1"),
            (6, "D", "a\n\"b\""),
            (7, "E", ""),
            (8, "F", "a#b"),
            (9, "G", "two\nlines"),
            (11, "H", "last"),
        ];
        assert_eq!(
            read,
            expected.map(|(line, name, value)| (line, (name.into(), value.into())))
        );
    }

    #[test]
    fn broken_lines_are_named_without_their_content() {
        let read = entries("secret words\n1A=x\nA B=x\nC=\"open\nD=fine\n");
        let lines: Vec<_> = read
            .iter()
            .map(|(line, entry)| (*line, entry.is_ok()))
            .collect();
        assert_eq!(
            lines,
            [(1, false), (2, false), (3, false), (4, false), (5, true)]
        );
        for (_, entry) in read {
            if let Err(why) = entry {
                assert!(!why.contains("secret") && !why.contains("open\n"), "{why}");
            }
        }
    }
}
