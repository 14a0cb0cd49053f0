//! Where in a markdown text one is: in a fenced block, in inline code, or in prose.

/// Follows a text character by character.
#[derive(Debug, Clone, Default)]
pub struct CodeTracker {
    /// The line so far; its start decides whether it is a fence.
    line: String,
    /// The character and length of the fence that is open.
    fence: Option<(char, usize)>,
    /// An odd number of backticks so far on this line.
    inline: bool,
}

/// Longest fence line worth looking at.
const LONGEST: usize = 128;

impl CodeTracker {
    pub fn feed(&mut self, c: char) {
        if c != '\n' {
            if self.line.len() < LONGEST {
                self.line.push(c);
            }
            if c == '`' {
                self.inline = !self.inline;
            }
            return;
        }
        if let Some((mark, length, rest)) = fence(&self.line) {
            match self.fence {
                None if mark != '`' || !rest.contains('`') => self.fence = Some((mark, length)),
                Some((open, least)) if open == mark && length >= least && rest.is_empty() => {
                    self.fence = None;
                }
                _ => {}
            }
        }
        self.line.clear();
        self.inline = false;
    }

    pub fn in_fence(&self) -> bool {
        self.fence.is_some()
    }

    pub fn in_code(&self) -> bool {
        self.in_fence() || self.inline
    }

    pub fn at_line_start(&self) -> bool {
        self.line.is_empty()
    }
}

fn fence(line: &str) -> Option<(char, usize, &str)> {
    let text = line.trim_start_matches(' ');
    if line.len() - text.len() > 3 {
        return None;
    }
    let mark = text.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let rest = text.trim_start_matches(mark);
    let length = text.len() - rest.len();
    (length >= 3).then_some((mark, length, rest.trim()))
}
