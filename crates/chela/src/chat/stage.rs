//! The part of the terminal that is ours: everything below the last settled line.
//!
//! What is settled is printed once and belongs to the terminal's own scrollback. Below it live a
//! few rows - the unfinished end of a reply, running tools, the line people type on - that are
//! painted over at every change.

use std::io::{self, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::ink::StyledLine;
use crate::screen::ColourMode;

/// Rows that are painted over, and the cursor among them.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ScreenFrame {
    pub lines: Vec<StyledLine>,
    /// Row and column; hidden without one.
    pub cursor: Option<(usize, usize)>,
}

/// A terminal, or whatever stands for one.
pub struct FramePainter<W> {
    out: W,
    paint: ColourMode,
    width: usize,
    height: usize,
    shown: ScreenFrame,
    /// Rows between the first of ours and the cursor.
    above: usize,
}

impl<W: Write> FramePainter<W> {
    pub fn new(out: W, paint: ColourMode, size: (usize, usize)) -> Self {
        Self {
            out,
            paint,
            width: size.0.max(1),
            height: size.1.max(1),
            shown: ScreenFrame::default(),
            above: 0,
        }
    }

    pub fn width(&self) -> usize {
        self.width
    }

    pub fn height(&self) -> usize {
        self.height
    }

    /// Puts a text into the clipboard of the terminal, which is wherever the person sits.
    pub fn copy(&mut self, text: &str) -> io::Result<()> {
        let coded = STANDARD.encode(text);
        write!(self.out, "\u{1b}]52;c;{coded}\u{7}")?;
        self.out.flush()
    }

    /// Prints what is settled, and the frame below it.
    pub fn show(&mut self, settled: &[StyledLine], frame: ScreenFrame) -> io::Result<()> {
        if settled.is_empty() && frame == self.shown {
            return Ok(());
        }
        // One write in one synchronized update: nothing flickers.
        let mut bytes = String::from("\u{1b}[?2026h\u{1b}[?25l");
        self.go_to_top(&mut bytes);
        bytes.push_str("\u{1b}[J");
        for line in settled {
            bytes.push_str(&line.ansi(self.paint));
            bytes.push_str("\r\n");
        }
        // Taller than the screen, its top could not be painted over.
        let most = self.height.saturating_sub(1).max(1);
        let hidden = frame.lines.len().saturating_sub(most);
        let lines = frame.lines.get(hidden..).unwrap_or_default();
        for (at, line) in lines.iter().enumerate() {
            if at > 0 {
                bytes.push_str("\r\n");
            }
            let line = line.cut(self.width.saturating_sub(1).max(1));
            bytes.push_str(&line.ansi(self.paint));
        }
        let last = lines.len().saturating_sub(1);
        self.above = last;
        if let Some((row, column)) = frame.cursor {
            let row = row.saturating_sub(hidden).min(last);
            if last > row {
                bytes.push_str(&format!("\u{1b}[{}A", last - row));
            }
            bytes.push('\r');
            let column = column.min(self.width.saturating_sub(1));
            if column > 0 {
                bytes.push_str(&format!("\u{1b}[{column}C"));
            }
            bytes.push_str("\u{1b}[?25h");
            self.above = row;
        }
        bytes.push_str("\u{1b}[?2026l");
        self.shown = frame;
        self.out.write_all(bytes.as_bytes())?;
        self.out.flush()
    }

    /// The window has another size. Terminals break lines that have become too long, so the
    /// rows above the cursor are counted anew.
    pub fn resize(&mut self, size: (usize, usize)) {
        let (width, height) = (size.0.max(1), size.1.max(1));
        if width < self.width {
            let (row, column) = self
                .shown
                .cursor
                .unwrap_or((self.shown.lines.len().saturating_sub(1), 0));
            let broken: usize = self
                .shown
                .lines
                .iter()
                .take(row)
                .map(|line| line.width().min(self.width).max(1).div_ceil(width))
                .sum();
            self.above = (broken + column / width).min(height.saturating_sub(1));
        }
        self.width = width;
        self.height = height;
        self.shown.lines.push(StyledLine::default());
    }

    /// Everything is painted anew at the next change.
    pub fn forget(&mut self) {
        self.shown = ScreenFrame::default();
        self.above = 0;
    }

    /// Empties the window, as Ctrl-L does.
    pub fn clear(&mut self) -> io::Result<()> {
        self.forget();
        self.out.write_all(b"\x1b[2J\x1b[H")?;
        self.out.flush()
    }

    /// Removes our rows and leaves the cursor where the next program writes.
    pub fn leave(&mut self) -> io::Result<()> {
        let mut bytes = String::new();
        self.go_to_top(&mut bytes);
        bytes.push_str("\u{1b}[J\u{1b}[?25h");
        self.forget();
        self.out.write_all(bytes.as_bytes())?;
        self.out.flush()
    }

    fn go_to_top(&self, bytes: &mut String) {
        bytes.push('\r');
        if self.above > 0 {
            bytes.push_str(&format!("\u{1b}[{}A", self.above));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{FramePainter, ScreenFrame};
    use crate::chat::ink::{StyledLine, look};
    use crate::screen::ColourMode;

    fn frame(lines: &[&str], cursor: (usize, usize)) -> ScreenFrame {
        ScreenFrame {
            lines: lines
                .iter()
                .map(|text| StyledLine::new(*text, look::PLAIN))
                .collect(),
            cursor: Some(cursor),
        }
    }

    fn bare(out: &[u8]) -> String {
        String::from_utf8(out.to_vec())
            .unwrap()
            .replace("\u{1b}[?2026h\u{1b}[?25l", "<")
            .replace("\u{1b}[?25h\u{1b}[?2026l", ">")
            .replace('\u{1b}', "^")
    }

    #[test]
    fn frames_are_painted_over_and_settled_lines_stay() {
        let mut out = Vec::new();
        let mut stage = FramePainter::new(&mut out, ColourMode::Plain, (20, 10));
        stage.show(&[], frame(&["> a", "status"], (0, 3))).unwrap();
        stage.show(&[], frame(&["> a", "status"], (0, 3))).unwrap();
        let settled = [StyledLine::new("reply", look::PLAIN)];
        stage
            .show(&settled, frame(&["> ", "status"], (0, 2)))
            .unwrap();
        stage.leave().unwrap();
        assert_eq!(
            bare(&out),
            "<\r^[J> a\r\nstatus^[1A\r^[3C>\
             <\r^[Jreply\r\n> \r\nstatus^[1A\r^[2C>\
             \r^[J^[?25h",
        );
    }

    #[test]
    fn what_is_taller_than_the_window_loses_its_top() {
        let mut out = Vec::new();
        let mut stage = FramePainter::new(&mut out, ColourMode::Plain, (20, 3));
        stage
            .show(&[], frame(&["1", "2", "3", "4"], (3, 0)))
            .unwrap();
        assert_eq!(bare(&out), "<\r^[J3\r\n4\r>");
    }

    #[test]
    fn a_narrower_window_breaks_lines() {
        let mut out = Vec::new();
        let mut stage = FramePainter::new(&mut out, ColourMode::Plain, (20, 10));
        stage
            .show(&[], frame(&["0123456789", "> abc"], (1, 5)))
            .unwrap();
        stage.resize((5, 10));
        stage.show(&[], frame(&["> abc"], (0, 4))).unwrap();
        assert!(
            bare(&out).ends_with("<\r^[3A^[J> a…\r^[4C>"),
            "{}",
            bare(&out)
        );
    }
}
