//! Changing a config text and leaving the rest of it alone.
//!
//! Every edit works the same way: what should the config say afterwards? Then the text is brought
//! there by the smallest changes. Comments, order, indentation, quotes, commas
//! and line ends of everything else stay byte for byte, and a value that already is as wanted
//! is not touched at all.
//!
//! What happens to comments: a removed member takes the comment at the end of its own line with
//! it, and comments inside its value. Comments on lines of their own always stay. A value that
//! is replaced by another object keeps the comments of the keys that survive.

mod container;
mod diff;
mod insert;
mod remove;
mod render;
mod style;
mod want;

use serde_json::Value;

use super::parse::{DuplicateKeys, TextParser};
use super::{LineIndex, MAX_DEPTH, scan};
use crate::key_path::KeyPath;
use crate::node::{ConfigNode, FileId, NodeKind};
use style::TextStyle;

/// Whether there was something to remove.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyExisted {
    Yes,
    No,
}

/// Why a text cannot be edited as asked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    #[error(
        "the config has an error on line {line}, column {column}: {message}; correct that first"
    )]
    Syntax {
        line: u32,
        column: u32,
        message: String,
    },
    #[error("the config is {found}; it must be an object `{{ … }}`")]
    RootNotAnObject { found: &'static str },
    #[error(
        "cannot set `{path}`: `{at}` is {found}, and has no keys; set `{at}` itself, or unset it first"
    )]
    ThroughScalar {
        path: KeyPath,
        at: KeyPath,
        found: &'static str,
    },
    #[error("cannot set `{path}`: `{at}` is a list; name an item as `{at}[0]`")]
    KeyIntoList { path: KeyPath, at: KeyPath },
    #[error("cannot set `{path}`: `{at}` is an object, and `[{index}]` asks for an item of a list")]
    IndexIntoObject {
        path: KeyPath,
        at: KeyPath,
        index: usize,
    },
    #[error("cannot set `{path}`: `{at}` has {length} items; `[{length}]` appends one")]
    OutOfRange {
        path: KeyPath,
        at: KeyPath,
        length: usize,
    },
    #[error("`{path}` comes from the included file {include}; edit that file")]
    Included { path: KeyPath, include: String },
    #[error("the config would be nested more than {MAX_DEPTH} levels deep")]
    TooDeep,
    #[error("the text could not be changed safely ({why}); nothing was changed")]
    Unfaithful { why: String },
}

/// Puts a value at a path. Missing objects on the way are made; an index one past the end of a
/// list appends. An empty text becomes a small config.
pub fn set(source: &str, path: &KeyPath, value: &Value) -> Result<String, EditError> {
    let draft = Draft::open(source)?;
    let mut want = draft.root.to_json();
    want::put(&mut want, path, value.clone())?;
    draft.rewrite(&want)
}

/// Removes what stands at a path, if something does.
pub fn unset(source: &str, path: &KeyPath) -> Result<(String, KeyExisted), EditError> {
    let draft = Draft::open(source)?;
    let before = draft.root.to_json();
    let mut want = before.clone();
    if want::take(&mut want, path)? == KeyExisted::No {
        return Ok((source.to_owned(), KeyExisted::No));
    }
    // The very element goes, not one that happens to be equal to it.
    let edited = match draft.without(path) {
        Some(text) => Draft::open(&text)?.rewrite(&want)?,
        None => draft.rewrite(&want)?,
    };
    Ok((edited, KeyExisted::Yes))
}

/// Merges a patch into what stands at a path, as RFC 7396 has it: null deletes, objects merge,
/// everything else replaces.
pub fn merge_patch(source: &str, path: &KeyPath, patch: &Value) -> Result<String, EditError> {
    if patch.is_null() && !path.is_root() {
        return unset(source, path).map(|(text, _)| text);
    }
    let draft = Draft::open(source)?;
    let mut want = draft.root.to_json();
    want::patch(&mut want, path, patch)?;
    draft.rewrite(&want)
}

/// Makes the config say exactly this. Keys that stay keep their place and their comments.
pub fn replace_all(source: &str, value: &Value) -> Result<String, EditError> {
    Draft::open(source)?.rewrite(value)
}

/// A text that parses, ready to be changed.
#[derive(Debug)]
struct Draft {
    text: String,
    /// With every duplicate key in it, as written.
    root: ConfigNode,
    style: TextStyle,
    /// What the caller gave, when it had no config in it yet.
    blank: Option<String>,
}

