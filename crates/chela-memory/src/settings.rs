//! What the operator wants of memory, as plain values.

mod from_config;

use crate::chunk::ChunkCut;

pub use from_config::{configured_index_file, keys_without_effect};

/// Everything that can be set. The defaults are what a fresh machine uses.
#[derive(Debug, Clone, PartialEq)]
pub struct MemorySettings {
    pub enabled: bool,
    pub sources: Vec<SourceKind>,
    /// Whether conversations with others are searched for others. Their own one they know.
    pub shared_sessions: bool,
    pub extra_paths: Vec<ExtraPath>,
    pub cut: ChunkCut,
    pub query: QuerySettings,
    pub sync: SyncSettings,
    pub cache: CacheSettings,
    pub citations: CitationSetting,
    pub limits: ReadLimits,
    pub prelude: PreludeSettings,
}

impl Default for MemorySettings {
    fn default() -> Self {
        Self {
            enabled: true,
            sources: vec![SourceKind::Memory, SourceKind::Sessions],
            shared_sessions: false,
            extra_paths: Vec::new(),
            cut: ChunkCut::default(),
            query: QuerySettings::default(),
            sync: SyncSettings::default(),
            cache: CacheSettings::default(),
            citations: CitationSetting::Auto,
            limits: ReadLimits::default(),
            prelude: PreludeSettings::default(),
        }
    }
}

/// Where text comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SourceKind {
    /// MEMORY.md, USER.md, memory/ and the extra paths.
    Memory,
    /// Transcripts of earlier conversations.
    Sessions,
}

/// A file, folder or pattern outside `memory/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtraPath {
    pub path: String,
    /// Which files of a folder; Markdown files without it.
    pub pattern: Option<String>,
}

/// What a model reads of an answer without having asked for more.
const MAX_CHARS: usize = 4_200;

#[derive(Debug, Clone, PartialEq)]
pub struct QuerySettings {
    pub mode: QueryMode,
    /// However many fit, without it.
    pub max_results: Option<usize>,
    /// Characters of text an answer has.
    pub max_chars: usize,
    /// In compat mode an absolute score; otherwise the share of the best hit's score below which
    /// hits are left out. `None` keeps everything.
    pub min_score: Option<f32>,
    /// The share of the vectors; `None` chooses by question.
    pub vector_weight: Option<f32>,
    pub text_weight: Option<f32>,
    pub candidate_multiplier: usize,
    pub duplicates: DuplicateHits,
    pub recency: RecencySetting,
}

impl Default for QuerySettings {
    fn default() -> Self {
        Self {
            mode: QueryMode::Best,
            max_results: None,
            max_chars: MAX_CHARS,
            min_score: None,
            vector_weight: None,
            text_weight: None,
            candidate_multiplier: 4,
            duplicates: DuplicateHits::Drop { above: 0.9 },
            recency: RecencySetting {
                half_life_days: 30.0,
                weight: 0.02,
            },
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryMode {
    /// What the benchmark rewards.
    Best,
    /// The reference's formula, to the letter.
    Compat,
    /// Words only.
    Keyword,
    /// Vectors only.
    Vector,
}

/// What becomes of hits that say the same.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DuplicateHits {
    Keep,
    /// Only near-copies go: this share of their words is common.
    Drop {
        above: f32,
    },
    /// Maximal marginal relevance over all hits.
    Mmr {
        lambda: f32,
    },
}

/// How much newer notes are preferred. It breaks ties: the most it adds is `weight`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RecencySetting {
    pub half_life_days: f32,
    pub weight: f32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SyncSettings {
    pub on_session_start: MemorySwitch,
    pub on_search: MemorySwitch,
    pub watch: MemorySwitch,
    pub watch_debounce_ms: u64,
    /// 0 is never.
    pub interval_minutes: u64,
    pub session_delta_bytes: u64,
    pub session_delta_messages: u64,
}

impl Default for SyncSettings {
    fn default() -> Self {
        Self {
            on_session_start: MemorySwitch::On,
            on_search: MemorySwitch::On,
            watch: MemorySwitch::On,
            watch_debounce_ms: 1500,
            interval_minutes: 0,
            session_delta_bytes: 100_000,
            session_delta_messages: 50,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemorySwitch {
    On,
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CacheSettings {
    pub enabled: bool,
    pub max_entries: usize,
}

impl Default for CacheSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            max_entries: 200_000,
        }
    }
}

/// Whether results carry `Source: path#L10-L14`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CitationSetting {
    On,
    Off,
    /// In private sessions, where the reader may open the file.
    Auto,
}

/// How much `memory_get` may return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadLimits {
    pub max_chars: usize,
    pub default_lines: u32,
}

impl Default for ReadLimits {
    fn default() -> Self {
        Self {
            max_chars: 12_000,
            default_lines: 120,
        }
    }
}

/// The daily notes a new session starts with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PreludeSettings {
    pub enabled: bool,
    pub days: u32,
    pub max_file_bytes: u64,
    pub max_file_chars: usize,
    pub max_total_chars: usize,
}

impl Default for PreludeSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            days: 2,
            max_file_bytes: 16_384,
            max_file_chars: 1_200,
            max_total_chars: 2_800,
        }
    }
}
