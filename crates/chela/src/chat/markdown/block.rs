//! One or more finished blocks as lines.

use anstyle::{AnsiColor, Style};
use pulldown_cmark::{Event, HeadingLevel, Parser, Tag, TagEnd};

use super::code::code_rows;
use super::table::MarkdownTable;
use crate::chat::ink::{StyledLine, look, without_tabs};
use crate::screen::ColourMode;

/// Blocks as lines no wider than `width`, a blank line between them.
pub fn render(source: &str, width: usize, paint: ColourMode) -> Vec<StyledLine> {
    let mut page = Page::new(width, paint);
    for event in Parser::new_ext(source, super::options()) {
        page.take(event);
    }
    page.end_paragraph();
    page.lines
}

/// A code block being read.
#[derive(Default)]
struct OpenCode {
    language: String,
    text: String,
}

struct Page {
    width: usize,
    paint: ColourMode,
    lines: Vec<StyledLine>,
    /// The paragraph being read, one entry for each line break in it.
    paragraph: Vec<StyledLine>,
    /// What stands left of each line: bars of quotes, indents of lists.
    margins: Vec<Margin>,
    styles: Vec<Style>,
    lists: Vec<Option<u64>>,
    code: Option<OpenCode>,
    table: Option<MarkdownTable>,
    link: Option<Link>,
    /// Whether the next block is set apart by a blank line.
    apart: bool,
}

enum Margin {
    Quote,
    /// The marker stands on the first line only.
    Item {
        marker: StyledLine,
        shown: bool,
    },
}

struct Link {
    url: String,
    text: String,
}

impl Page {
    fn new(width: usize, paint: ColourMode) -> Self {
        Self {
            width,
            paint,
            lines: Vec::new(),
            paragraph: Vec::new(),
            margins: Vec::new(),
            styles: vec![look::PLAIN],
            lists: Vec::new(),
            code: None,
            table: None,
            link: None,
            apart: false,
        }
    }

