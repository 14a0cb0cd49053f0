//! Cleaning text before it is placed in a prompt (placeholder of the content form).

use std::borrow::Cow;
use unicode_general_category::{GeneralCategory, get_general_category};

/// A value made fit to stand inside one line of a sentence: control, format, line-separating
/// and tag characters are gone.
pub fn literal(value: &str) -> Cow<'_, str> {
    if value.chars().all(|c| !is_unfit_in_a_line(c)) {
        Cow::Borrowed(value)
    } else {
        Cow::Owned(value.chars().filter(|c| !is_unfit_in_a_line(*c)).collect())
    }
}

fn is_unfit_in_a_line(c: char) -> bool {
    matches!(
        get_general_category(c),
        GeneralCategory::Control
            | GeneralCategory::Format
            | GeneralCategory::LineSeparator
            | GeneralCategory::ParagraphSeparator
    ) || ('\u{E0000}'..='\u{E007F}').contains(&c)
}

/// What [`content`] took out of a text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Removed {
    pub tags: usize,
    pub bidi: usize,
    pub zero_width: usize,
    pub control: usize,
    pub selectors: usize,
    /// Whether the text began with a byte order mark; that alone is no finding.
    pub byte_order_mark: bool,
    /// The first lines, from 1, in which something was found; at most eight.
    pub first_lines: Vec<u32>,
}

impl Removed {
    pub fn total(&self) -> usize {
        self.tags + self.bidi + self.zero_width + self.control + self.selectors
    }
}

/// File content without the invisible characters that can hide instructions.
pub fn content(text: &str) -> (Cow<'_, str>, Removed) {
    (Cow::Borrowed(text), Removed::default())
}
