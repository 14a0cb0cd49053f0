//! What calls cost.

use serde::{Deserialize, Serialize};

/// Tokens and money.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SpentAmount {
    pub tokens: u64,
    /// Millionths of a dollar.
    pub micro_dollars: u64,
}

impl std::ops::Add for SpentAmount {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            tokens: self.tokens.saturating_add(other.tokens),
            micro_dollars: self.micro_dollars.saturating_add(other.micro_dollars),
        }
    }
}

/// A call that is about to be made.
#[derive(Debug, Clone, Copy)]
pub struct NewCall<'a> {
    /// The number it had before.
    pub number: Option<i64>,
    /// Milliseconds since 1970.
    pub at: u64,
    pub agent: &'a str,
    pub session: &'a str,
    pub turn: &'a str,
    pub job: &'a str,
    pub day: &'a str,
    pub month: &'a str,
    pub model: &'a str,
    /// Counts until it is settled.
    pub estimate: SpentAmount,
    /// Counts when it is given up.
    pub known: SpentAmount,
    /// The run of the machine its process belongs to.
    pub owner: &'a str,
    pub process: u32,
    pub expires: u64,
}

/// A call that is under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenCall {
    pub number: i64,
    pub owner: String,
    pub process: i64,
    pub expires: u64,
}

/// Whether a call is on record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallState {
    Known,
    Unknown,
}

/// Which calls are summed up.
#[derive(Debug, Clone, Copy)]
pub struct SpentQuery<'a> {
    pub span: LimitSpan<'a>,
    pub agent: Option<&'a str>,
    pub job: Option<&'a str>,
}

/// By what they have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitSpan<'a> {
    Turn(&'a str),
    Session(&'a str),
    Day(&'a str),
    Month(&'a str),
}
