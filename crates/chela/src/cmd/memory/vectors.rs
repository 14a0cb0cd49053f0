//! Vectors that cost time or money: quoted first, made when that is small or wanted.

use std::ops::ControlFlow;

use chela_memory::Memory;
use chela_memory::embed::EmbedPrice;
use chela_memory::vectors::{FillOutcome, VectorQuote};
use serde::Serialize;

use super::explained;
use super::index::ProgressBar;
use crate::fail::CommandError;
use crate::screen::count_noun;

/// What became of the vectors of a slow or paid provider.
#[derive(Debug, Clone, Default, Serialize)]
pub struct VectorCounts {
    /// Made now.
    made: usize,
    /// Still missing.
    missing: usize,
    /// What making those takes.
    seconds: f64,
    /// `null` where nobody told the price.
    cents: Option<f64>,
    problem: Option<String>,
}

/// Longer than this is asked about.
const PATIENCE_SECONDS: f64 = 60.0;

/// Makes what is missing when it is free and soon done, or when the operator agreed.
pub fn make_vectors(
    memory: &mut Memory<'_>,
    agreed: bool,
    bar: &mut ProgressBar,
) -> Result<VectorCounts, CommandError> {
    let quote = memory.quote().map_err(explained)?.unwrap_or_default();
    let mut vectors = VectorCounts {
        missing: quote.chunks,
        seconds: quote.seconds,
        cents: cents(&quote),
        ..VectorCounts::default()
    };
    let small = quote.price == EmbedPrice::Free && quote.seconds <= PATIENCE_SECONDS;
    if !agreed && (quote.chunks == 0 || !small) {
        return Ok(vectors);
    }
    let filled = memory
        .make_vectors(&mut |done, of| {
            bar.show_vectors(done, of);
            ControlFlow::Continue(())
        })
        .map_err(explained)?;
    if let FillOutcome::Failed { problem } = filled {
        vectors.problem = Some(problem.to_string());
    }
    let left = memory.quote().map_err(explained)?.unwrap_or_default();
    vectors.made = quote.chunks.saturating_sub(left.chunks);
    vectors.missing = left.chunks;
    vectors.seconds = left.seconds;
    vectors.cents = cents(&left);
    Ok(vectors)
}

/// A quote counts thousandths of a cent.
fn cents(quote: &VectorQuote) -> Option<f64> {
    match quote.price {
        EmbedPrice::Free => Some(0.0),
        EmbedPrice::About(micro_cents) => Some(micro_cents / 1_000.0),
        EmbedPrice::Unknown => None,
    }
}

impl VectorCounts {
    /// For people.
    pub fn summary_lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.made > 0 {
            lines.push(format!("{} made.", count_noun(self.made, "vector")));
        }
        if self.missing > 0 && self.problem.is_none() {
            let price = match self.cents {
                Some(0.0) => String::new(),
                Some(cents) if cents < 1.0 => " and a cent or less".to_owned(),
                Some(cents) => format!(
                    " and roughly {:.2} dollars (your provider has the exact price)",
                    cents / 100.0
                ),
                None => " and an unknown price (ask your provider)".to_owned(),
            };
            lines.push(format!(
                "{} missing: making them takes about {}{price}. `chela memory index --yes` makes \
                    them.",
                count_noun(self.missing, "vector"),
                time(self.seconds),
            ));
        }
        lines
    }

    /// The problems of the sync and of the vectors, each once.
    pub fn problems(&self, of_sync: &[String]) -> Vec<String> {
        let mut problems = of_sync.to_vec();
        problems.extend(
            self.problem
                .iter()
                .filter(|p| !of_sync.contains(p))
                .cloned(),
        );
        problems
    }
}

fn time(seconds: f64) -> String {
    match seconds {
        s if s < 60.0 => format!("{:.0} s", s.max(1.0)),
        s if s < 3600.0 => format!("{:.0} minutes", s / 60.0),
        s => format!("{:.1} hours", s / 3600.0),
    }
}

#[cfg(test)]
mod tests {
    use super::VectorCounts;

    #[test]
    fn what_it_takes_is_said_before_it_is_spent() {
        let vectors = VectorCounts {
            missing: 12_000,
            seconds: 95.0,
            cents: Some(240.0),
            ..VectorCounts::default()
        };
        insta::assert_snapshot!(vectors.summary_lines().join("\n"), @"12,000 vectors missing: \
            making them takes about 2 minutes and roughly 2.40 dollars (your provider has the \
            exact price). `chela memory index --yes` makes them.");
        let free = VectorCounts {
            made: 1,
            missing: 2,
            seconds: 4000.0,
            cents: Some(0.0),
            ..VectorCounts::default()
        };
        insta::assert_snapshot!(free.summary_lines().join("\n"), @r"
        1 vector made.
        2 vectors missing: making them takes about 1.1 hours. `chela memory index --yes` makes them.
        ");
        let unknown = VectorCounts {
            missing: 2,
            seconds: 1.0,
            cents: None,
            ..VectorCounts::default()
        };
        insta::assert_snapshot!(unknown.summary_lines().join("\n"), @"2 vectors missing: making \
            them takes about 1 s and an unknown price (ask your provider). `chela memory index \
            --yes` makes them.");
    }
}
