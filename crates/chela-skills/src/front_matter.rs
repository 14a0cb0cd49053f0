//! The head of a SKILL.md: read leniently, judged honestly.
//!
//! Four readings are tried, from strict to forgiving: a plain subset of YAML that needs no full
//! parser ([`plain`], because thousands of heads are read at a start), YAML, YAML with unquoted
//! colons repaired, and single `key: value` lines. What had to be forgiven is a [`SkillFinding`].
//! Bytes that are no text, or a head built to exhaust its reader, are refused with a reason.

mod fields;
mod lines;
mod plain;
mod yaml;

use serde_json::{Map, Value};

pub(crate) use fields::{ADDED_KEYS, GATING_KEYS, STANDARD_KEYS};
pub use fields::{CommandDispatch, FrontMatter, SkillContext, SkillGating, SkillNeeds};

use crate::finding::SkillFinding;

/// A head larger than this is refused: it cannot describe a skill any more.
const MAX_HEAD_BYTES: usize = 64 * 1024;

/// A SKILL.md taken apart.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillText<'a> {
    pub front: FrontMatter,
    pub body: &'a str,
    /// The line of the file on which the body begins.
    pub body_line: u32,
    pub findings: Vec<SkillFinding>,
}

/// Why a file cannot be read as a skill.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FrontMatterError {
    #[error("the file is UTF-16; save it as UTF-8")]
    Utf16,
    #[error("line {line} is not UTF-8; save the file as UTF-8")]
    NotUtf8 { line: u32 },
    #[error("line {line} contains a NUL character, so this is not a text file; remove it")]
    Nul { line: u32 },
    #[error(
        "there is no front matter; start the file with `---`, `name:`, `description:` and `---`"
    )]
    Missing,
    #[error("the front matter is not closed; put a line `---` after it")]
    Unclosed,
    #[error("the front matter has {bytes} bytes; at most {MAX_HEAD_BYTES} are read")]
    TooLarge { bytes: usize },
    #[error(
        "line {line}: the front matter is not valid YAML ({message}); fix that line or quote its \
            value"
    )]
    Yaml { line: u32, message: String },
    #[error(
        "line {line}: the front matter would expand without end ({message}); write its values out"
    )]
    Bomb { line: u32, message: String },
    #[error("the front matter is not a list of `key: value` lines")]
    NotAMap,
}

/// Takes a SKILL.md apart.
pub fn read(bytes: &[u8]) -> Result<SkillText<'_>, FrontMatterError> {
    let text = decode(bytes)?;
    let split = split(text)?;
    let (map, mut findings) = read_head(&split)?;
    if split.ending == HeadEnding::Missing {
        if !map.get("description").is_some_and(Value::is_string) {
            return Err(FrontMatterError::Unclosed);
        }
        findings.push(
            SkillFinding::warning(
                "unclosed-head",
                "the front matter is not closed; it was read as far as it goes",
            )
            .at(split.body_line)
            .hint("put a line `---` after it"),
        );
    }
    let front = fields::read(map, &split, &mut findings);
    Ok(SkillText {
        front,
        body: split.body,
        body_line: split.body_line,
        findings,
    })
}

/// The text of the file, or why there is none.
pub(crate) fn decode(bytes: &[u8]) -> Result<&str, FrontMatterError> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(FrontMatterError::Utf16);
    }
    let line_at = |at: usize| {
        let breaks = bytes.iter().take(at).filter(|byte| **byte == b'\n').count();
        u32::try_from(breaks).unwrap_or(u32::MAX - 1) + 1
    };
    let text = std::str::from_utf8(bytes).map_err(|error| FrontMatterError::NotUtf8 {
        line: line_at(error.valid_up_to()),
    })?;
    // Most files hold none, and `contains` looks much faster than a search for the place.
    let nul = bytes
        .contains(&0)
        .then(|| bytes.iter().position(|byte| *byte == 0))
        .flatten();
    match nul {
        // UTF-16 without a mark: every other byte of Latin text is zero.
        Some(1) if bytes.get(3) == Some(&0) => Err(FrontMatterError::Utf16),
        Some(at) => Err(FrontMatterError::Nul { line: line_at(at) }),
        None => Ok(text.strip_prefix('\u{feff}').unwrap_or(text)),
    }
}

/// Head and body, still unread.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SplitFile<'a> {
    pub head: &'a str,
    /// The line of the file on which the head begins.
    pub head_line: u32,
    pub body: &'a str,
    pub body_line: u32,
    pub ending: HeadEnding,
}

