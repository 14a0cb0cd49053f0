//! Hits put together as they are shown: neighbours become one excerpt.

use chela_core::{Audience, Trust};

use super::{ScoreParts, SearchHit};
use crate::day::CalendarDay;
use crate::settings::QuerySettings;

/// Lines of one file, with what made them worth showing.
#[derive(Debug, Clone, PartialEq)]
pub struct FileExcerpt {
    pub label: String,
    pub start_line: u32,
    pub end_line: u32,
    pub heading: String,
    pub date: Option<CalendarDay>,
    pub text: String,
    pub trust: Trust,
    pub audience: Audience,
    /// Of the best hit in it.
    pub score: f32,
    pub explain: ScoreParts,
    /// What says something newer of the same, as it is cited.
    pub replaced_by: Option<String>,
    slots: (usize, usize),
}

/// How much may be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ExcerptBudget {
    /// Characters of text in all.
    pub chars: usize,
    /// Excerpts, however short.
    pub results: usize,
    /// No excerpt grows beyond this by merging.
    pub longest: usize,
}

/// No excerpt grows beyond this by merging.
const EXCERPT_CHARS: usize = 1_600;
/// A hit is seldom shorter than this.
const CHARS_PER_HIT: usize = 40;

impl ExcerptBudget {
    /// As the settings say.
    pub fn of(settings: &QuerySettings) -> Self {
        Self {
            chars: settings.max_chars,
            results: settings.max_results.unwrap_or(usize::MAX),
            longest: EXCERPT_CHARS,
        }
    }

    /// How many hits are ranked to fill it: neighbours among them are merged.
    pub fn hits(&self) -> usize {
        let by_results = self.results.saturating_mul(4);
        by_results.min(self.chars / CHARS_PER_HIT).clamp(24, 400)
    }
}

/// A neighbour joins when it is at least this good beside what it joins.
const WORTH_JOINING: f32 = 0.5;
/// So many that do not fit are passed over for shorter ones behind them.
const MOST_PASSED: usize = 8;

/// Puts hits, in the order they come in, together into excerpts.
pub fn excerpts(hits: &[SearchHit], budget: ExcerptBudget) -> Vec<FileExcerpt> {
    let mut shown: Vec<FileExcerpt> = Vec::new();
    let (mut used, mut passed) = (0, 0);
    for hit in hits {
        let length = hit.text.chars().count();
        // The best is shown whatever its length.
        if used + length > budget.chars && used > 0 {
            passed += 1;
            if passed > MOST_PASSED {
                break;
            }
            continue;
        }
        let beside = shown.iter_mut().position(|excerpt| {
            excerpt.label == hit.label
                && hit.score >= excerpt.score * WORTH_JOINING
                && excerpt.text.chars().count() + length < budget.longest
                && excerpt.replaced_by == hit.replaced_by
                && (hit.slot + 1 == excerpt.slots.0 || hit.slot == excerpt.slots.1 + 1)
        });
        match beside {
            Some(at) => {
                if let Some(excerpt) = shown.get_mut(at) {
                    excerpt.join(hit);
                }
                // It may now touch another one.
                close_gaps(&mut shown, at, budget.longest);
            }
            None if shown.len() < budget.results => shown.push(FileExcerpt::of(hit)),
            None => continue,
        }
        used += length;
    }
    shown
}

fn close_gaps(shown: &mut Vec<FileExcerpt>, at: usize, longest: usize) {
    let Some(here) = shown.get(at).cloned() else {
        return;
    };
    let other = shown.iter().position(|other| {
        other.label == here.label
            && other.replaced_by == here.replaced_by
            && (other.slots.1 + 1 == here.slots.0 || here.slots.1 + 1 == other.slots.0)
            && other.text.chars().count() + here.text.chars().count() < longest
    });
    if let Some(other) = other {
        let (first, second) = (at.min(other), at.max(other));
        let later = shown.remove(second);
        if let Some(first) = shown.get_mut(first) {
            first.absorb(later);
        }
    }
}

impl FileExcerpt {
    fn of(hit: &SearchHit) -> Self {
        Self {
            label: hit.label.clone(),
            start_line: hit.start_line,
            end_line: hit.end_line,
            heading: hit.heading.clone(),
            date: hit.date,
            text: hit.text.clone(),
            trust: hit.trust,
            audience: hit.audience,
            score: hit.score,
            explain: hit.explain,
            replaced_by: hit.replaced_by.clone(),
            slots: (hit.slot, hit.slot),
        }
    }

    fn join(&mut self, hit: &SearchHit) {
        self.absorb(Self::of(hit));
    }

    fn absorb(&mut self, other: Self) {
        let (first, second) = if other.slots.0 < self.slots.0 {
            (&other, &*self)
        } else {
            (&*self, &other)
        };
        // A blank line between them in the file is one here too.
        let gap = if second.start_line > first.end_line + 1 {
            "\n\n"
        } else {
            "\n"
        };
        let gap = if second.start_line == first.end_line {
            ""
        } else {
            gap
        };
        self.text = format!("{}{gap}{}", first.text, second.text);
        self.trust = self.trust.join(other.trust);
        self.audience = self.audience.min(other.audience);
        self.start_line = self.start_line.min(other.start_line);
        self.end_line = self.end_line.max(other.end_line);
        self.slots = (
            self.slots.0.min(other.slots.0),
            self.slots.1.max(other.slots.1),
        );
        if other.score > self.score {
            (self.score, self.explain) = (other.score, other.explain);
        }
    }

    /// `memory/2026-03-04.md#L10-L14`.
    pub fn citation(&self) -> String {
        if self.start_line == self.end_line {
            format!("{}#L{}", self.label, self.start_line)
        } else {
            format!("{}#L{}-L{}", self.label, self.start_line, self.end_line)
        }
    }
}
