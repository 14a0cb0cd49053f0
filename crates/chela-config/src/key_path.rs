//! Paths into the config: `agents.list[0].model`, `models["openai/gpt-5"].alias`.

use crate::span::cut;

/// A path from the root of the config to one value.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct KeyPath(Vec<PathSegment>);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PathSegment {
    Key(String),
    Index(usize),
}

/// Why a string is no path.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{path}` is not a config path ({why} at character {at}); write it like `agents.list[0].model` or `models[\"a/b\"]`"
)]
pub struct KeyPathError {
    path: String,
    why: &'static str,
    at: usize,
}

impl KeyPath {
    pub fn root() -> Self {
        Self::default()
    }

    /// Reads the dotted form. Keys with dots or brackets are quoted: `a["b.c"]`. A number after
    /// a dot is taken as a key; an index is written in brackets.
    pub fn parse(text: &str) -> Result<Self, KeyPathError> {
        let fail = |why, at| KeyPathError {
            path: text.to_owned(),
            why,
            at,
        };
        let mut segments = Vec::new();
        let mut rest = text.trim();
        let total = rest.len();
        while !rest.is_empty() {
            let at = total - rest.len();
            if let Some(inner) = rest.strip_prefix('[') {
                let (segment, tail) =
                    parse_bracket(inner).ok_or_else(|| fail("unfinished bracket", at))?;
                segments.push(segment);
                rest = tail;
                continue;
            }
            if !segments.is_empty() {
                rest = rest
                    .strip_prefix('.')
                    .ok_or_else(|| fail("expected a dot", at))?;
            }
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            if end == 0 {
                return Err(fail("empty key", at));
            }
            let (key, tail) = cut(rest, end);
            segments.push(PathSegment::Key(key.to_owned()));
            rest = tail;
        }
        Ok(Self(segments))
    }

    pub fn segments(&self) -> &[PathSegment] {
        &self.0
    }

    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    #[must_use]
    pub fn key(&self, key: impl Into<String>) -> Self {
        self.with(PathSegment::Key(key.into()))
    }

    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.with(PathSegment::Index(index))
    }

    #[must_use]
    pub fn with(&self, segment: PathSegment) -> Self {
        let mut segments = self.0.clone();
        segments.push(segment);
        Self(segments)
    }

    /// The path without its last step, and that step.
    pub fn split_last(&self) -> Option<(Self, &PathSegment)> {
        let (last, parents) = self.0.split_last()?;
        Some((Self(parents.to_vec()), last))
    }

    pub fn starts_with(&self, prefix: &Self) -> bool {
        self.0.starts_with(&prefix.0)
    }

    /// The same path under another beginning; `None` if it does not begin with `from`.
    pub fn rebased(&self, from: &Self, onto: &Self) -> Option<Self> {
        let rest = self.0.strip_prefix(from.segments())?;
        Some(Self([onto.segments(), rest].concat()))
    }
}

/// What stands after `[`: an index or a quoted key, then `]`.
fn parse_bracket(inner: &str) -> Option<(PathSegment, &str)> {
    let quote = inner.chars().next().filter(|c| matches!(c, '"' | '\''));
    let Some(quote) = quote else {
        let (number, tail) = inner.split_once(']')?;
        return Some((PathSegment::Index(number.trim().parse().ok()?), tail));
    };
    let mut key = String::new();
    let mut chars = inner.chars();
    chars.next();
    while let Some(c) = chars.next() {
        match c {
            '\\' => key.push(chars.next()?),
            c if c == quote => {
                let tail = chars.as_str().strip_prefix(']')?;
                return Some((PathSegment::Key(key), tail));
            }
            c => key.push(c),
        }
    }
    None
}

impl std::fmt::Display for KeyPath {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, segment) in self.0.iter().enumerate() {
            match segment {
                PathSegment::Index(index) => write!(f, "[{index}]")?,
                PathSegment::Key(key) if is_plain(key) => {
                    let dot = if at == 0 { "" } else { "." };
                    write!(f, "{dot}{key}")?;
                }
                PathSegment::Key(key) => {
                    write!(
                        f,
                        "[\"{}\"]",
                        key.replace('\\', "\\\\").replace('"', "\\\"")
                    )?;
                }
            }
        }
        Ok(())
    }
}

fn is_plain(key: &str) -> bool {
    !key.is_empty() && !key.contains(['.', '[', ']', '"', '\'', '\\']) && key.trim() == key
}

impl std::str::FromStr for KeyPath {
    type Err = KeyPathError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

#[cfg(test)]
mod tests {
    use super::{KeyPath, PathSegment};

    #[test]
    fn paths_read_and_print() {
        for text in [
            "",
            "agents",
            "agents.list[0].model",
            "models[\"a.b/c\"].alias",
            "x[3][4]",
        ] {
            assert_eq!(KeyPath::parse(text).unwrap().to_string(), text);
        }
        let path = KeyPath::parse("m['it\\'s'].n").unwrap();
        assert_eq!(path.segments()[1], PathSegment::Key("it's".into()));
    }

    #[test]
    fn broken_paths_say_where() {
        for text in ["a..b", ".a", "a[", "a[x]", "a[\"b]", "a[0]b"] {
            let error = KeyPath::parse(text).unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        }
    }
}
