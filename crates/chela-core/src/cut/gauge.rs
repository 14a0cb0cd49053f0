//! Measuring text against a limit, in characters or tokens.

use super::CutLimit;
use crate::tokens;

/// A limit together with the way to measure against it.
#[derive(Debug, Clone, Copy)]
pub struct CutGauge {
    unit: Unit,
    pub limit: usize,
}

#[derive(Debug, Clone, Copy)]
enum Unit {
    Chars,
    Tokens,
}

impl CutGauge {
    pub fn new(limit: CutLimit) -> Self {
        match limit {
            CutLimit::Chars(limit) => Self {
                unit: Unit::Chars,
                limit,
            },
            CutLimit::Tokens(limit) => Self {
                unit: Unit::Tokens,
                limit,
            },
        }
    }

    pub fn cost(&self, text: &str) -> usize {
        match self.unit {
            Unit::Chars => text.chars().count(),
            Unit::Tokens => tokens::count(text),
        }
    }

    pub fn fits(&self, text: &str) -> bool {
        self.cost_within(text, self.limit).is_some()
    }

    /// The cost of a text, or `None` when it is more than `room`. Reads little beyond `room`.
    pub fn cost_within(&self, text: &str, room: usize) -> Option<usize> {
        match self.unit {
            Unit::Chars if text.len() <= room => Some(text.chars().count()),
            Unit::Chars => text
                .char_indices()
                .nth(room)
                .is_none()
                .then(|| text.chars().count()),
            Unit::Tokens => tokens::count_at_most(text, room),
        }
    }

    /// Length in bytes of a prefix that costs at most `room`, as long as can be found quickly.
    pub fn prefix(&self, text: &str, room: usize) -> usize {
        match self.unit {
            Unit::Chars => text
                .char_indices()
                .nth(room)
                .map_or(text.len(), |(at, _)| at),
            Unit::Tokens => tokens::prefix_within(text, room),
        }
    }

    /// Length in bytes of a suffix that costs at most `room`, as long as can be found quickly.
    pub fn suffix(&self, text: &str, room: usize) -> usize {
        match self.unit {
            Unit::Chars => match room.checked_sub(1) {
                Some(last) => {
                    let start = text.char_indices().rev().nth(last).map_or(0, |(at, _)| at);
                    text.len() - start
                }
                None => 0,
            },
            Unit::Tokens => token_suffix(text, room),
        }
    }
}

/// No token is shorter than a byte, so as many bytes as tokens always fit; from there the guess
/// grows by how many bytes the tokens so far took.
fn token_suffix(text: &str, room: usize) -> usize {
    const GUESSES: usize = 4;
    let from = |length: usize| text.ceil_char_boundary(text.len().saturating_sub(length));
    let mut length = text.len() - from(room);
    let mut cost = tokens::count(&text[from(length)..]);
    for _ in 0..GUESSES {
        let aim = length.saturating_mul(room) / cost.max(1);
        let longer = text.len() - from(aim - aim / 64);
        if longer <= length {
            break;
        }
        match tokens::count_at_most(&text[from(longer)..], room) {
            Some(more) => (length, cost) = (longer, more),
            None => cost += (room - cost) / 2 + 1,
        }
    }
    length
}
