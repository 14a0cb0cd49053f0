//! What people see: plain text that fits the terminal, colour only where it helps.

use std::borrow::Cow;
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
    pub paint: ColourMode,
    pub width: usize,
    /// Whether a person sits in front of it.
    pub is_terminal: bool,
}

/// Colours, or the same words without them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColourMode {
    /// The sixteen colours of the terminal.
    Colour,
    /// The same for dark text on a light ground: what is pale there is darker.
    Light,
    /// Bold and dim, no colours.
    Mono,
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
            out: Box::new(io::BufWriter::new(io::stdout())),
            paint: if colour {
                ColourMode::Colour
            } else {
                ColourMode::Plain
            },
            width: width.unwrap_or(PLAIN_WIDTH).clamp(40, 200),
            is_terminal,
        }
    }

    /// One line of output.
    pub fn line(&mut self, text: impl Display) -> io::Result<()> {
        writeln!(self.out, "{}", spelled_out(&text.to_string()))
    }

    pub fn blank(&mut self) -> io::Result<()> {
        writeln!(self.out)
    }

    /// Text that ends where it ends: a prompt, a schema, a script.
    pub fn raw(&mut self, text: &str) -> io::Result<()> {
        // What a program reads is the text itself; a person must see what is there.
        match self.is_terminal {
            true => self.out.write_all(spelled_out(text).as_bytes()),
            false => self.out.write_all(text.as_bytes()),
        }
    }

    pub fn bytes(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)
    }

    pub fn json(&mut self, value: &impl Serialize) -> io::Result<()> {
        let text = serde_json::to_string_pretty(value)?;
        self.out.write_all(shown_json(&text).as_bytes())?;
        writeln!(self.out)
    }

    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }

    /// A paragraph, wrapped to the width, each line starting with `indent`.
    pub fn paragraph(&mut self, indent: &str, text: &str) -> io::Result<()> {
        for line in wrap(text, self.width.saturating_sub(indent.len())) {
            self.line(format!("{indent}{line}"))?;
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
            self.line(line.trim_end())?;
        }
        Ok(())
    }
}

/// Text with what turns the direction of writing, hides, or commands an old terminal spelled out.
/// Colours are made of other characters and stay.
fn spelled_out(text: &str) -> Cow<'_, str> {
    if !text.contains(is_deceptive) {
        return Cow::Borrowed(text);
    }
    let mut spelled = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match is_deceptive(c) {
            true => spelled.push_str(&format!("\\u{{{:x}}}", u32::from(c))),
            false => spelled.push(c),
        }
    }
    Cow::Owned(spelled)
}

/// C1 controls, embeddings, overrides, isolates and marks of direction, and characters of no width
/// that no script needs.
fn is_deceptive(c: char) -> bool {
    matches!(c,
        '\u{80}'..='\u{9f}' | '\u{61c}' | '\u{200b}' | '\u{200e}' | '\u{200f}'
        | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}'
        | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// JSON in which nothing acts on a terminal that shows it: to a program the same value.
pub fn shown_json(json: &str) -> Cow<'_, str> {
    let acts = |c: char| c == '\u{7f}' || is_deceptive(c);
    if !json.contains(acts) {
        return Cow::Borrowed(json);
    }
    let mut shown = String::with_capacity(json.len() + 16);
    for c in json.chars() {
        match acts(c) {
            // Only inside strings can there be one.
            true => shown.extend(
                c.encode_utf16(&mut [0; 2])
                    .iter()
                    .map(|unit| format!("\\u{unit:04x}")),
            ),
            false => shown.push(c),
        }
    }
    Cow::Owned(shown)
}

impl ColourMode {
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
            Self::Light => worn(for_light_ground(style), &text),
            Self::Mono => worn(style.fg_color(None).bg_color(None), &text),
            Self::Plain => text.to_string(),
        }
    }
}

fn worn(style: Style, text: &dyn Display) -> String {
    format!("{style}{text}{style:#}")
}

/// Yellow and cyan cannot be read on white, and dimmed text hardly.
fn for_light_ground(style: Style) -> Style {
    let ansi = |colour| Some(anstyle::Color::Ansi(colour));
    let style = match style.get_fg_color() {
        Some(anstyle::Color::Ansi(AnsiColor::Yellow)) => style.fg_color(ansi(AnsiColor::Magenta)),
        Some(anstyle::Color::Ansi(AnsiColor::Cyan)) => style.fg_color(ansi(AnsiColor::Blue)),
        _ => style,
    };
    let dimmed = anstyle::Effects::DIMMED;
    match style.get_effects().contains(dimmed) {
        true => style
            .effects(style.get_effects().remove(dimmed))
            .fg_color(ansi(AnsiColor::BrightBlack)),
        false => style,
    }
}

/// A line on standard error, beside the output. Where that is closed nobody is left to be told.
pub fn print_beside(line: impl Display) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// A line on standard error that the next one is drawn over. One that cannot be drawn is missed by
/// nobody.
pub fn draw_beside(line: impl Display) {
    let _ = write!(io::stderr(), "{line}");
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
pub fn count_noun(number: usize, noun: &str) -> String {
    let number_shown = grouped(number);
    match noun.strip_suffix('y') {
        _ if number == 1 => format!("{number_shown} {noun}"),
        Some(stem) if !stem.ends_with(['a', 'e', 'o', 'u']) => format!("{number_shown} {stem}ies"),
        _ => format!("{number_shown} {noun}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::{count_noun, shorten, shown_json, spelled_out, visible_len, wrap};

    #[test]
    fn numbers_read_well() {
        assert_eq!(count_noun(1, "file"), "1 file");
        assert_eq!(count_noun(1200, "file"), "1,200 files");
        assert_eq!(count_noun(2, "entry"), "2 entries");
        assert_eq!(count_noun(2, "day"), "2 days");
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

    #[test]
    fn what_acts_on_a_terminal_is_spelled_out() {
        assert_eq!(spelled_out("a\u{202e}b\u{9b}2J"), "a\\u{202e}b\\u{9b}2J");
        assert_eq!(
            spelled_out("\u{1b}[1mé 👩‍👧\u{1b}[0m"),
            "\u{1b}[1mé 👩‍👧\u{1b}[0m"
        );
        let value = serde_json::json!({ "k\u{85}": "a\u{202e}b\u{e0041}\u{7f}é" });
        let text = value.to_string();
        let shown = shown_json(&text);
        assert!(!shown.contains(['\u{85}', '\u{202e}', '\u{e0041}', '\u{7f}']));
        let read: serde_json::Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(read, value);
    }
}