impl Draft {
    fn open(source: &str) -> Result<Self, EditError> {
        match blank_with_braces(source) {
            Some(text) => {
                let mut draft = Self::read(text)?;
                draft.blank = Some(source.to_owned());
                Ok(draft)
            }
            None => Self::read(source.to_owned()),
        }
    }

    fn read(text: String) -> Result<Self, EditError> {
        let parsed = TextParser::new(&text, FileId(0), DuplicateKeys::Keep).document();
        let Some(root) = parsed.root else {
            let problem = parsed.problems.into_iter().next();
            let (at, message) = problem
                .map(|problem| (problem.at, problem.message))
                .unwrap_or_default();
            let (line, column) = LineIndex::new(&text).position(&text, at);
            return Err(EditError::Syntax {
                line,
                column,
                message,
            });
        };
        if !matches!(root.kind, NodeKind::Object(_)) {
            return Err(EditError::RootNotAnObject {
                found: root.type_name(),
            });
        }
        let style = TextStyle::of(&text, &root);
        Ok(Self {
            text,
            root,
            style,
            blank: None,
        })
    }

    /// Brings the text to say `want`: values in place first, then what goes, then what comes.
    /// Each round reads the text anew, and the last one finds nothing left to do.
    fn rewrite(mut self, want: &Value) -> Result<String, EditError> {
        const ROUNDS: usize = 4;
        if !want.is_object() {
            return Err(EditError::RootNotAnObject {
                found: json_type_name(want),
            });
        }
        if want::depth(want) > MAX_DEPTH {
            return Err(EditError::TooDeep);
        }
        for _ in 0..ROUNDS {
            let plan = diff::plan(&self.root, want);
            let splices = if !plan.replace.is_empty() {
                render::replacements(&self.text, &self.style, &plan.replace)
            } else if !plan.remove.is_empty() {
                remove::removals(&self.text, &plan.remove)
            } else if !plan.insert.is_empty() {
                insert::insertions(&self.text, &self.style, &plan.insert)
            } else {
                return Ok(self.blank.unwrap_or(self.text));
            };
            let changed = apply(&self.text, splices);
            let style = self.style;
            self = Self::read(changed).map_err(|error| EditError::Unfaithful {
                why: error.to_string(),
            })?;
            // What was found in the file counts, not what the first edit made of it.
            self.style = style;
        }
        Err(EditError::Unfaithful {
            why: "the result differs from what was asked".to_owned(),
        })
    }

    /// The text without the element at a path; none if the path does not name one.
    fn without(&self, path: &KeyPath) -> Option<String> {
        let (outer, last) = path.split_last()?;
        let mut node = &self.root;
        for segment in outer.segments() {
            node = diff::step(node, segment)?;
        }
        let indices = diff::indices_of(node, last);
        let removal = diff::ElementRemoval {
            container: node,
            indices,
        };
        Some(apply(&self.text, remove::removals(&self.text, &[removal])))
    }
}

/// A stretch of text and what is to stand there instead.
#[derive(Debug, Clone, PartialEq, Eq)]
struct TextSplice {
    start: usize,
    end: usize,
    text: String,
}

fn apply(text: &str, mut splices: Vec<TextSplice>) -> String {
    splices.sort_by_key(|splice| (splice.start, splice.end));
    let mut result = String::with_capacity(text.len() + 256);
    let mut done = 0;
    for TextSplice {
        start,
        end,
        text: new,
    } in splices
    {
        result.push_str(text.get(done..start).unwrap_or_default());
        result.push_str(&new);
        done = done.max(end);
    }
    result.push_str(text.get(done..).unwrap_or_default());
    result
}

/// For a text without a config in it - nothing, or only comments - the same with `{}` after.
fn blank_with_braces(source: &str) -> Option<String> {
    let mut pos = 0;
    let mut comments = false;
    while let Ok(Some(trivia)) = scan::trivia_at(source, pos) {
        comments |= trivia.is_comment();
        pos = trivia.end;
    }
    if pos < source.len() {
        return None;
    }
    let newline = style::newline_of(source);
    Some(match comments {
        true => format!("{}{newline}{{}}{newline}", source.trim_end()),
        false => format!("{{}}{newline}"),
    })
}

fn json_type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true/false",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}
