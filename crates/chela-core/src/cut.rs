//! Cutting a text to a limit without tearing it.
//!
//! Of a text that is too long about seven tenths of the limit stay from its head and two tenths
//! from its tail; the rest is for a marker that names the file, what is missing and how to read
//! it. Cuts fall before a heading where one is near, else between lines; inside a line only when
//! that line alone is larger than its share. A code fence is kept whole or left out whole, unless
//! it is larger than the limit: then lines go from its middle and the marker stands inside it.
//!
//! What is pinned stays (module `outline` says what is); every gap between kept parts has a marker of its own.
//! The result never exceeds the limit. Should the pinned text alone be larger, as many pinned
//! parts stay as fit, in order, and [`PinOutcome::OverLimit`] says so.

mod gauge;
mod marker;
mod outline;
mod settle;

use std::borrow::Cow;
use std::ops::{Range, RangeInclusive};

use gauge::CutGauge;
use marker::MarkerDetail;
use outline::TextOutline;

/// How much of a text may stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CutLimit {
    /// Unicode scalar values.
    Chars(usize),
    /// Tokens of the o200k vocabulary.
    Tokens(usize),
}

/// A text to be cut, the name it is known by and what must not be lost.
#[derive(Debug, Clone, Copy)]
pub struct CutRequest<'a> {
    pub name: &'a str,
    pub text: &'a str,
    /// The line of the file at which the text begins: 1, unless something before it was left out.
    pub first_line: u32,
    pub limit: CutLimit,
    /// Headings whose sections survive every cut; case and leading `#` do not matter.
    pub pinned_headings: &'a [String],
}

/// What is left of a text, and what is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CutText<'a> {
    pub text: Cow<'a, str>,
    /// Length of the whole text before the cut.
    pub raw_chars: usize,
    /// The gaps, in order; empty when the text fitted.
    pub dropped: Vec<DroppedPart>,
    pub pinned: PinOutcome,
}

/// One gap in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DroppedPart {
    /// Line numbers, from 1. The first and last line may be missing only in part.
    pub lines: RangeInclusive<u32>,
    pub chars: usize,
    /// The headings in the gap, at most [`DroppedPart::MOST_HEADINGS`].
    pub headings: Vec<String>,
}

impl DroppedPart {
    pub const MOST_HEADINGS: usize = 64;
}

/// Whether everything pinned is still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PinOutcome {
    Kept,
    /// The pinned text alone is larger than the limit; a limit of `needed` would hold it.
    OverLimit {
        needed: usize,
    },
}

/// Cuts the text to its limit. A text that fits comes back as it is, without a copy.
pub fn cut<'a>(request: &CutRequest<'a>) -> CutText<'a> {
    let gauge = CutGauge::new(request.limit);
    let raw_chars = request.text.chars().count();
    let fits = match request.limit {
        CutLimit::Chars(limit) => raw_chars <= limit,
        CutLimit::Tokens(_) => gauge.fits(request.text),
    };
    if fits {
        return CutText {
            text: Cow::Borrowed(request.text),
            raw_chars,
            dropped: Vec::new(),
            pinned: PinOutcome::Kept,
        };
    }
    let mut outline = TextOutline::read(request.text, request.pinned_headings);
    let needed = gauge.cost(&join(request.text, &outline.pins));
    let pinned = if needed <= gauge.limit {
        PinOutcome::Kept
    } else {
        outline.pins = fitting_pins(request.text, &outline.pinned_parts, gauge);
        PinOutcome::OverLimit { needed }
    };
    let cutter = Cutter {
        request,
        gauge,
        outline: &outline,
    };
    let (text, dropped) = [MarkerDetail::Full, MarkerDetail::Short, MarkerDetail::Dots]
        .into_iter()
        .find_map(|detail| cutter.with_markers(detail))
        .unwrap_or_else(|| cutter.pins_alone());
    CutText {
        text: Cow::Owned(text),
        raw_chars,
        dropped,
        pinned,
    }
}

