//! Text to vectors: the seam every provider fits, and the one that is built in.

mod foreign;
#[cfg(feature = "minilm")]
pub mod minilm;
pub mod provider;
pub mod remote;

use crate::language::Language;
use crate::word_table::{DIMENSIONS, WordTable};

/// Which model made a vector. Vectors of different models are never compared.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ModelId {
    pub provider: String,
    pub model: String,
}

impl std::fmt::Display for ModelId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.provider, self.model)
    }
}

/// A text to embed, and what was said just before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmbedText<'a> {
    pub text: &'a str,
    /// The unit before it and its heading: context that helps to place a short text.
    pub context: &'a str,
    /// What it is written in, as far as is known.
    pub language: Language,
}

impl<'a> EmbedText<'a> {
    /// An English text, or one whose language nobody knows.
    pub fn plain<T: AsRef<str> + ?Sized>(text: &'a T) -> Self {
        Self {
            text: text.as_ref(),
            context: "",
            language: Language::ENGLISH,
        }
    }
}

/// Which side of a search a text is on; some models treat them differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EmbedRole {
    Document,
    Query,
}

/// How a provider is used.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum EmbedCost {
    /// In this process, in microseconds: embedded while indexing, never cached.
    Instant,
    /// Slow or paid: embedded after the keyword index, in batches, through the cache.
    PerBatch {
        texts: usize,
        /// Of a token.
        price: EmbedPrice,
        tokens_per_second: f64,
    },
}

/// What something costs. Nothing is spent unasked where this is not [`EmbedPrice::Free`], beyond what a
/// few changed notes need.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum EmbedPrice {
    #[default]
    Free,
    /// In thousandths of a cent, as far as is remembered.
    About(f64),
    /// A service nobody told the price of.
    Unknown,
}

impl EmbedPrice {
    pub fn times(self, count: usize) -> Self {
        match self {
            Self::About(each) if count > 0 => Self::About(each * count as f64),
            Self::Unknown if count > 0 => Self::Unknown,
            _ => Self::Free,
        }
    }
}

/// How far the vectors of a model can be relied on, beside the words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VectorGrasp {
    /// Words one by one: a table.
    Words,
    /// Whole sentences: a network.
    Sentences,
}

#[derive(Debug, Clone, thiserror::Error, PartialEq, Eq)]
#[error("embedding provider {provider} failed: {reason}")]
pub struct EmbedError {
    pub provider: String,
    pub reason: String,
    pub retry: RetryAdvice,
}

/// Whether trying again may help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RetryAdvice {
    Never,
    Later,
}

/// A provider of vectors.
pub trait Embedder: Send + Sync {
    fn id(&self) -> ModelId;
    fn cost(&self) -> EmbedCost;
    /// One vector per text, in order. Called from a thread that may wait.
    fn embed(&self, texts: &[EmbedText<'_>], role: EmbedRole) -> Result<Vec<Vec<f32>>, EmbedError>;
    fn grasp(&self) -> VectorGrasp {
        VectorGrasp::Sentences
    }
    /// The share of the words of a text that it knows.
    fn knows(&self, _text: &str, _language: Language) -> f32 {
        1.0
    }
    /// Who answers while this one has no vectors yet, or fails.
    fn stand_in(&self) -> Option<&dyn Embedder> {
        None
    }
}

/// How much what was said before counts, beside the text itself.
const CONTEXT_WEIGHT: f32 = 0.5;
/// More context than this would drown a short text.
const CONTEXT_PIECES: usize = 64;

/// The table inside the binary.
#[derive(Debug, Clone, Copy, Default)]
pub struct LocalTable;

impl LocalTable {
    /// Changes with the table, so that vectors of an older one are made again.
    pub const MODEL: &str = "table-5";

    fn vector(text: EmbedText<'_>) -> [f32; DIMENSIONS] {
        let table = WordTable::built_in();
        let mut sum = [0.0; DIMENSIONS];
        table.add(&foreign::word_ids(text.text, text.language), 1.0, &mut sum);
        if !text.context.is_empty() {
            let ids = foreign::word_ids(text.context, text.language);
            let from = ids.len().saturating_sub(CONTEXT_PIECES);
            table.add(
                ids.get(from..).unwrap_or_default(),
                CONTEXT_WEIGHT,
                &mut sum,
            );
        }
        sum
    }
}

impl Embedder for LocalTable {
    fn id(&self) -> ModelId {
        ModelId {
            provider: "local".into(),
            model: Self::MODEL.into(),
        }
    }

    fn cost(&self) -> EmbedCost {
        EmbedCost::Instant
    }

    fn grasp(&self) -> VectorGrasp {
        VectorGrasp::Words
    }

    fn knows(&self, text: &str, language: Language) -> f32 {
        foreign::known_share(text, language)
    }

    fn embed(&self, texts: &[EmbedText<'_>], _: EmbedRole) -> Result<Vec<Vec<f32>>, EmbedError> {
        Ok(texts
            .iter()
            .map(|text| Self::vector(*text).to_vec())
            .collect())
    }
}

#[cfg(test)]
mod tests {
    use super::{EmbedText, LocalTable};
    use crate::word_table::WordTable;

    fn cosine(a: &str, b: &str) -> f32 {
        let vector = |text| LocalTable::vector(EmbedText::plain(text));
        let (a, b) = (vector(a), vector(b));
        let dot = |x: &[f32], y: &[f32]| x.iter().zip(y).map(|(x, y)| x * y).sum::<f32>();
        dot(&a, &b) / (dot(&a, &a) * dot(&b, &b)).sqrt()
    }

    #[test]
    fn word_pieces_are_those_of_the_vocabulary() {
        let ids = |text: &str| WordTable::built_in().encode(text);
        assert_eq!(ids("Hello, world!"), [7592, 1010, 2088, 999]);
        assert_eq!(
            ids("unaffable embeddings"),
            [14477, 20961, 3468, 7861, 8270, 4667, 2015]
        );
        assert_eq!(ids("Crème brûlée"), ids("creme brulee"));
        assert_eq!(ids("東京"), [1879, 1755]);
        assert_eq!(ids(&"x".repeat(200)), [100]);
        assert_eq!(ids("   "), [0_u16; 0]);
    }

    #[test]
    fn like_texts_are_closer_than_unlike_ones() {
        let near = cosine(
            "the doctor's appointment is on friday",
            "visit to the physician",
        );
        let far = cosine(
            "the doctor's appointment is on friday",
            "compile the rust program",
        );
        assert!(near > far + 0.1, "{near} {far}");
    }
}
