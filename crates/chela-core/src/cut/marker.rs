//! The line that stands where something was cut.

use super::{CutLimit, CutRequest, DroppedPart};
use crate::sanitize;

/// How much a marker says. Small limits get small markers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MarkerDetail {
    /// File, lines, size, headings, and how to read them.
    Full,
    /// File and lines to read.
    Short,
    /// That something is missing.
    Dots,
}

const LONGEST_NAME: usize = 160;
const LONGEST_HEADING: usize = 40;
const MOST_HEADINGS: usize = 5;
const DOTS: &str = "[…]";

impl MarkerDetail {
    /// What a marker usually costs; the exact cost is known once the cut is.
    pub fn usual_cost(self, request: &CutRequest<'_>) -> usize {
        const FULL_CHARS: usize = 150;
        const SHORT_CHARS: usize = 40;
        let name = shortened(request.name, LONGEST_NAME).chars().count();
        let chars = match self {
            Self::Full => FULL_CHARS + 2 * name,
            Self::Short => SHORT_CHARS + name,
            Self::Dots => DOTS.chars().count() + 2,
        };
        match request.limit {
            CutLimit::Chars(_) => chars,
            CutLimit::Tokens(_) => chars.div_ceil(3),
        }
    }

    /// The part of a limit that markers of this detail may take.
    pub fn largest_share(self, limit: usize) -> usize {
        match self {
            Self::Full => limit / super::MARKER_SHARE,
            Self::Short => limit / 3,
            Self::Dots => limit,
        }
    }
}

pub fn text(name: &str, part: &DroppedPart, detail: MarkerDetail) -> String {
    if detail == MarkerDetail::Dots {
        return DOTS.to_owned();
    }
    let name = shortened(name, LONGEST_NAME);
    let (first, last) = (part.lines.start(), part.lines.end());
    let lines = if first == last {
        format!("line {first}")
    } else {
        format!("lines {first}-{last}")
    };
    match detail {
        MarkerDetail::Full => {
            let headings = headings(&part.headings);
            let chars = part.chars;
            format!(
                "[Cut from {name}: {lines}, {chars} characters{headings}. To see them: read {name}, {lines}.]"
            )
        }
        _ => format!("[Cut: read {name}, {lines}]"),
    }
}

fn headings(headings: &[String]) -> String {
    let mut list = String::new();
    for (at, heading) in headings.iter().take(MOST_HEADINGS).enumerate() {
        list.push_str(if at == 0 {
            ", with the headings “"
        } else {
            "”, “"
        });
        list.push_str(&shortened(heading, LONGEST_HEADING));
    }
    match headings.len() {
        0 => {}
        1..=MOST_HEADINGS => list.push('”'),
        many => list.push_str(&format!("” and {} more", many - MOST_HEADINGS)),
    }
    list
}

/// A value on one line, its end left out when it is too long.
fn shortened(value: &str, most: usize) -> String {
    let value = sanitize::literal(value);
    match value.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &value[..end]),
        None => value.into_owned(),
    }
}