/// Whether a line says where the head ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeadEnding {
    Marked,
    Missing,
}

impl SplitFile<'_> {
    /// The line of the file on which a top-level key stands.
    pub(crate) fn line_of(&self, key: &str) -> Option<u32> {
        let is_key = |line: &str| {
            let line = line.trim_start_matches(['"', '\'']);
            let rest = line
                .strip_prefix(key)
                .map(|rest| rest.trim_start_matches(['"', '\'', ' ']));
            rest.is_some_and(|rest| rest.starts_with(':'))
        };
        let at = self.head.lines().position(is_key)?;
        Some(self.head_line + u32::try_from(at).unwrap_or(0))
    }
}

pub(crate) fn split(text: &str) -> Result<SplitFile<'_>, FrontMatterError> {
    let mut lines = Lines {
        rest: text,
        next: 1,
    };
    let opening = loop {
        match lines.take() {
            Some(line) if line.text.trim().is_empty() => {}
            Some(line) => break line,
            None => return Err(FrontMatterError::Missing),
        }
    };
    if opening.text.trim_end() != "---" {
        return Err(FrontMatterError::Missing);
    }
    let (head_start, head_line) = (lines.rest, lines.next);
    // Where nobody closes it, it ends where the text begins: at the first heading.
    let mut heading = None;
    let mut is_text = false;
    let (end, ending) = loop {
        let (before, at) = (lines.rest, lines.next);
        let line = lines.take();
        let text = line.as_ref().map_or("", |line| line.text.trim_end());
        let closes = text == "..." || (text.len() >= 3 && text.bytes().all(|byte| byte == b'-'));
        if line.is_none() || (closes && is_text) {
            (lines.rest, lines.next) = heading.unwrap_or((before, at));
            break (lines.rest, HeadEnding::Missing);
        }
        if closes {
            break (before, HeadEnding::Marked);
        }
        match heading {
            None if text.starts_with("# ") || text.starts_with("## ") => {
                heading = Some((before, at));
            }
            None => {}
            Some(_) => is_text |= lines::is_text(text),
        }
    };
    let head = head_start
        .get(..head_start.len() - end.len())
        .unwrap_or_default();
    if head.len() > MAX_HEAD_BYTES {
        return Err(FrontMatterError::TooLarge { bytes: head.len() });
    }
    Ok(SplitFile {
        head,
        head_line,
        body: lines.rest,
        body_line: lines.next,
        ending,
    })
}

/// Lines by `\n`, with an optional `\r` before it.
struct Lines<'a> {
    rest: &'a str,
    next: u32,
}

struct HeadLine<'a> {
    text: &'a str,
}

impl<'a> Lines<'a> {
    fn take(&mut self) -> Option<HeadLine<'a>> {
        if self.rest.is_empty() {
            return None;
        }
        let (text, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
        self.rest = rest;
        self.next = self.next.saturating_add(1);
        Some(HeadLine {
            text: text.strip_suffix('\r').unwrap_or(text),
        })
    }
}

fn read_head(
    split: &SplitFile<'_>,
) -> Result<(Map<String, Value>, Vec<SkillFinding>), FrontMatterError> {
    if let Some(map) = plain::read(split.head) {
        return Ok((map, Vec::new()));
    }
    let first = match yaml::read(split.head) {
        Ok(Value::Object(map)) => return Ok((map, Vec::new())),
        Ok(_) => return Err(FrontMatterError::NotAMap),
        Err(fault) => fault,
    };
    let line = split.head_line + first.line.saturating_sub(1);
    if first.kind == yaml::FaultKind::Exhausting {
        return Err(FrontMatterError::Bomb {
            line,
            message: first.message,
        });
    }
    let forgiven = |code, what: &str| {
        SkillFinding::warning(
            code,
            format!(
                "the front matter is not valid YAML ({}); {what}",
                first.message
            ),
        )
        .at(line)
        .hint("put the value in double quotes")
    };
    if let Some(repaired) = lines::quote_values(split.head)
        && let Ok(Value::Object(map)) = yaml::read(&repaired)
    {
        return Ok((
            map,
            vec![forgiven(
                "yaml-repaired",
                "values with a bare colon were read as text",
            )],
        ));
    }
    match lines::read(split.head) {
        Some(map) => Ok((
            map,
            vec![forgiven(
                "yaml-line-by-line",
                "only its single lines were read",
            )],
        )),
        None => Err(FrontMatterError::Yaml {
            line,
            message: first.message,
        }),
    }
}

#[cfg(test)]
mod tests;
