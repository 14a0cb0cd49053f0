//! Sharing the room for context files: each file has its limit, all together have another, and
//! what is pinned comes first.

use std::sync::Arc;

use chela_core::cut::{CutLimit, CutRequest, PinOutcome};

use crate::report::CutBudget;
use crate::settings::BootstrapSettings;
use crate::source::{ReadFile, ShortenedText};

/// Less room than this is not worth giving to a file: it would hold little but the marker.
const LEAST_CHARS: usize = 256;
const LEAST_TOKENS: usize = 64;

/// A text that wants room.
#[derive(Debug, Clone)]
pub(crate) struct BudgetClaim {
    pub(crate) name: String,
    pub(crate) text: ClaimText,
}

#[derive(Debug, Clone)]
pub(crate) enum ClaimText {
    File(Arc<ReadFile>),
    Plain(Arc<str>),
}

/// What a claim got.
#[derive(Debug, Clone)]
pub(crate) enum BudgetShare {
    Given {
        text: Arc<ShortenedText>,
        by: CutBudget,
    },
    NoRoom,
}

/// Shares out the room, in the order of the claims. Together the shares never take more than
/// `settings.total`, and none takes more than `settings.per_file`.
pub(crate) fn share_out(claims: &[BudgetClaim], settings: &BootstrapSettings) -> Vec<BudgetShare> {
    let pins = &settings.pins;
    let alone: Vec<_> = claims
        .iter()
        .map(|claim| claim.shortened(settings.per_file, pins))
        .collect();
    let total = amount(settings.total);
    let sizes = || alone.iter().map(|text| text.size_in(settings.total));
    if sizes().sum::<usize>() <= total {
        let given = |text| BudgetShare::Given {
            text,
            by: CutBudget::PerFile,
        };
        return alone.into_iter().map(given).collect();
    }
    let pinned: Vec<usize> = claims
        .iter()
        .zip(sizes())
        .map(|(claim, size)| claim.pinned_size(settings.total, pins).min(size))
        .collect();
    let mut left = total;
    // What the files that are still to come have pinned.
    let mut reserved: usize = pinned.iter().sum();
    let mut shares = Vec::with_capacity(claims.len());
    for ((claim, alone), pinned) in claims.iter().zip(alone).zip(pinned) {
        reserved -= pinned;
        let room = left.min(left.saturating_sub(reserved).max(pinned));
        let share = if alone.size_in(settings.total) <= room {
            BudgetShare::Given {
                text: alone,
                by: CutBudget::PerFile,
            }
        } else if room >= least(settings.total) || (pinned > 0 && room >= pinned) {
            let limits = [settings.per_file, with_amount(settings.total, room)];
            BudgetShare::Given {
                text: claim.within(limits, pins),
                by: CutBudget::Total,
            }
        } else {
            BudgetShare::NoRoom
        };
        if let BudgetShare::Given { text, .. } = &share {
            left = left.saturating_sub(text.size_in(settings.total));
        }
        shares.push(share);
    }
    shares
}

impl BudgetClaim {
    fn shortened(&self, limit: CutLimit, pins: &[String]) -> Arc<ShortenedText> {
        match &self.text {
            ClaimText::File(source) => source.shortened(&self.name, limit, pins),
            ClaimText::Plain(text) => {
                let request = CutRequest {
                    name: &self.name,
                    first_line: 1,
                    text,
                    limit,
                    pinned_headings: pins,
                };
                Arc::new(ShortenedText::of(text, &request))
            }
        }
    }

    /// The room without which something pinned would be lost.
    fn pinned_size(&self, unit: CutLimit, pins: &[String]) -> usize {
        match self.shortened(with_amount(unit, 0), pins).pins {
            PinOutcome::OverLimit { needed } => needed,
            PinOutcome::Kept => 0,
        }
    }

    /// Cut so that both limits hold. Limits in different units are met by narrowing the second
    /// until the first holds too.
    fn within(&self, [first, second]: [CutLimit; 2], pins: &[String]) -> Arc<ShortenedText> {
        match (first, second) {
            (CutLimit::Chars(a), CutLimit::Chars(b)) => {
                self.shortened(CutLimit::Chars(a.min(b)), pins)
            }
            (CutLimit::Tokens(a), CutLimit::Tokens(b)) => {
                self.shortened(CutLimit::Tokens(a.min(b)), pins)
            }
            _ => {
                let mut room = amount(second);
                loop {
                    let text = self.shortened(with_amount(second, room), pins);
                    if text.size_in(first) <= amount(first) || room == 0 {
                        return text;
                    }
                    room = room * 3 / 4;
                }
            }
        }
    }
}

fn amount(limit: CutLimit) -> usize {
    match limit {
        CutLimit::Chars(amount) | CutLimit::Tokens(amount) => amount,
    }
}

fn with_amount(unit: CutLimit, amount: usize) -> CutLimit {
    match unit {
        CutLimit::Chars(_) => CutLimit::Chars(amount),
        CutLimit::Tokens(_) => CutLimit::Tokens(amount),
    }
}

fn least(unit: CutLimit) -> usize {
    match unit {
        CutLimit::Chars(_) => LEAST_CHARS,
        CutLimit::Tokens(_) => LEAST_TOKENS,
    }
}
