//! Lines of styled text that know how wide they are.

use anstyle::{AnsiColor, Style};
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use crate::screen::ColourMode;

/// How text looks in the chat.
pub mod look {
    use super::{AnsiColor, Style};

    pub const PLAIN: Style = Style::new();
    pub const BOLD: Style = Style::new().bold();
    pub const DIM: Style = Style::new().dimmed();
    pub const HEADING: Style = Style::new()
        .bold()
        .fg_color(Some(anstyle::Color::Ansi(AnsiColor::Cyan)));
    pub const CODE: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Cyan)));
    pub const GOOD: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Green)));
    pub const WARN: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Yellow)));
    pub const BAD: Style = Style::new().fg_color(Some(anstyle::Color::Ansi(AnsiColor::Red)));
    pub const PERSON: Style = Style::new()
        .bold()
        .fg_color(Some(anstyle::Color::Ansi(AnsiColor::Green)));
    pub const AGENT: Style = Style::new()
        .bold()
        .fg_color(Some(anstyle::Color::Ansi(AnsiColor::Magenta)));
}

/// A line, as runs of text that look alike.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct StyledLine {
    runs: Vec<(String, Style)>,
}

impl StyledLine {
    pub fn new(text: impl Into<String>, style: Style) -> Self {
        let mut line = Self::default();
        line.push(&text.into(), style);
        line
    }

    pub fn push(&mut self, text: &str, style: Style) {
        if text.is_empty() {
            return;
        }
        match self.runs.last_mut() {
            Some((last, same)) if *same == style => last.push_str(text),
            _ => self.runs.push((text.to_owned(), style)),
        }
    }

    #[must_use]
    pub fn with(mut self, text: &str, style: Style) -> Self {
        self.push(text, style);
        self
    }

    pub fn append(&mut self, other: &Self) {
        for (text, style) in &other.runs {
            self.push(text, *style);
        }
    }

    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// How its first words look.
    pub fn first_style(&self) -> Style {
        self.runs.first().map_or(look::PLAIN, |(_, style)| *style)
    }

    /// Columns it takes.
    pub fn width(&self) -> usize {
        self.runs.iter().map(|(text, _)| count_columns(text)).sum()
    }

    /// The words alone.
    pub fn text(&self) -> String {
        self.runs.iter().map(|(text, _)| text.as_str()).collect()
    }

    /// As it is written to a terminal.
    pub fn ansi(&self, paint: ColourMode) -> String {
        self.runs
            .iter()
            .map(|(text, style)| {
                if *style == look::PLAIN {
                    text.clone()
                } else {
                    paint.wear(*style, text)
                }
            })
            .collect()
    }

    /// Cut to `width` columns, the end replaced by `…`.
    #[must_use]
    pub fn cut(&self, width: usize) -> Self {
        if self.width() <= width {
            return self.clone();
        }
        let short = self.clip(width.saturating_sub(1));
        short.with("…", look::DIM)
    }

    /// The first `width` columns.
    #[must_use]
    pub fn clip(&self, width: usize) -> Self {
        let mut clipped = Self::default();
        let mut room = width;
        for (grapheme, style) in self.graphemes() {
            let wide = count_columns(grapheme);
            if wide > room {
                break;
            }
            room -= wide;
            clipped.push(grapheme, style);
        }
        clipped
    }

    /// Broken at blanks, and between wide characters, so that no line takes more than `width`
    /// columns. The first line begins with `first`, the others with `rest`.
    pub fn wrap(&self, width: usize, first: &Self, rest: &Self) -> Vec<Self> {
        let mut wrapping = Wrapping {
            width,
            rest,
            lines: Vec::new(),
            line: first.clone(),
            at: first.width(),
            blank: None,
            word: Vec::new(),
            word_width: 0,
        };
        for (grapheme, style) in self.graphemes() {
            wrapping.take(grapheme, style);
        }
        wrapping.finish()
    }

    fn graphemes(&self) -> impl Iterator<Item = (&str, Style)> {
        self.runs
            .iter()
            .flat_map(|(text, style)| text.graphemes(true).map(|grapheme| (grapheme, *style)))
    }
}

/// Columns a text takes on a terminal.
pub fn count_columns(text: &str) -> usize {
    text.width()
}

