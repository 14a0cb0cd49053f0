//! A small linear model over hashed words and families of phrases.
//!
//! Text is weighed in overlapping windows, and the worst window speaks for it: a sentence in a
//! long page is not thinned out. Weights are one signed byte for each of 2^17 buckets, made by
//! `cargo run --release -p chela-guard --example train_detector`.

use std::ops::Range;
use std::sync::LazyLock;

use super::family::{FoundPhrase, PhraseFamily};

const BITS: u32 = 17;
pub const BUCKETS: usize = 1 << BITS;
/// Words in a window, and from one window to the next.
const WINDOW: usize = 40;
const STEP: usize = 20;
const MAGIC: &[u8; 8] = b"CHELADT1";
pub const FAMILIES: usize = PhraseFamily::ALL.len();

/// Weights and thresholds.
#[derive(Debug, Clone)]
pub struct WindowModel {
    weights: Vec<i8>,
    families: [f32; FAMILIES],
    scale: f32,
    bias: f32,
    medium: f32,
    high: f32,
}

/// What training gives.
#[derive(Debug, Clone)]
pub struct TrainedWeights {
    pub weights: Vec<f32>,
    pub families: [f32; FAMILIES],
    pub bias: f32,
    pub medium: f32,
    pub high: f32,
}

/// The worst window of a text.
#[derive(Debug, Clone, PartialEq)]
pub struct WorstWindow {
    pub score: f32,
    pub range: Range<usize>,
}

/// A window as the model sees it: buckets, each once, and the families found in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WindowExample {
    pub buckets: Vec<u32>,
    pub families: Vec<usize>,
    pub range: Range<usize>,
}

static BUILT_IN: LazyLock<WindowModel> = LazyLock::new(|| {
    WindowModel::read(include_bytes!("../../data/detector.bin")).unwrap_or_else(WindowModel::empty)
});

impl WindowModel {
    /// The model that is compiled in.
    pub fn built_in() -> &'static Self {
        &BUILT_IN
    }

    pub fn of(trained: &TrainedWeights) -> Self {
        let most = trained
            .weights
            .iter()
            .fold(0.0_f32, |most, weight| most.max(weight.abs()));
        let scale = if most > 0.0 { most / 127.0 } else { 1.0 };
        #[expect(
            clippy::cast_possible_truncation,
            reason = "scaled to a byte just here"
        )]
        let weights = trained
            .weights
            .iter()
            .map(|weight| (weight / scale).round() as i8)
            .collect();
        Self {
            weights,
            families: trained.families,
            scale,
            bias: trained.bias,
            medium: trained.medium,
            high: trained.high,
        }
    }

    /// Knows nothing and finds nothing by itself.
    fn empty() -> Self {
        Self {
            weights: vec![0; BUCKETS],
            families: PRIOR,
            scale: 0.0,
            bias: -20.0,
            medium: 1.1,
            high: 1.1,
        }
    }

    pub fn read(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.strip_prefix(MAGIC)?;
        let (numbers, weights) = bytes.split_at_checked(4 * (4 + FAMILIES))?;
        let mut numbers = numbers
            .chunks_exact(4)
            .filter_map(|four| Some(f32::from_le_bytes(four.try_into().ok()?)));
        let mut next = || numbers.next();
        let (scale, bias, medium, high) = (next()?, next()?, next()?, next()?);
        let mut families = [0.0; FAMILIES];
        for family in &mut families {
            *family = next()?;
        }
        (weights.len() == BUCKETS).then(|| Self {
            weights: weights.iter().map(|byte| byte.cast_signed()).collect(),
            families,
            scale,
            bias,
            medium,
            high,
        })
    }

    pub fn write(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        for number in [self.scale, self.bias, self.medium, self.high] {
            bytes.extend(number.to_le_bytes());
        }
        for family in self.families {
            bytes.extend(family.to_le_bytes());
        }
        bytes.extend(self.weights.iter().map(|weight| weight.cast_unsigned()));
        bytes
    }

    pub fn medium(&self) -> f32 {
        self.medium
    }

    pub fn high(&self) -> f32 {
        self.high
    }

    /// The worst window of a plain text.
    pub fn weigh(&self, text: &str, phrases: &[FoundPhrase]) -> WorstWindow {
        let mut worst = WorstWindow {
            score: 0.0,
            range: 0..0,
        };
        for window in windows(text, phrases) {
            let sum: i32 = window
                .buckets
                .iter()
                .filter_map(|bucket| self.weights.get(*bucket as usize))
                .map(|weight| i32::from(*weight))
                .sum();
            #[expect(
                clippy::cast_precision_loss,
                reason = "a sum of a few hundred bytes is exact"
            )]
            let sum = squashed(sum as f32 * self.scale / norm(window.buckets.len()))
                + window
                    .families
                    .iter()
                    .filter_map(|family| self.families.get(*family))
                    .sum::<f32>()
                + self.bias;
            let score = 1.0 / (1.0 + (-sum).exp());
            if score > worst.score {
                worst = WorstWindow {
                    score,
                    range: window.range,
                };
            }
        }
        worst
    }
}

