//! Sharing the room for context files: each file has its limit, all together have another, and
//! what is pinned comes first.

use std::sync::Arc;

use chela_core::cut::{CutRequest, Limit, PinOutcome};

use crate::report::Budget;
use crate::settings::BootstrapSettings;
use crate::source::{Shortened, Source};

/// Less room than this is not worth giving to a file: it would hold little but the marker.
const LEAST_CHARS: usize = 256;
const LEAST_TOKENS: usize = 64;

/// A text that wants room.
#[derive(Debug, Clone)]
pub(crate) struct Claim {
    pub(crate) name: String,
    pub(crate) text: ClaimText,
}

#[derive(Debug, Clone)]
pub(crate) enum ClaimText {
    File(Arc<Source>),
    Plain(Arc<str>),
}

/// What a claim got.
#[derive(Debug, Clone)]
pub(crate) enum Share {
    Given { text: Arc<Shortened>, by: Budget },
    NoRoom,
}

/// Shares out the room, in the order of the claims. Together the shares never take more than
/// `settings.total`, and none takes more than `settings.per_file`.
pub(crate) fn share_out(claims: &[Claim], settings: &BootstrapSettings) -> Vec<Share> {
    let pins = &settings.pins;
    let alone: Vec<_> = claims
        .iter()
        .map(|claim| claim.shortened(settings.per_file, pins))
        .collect();
    let total = amount(settings.total);
    let sizes = || alone.iter().map(|text| text.size_in(settings.total));
    if sizes().sum::<usize>() <= total {
        let given = |text| Share::Given {
            text,
            by: Budget::PerFile,
        };
        return alone.into_iter().map(given).collect();
    }
    let pinned: Vec<usize> = claims
        .iter()
        .zip(sizes())
        .map(|(claim, size)| claim.pinned_size(settings.total, pins).min(size))
        .collect();
    let mut left = total;
    let mut shares = Vec::with_capacity(claims.len());
    for (i, (claim, alone)) in claims.iter().zip(alone).enumerate() {
        let reserved: usize = pinned[i + 1..].iter().sum();
        let room = left.min(left.saturating_sub(reserved).max(pinned[i]));
        let share = if alone.size_in(settings.total) <= room {
            Share::Given {
                text: alone,
                by: Budget::PerFile,
            }
        } else if room >= least(settings.total) || (pinned[i] > 0 && room >= pinned[i]) {
            let limits = [settings.per_file, with_amount(settings.total, room)];
            Share::Given {
                text: claim.within(limits, pins),
                by: Budget::Total,
            }
        } else {
            Share::NoRoom
        };
        if let Share::Given { text, .. } = &share {
            left = left.saturating_sub(text.size_in(settings.total));
        }
        shares.push(share);
    }
    shares
}

impl Claim {
    fn shortened(&self, limit: Limit, pins: &[String]) -> Arc<Shortened> {
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
                Arc::new(Shortened::of(text, &request))
            }
        }
    }

    /// The room without which something pinned would be lost.
    fn pinned_size(&self, unit: Limit, pins: &[String]) -> usize {
        match self.shortened(with_amount(unit, 0), pins).pins {
            PinOutcome::OverLimit { needed } => needed,
            PinOutcome::Kept => 0,
        }
    }

    /// Cut so that both limits hold. Limits in different units are met by narrowing the second
    /// until the first holds too.
    fn within(&self, [first, second]: [Limit; 2], pins: &[String]) -> Arc<Shortened> {
        match (first, second) {
            (Limit::Chars(a), Limit::Chars(b)) => self.shortened(Limit::Chars(a.min(b)), pins),
            (Limit::Tokens(a), Limit::Tokens(b)) => self.shortened(Limit::Tokens(a.min(b)), pins),
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

fn amount(limit: Limit) -> usize {
    match limit {
        Limit::Chars(amount) | Limit::Tokens(amount) => amount,
    }
}

fn with_amount(unit: Limit, amount: usize) -> Limit {
    match unit {
        Limit::Chars(_) => Limit::Chars(amount),
        Limit::Tokens(_) => Limit::Tokens(amount),
    }
}

fn least(unit: Limit) -> usize {
    match unit {
        Limit::Chars(_) => LEAST_CHARS,
        Limit::Tokens(_) => LEAST_TOKENS,
    }
}
