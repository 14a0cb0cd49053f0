//! A request that is on record and under way: its room is taken, its end is not known.

use std::sync::Arc;

use chela_core::Prices;
use chela_ledger::{Amount, Ledger, RecordId, RequestOutcome, SpendReservation};
use chela_model::{EncodedRequest, ModelResponse, Usage};
use serde_json::json;

/// A request that is on record and under way. Dropped before it is closed, it counts as broken
/// off.
pub(crate) struct OpenRequest {
    pub(super) ledger: Option<Arc<Ledger>>,
    pub(super) record: Option<RecordId>,
    pub(super) reservation: Option<SpendReservation>,
    /// What is on record and to be sent.
    pub sent: EncodedRequest,
    pub(super) prices: Option<Prices>,
    /// Tokens of the request, by our own count.
    pub input: u64,
    /// Why it is not on record.
    pub unrecorded: Option<String>,
}

/// What came of a call.
#[derive(Clone, Copy)]
pub(crate) enum CallResult<'a> {
    Whole {
        response: &'a ModelResponse,
        /// Attempts before it that broke off.
        wasted: Usage,
    },
    /// There is none; what was paid for nevertheless, and why.
    Missing { why: &'a str, usage: Usage },
}

impl CallResult<'_> {
    /// What was paid for.
    pub fn usage(&self) -> Usage {
        match self {
            Self::Whole { response, wasted } => {
                let mut usage = response.usage;
                usage += *wasted;
                usage
            }
            Self::Missing { usage, .. } => *usage,
        }
    }
}

impl OpenRequest {
    /// Settles what was spent, once.
    pub(super) fn settle(&mut self, usage: &Usage, prices: Option<Prices>) {
        let Some(ledger) = &self.ledger else {
            return;
        };
        if let Some(reservation) = self.reservation.take() {
            let actual = Amount {
                tokens: usage.input + usage.output,
                micro_dollars: prices.map_or(0, |prices| prices.micro_dollars(usage)),
            };
            // Unsettled it counts with what is known, once this process has ended.
            drop(ledger.settle(&reservation, actual));
        }
    }
}

/// What came of a request, for the record.
pub(super) fn outcome(answer: &CallResult<'_>, prices: Option<Prices>) -> RequestOutcome {
    let usage = answer.usage();
    let cost = prices.map(|prices| prices.micro_dollars(&usage));
    match answer {
        CallResult::Whole { response, .. } => RequestOutcome {
            response: json!({ "content": response.content, "stop": response.stop }),
            usage: Some(usage),
            cost,
            ..RequestOutcome::default()
        },
        CallResult::Missing { why, .. } => RequestOutcome {
            error: Some((*why).to_owned()),
            // Nothing is known about a call that cost nothing.
            usage: (usage != Usage::default()).then_some(usage),
            cost: cost.filter(|cost| *cost > 0),
            ..RequestOutcome::default()
        },
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        let Some(ledger) = self.ledger.clone() else {
            return;
        };
        let usage = Usage {
            input: self.input,
            estimated: true,
            ..Usage::default()
        };
        let prices = self.prices;
        self.settle(&usage, prices);
        if let Some(record) = self.record.take() {
            let dropped = CallResult::Missing {
                why: "broken off",
                usage,
            };
            tracing::debug!("a call was dropped: its page is closed as broken off");
            drop(ledger.finish(record, &outcome(&dropped, prices)));
        }
    }
}
