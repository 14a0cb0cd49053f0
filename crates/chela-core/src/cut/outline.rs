//! What of a text's structure a cut has to respect: headings, code fences and what is pinned.
//!
//! Pinned are the sections under the headings asked for (up to the next heading of the same or a
//! higher level) and whatever lies between `<!-- keep -->` and `<!-- /keep -->`, whole lines with
//! the comments included; in a line of more than [`LONG_LINE`] bytes exactly from comment to
//! comment. A `keep` that is never closed holds to the end of the section it stands in. Comments
//! in code fences or in `` `code` `` are only talk about comments. Headings are the ones with `#`.

use std::ops::Range;

/// Lines longer than this are not pinned whole for the sake of a comment in them.
const LONG_LINE: usize = 1000;

#[derive(Debug, Default)]
pub struct TextOutline {
    pub headings: Vec<OutlineHeading>,
    pub fences: Vec<CodeFence>,
    /// What must stay: in order, not empty, not touching each other.
    pub pins: Vec<Range<usize>>,
    /// The same one by one, as it was asked for: in order, maybe one inside another.
    pub pinned_parts: Vec<Range<usize>>,
}

#[derive(Debug, Clone, Copy)]
pub struct OutlineHeading {
    /// Where its line starts.
    pub at: usize,
    pub level: usize,
}

/// A block of code, from the start of the line that opens it to the end of the one that closes it
/// or to the end of the text.
#[derive(Debug, Clone)]
pub struct CodeFence {
    pub range: Range<usize>,
    /// Where the opening line ends.
    pub opened: usize,
    /// The closing line; empty when there is none.
    pub closing: Range<usize>,
}

impl TextOutline {
    pub fn read(text: &str, pinned_headings: &[String]) -> Self {
        let mut outline = Self::default();
        let mut parts = outline.scan(text);
        parts.extend(outline.pinned_sections(text, pinned_headings));
        parts.sort_by_key(|part| part.start);
        outline.pins = super::merged(parts.clone());
        outline.pinned_parts = parts;
        outline
    }

    /// Finds headings and fences; returns what the comments keep.
    fn scan(&mut self, text: &str) -> Vec<Range<usize>> {
        let mut comments = text
            .match_indices("<!--")
            .filter_map(|(at, _)| comment(text, at));
        let mut next_comment = comments.next();
        let mut keeps = Keeps::default();
        let mut open: Option<OpenFence> = None;
        let mut start = 0;
        while start < text.len() {
            let end = text[start..]
                .find('\n')
                .map_or(text.len(), |length| start + length + 1);
            let line = &text[start..end];
            let is_code = match &open {
                Some(fence) if fence.is_closed_by(line) => {
                    self.fences.push(fence.closed(start..end));
                    open = None;
                    true
                }
                Some(_) => true,
                None => {
                    open = OpenFence::read(line, start..end);
                    open.is_some()
                }
            };
            if !is_code && let Some(level) = heading_level(line) {
                keeps.meet_heading(level, start);
                self.headings.push(OutlineHeading { at: start, level });
            }
            while let Some(comment) = next_comment.take_if(|comment| comment.range.start < end) {
                if !is_code {
                    keeps.meet_comment(comment, start..end);
                }
                next_comment = comments.next();
            }
            start = end;
        }
        if let Some(fence) = open {
            self.fences.push(fence.closed(text.len()..text.len()));
        }
        keeps.finish(text.len())
    }

    fn pinned_sections(&self, text: &str, pinned_headings: &[String]) -> Vec<Range<usize>> {
        let wanted: Vec<String> = pinned_headings
            .iter()
            .map(|heading| heading.trim().trim_start_matches('#').trim().to_lowercase())
            .filter(|heading| !heading.is_empty())
            .collect();
        if wanted.is_empty() {
            return Vec::new();
        }
        let is_wanted = |heading: &OutlineHeading| {
            let title = heading_text(text, heading.at).to_lowercase();
            wanted.contains(&title)
        };
        let mut sections = Vec::new();
        // A section inside one that is pinned already adds nothing.
        let mut done = 0;
        for (at, heading) in self.headings.iter().enumerate() {
            if heading.at < done || !is_wanted(heading) {
                continue;
            }
            let next = self.headings[at + 1..]
                .iter()
                .find(|next| next.level <= heading.level);
            done = next.map_or(text.len(), |next| next.at);
            sections.push(heading.at..done);
        }
        sections
    }

    /// What lies between the pins, in order.
    pub fn unpinned(&self, end: usize) -> Vec<Range<usize>> {
        super::gaps(&self.pins, end).collect()
    }

    /// The fence that would be torn by a cut at `at`.
    pub fn fence_around(&self, at: usize) -> Option<&CodeFence> {
        let next = self.fences.partition_point(|fence| fence.range.end <= at);
        self.fences.get(next).filter(|fence| fence.range.start < at)
    }

    /// The last heading that starts at or before `at`.
    pub fn heading_before(&self, at: usize) -> Option<usize> {
        let next = self.headings.partition_point(|heading| heading.at <= at);
        next.checked_sub(1).map(|last| self.headings[last].at)
    }

