//! What tokens cost.

use serde::{Deserialize, Serialize};

use crate::record::Usage;

/// Prices of a model in millionths of a dollar for a million tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Prices {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
}

impl Prices {
    /// From dollars for a million tokens, as price lists have them.
    pub fn per_million(input: f64, output: f64, cache_read: f64, cache_write: f64) -> Self {
        let micro = |dollars: f64| (dollars.max(0.0) * 1e6).round() as u64;
        Self {
            input: micro(input),
            output: micro(output),
            cache_read: micro(cache_read),
            cache_write: micro(cache_write),
        }
    }

    /// What a call cost, in micro-dollars.
    pub fn cost(&self, usage: &Usage) -> u64 {
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
        millionth(
            parts
                .iter()
                .map(|(tokens, price)| u128::from(*tokens) * u128::from(*price))
                .sum(),
        )
    }

    /// What it cost to read tokens again that were in the cache already: the price of reading
    /// and storing them, less that of taking them from the cache.
    pub fn reread(&self, tokens: u64) -> u64 {
        let again = self.input.max(self.cache_write);
        millionth(u128::from(tokens) * u128::from(again.saturating_sub(self.cache_read)))
    }
}

/// Rounded up: a limit must not be passed by many small calls that cost nothing each.
fn millionth(product: u128) -> u64 {
    u64::try_from(product.div_ceil(1_000_000)).unwrap_or(u64::MAX)
}

/// Micro-dollars for people: `$1.23`, and more digits where less is at stake.
pub fn dollars(micro: u64) -> String {
    let (whole, part) = (micro / 1_000_000, micro % 1_000_000);
    match micro {
        0 => "$0".to_owned(),
        1..10_000 => {
            let digits = format!("{part:06}");
            format!("$0.{}", digits.trim_end_matches('0'))
        }
        _ => {
            let cents = (part + 5_000) / 10_000;
            format!("${}.{:02}", whole + cents / 100, cents % 100)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Prices, dollars};
    use crate::record::Usage;

    #[test]
    fn each_kind_of_token_has_its_price() {
        let prices = Prices::per_million(3.0, 15.0, 0.3, 3.75);
        let usage = Usage {
            input: 1_000_000,
            output: 100_000,
            cache_read: 600_000,
            cache_write: 300_000,
            ..Usage::default()
        };
        assert_eq!(
            prices.cost(&usage),
            300_000 + 1_500_000 + 180_000 + 1_125_000
        );
        assert_eq!(prices.reread(1_000_000), 3_450_000);
        assert_eq!(
            prices.cost(&Usage {
                input: 1,
                ..Usage::default()
            }),
            3
        );
    }

    #[test]
    fn dollars_are_readable() {
        for (micro, text) in [
            (0, "$0"),
            (25, "$0.000025"),
            (9_990, "$0.00999"),
            (10_000, "$0.01"),
            (1_234_567, "$1.23"),
            (999_999, "$1.00"),
        ] {
            assert_eq!(dollars(micro), text);
        }
    }
}
