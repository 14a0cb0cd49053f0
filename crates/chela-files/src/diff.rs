//! What changed between two texts, line by line.

use similar::{Algorithm, DiffTag, capture_diff_slices};

/// A line of the way from one text to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineChange<'t> {
    Same(&'t str),
    Removed(&'t str),
    Added(&'t str),
}

impl<'t> LineChange<'t> {
    /// As `diff` marks it.
    pub fn mark(self) -> char {
        match self {
            Self::Same(_) => ' ',
            Self::Removed(_) => '-',
            Self::Added(_) => '+',
        }
    }

    pub fn line(self) -> &'t str {
        match self {
            Self::Same(line) | Self::Removed(line) | Self::Added(line) => line,
        }
    }

    pub fn is_change(self) -> bool {
        !matches!(self, Self::Same(_))
    }
}

/// How the two sides are called in the head of a diff.
#[derive(Debug, Clone, Copy)]
pub struct DiffLabels<'a> {
    pub old: &'a str,
    pub new: &'a str,
}

/// Every line of both texts: kept, removed or added, what is removed before what comes for it.
/// Line ends are left out and not compared.
pub fn line_changes<'t>(old: &'t str, new: &'t str) -> Vec<LineChange<'t>> {
    compare_lines(
        &old.lines().collect::<Vec<_>>(),
        &new.lines().collect::<Vec<_>>(),
    )
}

/// The changes as `diff -u` writes them, with so many unchanged lines around each; empty when the
/// texts are the same to the byte.
pub fn unified_diff(labels: DiffLabels<'_>, old: &str, new: &str, context: usize) -> String {
    let lines = |text| str::split_inclusive(text, '\n').collect::<Vec<_>>();
    let changes = compare_lines(&lines(old), &lines(new));
    let changed: Vec<usize> = (0..)
        .zip(&changes)
        .filter(|(_, change)| change.is_change())
        .map(|(at, _)| at)
        .collect();
    if changed.is_empty() {
        return String::new();
    }
    let mut text = format!("--- {}\n+++ {}\n", labels.old, labels.new);
    // Changes whose surroundings meet are one hunk.
    for hunk in changed.chunk_by(|one, next| next - one <= 2 * context + 1) {
        let (Some(first), Some(last)) = (hunk.first(), hunk.last()) else {
            continue;
        };
        let end = (last + context + 1).min(changes.len());
        let (before, here) = changes
            .get(..end)
            .unwrap_or_default()
            .split_at(first.saturating_sub(context));
        let ((old_before, new_before), (old_here, new_here)) =
            (count_sides(before), count_sides(here));
        text.push_str(&format!(
            "@@ -{} +{} @@\n",
            hunk_range(old_before, old_here),
            hunk_range(new_before, new_here)
        ));
        for change in here {
            text.push(change.mark());
            text.push_str(change.line());
            if !change.line().ends_with('\n') {
                text.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
    text
}

fn compare_lines<'t>(old: &[&'t str], new: &[&'t str]) -> Vec<LineChange<'t>> {
    let mut changes = Vec::with_capacity(old.len().max(new.len()));
    for step in capture_diff_slices(Algorithm::Myers, old, new) {
        let (tag, before, after) = step.as_tag_tuple();
        let before = old.get(before).unwrap_or_default().iter();
        let after = new.get(after).unwrap_or_default().iter();
        match tag {
            DiffTag::Equal => changes.extend(before.map(|line| LineChange::Same(line))),
            DiffTag::Delete | DiffTag::Insert | DiffTag::Replace => {
                changes.extend(before.map(|line| LineChange::Removed(line)));
                changes.extend(after.map(|line| LineChange::Added(line)));
            }
        }
    }
    changes
}

/// How many of these lines stand in the old text and in the new one.
fn count_sides(changes: &[LineChange<'_>]) -> (usize, usize) {
    let of = |absent: char| {
        changes
            .iter()
            .filter(|change| change.mark() != absent)
            .count()
    };
    (of('+'), of('-'))
}

/// The first line and the number of lines; an empty range is named by the line before it.
fn hunk_range(before: usize, lines: usize) -> String {
    match lines {
        0 => format!("{before},0"),
        1 => format!("{}", before + 1),
        lines => format!("{},{lines}", before + 1),
    }
}

#[cfg(test)]
mod tests;