    fn take(&mut self, event: Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(tag),
            Event::Text(text) => match &mut self.code {
                Some(code) => code.text.push_str(&text),
                None => self.text(&text, self.style()),
            },
            Event::Code(text) => self.inline_code(&text),
            Event::SoftBreak | Event::HardBreak => self.break_line(),
            Event::Rule => {
                self.set_apart();
                let rule = "─".repeat(self.room().min(40));
                self.write(vec![StyledLine::new(rule, look::DIM)]);
                self.apart = true;
            }
            Event::Html(html) | Event::InlineHtml(html) => self.html(&html),
            Event::TaskListMarker(done) => {
                let mark = if done { "☑ " } else { "☐ " };
                self.text(mark, look::PLAIN);
            }
            Event::InlineMath(text) | Event::DisplayMath(text) => self.text(&text, look::CODE),
            Event::FootnoteReference(name) => self.text(&format!("[{name}]"), look::DIM),
        }
    }

    fn start(&mut self, tag: Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.set_apart(),
            Tag::Heading { level, .. } => {
                self.set_apart();
                self.styles.push(match level {
                    HeadingLevel::H1 => look::HEADING.underline(),
                    HeadingLevel::H2 => look::HEADING,
                    _ => look::BOLD,
                });
            }
            Tag::BlockQuote(_) => {
                self.end_paragraph();
                self.set_apart();
                self.margins.push(Margin::Quote);
                let style = self.style().italic();
                self.styles.push(style);
            }
            Tag::CodeBlock(kind) => {
                self.end_paragraph();
                self.set_apart();
                let language = match &kind {
                    pulldown_cmark::CodeBlockKind::Fenced(info) => info.split_whitespace().next(),
                    pulldown_cmark::CodeBlockKind::Indented => None,
                };
                self.code = Some(OpenCode {
                    language: language.unwrap_or_default().to_owned(),
                    text: String::new(),
                });
            }
            Tag::List(start) => {
                self.end_paragraph();
                if self.lists.is_empty() {
                    self.set_apart();
                }
                self.apart = false;
                self.lists.push(start);
            }
            Tag::Item => self.start_item(),
            Tag::Table(alignments) => {
                self.set_apart();
                self.table = Some(MarkdownTable::new(alignments));
            }
            Tag::TableRow | Tag::TableHead => {
                if let Some(table) = &mut self.table {
                    table.start_row();
                }
            }
            Tag::Emphasis => self.styles.push(self.style().italic()),
            Tag::Strong => self.styles.push(self.style().bold()),
            Tag::Strikethrough => self.styles.push(self.style().strikethrough()),
            Tag::Link { dest_url, .. } => {
                self.link = Some(Link {
                    url: dest_url.to_string(),
                    text: String::new(),
                });
                self.styles.push(self.style().underline());
            }
            Tag::Image { dest_url, .. } => {
                self.link = Some(Link {
                    url: dest_url.to_string(),
                    text: String::new(),
                });
                self.text("[image] ", look::DIM);
            }
            _ => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => {
                self.end_paragraph();
                self.apart = true;
            }
            TagEnd::Heading(_) => {
                self.end_paragraph();
                self.styles.pop();
                self.apart = true;
            }
            TagEnd::BlockQuote(_) => {
                self.end_paragraph();
                self.margins.pop();
                self.styles.pop();
                self.apart = true;
            }
            TagEnd::CodeBlock => {
                let code = self.code.take().unwrap_or_default();
                let room = self.room();
                for line in code.text.lines() {
                    self.write(code_rows(&without_tabs(line), &code.language, room));
                }
                self.apart = true;
            }
            TagEnd::List(_) => {
                self.lists.pop();
                self.apart = true;
            }
            TagEnd::Item => {
                self.end_paragraph();
                self.show_lone_marker();
                self.margins.pop();
                self.apart = false;
            }
            TagEnd::TableCell => {
                let cell = std::mem::take(&mut self.paragraph);
                if let Some(table) = &mut self.table {
                    table.cell(cell);
                }
            }
            TagEnd::Table => {
                if let Some(table) = self.table.take() {
                    let lines = table.lines(self.room());
                    self.write(lines);
                    self.apart = true;
                }
            }
            TagEnd::Emphasis | TagEnd::Strong | TagEnd::Strikethrough => {
                self.styles.pop();
            }
            TagEnd::Link => {
                self.styles.pop();
                self.end_link();
            }
            TagEnd::Image => self.end_link(),
            _ => {}
        }
    }

    /// The address follows the words, unless they are the same.
    fn end_link(&mut self) {
        if let Some(link) = self.link.take() {
            let bare = link.url.trim_start_matches("mailto:");
            if !link.url.is_empty() && link.text != link.url && link.text != bare {
                self.text(&format!(" ({})", link.url), look::DIM);
            }
        }
    }

    fn start_item(&mut self) {
        self.end_paragraph();
        let deep = self.lists.len();
        let marker = match self.lists.last_mut() {
            Some(Some(number)) => {
                let marker = format!("{number}. ");
                *number += 1;
                marker
            }
            _ => {
                let bullet = match deep.saturating_sub(1) % 3 {
                    0 => "•",
                    1 => "◦",
                    _ => "▪",
                };
                format!("{bullet} ")
            }
        };
        self.margins.push(Margin::Item {
            marker: StyledLine::new(marker, Style::new().fg_color(Some(AnsiColor::Cyan.into()))),
            shown: false,
        });
        self.apart = false;
    }

    fn style(&self) -> Style {
        self.styles.last().copied().unwrap_or_default()
    }

    fn text(&mut self, text: &str, style: Style) {
        if let Some(link) = &mut self.link {
            link.text.push_str(text);
        }
        for (at, part) in text.split('\n').enumerate() {
            if at > 0 {
                self.break_line();
            }
            if self.paragraph.is_empty() {
                self.paragraph.push(StyledLine::default());
            }
            if let Some(line) = self.paragraph.last_mut() {
                line.push(&without_tabs(part), style);
            }
        }
    }

    /// Colour tells code apart; the backticks stay for those who see none.
    fn inline_code(&mut self, text: &str) {
        let style = self.style().fg_color(Some(AnsiColor::Cyan.into()));
        match self.paint {
            ColourMode::Colour | ColourMode::Light => self.text(text, style),
            ColourMode::Mono | ColourMode::Plain => self.text(&format!("`{text}`"), style),
        }
    }

    fn html(&mut self, html: &str) {
        let hidden = html.trim_start().starts_with("<!--");
        if !hidden {
            self.text(html.trim_end_matches('\n'), look::DIM);
        }
    }

    fn break_line(&mut self) {
        if self.paragraph.is_empty() {
            self.paragraph.push(StyledLine::default());
        }
        self.paragraph.push(StyledLine::default());
    }

    fn set_apart(&mut self) {
        if self.apart && !self.lines.is_empty() {
            let mut blank = StyledLine::default();
            for margin in &self.margins {
                if let Margin::Quote = margin {
                    blank.push("▌ ", look::DIM);
                }
            }
            self.lines.push(blank);
        }
        self.apart = false;
    }

    fn end_paragraph(&mut self) {
        let paragraph = std::mem::take(&mut self.paragraph);
        if paragraph.is_empty() || paragraph.iter().all(StyledLine::is_empty) {
            return;
        }
        let width = self.width;
        for line in paragraph {
            let (first, rest) = self.margin();
            let wrapped = line.wrap(width, &first, &rest);
            self.lines.extend(wrapped);
        }
    }

    /// Lines that are laid out already, put behind the margin.
    fn write(&mut self, lines: Vec<StyledLine>) {
        for line in lines {
            let (mut first, _) = self.margin();
            first.append(&line);
            self.lines.push(first);
        }
    }

    fn show_lone_marker(&mut self) {
        if matches!(self.margins.last(), Some(Margin::Item { shown: false, .. })) {
            let (first, _) = self.margin();
            self.lines.push(first);
        }
    }

    fn room(&self) -> usize {
        let taken: usize = self
            .margins
            .iter()
            .map(|margin| match margin {
                Margin::Quote => 2,
                Margin::Item { marker, .. } => marker.width(),
            })
            .sum();
        self.width - taken.min(self.widest_margin())
    }

    /// However deep lists go, a few columns are left for the words.
    fn widest_margin(&self) -> usize {
        self.width.saturating_sub(4)
    }

    /// What stands left of the next line, and of those it goes on in.
    fn margin(&mut self) -> (StyledLine, StyledLine) {
        let mut first = StyledLine::default();
        let mut rest = StyledLine::default();
        for margin in &mut self.margins {
            match margin {
                Margin::Quote => {
                    first.push("▌ ", look::DIM);
                    rest.push("▌ ", look::DIM);
                }
                Margin::Item { marker, shown } => {
                    let indent = " ".repeat(marker.width());
                    if *shown {
                        first.push(&indent, look::PLAIN);
                    } else {
                        first.append(marker);
                        *shown = true;
                    }
                    rest.push(&indent, look::PLAIN);
                }
            }
        }
        let most = self.widest_margin();
        (first.clip(most), rest.clip(most))
    }
}
