//! Tables: columns where they fit, cells that wrap, and a list of rows where nothing fits.

use pulldown_cmark::Alignment;

use crate::chat::ink::{StyledLine, look};

/// A table being read; the first row is the head.
pub struct MarkdownTable {
    alignments: Vec<Alignment>,
    rows: Vec<Vec<StyledLine>>,
}

/// Between two columns.
const GAP: usize = 2;
/// Columns narrower than this are not columns.
const NARROWEST: usize = 5;

impl MarkdownTable {
    pub fn new(alignments: Vec<Alignment>) -> Self {
        Self {
            alignments,
            rows: Vec::new(),
        }
    }

    pub fn start_row(&mut self) {
        self.rows.push(Vec::new());
    }

    pub fn cell(&mut self, lines: Vec<StyledLine>) {
        let mut cell = StyledLine::default();
        for (at, line) in lines.iter().enumerate() {
            if at > 0 {
                cell.push(" ", look::PLAIN);
            }
            cell.append(line);
        }
        if let Some(row) = self.rows.last_mut() {
            row.push(cell);
        }
    }

    pub fn lines(&self, width: usize) -> Vec<StyledLine> {
        match self.widths(width) {
            Some(widths) => self.columns(&widths),
            None => self.records(width),
        }
    }

    /// The width of each column; `None` when they do not fit beside each other.
    fn widths(&self, width: usize) -> Option<Vec<usize>> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let mut widths: Vec<usize> = (0..columns)
            .map(|at| {
                let cells = self.rows.iter().filter_map(|row| row.get(at));
                cells.map(StyledLine::width).max().unwrap_or(0).max(1)
            })
            .collect();
        let room = width.checked_sub(GAP * columns.saturating_sub(1))?;
        // The widest give way first.
        while widths.iter().sum::<usize>() > room {
            let widest = widths.iter().copied().max()?;
            if widest <= NARROWEST {
                return None;
            }
            if let Some(column) = widths.iter_mut().find(|column| **column == widest) {
                *column -= 1;
            }
        }
        Some(widths)
    }

    fn columns(&self, widths: &[usize]) -> Vec<StyledLine> {
        let mut lines = Vec::new();
        for (at, row) in self.rows.iter().enumerate() {
            let none = StyledLine::default();
            let cells: Vec<Vec<StyledLine>> = widths
                .iter()
                .enumerate()
                .map(|(column, width)| match row.get(column) {
                    Some(cell) if at == 0 => bold(cell).wrap(*width, &none, &none),
                    Some(cell) => cell.wrap(*width, &none, &none),
                    None => vec![none.clone()],
                })
                .collect();
            let height = cells.iter().map(Vec::len).max().unwrap_or(0);
            for depth in 0..height {
                lines.push(self.across(&cells, widths, depth));
            }
            if at == 0 {
                lines.push(rule(widths));
            }
        }
        lines
    }

    fn across(&self, cells: &[Vec<StyledLine>], widths: &[usize], depth: usize) -> StyledLine {
        let mut line = StyledLine::default();
        for (column, width) in widths.iter().enumerate() {
            let blank = StyledLine::default();
            let part = cells.get(column).and_then(|cell| cell.get(depth));
            let part = part.unwrap_or(&blank);
            let space = width.saturating_sub(part.width());
            let left = match self.alignments.get(column) {
                Some(Alignment::Right) => space,
                Some(Alignment::Center) => space / 2,
                _ => 0,
            };
            line.push(&" ".repeat(left), look::PLAIN);
            line.append(part);
            if column + 1 < widths.len() {
                line.push(&" ".repeat(space - left + GAP), look::PLAIN);
            }
        }
        line
    }

    /// Each row as `head: cell` lines.
    fn records(&self, width: usize) -> Vec<StyledLine> {
        let blank = StyledLine::default();
        let head = self.rows.first().cloned().unwrap_or_default();
        let mut lines = Vec::new();
        for (at, row) in self.rows.iter().skip(1).enumerate() {
            if at > 0 {
                lines.push(rule(&[width.min(12)]));
            }
            for (column, cell) in row.iter().enumerate() {
                let mut first = bold(head.get(column).unwrap_or(&blank));
                first.push(": ", look::DIM);
                first.append(cell);
                lines.extend(first.wrap(width, &blank, &StyledLine::new("  ", look::PLAIN)));
            }
        }
        lines
    }
}

fn rule(widths: &[usize]) -> StyledLine {
    let parts: Vec<String> = widths.iter().map(|width| "─".repeat(*width)).collect();
    StyledLine::new(parts.join(&" ".repeat(GAP)), look::DIM)
}

fn bold(line: &StyledLine) -> StyledLine {
    StyledLine::new(line.text(), look::BOLD)
}
