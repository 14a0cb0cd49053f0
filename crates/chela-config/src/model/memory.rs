//! `memory`: what is remembered and how it is found.

use super::*;
use crate::shape::{HasShape, ValueShape};

section! {
    /// What is remembered and how it is found.
    struct Memory {
        /// Whether answers name their source.
        citations: Citations,
        /// Search over memory files. Read as `agents.defaults.memorySearch`.
        search: Option<MemorySearch>,
        /// How results are found and ranked. Read as `agents.defaults.memorySearch.query`.
        query: Option<MemoryQuery>,
        /// Older switch between memory systems; `qmd` is read as extra paths.
        [later]
        backend: Option<String>,
        /// Settings of the retired QMD system; its paths are read as extra paths.
        qmd: ForeignSettings,
        /// Checks of memory files.
        lint: MemoryLint,
        /// Notes of conversations that nobody ended.
        capture: MemoryCapture,
        /// What of the notes belongs into MEMORY.md.
        consolidate: MemoryConsolidation,
    }

    /// Memory of one agent.
    struct AgentMemory {
        /// Search over memory files. Read as `memorySearch`.
        search: Option<MemorySearch>,
        /// How results are found and ranked. Read as `memorySearch.query`.
        query: Option<MemoryQuery>,
    }

    /// Checks of memory files.
    struct MemoryLint {
        /// Warn when MEMORY.md has more characters than this.
        max_chars: u64 = 20_000,
    }

    /// Notes of conversations that nobody ended.
    struct MemoryCapture {
        /// Write one when you have said nothing for this long; a bare number is minutes. Notes at the
        /// end of a conversation are written without it; `hooks.internal.entries.session-memory`
        /// switches off both.
        idle: OrOff<DurationText> = OrOff::On("60m".into()),
    }

    /// What of the notes belongs into MEMORY.md.
    struct MemoryConsolidation {
        /// Look through the notes once a night, and tell the owner what could be taken over.
        nightly: bool = true,
    }

    /// Search over memory files.
    struct MemorySearch {
        /// Search at all.
        enabled: bool = true,
        /// What makes embeddings: `local`, `none`, `auto`, a provider, or an id of
        /// `models.providers`.
        provider: Option<String>,
        /// Embedding model.
        model: Option<String>,
        /// Provider used when the first fails.
        fallback: Option<String>,
        /// What is searched: notes and, in private conversations, what was said before. Where
        /// `sessions` is listed here, groups search what groups said, too.
        sources: Option<Vec<MemorySource>>,
        /// More files, folders or globs.
        extra_paths: Vec<ExtraPath>,
        /// Remember across the agent's private chats.
        [later]
        remember_across_conversations: Option<bool>,
        /// Remote embedding service.
        remote: MemoryRemote,
        /// Local embedding model.
        local: MemoryLocal,
        /// The index.
        store: MemoryStore,
        /// How text is split into chunks.
        chunking: MemoryChunking,
        /// How results are found and ranked.
        query: MemoryQuery,
        /// When the index is updated.
        sync: MemorySync,
        /// Caching of embeddings.
        cache: MemoryCache,
        /// Images and audio.
        multimodal: ForeignSettings,
        /// Input type sent to the provider.
        input_type: Option<String>,
        /// Kind of input for questions.
        query_input_type: Option<String>,
        /// Kind of input for documents.
        document_input_type: Option<String>,
        /// Length of the vectors.
        [min 1]
        output_dimensionality: Option<u32>,
        /// Retired QMD settings.
        qmd: ForeignSettings,
        /// Settings that may change or disappear.
        experimental: ForeignSettings,
    }

    /// Remote embedding service.
    struct MemoryRemote {
        /// URL.
        base_url: Option<String>,
        /// API key.
        api_key: Option<SecretSetting>,
        /// Extra headers.
        headers: ScalarMap,
        /// Batch jobs.
        batch: ForeignSettings,
        /// Requests at the same time.
        [min 1]
        non_batch_concurrency: Option<u32>,
    }

    /// Local embedding model.
    struct MemoryLocal {
        /// Path or name of the model.
        model_path: Option<String>,
        /// Folder for models.
        model_cache_dir: Option<String>,
        /// Tokens of context.
        [later]
        context_size: Option<OrAuto<u32>>,
    }

    /// The index.
    struct MemoryStore {
        /// Kind of store.
        driver: Option<String>,
        /// Path of the index; `{agentId}` is replaced.
        path: Option<String>,
        /// Vectors.
        vector: MemoryVector,
        /// Words.
        fts: MemoryFts,
        /// Cached embeddings.
        cache: MemoryCache,
    }

    /// Vectors in the index.
    struct MemoryVector {
        /// Use them.
        enabled: bool = true,
        /// Path of an extension that searches them.
        extension_path: Option<String>,
    }

    /// Words in the index.
    struct MemoryFts {
        /// How text is split; `trigram` suits Chinese, Japanese and Korean.
        tokenizer: Option<Tokenizer>,
        /// Use them.
        enabled: Option<bool>,
    }

    /// How text is split into chunks.
    struct MemoryChunking {
        /// Maximum tokens per chunk. Unset: what works best.
        [min 1]
        tokens: Option<u32>,
        /// Tokens shared with the next chunk.
        overlap: Option<u32>,
        /// `compat` splits and ranks as the reference does, unless `query.mode` is set.
        mode: Option<ChunkingMode>,
    }

    /// How results are found and ranked.
    struct MemoryQuery {
        /// `best` scales words and vectors to the question; `compat` is the reference's formula
        /// (0.7 cosine + 0.3 r/(1+r), every word required, cut at 0.35) over its pieces of 400
        /// tokens; `keyword` and `vector` use one of the two.
        mode: Option<MemoryQueryMode>,
        /// Maximum results. Unset: as many as fit into `maxChars`.
        [min 1]
        max_results: Option<u32>,
        /// Maximum characters of text in an answer. Unset: 4,200, and half of that for a small
        /// model.
        [min 200]
        max_chars: Option<u64>,
        /// Weakest result shown. Unset: none is too weak, but for `compat`, which cuts at 0.35.
        [min 0.0, max 1.0]
        min_score: Option<f64>,
        /// Weights of words and vectors.
        hybrid: ForeignSettings,
    }

    /// When the index is updated.
    struct MemorySync {
        /// When a session starts.
        on_session_start: Option<bool>,
        /// Before a search.
        on_search: Option<bool>,
        /// When files change.
        watch: Option<bool>,
        /// Wait this long for more changes.
        watch_debounce_ms: u64 = 1_500,
        /// Every N minutes; 0: never.
        interval_minutes: Option<f64>,
        /// Session transcripts.
        sessions: MemorySyncSessions,
    }

    /// When session transcripts are indexed.
    struct MemorySyncSessions {
        /// After this many new bytes.
        delta_bytes: u64 = 100_000,
        /// After this many new messages.
        delta_messages: u64 = 50,
        /// After a compaction.
        [later]
        post_compaction_force: Option<bool>,
    }

    /// Cached embeddings.
    struct MemoryCache {
        /// Keep them.
        enabled: bool = true,
        /// Maximum entries.
        max_entries: Option<u64>,
    }

    /// A folder with a pattern.
    struct ExtraFolder {
        /// Folder.
        [required]
        path: String,
        /// Which files in it.
        pattern: Option<String>,
        /// Name shown.
        [later]
        name: Option<String>,
    }
}

/// A file, a folder, a glob, or a folder with a pattern.
#[derive(Debug, Clone, PartialEq)]
pub enum ExtraPath {
    Path(String),
    Folder(ExtraFolder),
}

impl HasShape for ExtraPath {
    const SHAPE: &'static ValueShape = &ValueShape::OneOf(&[&ValueShape::Text, ExtraFolder::SHAPE]);
}

words! {
    /// Whether answers name their source.
    enum Citations { Auto = "auto", On = "on", Off = "off" }
    /// What is searched.
    enum MemorySource { Memory = "memory", Sessions = "sessions" }
    /// How text is split into words.
    enum Tokenizer { Unicode61 = "unicode61", Trigram = "trigram" }
    /// How text is cut.
    enum ChunkingMode { Fine = "fine", Compat = "compat" }
    /// How results are ranked.
    enum MemoryQueryMode { Best = "best", Compat = "compat", Keyword = "keyword", Vector = "vector" }
}