    /// The first heading that starts at or after `at`.
    pub fn heading_after(&self, at: usize) -> Option<usize> {
        let next = self.headings.partition_point(|heading| heading.at < at);
        self.headings.get(next).map(|heading| heading.at)
    }

    /// The titles of the first headings in a range.
    pub fn headings_in(&self, text: &str, range: Range<usize>, most: usize) -> Vec<String> {
        let first = self
            .headings
            .partition_point(|heading| heading.at < range.start);
        self.headings[first..]
            .iter()
            .take_while(|heading| heading.at < range.end)
            .map(|heading| heading_text(text, heading.at).to_owned())
            .filter(|title| !title.is_empty())
            .take(most)
            .collect()
    }
}

fn heading_level(line: &str) -> Option<usize> {
    let line = line.trim_start_matches(' ');
    let level = line.bytes().take_while(|byte| *byte == b'#').count();
    let after = line.as_bytes().get(level);
    let ends = after.is_none_or(|byte| byte.is_ascii_whitespace());
    ((1..=6).contains(&level) && ends).then_some(level)
}

/// The title of the heading whose line starts at `at`.
fn heading_text(text: &str, at: usize) -> &str {
    let line = text[at..].lines().next().unwrap_or_default();
    let title = line.trim().trim_start_matches('#').trim();
    let bare = title.trim_end_matches('#');
    // `# C#` keeps its sharp; `# Title ##` loses the closing signs.
    if bare.ends_with(char::is_whitespace) || bare.is_empty() {
        bare.trim_end()
    } else {
        title
    }
}

struct OpenFence {
    start: usize,
    opened: usize,
    sign: u8,
    length: usize,
}

impl OpenFence {
    fn read(line: &str, range: Range<usize>) -> Option<Self> {
        let (sign, length, rest) = fence_run(line)?;
        // Back-ticks after back-ticks are code within a line.
        let is_fence = sign == b'~' || !rest.contains('`');
        is_fence.then_some(Self {
            start: range.start,
            opened: range.end,
            sign,
            length,
        })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        fence_run(line).is_some_and(|(sign, length, rest)| {
            sign == self.sign && length >= self.length && rest.trim().is_empty()
        })
    }

    fn closed(&self, closing: Range<usize>) -> CodeFence {
        CodeFence {
            range: self.start..closing.end,
            opened: self.opened,
            closing,
        }
    }
}

/// Three or more back-ticks or tildes at the start of a line: which, how many, and what follows.
/// However far they are indented: inside a list that is as good a fence.
fn fence_run(line: &str) -> Option<(u8, usize, &str)> {
    let line = line.trim_start_matches([' ', '\t']);
    let sign = line
        .bytes()
        .next()
        .filter(|byte| matches!(byte, b'`' | b'~'))?;
    let length = line.bytes().take_while(|byte| *byte == sign).count();
    (length >= 3).then(|| (sign, length, &line[length..]))
}

struct Comment {
    range: Range<usize>,
    opens: bool,
}

/// The `keep` or `/keep` comment that starts at `at`.
fn comment(text: &str, at: usize) -> Option<Comment> {
    const LONGEST: usize = 40;
    let end = text.floor_char_boundary(at + LONGEST);
    let body = text[at..end].strip_prefix("<!--")?;
    let length = body.find("-->")?;
    let is_code = text[..at].ends_with('`');
    let opens = match body[..length].trim().to_ascii_lowercase().as_str() {
        _ if is_code => return None,
        "keep" => true,
        "/keep" => false,
        _ => return None,
    };
    Some(Comment {
        range: at..at + "<!--".len() + length + "-->".len(),
        opens,
    })
}

/// Follows the comments and the sections around them.
#[derive(Default)]
struct Keeps {
    found: Vec<Range<usize>>,
    open: Option<usize>,
    /// Where the section of the open comment ended, when that has come.
    section_end: Option<usize>,
    /// Level of the section the open comment stands in; 0 before the first heading.
    open_level: usize,
    level: usize,
}

impl Keeps {
    fn meet_heading(&mut self, level: usize, at: usize) {
        if self.open.is_some() && self.section_end.is_none() {
            let leaves = self.open_level == 0 || level <= self.open_level;
            self.section_end = leaves.then_some(at);
        }
        self.level = level;
    }

    fn meet_comment(&mut self, comment: Comment, line: Range<usize>) {
        let whole = line.len() <= LONG_LINE;
        match (comment.opens, self.open) {
            (true, None) => {
                self.open = Some(if whole {
                    line.start
                } else {
                    comment.range.start
                });
                self.open_level = self.level;
                self.section_end = None;
            }
            (false, Some(start)) => {
                self.found
                    .push(start..if whole { line.end } else { comment.range.end });
                self.open = None;
            }
            (true, Some(_)) | (false, None) => {}
        }
    }

    fn finish(mut self, end: usize) -> Vec<Range<usize>> {
        if let Some(start) = self.open {
            self.found.push(start..self.section_end.unwrap_or(end));
        }
        self.found
    }
}
