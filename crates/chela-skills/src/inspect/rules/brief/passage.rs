//! Sentences, whole.

use std::ops::Range;

use super::hints::{BriefHint, HintCounts};
use crate::inspect::about::{self, LineStance};
use crate::inspect::rules::order;
use crate::inspect::scanned_file::{LineZone, ScannedFile, ScannedLine, begins_anew};
use crate::inspect::words::WordKinds;

/// Lines of a sentence that was broken to fit a page, as one; a line of code by itself.
pub(super) struct BriefPassage<'a> {
    pub(super) page: &'a ScannedFile,
    /// Its lines, each with where it begins.
    lines: Vec<(usize, &'a ScannedLine)>,
    text: String,
    words: WordKinds,
    about: LineStance,
}

pub(super) fn passages(page: &ScannedFile) -> Vec<BriefPassage<'_>> {
    let mut found: Vec<BriefPassage<'_>> = Vec::new();
    let mut last = 0;
    for line in &page.lines {
        let goes_on = line.zone == LineZone::Prose
            && line.number == last + 1
            && !is_of_head(&line.text)
            && !begins_anew(&line.text);
        last = line.number;
        match found
            .last_mut()
            .filter(|open| goes_on && open.zone() == LineZone::Prose && open.text != "---")
        {
            Some(open) => {
                open.text.push(' ');
                open.lines.push((open.text.len(), line));
                open.text.push_str(&line.text);
                open.words = open.words | line.words;
                open.about = open.about.max(line.about);
            }
            None => found.push(BriefPassage {
                page,
                lines: vec![(0, line)],
                text: line.text.clone(),
                words: line.words,
                about: line.about,
            }),
        }
    }
    found
}

/// `name: value`, as in the head of a skill.
fn is_of_head(line: &str) -> bool {
    line.split_once(':')
        .is_some_and(|(key, _)| !key.contains(' '))
}

impl<'a> BriefPassage<'a> {
    fn zone(&self) -> LineZone {
        self.lines
            .first()
            .map_or(LineZone::Code, |(_, line)| line.zone)
    }

    /// Whether it holds any word the rules watch for.
    pub(super) fn is_worth_a_look(&self) -> bool {
        !self.words.is_empty()
    }

    /// The line that shows a sign, unless it is only spoken of. One that is quoted first may be
    /// meant further down.
    pub(super) fn shows(&self, hint: &BriefHint) -> Option<&'a ScannedLine> {
        /// Quoted more often, it is a list of such things.
        const MOST: usize = 64;
        if !hint.pattern.is_in(&self.text) {
            return None;
        }
        let mut found = hint.pattern.regex()?.find_iter(&self.text).take(MOST);
        let meant = found.find(|found| self.is_meant(hint.counts, found.range()))?;
        let holds = self.lines.iter().rfind(|(at, _)| *at <= meant.start());
        holds.map(|(_, line)| *line)
    }

    /// Whether what stands there is done or ordered, rather than warned of or quoted.
    fn is_meant(&self, counts: HintCounts, range: Range<usize>) -> bool {
        let (before, after) = (
            self.text.get(..range.start).unwrap_or_default(),
            self.text.get(range.end..).unwrap_or_default(),
        );
        let ends = [". ", "! ", "? "];
        let from = ends
            .iter()
            .filter_map(|end| before.rfind(end))
            .max()
            .map_or(0, |at| at + 2);
        let to = ends
            .iter()
            .filter_map(|end| after.find(end))
            .min()
            .map_or(self.text.len(), |at| range.end + at);
        let sentence = self.text.get(from..to).unwrap_or_default();
        let done = match self.about {
            LineStance::Nothing => true,
            // A warning in one sentence is none in the next.
            LineStance::Warns => {
                counts == HintCounts::Ordered
                    || sentence.len() < self.text.len()
                        && about::of(sentence) == LineStance::Nothing
            }
            LineStance::Speaks => false,
        };
        // The quotes around a whole value of the head belong to its notation.
        let value = before.ends_with(": \"") && after.matches('"').count() == 1;
        let cited = before.matches('"').count() % 2 == 1 && after.contains('"') && !value;
        // In a program quotes are notation.
        let spoken_of = self.zone() == LineZone::Prose && (cited || order::is_quoted(sentence));
        done && !spoken_of
    }
}
