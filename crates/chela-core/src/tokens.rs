//! Token counting (first form: the final signature, an estimate behind it).

/// Number of tokens in `text` under the o200k vocabulary.
pub fn count(text: &str) -> usize {
    text.len().div_ceil(4)
}

/// The number of tokens of `text`, or `None` when there are more than `limit`.
pub fn count_at_most(text: &str, limit: usize) -> Option<usize> {
    Some(count(text)).filter(|count| *count <= limit)
}
