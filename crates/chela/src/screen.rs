//! What people see: plain text that fits the terminal, colour only where it helps.

use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use anstyle::{AnsiColor, Style};
pub use chela_core::grouped;
use chela_core::{Host, vars};
use serde::Serialize;

use crate::cli::ColorWhen;

/// Width of pages, files and pipes.
const PLAIN_WIDTH: usize = 80;

/// Where output goes, and how much dress it may wear.
pub struct Screen {
    out: Box<dyn Write>,
    pub paint: Paint,
    pub width: usize,
    /// Whether a person sits in front of it.
    pub is_terminal: bool,
}

/// Colours, or the same words without them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    Colour,
    Plain,
}

impl Screen {
    pub fn stdout(host: &Host, when: ColorWhen) -> Self {
        let is_terminal = io::stdout().is_terminal();
        let colour = match when {
            ColorWhen::Always => true,
            ColorWhen::Never => false,
            ColorWhen::Auto => {
                is_terminal
                    && !host.env.contains_key(vars::NO_COLOR)
                    && host.var("TERM") != Some("dumb")
            }
        };
        let typed_width = host.var("COLUMNS").and_then(|columns| columns.parse().ok());
        let measured = || terminal_size::terminal_size().map(|(width, _)| usize::from(width.0));
        let width = typed_width.or_else(|| is_terminal.then(measured).flatten());
        Self {
            out: Box::new(io::BufWriter::new(io::stdout().lock())),
            paint: if colour { Paint::Colour } else { Paint::Plain },
            width: width.unwrap_or(PLAIN_WIDTH).clamp(40, 200),
            is_terminal,
        }
    }

    /// One line of output.
    pub fn line(&mut self, text: impl Display) -> io::Result<()> {
        writeln!(self.out, "{text}")
    }

    pub fn blank(&mut self) -> io::Result<()> {
        writeln!(self.out)
    }

    /// Text that ends where it ends: a prompt, a schema, a script.
    pub fn raw(&mut self, text: &str) -> io::Result<()> {
        self.out.write_all(text.as_bytes())
    }

    pub fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)
    }

    pub fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        serde_json::to_writer_pretty(&mut self.out, value)?;
        writeln!(self.out)
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// A paragraph, wrapped to the width, each line starting with `indent`.
    pub fn paragraph(&mut self, indent: &str, text: &str) -> io::Result<()> {
        for line in wrap(text, self.width.saturating_sub(indent.len())) {
            writeln!(self.out, "{indent}{line}")?;
        }
        Ok(())
    }

    /// Rows in aligned columns; the last column takes what is left of the width.
    pub fn table(&mut self, indent: &str, rows: &[Vec<String>]) -> io::Result<()> {
        let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
        let widths: Vec<usize> = (0..columns)
            .map(|at| {
                rows.iter()
                    .filter_map(|row| row.get(at))
                    .map(|cell| visible_len(cell))
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        for row in rows {
            let mut line = String::from(indent);
            for (at, cell) in row.iter().enumerate() {
                line.push_str(cell);
                if at + 1 < row.len() {
                    let gap = widths[at].saturating_sub(visible_len(cell)) + 2;
                    line.extend(std::iter::repeat_n(' ', gap));
                }
            }
            writeln!(self.out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

impl Paint {
    pub fn bold(self, text: impl Display) -> String {
        self.wear(Style::new().bold(), text)
    }

    pub fn dim(self, text: impl Display) -> String {
        self.wear(Style::new().dimmed(), text)
    }

    pub fn good(self, text: impl Display) -> String {
        self.wear(AnsiColor::Green.on_default(), text)
    }

    pub fn warn(self, text: impl Display) -> String {
        self.wear(AnsiColor::Yellow.on_default(), text)
    }

    pub fn bad(self, text: impl Display) -> String {
        self.wear(AnsiColor::Red.on_default().bold(), text)
    }

    pub fn accent(self, text: impl Display) -> String {
        self.wear(AnsiColor::Cyan.on_default(), text)
    }

    /// The word for how much a finding matters.
    pub fn severity(self, severity: chela_core::Severity) -> String {
        let word = severity.as_str();
        match severity {
            chela_core::Severity::Note => self.dim(word),
            chela_core::Severity::Warning => self.warn(word),
            chela_core::Severity::Error => self.bad(word),
        }
    }

    pub fn wear(self, style: Style, text: impl Display) -> String {
        match self {
            Self::Colour => format!("{style}{text}{style:#}"),
            Self::Plain => text.to_string(),
        }
    }
}

/// Length as seen: escape sequences take no room.
pub fn visible_len(text: &str) -> usize {
    let mut length = 0;
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c == '\u{1b}' {
            for end in chars.by_ref() {
                if end.is_ascii_alphabetic() {
                    break;
                }
            }
        } else {
            length += 1;
        }
    }
    length
}

/// Breaks text at blanks so that no line is longer than `width`, unless one word is.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let line = lines.last().map_or(0, |line| visible_len(line));
        if line > 0 && line + 1 + visible_len(word) > width.max(20) {
            lines.push(String::new());
        }
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

/// A text shortened to `width` characters, the end replaced by `…`.
pub fn shorten(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let mut short: String = text.chars().take(width.saturating_sub(1)).collect();
    short.push('…');
    short
}

/// `1 file`, `3 files`.
pub fn counted(number: usize, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {noun}{plural}", grouped(number))
}

#[cfg(test)]
mod tests {
    use super::{counted, shorten, visible_len, wrap};

    #[test]
    fn numbers_read_well() {
        assert_eq!(counted(1, "file"), "1 file");
        assert_eq!(counted(1200, "file"), "1,200 files");
    }

    #[test]
    fn text_wraps_and_shortens_by_what_is_seen() {
        assert_eq!(
            wrap("one two three four five", 20),
            ["one two three four", "five"]
        );
        assert_eq!(shorten("abcdef", 4), "abc…");
        assert_eq!(visible_len("\u{1b}[1mbold\u{1b}[0m"), 4);
    }
}
