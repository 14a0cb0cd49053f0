//! Reading a patch.

/// What a patch says about one file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PatchSection {
    Add {
        path: String,
        content: String,
    },
    Delete {
        path: String,
    },
    Update {
        path: String,
        move_to: Option<String>,
        chunks: Vec<PatchChunk>,
    },
}

impl PatchSection {
    /// Every path it touches.
    pub(super) fn paths(&self) -> impl Iterator<Item = &str> {
        let (path, other) = match self {
            Self::Add { path, .. } | Self::Delete { path } => (path, None),
            Self::Update { path, move_to, .. } => (path, move_to.as_deref()),
        };
        std::iter::once(path.as_str()).chain(other)
    }
}

/// Lines that go and lines that come, in one place.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct PatchChunk {
    /// Lines after which to look, from `@@`.
    pub(super) after: Vec<String>,
    /// The lines there now: kept and removed ones.
    pub(super) old: Vec<String>,
    /// The lines there then: kept and added ones.
    pub(super) new: Vec<String>,
    /// They are the last of the file.
    pub(super) at_end: bool,
}

impl PatchChunk {
    /// Whether every line there now is still there then, in its order.
    pub(super) fn adds_only(&self) -> bool {
        let mut new = self.new.iter();
        self.old.iter().all(|old| new.any(|line| line == old))
    }
}

const BEGIN: &str = "*** Begin Patch";
const END: &str = "*** End Patch";
const ADD: &str = "*** Add File:";
const DELETE: &str = "*** Delete File:";
const UPDATE: &str = "*** Update File:";
const MOVE: &str = "*** Move to:";
const END_OF_FILE: &str = "*** End of File";

pub(super) fn parse(patch: &str) -> Result<Vec<PatchSection>, String> {
    let lines: Vec<&str> = patch
        .lines()
        .map(|line| line.trim_end_matches('\r'))
        .collect();
    // Models wrap patches in fences and here-documents; what is outside the envelope is not ours.
    let begin = lines
        .iter()
        .position(|line| line.trim() == BEGIN)
        .ok_or_else(|| format!("it does not begin with `{BEGIN}`"))?;
    let end = lines
        .iter()
        .rposition(|line| line.trim() == END)
        .filter(|end| *end > begin)
        .ok_or_else(|| format!("it does not end with `{END}`"))?;
    let mut reader = Reader {
        lines: lines.get(begin + 1..end).unwrap_or_default(),
        at: 0,
        offset: begin + 2,
    };
    let mut sections = Vec::new();
    while let Some(section) = reader.section()? {
        sections.push(section);
    }
    match sections.is_empty() {
        true => Err("it changes no file".to_owned()),
        false => Ok(sections),
    }
}

struct Reader<'l> {
    lines: &'l [&'l str],
    at: usize,
    /// Number of the first line, for messages.
    offset: usize,
}

impl<'l> Reader<'l> {
    fn peek(&self) -> Option<&'l str> {
        self.lines.get(self.at).copied()
    }

    fn number(&self) -> usize {
        self.at + self.offset
    }

    fn section(&mut self) -> Result<Option<PatchSection>, String> {
        while self.peek().is_some_and(|line| line.trim().is_empty()) {
            self.at += 1;
        }
        let number = self.number();
        let Some(line) = self.peek() else {
            return Ok(None);
        };
        self.at += 1;
        let named = |path: &str| match path.trim() {
            "" => Err(format!("line {number} names no file")),
            path => Ok(path.to_owned()),
        };
        if let Some(path) = line.strip_prefix(ADD) {
            let (path, content) = (named(path)?, self.added()?);
            return Ok(Some(PatchSection::Add { path, content }));
        }
        if let Some(path) = line.strip_prefix(DELETE) {
            return Ok(Some(PatchSection::Delete { path: named(path)? }));
        }
        if let Some(path) = line.strip_prefix(UPDATE) {
            let path = named(path)?;
            let move_to = match self.peek().and_then(|line| line.strip_prefix(MOVE)) {
                Some(target) => {
                    self.at += 1;
                    Some(named(target)?)
                }
                None => None,
            };
            let chunks = self.chunks()?;
            if chunks.is_empty() && move_to.is_none() {
                return Err(format!("the section of {path} changes nothing"));
            }
            return Ok(Some(PatchSection::Update {
                path,
                move_to,
                chunks,
            }));
        }
        Err(format!(
            "line {number} is `{line}`; expected `{ADD} …`, `{UPDATE} …` or `{DELETE} …`"
        ))
    }

    /// The lines of a new file.
    fn added(&mut self) -> Result<String, String> {
        let mut content = String::new();
        while let Some(line) = self.peek() {
            if line.starts_with("*** ") {
                break;
            }
            let Some(text) = line.strip_prefix('+') else {
                if line.trim().is_empty() {
                    self.at += 1;
                    continue;
                }
                let number = self.number();
                return Err(format!(
                    "line {number} is `{line}`; lines of a new file begin with `+`"
                ));
            };
            content.push_str(text);
            content.push('\n');
            self.at += 1;
        }
        Ok(content)
    }

    fn chunks(&mut self) -> Result<Vec<PatchChunk>, String> {
        let mut chunks: Vec<PatchChunk> = Vec::new();
        let mut chunk = PatchChunk::default();
        while let Some(line) = self.peek() {
            let number = self.number();
            if line.trim_end() == END_OF_FILE {
                chunk.at_end = true;
                self.at += 1;
                continue;
            }
            if line.starts_with("*** ") {
                break;
            }
            self.at += 1;
            if let Some(after) = line.strip_prefix("@@") {
                if !chunk.old.is_empty() || !chunk.new.is_empty() {
                    chunks.push(std::mem::take(&mut chunk));
                }
                chunk.after.extend(header(after));
                continue;
            }
            match line.split_at_checked(1) {
                Some((" ", text)) => {
                    chunk.old.push(text.to_owned());
                    chunk.new.push(text.to_owned());
                }
                Some(("-", text)) => chunk.old.push(text.to_owned()),
                Some(("+", text)) => chunk.new.push(text.to_owned()),
                // An empty line that was kept; its space was lost.
                None => {
                    chunk.old.push(String::new());
                    chunk.new.push(String::new());
                }
                Some(_) => {
                    return Err(format!(
                        "line {number} is `{line}`; lines begin with a space, `-`, `+` or `@@`"
                    ));
                }
            }
        }
        // Blank lines before the next section belong to no chunk.
        while chunk.old.last().is_some_and(String::is_empty)
            && chunk.new.last().is_some_and(String::is_empty)
            && self
                .lines
                .get(self.at.wrapping_sub(1))
                .is_some_and(|line| line.is_empty())
            && chunk.old.len() > 1
        {
            chunk.old.pop();
            chunk.new.pop();
        }
        if !chunk.old.is_empty() || !chunk.new.is_empty() {
            chunks.push(chunk);
        }
        Ok(chunks)
    }
}

/// The line named by `@@`, without the line numbers other patch formats put there.
fn header(after: &str) -> Option<String> {
    let after = after.strip_prefix(' ').unwrap_or(after);
    let after = match after
        .strip_prefix('-')
        .and_then(|rest| rest.split_once("@@"))
    {
        Some((_, rest)) => rest.strip_prefix(' ').unwrap_or(rest),
        None => after,
    };
    (!after.trim().is_empty()).then(|| after.to_owned())
}
