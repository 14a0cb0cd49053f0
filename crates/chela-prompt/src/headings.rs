//! Headings that only the prompt itself should have.

use crate::SectionId;
use crate::render::usual_heading;

/// Headings that depend on the input, and stand in no row as they are.
const CHOSEN: [&str; 5] = [
    "# Project Context",
    "# Dynamic Project Context",
    "## Group Chat Context",
    "## Subagent Context",
    "## Additional Instructions",
];

/// A line of a text that a model could take for the beginning of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BorrowedHeading<'t> {
    /// From 1.
    pub line: u32,
    pub heading: &'t str,
}

/// The headings in a text that read like those of the prompt, code left out.
pub fn borrowed_headings(text: &str) -> Vec<BorrowedHeading<'_>> {
    let mut found = Vec::new();
    let mut fence: Option<&str> = None;
    for (line, shown) in (1..).zip(text.lines()) {
        let trimmed = shown.trim_start();
        let mark = ["```", "~~~"]
            .into_iter()
            .find(|mark| trimmed.starts_with(mark));
        match (fence, mark) {
            (None, Some(mark)) => fence = Some(mark),
            (Some(open), Some(mark)) if open == mark => fence = None,
            (None, None) if is_ours(trimmed) => found.push(BorrowedHeading {
                line,
                heading: trimmed.trim_end(),
            }),
            _ => {}
        }
    }
    found
}

/// Whether a line is a heading of the first two levels with the title of a section.
fn is_ours(line: &str) -> bool {
    let title = line.trim_start_matches('#');
    let level = line.len() - title.len();
    let title = title.trim().trim_end_matches('#').trim_end();
    let ours = SectionId::ALL.into_iter().filter_map(usual_heading);
    (1..=2).contains(&level)
        && ours.chain(CHOSEN).any(|heading| {
            heading
                .trim_start_matches('#')
                .trim()
                .eq_ignore_ascii_case(title)
        })
}

#[cfg(test)]
mod tests {
    use super::borrowed_headings;

    #[test]
    fn titles_of_sections_are_known_at_their_level_outside_of_code() {
        let text = "# Notes\n## Safety\nx\n### Safety\n```\n## Runtime\n```\n  ##  authorized senders ##\n";
        let found: Vec<_> = borrowed_headings(text)
            .iter()
            .map(|found| (found.line, found.heading))
            .collect();
        assert_eq!(found, [(2, "## Safety"), (8, "##  authorized senders ##")]);
    }
}
