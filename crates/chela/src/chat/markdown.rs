//! Markdown for the terminal, as it streams in.
//!
//! Text is read line by line. A block is given out as soon as nothing that follows can change it:
//! code line by line, lists item by item, everything else when the next block begins. What is not
//! settled yet can be previewed. Because only whole lines decide, the pieces in which the text
//! arrives make no difference.

mod block;
mod code;
mod table;
#[cfg(test)]
mod tests;

use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};

use super::ink::{StyledLine, without_tabs};
use crate::screen::ColourMode;
use code::code_rows;

/// Narrower than this nothing is readable anyway.
const NARROWEST: usize = 8;

/// A reply on its way to the screen.
#[derive(Debug, Clone)]
pub struct MarkdownStream {
    width: usize,
    paint: ColourMode,
    /// Whole lines that are not settled, and the beginning of the next one.
    source: String,
    /// Length of the whole lines in `source`.
    whole: usize,
    /// Lines of the block in `source` that were given out already.
    given: usize,
    /// Whether anything was given out at all.
    begun: bool,
    fence: Option<Fence>,
}

/// An open code block.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Fence {
    mark: char,
    length: usize,
    indent: usize,
    language: String,
}

impl MarkdownStream {
    pub fn new(width: usize, paint: ColourMode) -> Self {
        Self {
            width: width.max(NARROWEST),
            paint,
            source: String::new(),
            whole: 0,
            given: 0,
            begun: false,
            fence: None,
        }
    }

    /// From now on lines are this wide.
    pub fn resize(&mut self, width: usize) {
        let width = width.max(NARROWEST);
        if width != self.width {
            // What was given out of an open list stays; the rest starts at the same item.
            self.width = width;
            self.given = self.given.min(self.stable_lines());
        }
    }

    /// Nothing of the text was given out yet.
    pub fn is_untouched(&self) -> bool {
        !self.begun && self.given == 0
    }

    /// Takes a piece; gives back what is settled.
    pub fn push(&mut self, piece: &str) -> Vec<StyledLine> {
        let mut settled = Vec::new();
        for part in piece.split_inclusive('\n') {
            self.source.push_str(part);
            if part.ends_with('\n') {
                self.line_ended(&mut settled);
            }
        }
        settled
    }

    /// How the rest would look if nothing more came.
    pub fn tail(&self) -> Vec<StyledLine> {
        match &self.fence {
            Some(_) if self.source.is_empty() => Vec::new(),
            Some(fence) => code_line(fence, &self.source, self.width),
            None => {
                let lines = self.rendered(&self.source);
                lines.into_iter().skip(self.given).collect()
            }
        }
    }

    /// The end of the text.
    pub fn finish(&mut self) -> Vec<StyledLine> {
        if !self.source.is_empty() && !self.source.ends_with('\n') {
            let mut settled = self.push("\n");
            settled.extend(self.finish());
            return settled;
        }
        let rest = self.tail();
        *self = Self::new(self.width, self.paint);
        rest
    }

    fn line_ended(&mut self, settled: &mut Vec<StyledLine>) {
        if let Some(fence) = self.fence.take() {
            let line = std::mem::take(&mut self.source);
            if !fence.is_closed_by(&line) {
                // Whole: where it is too long the terminal breaks it, and what is copied is not broken.
                settled.extend(code_line(&fence, &line, usize::MAX));
                self.fence = Some(fence);
            }
            self.whole = 0;
            return;
        }
        self.whole = self.source.len();
        let Some(last) = last_block(&self.source) else {
            return;
        };
        if last.start > 0 {
            let before: String = self.source.drain(..last.start).collect();
            settled.extend(self.rendered(&before).into_iter().skip(self.given));
            self.given = 0;
            self.begun |= !before.trim().is_empty();
        }
        match last.kind {
            BlockKind::Fence(language) => {
                if let Some(fence) = Fence::opened_by(&self.source) {
                    if self.begun {
                        settled.push(StyledLine::default());
                    }
                    self.begun = true;
                    self.fence = Some(Fence { language, ..fence });
                    self.source.clear();
                }
            }
            BlockKind::List => {
                let stable = self.stable_lines();
                if stable > self.given {
                    let lines = self.rendered(&self.source);
                    settled.extend(lines.into_iter().take(stable).skip(self.given));
                    self.given = stable;
                }
            }
            BlockKind::Other => {}
        }
        self.whole = self.source.len();
    }