/// Long windows say more words, not more.
pub fn norm(features: usize) -> f32 {
    #[expect(clippy::cast_precision_loss, reason = "a few hundred")]
    let features = features.max(1) as f32;
    features.sqrt()
}

/// What words say, for or against, within bounds: they neither make an order of a question nor
/// talk one away.
pub fn squashed(words: f32) -> f32 {
    let most = bound(words);
    most * (words / most).tanh()
}

/// How much of a small change of the words comes through.
pub fn slope(words: f32) -> f32 {
    1.0 - (words / bound(words)).tanh().powi(2)
}

fn bound(words: f32) -> f32 {
    const MOST_FOR: f32 = 3.0;
    const MOST_AGAINST: f32 = 1.0;
    if words > 0.0 { MOST_FOR } else { MOST_AGAINST }
}

/// The windows of a plain text: words alone, in pairs and in threes, and the families found.
pub fn windows(text: &str, phrases: &[FoundPhrase]) -> Vec<WindowExample> {
    let words = words(text);
    let mut windows = Vec::new();
    let mut start = 0;
    loop {
        let some = words
            .get(start.min(words.len())..(start + WINDOW).min(words.len()))
            .unwrap_or_default();
        let (Some(first), Some(last)) = (some.first(), some.last()) else {
            break;
        };
        let range = first.range.start..last.range.end;
        let mut buckets = Vec::with_capacity(some.len() * 3 + 4);
        for (at, word) in some.iter().enumerate() {
            buckets.push(bucket(word.hash, 1));
            if let Some(second) = some.get(at + 1) {
                let pair = mix(word.hash, second.hash);
                buckets.push(bucket(pair, 2));
                if let Some(third) = some.get(at + 2) {
                    buckets.push(bucket(mix(pair, third.hash), 3));
                }
            }
        }
        let inside = phrases
            .iter()
            .filter(|phrase| phrase.range.start < range.end && phrase.range.end > range.start);
        let mut families: Vec<usize> = inside.map(|phrase| number(phrase.family)).collect();
        families.sort_unstable();
        families.dedup();
        buckets.sort_unstable();
        buckets.dedup();
        windows.push(WindowExample {
            buckets,
            families,
            range,
        });
        if start + WINDOW >= words.len() {
            break;
        }
        start += STEP;
    }
    windows
}

fn number(family: PhraseFamily) -> usize {
    PhraseFamily::ALL
        .iter()
        .position(|each| *each == family)
        .unwrap_or_default()
}

/// What each family says before any text was seen. Training corrects it where it has seen the
/// family; the families of attacks nobody has collected yet keep their weight.
pub const PRIOR: [f32; FAMILIES] = [
    4.0, 4.0, 3.5, 3.0, 3.0, 2.0, 1.5, 1.5, 0.3, 0.7, 2.5, 0.5, 3.0, 3.0, 1.0, 0.3,
];

struct Word {
    hash: u64,
    range: Range<usize>,
}

/// Words, and the signs that shout or open something; numbers are all alike.
fn words(text: &str) -> Vec<Word> {
    let mut words: Vec<Word> = Vec::new();
    let mut open: Option<usize> = None;
    let close = |words: &mut Vec<Word>, from: usize, to: usize| {
        let word = text.get(from..to).unwrap_or_default();
        let hash = if word.bytes().all(|byte| byte.is_ascii_digit()) {
            hash(b"0")
        } else {
            hash(word.as_bytes())
        };
        words.push(Word {
            hash,
            range: from..to,
        });
    };
    for (at, c) in text.char_indices() {
        if c.is_alphanumeric() || c == '\'' && open.is_some() {
            open.get_or_insert(at);
            continue;
        }
        if let Some(from) = open.take() {
            close(&mut words, from, at);
        }
        if matches!(
            c,
            '!' | '<'
                | '>'
                | '['
                | ']'
                | '{'
                | '}'
                | '#'
                | '|'
                | ':'
                | '?'
                | '"'
                | '='
                | '/'
                | '\n'
        ) {
            words.push(Word {
                hash: hash(&[c as u8]),
                range: at..at + 1,
            });
        }
    }
    if let Some(from) = open {
        close(&mut words, from, text.len());
    }
    words
}

fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

fn mix(a: u64, b: u64) -> u64 {
    (a.rotate_left(23) ^ b).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

fn bucket(hash: u64, order: u64) -> u32 {
    let spread = mix(hash, order) >> (64 - BITS);
    u32::try_from(spread).unwrap_or_default()
}
