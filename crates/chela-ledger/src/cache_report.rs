//! What the cache did in a session, turn by turn.

use serde::Serialize;

use chela_core::Prices;

use crate::cache::{PrefixBreak, PrefixReuse};
use crate::ledger::{Ledger, LedgerError};
use crate::request::{RecordId, RequestSummary};

/// `chela cache why`: each request of a session with what it reused.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CacheReport {
    pub session: String,
    pub key: String,
    pub turns: Vec<CacheTurn>,
    /// Sums over the turns.
    pub reused_tokens: u64,
    pub total_tokens: u64,
    pub reread_tokens: u64,
    /// Breaks that nobody asked for: neither the first request, nor a compaction, a pruning or a
    /// reset.
    pub avoidable_breaks: usize,
    /// Micro-dollars, where every model in it has a price.
    pub reread_cost: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CacheTurn {
    pub record: RecordId,
    /// Milliseconds since 1970.
    pub at: u64,
    pub turn: String,
    pub step: u32,
    pub model: String,
    pub reuse: PrefixReuse,
    /// What the provider said it read from its cache, where it said anything.
    pub provider_cache_read: Option<u64>,
    /// Micro-dollars for what had to be read again.
    pub reread_cost: Option<u64>,
}

impl Ledger {
    /// The report on a session; `None` when nothing of it is on record.
    pub async fn cache_report(
        &self,
        session: &str,
        prices: &(dyn Fn(&str) -> Option<Prices> + Sync),
    ) -> Result<Option<CacheReport>, LedgerError> {
        let records = self.session_reuse(session).await?;
        let Some((first, _)) = records.first() else {
            return Ok(None);
        };
        let mut report = CacheReport {
            session: first.session.clone(),
            key: first.session_key.clone(),
            turns: Vec::with_capacity(records.len()),
            reused_tokens: 0,
            total_tokens: 0,
            reread_tokens: 0,
            avoidable_breaks: 0,
            reread_cost: Some(0),
        };
        for (summary, reuse) in records {
            report.add(summary, reuse, prices);
        }
        Ok(Some(report))
    }
}

impl CacheReport {
    fn add(
        &mut self,
        summary: RequestSummary,
        reuse: PrefixReuse,
        prices: &dyn Fn(&str) -> Option<Prices>,
    ) {
        let cost = match reuse.reread_tokens {
            0 => Some(0),
            tokens => prices(&summary.model).map(|prices| prices.reread(tokens)),
        };
        self.reused_tokens += reuse.tokens;
        self.total_tokens += reuse.total_tokens;
        self.reread_tokens += reuse.reread_tokens;
        let is_avoidable = |broken: &PrefixBreak| !broken.cause.is_meant();
        self.avoidable_breaks += usize::from(reuse.broken.as_ref().is_some_and(is_avoidable));
        self.reread_cost = self.reread_cost.zip(cost).map(|(sum, cost)| sum + cost);
        self.turns.push(CacheTurn {
            record: summary.id,
            at: summary.at,
            turn: summary.turn,
            step: summary.step,
            model: summary.model,
            reuse,
            provider_cache_read: summary
                .usage
                .filter(|usage| !usage.estimated)
                .map(|usage| usage.cache_read),
            reread_cost: cost,
        });
    }
}
