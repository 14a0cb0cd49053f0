//! What a call of a model takes: tokens, and the money they cost.

use serde::{Deserialize, Serialize};

/// The tokens of a call.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Whole input, what came from the cache included.
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    /// Part of `output`.
    pub reasoning: u64,
    /// The endpoint said nothing; these are our own counts.
    #[serde(default)]
    pub estimated: bool,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Self) {
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.reasoning += other.reasoning;
        self.estimated |= other.estimated;
    }
}

/// Prices of a model in US dollars for a million tokens, as price lists have them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Prices {
    pub input: f64,
    pub output: f64,
    pub cache_read: f64,
    pub cache_write: f64,
}

impl Prices {
    /// What a call cost, in millionths of a dollar. Rounded up: a limit must not be passed by many
    /// small calls that cost nothing each.
    pub fn micro_dollars(&self, usage: &Usage) -> u64 {
        let fresh = usage
            .input
            .saturating_sub(usage.cache_read)
            .saturating_sub(usage.cache_write);
        let parts = [
            (fresh, self.input),
            (usage.output, self.output),
            (usage.cache_read, self.cache_read),
            (usage.cache_write, self.cache_write),
        ];
        let product = parts
            .into_iter()
            .map(|(tokens, price)| u128::from(tokens) * u128::from(micro_dollars(price)));
        millionth(product.sum())
    }

    /// The same in dollars, for people.
    pub fn dollars(&self, usage: &Usage) -> f64 {
        self.micro_dollars(usage) as f64 / 1e6
    }

    /// What it cost to read tokens again that were in the cache already, in millionths of a
    /// dollar: the price of reading and storing them, less that of taking them from the cache.
    pub fn reread(&self, tokens: u64) -> u64 {
        let again = micro_dollars(self.input.max(self.cache_write));
        let cached = micro_dollars(self.cache_read);
        millionth(u128::from(tokens) * u128::from(again.saturating_sub(cached)))
    }
}

/// Dollars in millionths: sums of money are whole numbers. Nothing costs less than nothing.
pub fn micro_dollars(dollars: f64) -> u64 {
    (dollars.max(0.0) * 1e6).round() as u64
}

fn millionth(product: u128) -> u64 {
    u64::try_from(product.div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::{Prices, Usage};

    const PRICES: Prices = Prices {
        input: 3.0,
        output: 15.0,
        cache_read: 0.3,
        cache_write: 3.75,
    };

    #[test]
    fn each_kind_of_token_has_its_price() {
        let usage = Usage {
            input: 1_000_000,
            output: 100_000,
            cache_read: 600_000,
            cache_write: 300_000,
            ..Usage::default()
        };
        assert_eq!(
            PRICES.micro_dollars(&usage),
            300_000 + 1_500_000 + 180_000 + 1_125_000
        );
        assert_eq!(PRICES.reread(1_000_000), 3_450_000);
    }

    #[test]
    fn a_single_token_is_not_free() {
        let one = Usage {
            input: 1,
            ..Usage::default()
        };
        assert_eq!(PRICES.micro_dollars(&one), 3);
        let cheap = Prices {
            input: 0.01,
            ..Prices::default()
        };
        assert_eq!(cheap.micro_dollars(&one), 1);
    }
}