/// Tabs as blanks: a terminal's own stops know nothing of gutters.
pub fn without_tabs(text: &str) -> String {
    if !text.contains('\t') {
        return text.to_owned();
    }
    let mut spread = String::new();
    for (at, part) in text.split('\t').enumerate() {
        if at > 0 {
            let to_stop = 4 - count_columns(&spread) % 4;
            spread.extend(std::iter::repeat_n(' ', to_stop));
        }
        spread.push_str(part);
    }
    spread
}

struct Wrapping<'a> {
    width: usize,
    rest: &'a StyledLine,
    lines: Vec<StyledLine>,
    line: StyledLine,
    /// Columns of `line`.
    at: usize,
    /// A blank that is written only if something follows on the same line.
    blank: Option<(String, Style)>,
    word: Vec<(&'a str, Style)>,
    word_width: usize,
}

impl<'a> Wrapping<'a> {
    fn take(&mut self, grapheme: &'a str, style: Style) {
        if grapheme == " " {
            self.end_word();
            match &mut self.blank {
                Some((blank, _)) => blank.push(' '),
                None => self.blank = Some((" ".to_owned(), style)),
            }
            return;
        }
        let wide = count_columns(grapheme);
        // Scripts without blanks break anywhere.
        if wide > 1 {
            self.end_word();
            self.word.push((grapheme, style));
            self.word_width = wide;
            self.end_word();
            return;
        }
        self.word.push((grapheme, style));
        self.word_width += wide;
    }

    fn end_word(&mut self) {
        if self.word.is_empty() {
            return;
        }
        let word = std::mem::take(&mut self.word);
        let width = std::mem::take(&mut self.word_width);
        let blank = self.blank.take();
        let blank_width = blank.as_ref().map_or(0, |(blank, _)| blank.len());
        if self.at + blank_width + width <= self.width {
            if let Some((blank, style)) = blank {
                self.line.push(&blank, style);
                self.at += blank_width;
            }
        } else if self.at > self.rest.width() || !self.lines.is_empty() && blank_width > 0 {
            self.break_line();
        }
        for (grapheme, style) in word {
            let wide = count_columns(grapheme);
            if self.at + wide > self.width && self.at > self.rest.width() {
                self.break_line();
            }
            self.line.push(grapheme, style);
            self.at += wide;
        }
    }

    fn break_line(&mut self) {
        let next = self.rest.clone();
        self.at = next.width();
        self.lines.push(std::mem::replace(&mut self.line, next));
    }

    fn finish(mut self) -> Vec<StyledLine> {
        self.end_word();
        self.lines.push(self.line);
        self.lines
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{StyledLine, count_columns, look, without_tabs};

    fn wrapped(text: &str, width: usize) -> Vec<String> {
        let none = StyledLine::default();
        StyledLine::new(text, look::PLAIN)
            .wrap(width, &none, &none)
            .iter()
            .map(StyledLine::text)
            .collect()
    }

    #[test]
    fn words_wrap_and_long_ones_break() {
        assert_eq!(wrapped("one two three", 7), ["one two", "three"]);
        assert_eq!(wrapped("abcdefghij", 4), ["abcd", "efgh", "ij"]);
        assert_eq!(wrapped("漢字漢字 ok", 6), ["漢字漢", "字 ok"]);
        assert_eq!(wrapped("", 10), [""]);
    }

    #[test]
    fn hanging_lines_start_where_they_should() {
        let lines = StyledLine::new("one two three", look::PLAIN).wrap(
            8,
            &StyledLine::new("- ", look::DIM),
            &StyledLine::new("  ", look::PLAIN),
        );
        let text: Vec<String> = lines.iter().map(StyledLine::text).collect();
        assert_eq!(text, ["- one", "  two", "  three"]);
    }

    #[test]
    fn cut_and_tabs() {
        assert_eq!(
            StyledLine::new("漢字漢字", look::PLAIN).cut(6).text(),
            "漢字…"
        );
        assert_eq!(without_tabs("a\tb"), "a   b");
    }

    proptest! {
        #[test]
        fn no_line_is_too_wide_and_nothing_is_lost(
            text in "[a-z 漢é👍\u{301}]{0,80}", width in 2usize..30,
        ) {
            let lines = wrapped(&text, width);
            for line in &lines {
                prop_assert!(count_columns(line) <= width, "{line:?}");
            }
            let letters = |text: &str| text.chars().filter(|c| *c != ' ').collect::<String>();
            prop_assert_eq!(letters(&lines.concat()), letters(&text));
        }
    }
}