fn head_share(limit: usize) -> usize {
    limit - limit / TAIL_SHARE - limit / MARKER_SHARE
}

/// One part in five for the tail, one in ten for markers.
const TAIL_SHARE: usize = 5;
const MARKER_SHARE: usize = 10;

/// As many pins as fit, the earlier ones first.
fn fitting_pins(text: &str, pins: &[Range<usize>], gauge: CutGauge) -> Vec<Range<usize>> {
    let mut kept: Vec<Range<usize>> = Vec::new();
    let mut cost = 0;
    for pin in pins {
        // One more for the line break that may be needed between two of them.
        let more = gauge.cost(&text[pin.clone()]) + 1;
        if cost + more <= gauge.limit {
            cost += more;
            kept.push(pin.clone());
        }
    }
    merged(kept)
}

struct Cutter<'r, 'a> {
    request: &'r CutRequest<'a>,
    gauge: CutGauge,
    outline: &'r TextOutline,
}

impl Cutter<'_, '_> {
    /// The cut with markers of this detail; `None` when they would take too large a share.
    fn with_markers(&self, detail: MarkerDetail) -> Option<(String, Vec<DroppedPart>)> {
        const TRIES: usize = 8;
        let limit = self.gauge.limit;
        let gaps = self.outline.pins.len() + 1;
        let reserve = gaps.saturating_mul(detail.usual_cost(self.request));
        if reserve > detail.largest_share(limit) {
            return None;
        }
        let pinned = self
            .gauge
            .cost(&join(self.request.text, &self.outline.pins));
        let mut room = limit.checked_sub(pinned)?.checked_sub(reserve)?;
        for _ in 0..TRIES {
            let kept = self.keep(room);
            let dropped = self.dropped(&kept);
            let text = self.assemble(&kept, &dropped, detail);
            let cost = self.gauge.cost(&text);
            if cost <= limit {
                return Some((text, dropped));
            }
            if room == 0 {
                return None;
            }
            let over = cost - limit;
            room = room.saturating_sub(over + over / 8);
        }
        None
    }

    /// The last resort: what is pinned and nothing besides.
    fn pins_alone(&self) -> (String, Vec<DroppedPart>) {
        let kept = &self.outline.pins;
        (join(self.request.text, kept), self.dropped(kept))
    }

    /// The ranges that stay when the text that is not pinned may cost `room`.
    fn keep(&self, room: usize) -> Vec<Range<usize>> {
        let text = self.request.text;
        let limit = self.gauge.limit;
        let head_room = (room * 7 / 9).min(head_share(limit));
        let (head, head_cost) = self.head(head_room);
        // A head that had to stop early, before a fence, leaves its share to the tail.
        let tail_room = if head_cost < head_room / 2 {
            room - head_cost
        } else {
            (room - head_room).min(limit / TAIL_SHARE)
        };
        let tail = self.tail(tail_room, head);
        let mut kept = vec![0..head, tail..text.len()];
        kept.extend(self.outline.pins.iter().cloned());
        kept.extend(self.closing_line(head, tail));
        merged(kept)
    }

    /// Where the head ends, and what it costs without the pinned parts in it.
    fn head(&self, room: usize) -> (usize, usize) {
        let mut left = room;
        for segment in self.outline.unpinned(self.request.text.len()) {
            let part = &self.request.text[segment.clone()];
            match self.gauge.cost_within(part, left) {
                Some(cost) => left -= cost,
                None => {
                    let reach = segment.start + self.gauge.prefix(part, left);
                    let end = self.settle().head(segment.start, reach);
                    let cost = self.gauge.cost(&self.request.text[segment.start..end]);
                    return (end, (room - left) + cost);
                }
            }
        }
        (self.request.text.len(), room - left)
    }

