//! Cutting a text to a limit (first form: the final signatures, a plain cut behind them).

use std::borrow::Cow;
use std::ops::RangeInclusive;

/// How much of a text may stay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
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
    pub limit: Limit,
    /// Headings whose sections survive every cut.
    pub pinned_headings: &'a [String],
}

/// What is left of a text, and what is not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut<'a> {
    pub text: Cow<'a, str>,
    /// Length of the whole text before the cut.
    pub raw_chars: usize,
    pub dropped: Vec<DroppedPart>,
    pub pinned: PinOutcome,
}

/// One gap in the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DroppedPart {
    /// Line numbers, from 1.
    pub lines: RangeInclusive<u32>,
    pub chars: usize,
    pub headings: Vec<String>,
}

/// Whether everything pinned is still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PinOutcome {
    Kept,
    /// The pinned text alone is larger than the limit; `needed` is the limit that would hold it.
    OverLimit { needed: usize },
}

pub fn cut<'a>(request: &CutRequest<'a>) -> Cut<'a> {
    let limit = match request.limit {
        Limit::Chars(limit) => limit,
        Limit::Tokens(limit) => limit.saturating_mul(4),
    };
    let end = request.text.char_indices().nth(limit).map_or(request.text.len(), |(at, _)| at);
    Cut {
        text: Cow::Borrowed(&request.text[..end]),
        raw_chars: request.text.chars().count(),
        dropped: Vec::new(),
        pinned: PinOutcome::Kept,
    }
}
