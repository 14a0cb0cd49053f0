//! Moving a cut from where the room ends to where the text allows one.

use super::gauge::CutGauge;
use super::outline::{CodeFence, TextOutline};

/// How far a cut inside a line looks for white space.
const WORD_REACH: usize = 200;

pub struct CutPlacement<'a> {
    pub text: &'a str,
    pub outline: &'a TextOutline,
    pub gauge: CutGauge,
}

impl CutPlacement<'_> {
    /// The best end of a head that may begin at `floor` and reach to `reach`.
    pub fn head(&self, floor: usize, reach: usize) -> usize {
        if let Some(fence) = self.outline.fence_around(reach) {
            if !self.is_giant(fence) || reach < fence.opened {
                return fence.range.start.max(floor);
            }
            return self.line_before(fence.opened.max(floor), reach);
        }
        let near = reach - (reach - floor) / 8;
        match self.outline.heading_before(reach) {
            Some(heading) if heading >= near && heading > floor => heading,
            _ => self.line_before(floor, reach),
        }
    }

    /// The best start of a tail that may begin at `reach` and goes to `ceiling`. The head ends at
    /// `head`, maybe inside the fence in which the tail would begin.
    pub fn tail(&self, head: usize, reach: usize, ceiling: usize) -> usize {
        if let Some(fence) = self.outline.fence_around(reach) {
            let head_is_inside = fence.range.start < head && head < fence.range.end;
            if !head_is_inside || reach > fence.closing.start {
                return fence.range.end.min(ceiling);
            }
            return self.line_after(reach, fence.closing.start.min(ceiling));
        }
        let near = reach + (ceiling - reach) / 4;
        match self.outline.heading_after(reach) {
            Some(heading) if heading <= near && heading < ceiling => heading,
            _ => self.line_after(reach, ceiling),
        }
    }

    /// A fence that can only be kept in part.
    fn is_giant(&self, fence: &CodeFence) -> bool {
        !self.gauge.fits(&self.text[fence.range.clone()])
    }

    /// The start of the line at `reach`, or a place within it when it is too long for any head.
    fn line_before(&self, floor: usize, reach: usize) -> usize {
        let line = self.text[floor..reach]
            .rfind('\n')
            .map_or(floor, |at| floor + at + 1);
        let gains_little = reach - line <= (reach - floor) / 4;
        if gains_little || !self.is_long_line(reach) {
            return line;
        }
        let near = self
            .text
            .ceil_char_boundary(reach.saturating_sub(WORD_REACH).max(line));
        let end = line
            + self.text[line..reach]
                .trim_end_matches(|c: char| !c.is_whitespace())
                .len();
        let end = if end > near { end } else { reach };
        if is_structure(&self.text[line..end]) {
            line
        } else {
            end
        }
    }

    /// The start of the line after `reach`, or a place within the line when it is too long.
    fn line_after(&self, reach: usize, ceiling: usize) -> usize {
        if reach == 0 || self.text[..reach].ends_with('\n') {
            return reach;
        }
        let line = self.text[reach..ceiling]
            .find('\n')
            .map_or(ceiling, |at| reach + at + 1);
        let gains_little = line - reach <= (ceiling - reach) / 4;
        if gains_little || !self.is_long_line(reach) {
            return line;
        }
        let near = self
            .text
            .floor_char_boundary((reach + WORD_REACH).min(line));
        let word = self.text[reach..near]
            .find(char::is_whitespace)
            .map_or(reach, |at| reach + at);
        let start = line - self.text[word..line].trim_start().len();
        if is_structure(&self.text[start..line]) {
            line
        } else {
            start
        }
    }

    /// Whether the line at `at` is larger than the share of a head: only such a line is torn.
    fn is_long_line(&self, at: usize) -> bool {
        let start = self.text[..at].rfind('\n').map_or(0, |newline| newline + 1);
        let end = self.text[at..]
            .find('\n')
            .map_or(self.text.len(), |length| at + length);
        self.gauge
            .cost_within(&self.text[start..end], super::head_share(self.gauge.limit))
            .is_none()
    }
}

/// Part of a line that by itself would read as a fence, a heading or a comment.
fn is_structure(part: &str) -> bool {
    let part = part.trim_start();
    ["```", "~~~", "#", "<!--"]
        .iter()
        .any(|sign| part.starts_with(sign))
}