    fn tail(&self, room: usize, head: usize) -> usize {
        let mut left = room;
        let end = self.request.text.len();
        for segment in self.outline.unpinned(end).into_iter().rev() {
            let start = segment.start.max(head);
            if start >= segment.end {
                return head;
            }
            let part = &self.request.text[start..segment.end];
            match self.gauge.cost_within(part, left) {
                Some(cost) => left -= cost,
                None => {
                    let reach = segment.end - self.gauge.suffix(part, left);
                    return self.settle().tail(head, reach, segment.end);
                }
            }
        }
        head
    }

    fn settle(&self) -> settle::CutPlacement<'_> {
        settle::CutPlacement {
            text: self.request.text,
            outline: self.outline,
            gauge: self.gauge,
        }
    }

    /// The line that closes the fence in which the head ends, when the tail begins behind it.
    fn closing_line(&self, head: usize, tail: usize) -> Option<Range<usize>> {
        let fence = self.outline.fence_around(head)?;
        (fence.range.end <= tail).then(|| fence.closing.clone())
    }

    fn dropped(&self, kept: &[Range<usize>]) -> Vec<DroppedPart> {
        let text = self.request.text;
        let mut line = Lines {
            text,
            at: 0,
            number: self.request.first_line,
        };
        gaps(kept, text.len())
            .map(|gap| {
                let first = line.number_at(gap.start);
                let last = line.number_at(gap.end - 1);
                DroppedPart {
                    lines: first..=last,
                    chars: text[gap.clone()].chars().count(),
                    headings: self
                        .outline
                        .headings_in(text, gap, DroppedPart::MOST_HEADINGS),
                }
            })
            .collect()
    }

    fn assemble(
        &self,
        kept: &[Range<usize>],
        dropped: &[DroppedPart],
        detail: MarkerDetail,
    ) -> String {
        let text = self.request.text;
        let mut out = String::new();
        let mut dropped = dropped.iter();
        let mut done = 0;
        let end = text.len()..text.len();
        for range in kept.iter().cloned().chain(std::iter::once(end)) {
            if range.start > done
                && let Some(part) = dropped.next()
            {
                break_line(&mut out);
                out.push_str(&marker::text(self.request.name, part, detail));
                if range.start < text.len() || text.ends_with('\n') {
                    out.push('\n');
                }
            }
            done = range.end;
            out.push_str(&text[range]);
        }
        out
    }
}

/// Counts line breaks on the way to each place asked for; places must ascend.
struct Lines<'a> {
    text: &'a str,
    at: usize,
    number: u32,
}

impl Lines<'_> {
    fn number_at(&mut self, at: usize) -> u32 {
        let breaks = self.text.as_bytes()[self.at..at]
            .iter()
            .filter(|b| **b == b'\n')
            .count();
        self.number = self
            .number
            .saturating_add(u32::try_from(breaks).unwrap_or(u32::MAX));
        self.at = at;
        self.number
    }
}

fn gaps(kept: &[Range<usize>], end: usize) -> impl Iterator<Item = Range<usize>> {
    let starts = std::iter::once(0).chain(kept.iter().map(|range| range.end));
    let ends = kept.iter().map(|range| range.start).chain([end]);
    starts
        .zip(ends)
        .filter(|(start, end)| start < end)
        .map(|(start, end)| start..end)
}

/// Ranges in order, those that touch made one, empty ones left out.
fn merged(mut ranges: Vec<Range<usize>>) -> Vec<Range<usize>> {
    ranges.retain(|range| !range.is_empty());
    ranges.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<usize>> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// The ranges one after the other, each beginning on a line of its own.
fn join(text: &str, ranges: &[Range<usize>]) -> String {
    let mut out = String::with_capacity(ranges.iter().map(|range| range.len() + 1).sum());
    for range in ranges {
        break_line(&mut out);
        out.push_str(&text[range.clone()]);
    }
    out
}

fn break_line(out: &mut String) {
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
}

#[cfg(test)]
mod tests;