    /// Lines of an unfinished list that belong to items which cannot change any more.
    fn stable_lines(&self) -> usize {
        let source = self.source.get(..self.whole).unwrap_or_default();
        let Some(start) = last_item(source) else {
            return 0;
        };
        self.rendered(source.get(..start).unwrap_or_default()).len()
    }

    /// Unsettled source as lines, set apart from what came before.
    fn rendered(&self, source: &str) -> Vec<StyledLine> {
        let mut lines = block::render(source, self.width, self.paint);
        if self.begun && !lines.is_empty() {
            lines.insert(0, StyledLine::default());
        }
        lines
    }
}

fn code_line(fence: &Fence, line: &str, width: usize) -> Vec<StyledLine> {
    let line = line.trim_end_matches('\n');
    let blanks = line.len() - line.trim_start_matches(' ').len();
    let line = without_tabs(line.get(blanks.min(fence.indent)..).unwrap_or_default());
    code_rows(&line, &fence.language, width)
}

impl Fence {
    fn opened_by(line: &str) -> Option<Self> {
        let inner = line.trim_start_matches(' ');
        let mark = inner.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let length = inner.chars().take_while(|c| *c == mark).count();
        (length >= 3).then_some(Self {
            mark,
            length,
            indent: line.len() - inner.len(),
            language: String::new(),
        })
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let line = line.trim_end();
        let inner = line.trim_start_matches(' ');
        line.len() - inner.len() <= 3
            && inner.chars().count() >= self.length
            && inner.chars().all(|c| c == self.mark)
    }
}

fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH | Options::ENABLE_TASKLISTS
}

struct Block {
    start: usize,
    kind: BlockKind,
}

enum BlockKind {
    /// A code block that may go on, and its language.
    Fence(String),
    List,
    Other,
}

/// The block that the next line may still belong to.
fn last_block(source: &str) -> Option<Block> {
    let mut last = None;
    let mut depth = 0usize;
    for (event, range) in Parser::new_ext(source, options()).into_offset_iter() {
        match event {
            Event::Start(tag) => {
                if depth == 0 {
                    let kind = match tag {
                        Tag::CodeBlock(CodeBlockKind::Fenced(info)) => BlockKind::Fence(
                            info.split_whitespace().next().unwrap_or("").to_owned(),
                        ),
                        Tag::List(_) => BlockKind::List,
                        _ => BlockKind::Other,
                    };
                    last = Some(Block {
                        start: line_start(source, range.start),
                        kind,
                    });
                }
                depth += 1;
            }
            Event::End(_) => depth = depth.saturating_sub(1),
            Event::Rule if depth == 0 => {
                last = Some(Block {
                    start: line_start(source, range.start),
                    kind: BlockKind::Other,
                });
            }
            _ => {}
        }
    }
    last
}

/// Where the last item of the only list in `source` begins.
fn last_item(source: &str) -> Option<usize> {
    let mut depth = 0usize;
    let mut start = None;
    for (event, range) in Parser::new_ext(source, options()).into_offset_iter() {
        match event {
            Event::Start(Tag::List(_)) => depth += 1,
            Event::End(TagEnd::List(_)) => depth = depth.saturating_sub(1),
            Event::Start(Tag::Item) if depth == 1 => start = Some(line_start(source, range.start)),
            _ => {}
        }
    }
    start
}

fn line_start(source: &str, at: usize) -> usize {
    source
        .get(..at)
        .unwrap_or_default()
        .rfind('\n')
        .map_or(0, |end| end + 1)
}
