//! From the config file to the memory of one agent.

use std::path::PathBuf;

use chela_config::AgentView;
use chela_config::model::{
    self, ChunkingMode, MemoryQueryMode, SecretSetting, SecretSource, Tokenizer,
};
use chela_core::Host;
use serde_json::Value;

use super::{
    CacheSettings, CitationSetting, DuplicateHits, ExtraPath, MemorySettings, MemorySwitch,
    PreludeSettings, QueryMode, QuerySettings, ReadLimits, RecencySetting, SourceKind,
    SyncSettings,
};
use crate::chunk::ChunkCut;
use crate::embed::provider::{EmbedKeys, VectorSettings};
use crate::embed::remote::ApiKey;

/// The reference's own cut; in its config it stands for "nothing chosen".
const REFERENCE_MIN_SCORE: f64 = 0.35;

impl MemorySettings {
    /// What `memorySearch` and its neighbours say for an agent, in the words of either era.
    pub fn of(agent: &AgentView) -> Self {
        let search = &agent.memory_search.value;
        let limits = &agent.context_limits.value;
        let start = &agent.startup_context.value;
        Self {
            enabled: search.enabled,
            sources: sources(search),
            shared_sessions: asks_for_sessions(search),
            extra_paths: search.extra_paths.iter().map(extra_path).collect(),
            cut: cut(search),
            query: query(search),
            sync: sync(&search.sync),
            cache: CacheSettings {
                enabled: search.cache.enabled && search.store.cache.enabled,
                max_entries: search
                    .cache
                    .max_entries
                    .or(search.store.cache.max_entries)
                    .map_or(CacheSettings::default().max_entries, size),
            },
            citations: match agent.citations.value {
                model::Citations::Auto => CitationSetting::Auto,
                model::Citations::On => CitationSetting::On,
                model::Citations::Off => CitationSetting::Off,
            },
            limits: ReadLimits {
                max_chars: size(limits.memory_get_max_chars),
                default_lines: u32::try_from(limits.memory_get_default_lines).unwrap_or(u32::MAX),
            },
            prelude: PreludeSettings {
                enabled: start.enabled,
                days: start.daily_memory_days,
                max_file_bytes: start.max_file_bytes,
                max_file_chars: size(start.max_file_chars),
                max_total_chars: size(start.max_total_chars),
            },
        }
    }
}

impl VectorSettings {
    /// Who is to make vectors for an agent.
    pub fn of(agent: &AgentView) -> Self {
        let search = &agent.memory_search.value;
        if !search.store.vector.enabled || !hybrid_flag(search, "enabled").unwrap_or(true) {
            return Self {
                provider: Some("none".into()),
                ..Self::default()
            };
        }
        let remote = &search.remote;
        let plain = |value: &Value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        let either = |own: &Option<String>| own.clone().or_else(|| search.input_type.clone());
        Self {
            provider: search.provider.clone(),
            model: search.model.clone(),
            fallback: search.fallback.clone(),
            base_url: remote.base_url.clone(),
            headers: remote
                .headers
                .iter()
                .map(|(name, value)| (name.clone(), plain(&value.0)))
                .collect(),
            concurrency: remote.non_batch_concurrency.map(|n| n as usize),
            dimensions: search.output_dimensionality.map(|n| n as usize),
            query_type: either(&search.query_input_type),
            document_type: either(&search.document_input_type),
            model_file: onnx_file(search).map(PathBuf::from),
        }
    }
}

impl EmbedKeys {
    /// The keys of the environment, and the one the config names. `var` looks a variable up.
    pub fn of(agent: &AgentView, var: impl Fn(&str) -> Option<String>) -> Self {
        let mut keys = Self::of_environment(&var);
        let named = |name: &str| match var(name).as_deref().and_then(ApiKey::new) {
            Some(key) => Ok(key),
            None => Err(format!("the variable {name} is not set")),
        };
        let own = match &agent.memory_search.value.remote.api_key {
            None => return keys,
            Some(SecretSetting::Text(text)) if is_variable(text.trim()) => named(text.trim()),
            Some(SecretSetting::Text(text)) => {
                ApiKey::new(text).ok_or_else(|| "`remote.apiKey` is empty".to_owned())
            }
            Some(SecretSetting::Reference(reference)) => match reference.source {
                SecretSource::Env => named(&reference.id),
                // Files and commands are for whoever has them read and run.
                _ => Err("`remote.apiKey` is stored elsewhere and was not fetched".to_owned()),
            },
        };
        match own {
            Ok(key) => keys.own = Some(key),
            Err(why) => keys.own_problem = Some(why),
        }
        keys
    }
}

/// Names of models elsewhere are no files here.
fn onnx_file(search: &model::MemorySearch) -> Option<&str> {
    let path = search.local.model_path.as_deref()?;
    (path.ends_with(".onnx") && !path.contains("://") && !path.starts_with("hf:")).then_some(path)
}

/// Written like the name of a variable, as keys never are.
fn is_variable(text: &str) -> bool {
    text.contains('_')
        && text
            .chars()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

/// Where the config puts the index, when it does.
pub fn configured_index_file(host: &Host, agent: &AgentView) -> Option<PathBuf> {
    let path = agent.memory_search.value.store.path.as_deref()?;
    let path = path.replace("{agentId}", agent.id.as_str());
    Some(host.expand_from(&path, &host.state_dir()))
}

/// Keys that are accepted and change nothing, each with the reason.
pub fn keys_without_effect(agent: &AgentView) -> Vec<String> {
    let search = &agent.memory_search.value;
    let mut told = Vec::new();
    let mut tell = |set: bool, key: &str, why: &str| {
        if set {
            told.push(format!("{key} has no effect: {why}"));
        }
    };
    tell(
        search.store.vector.extension_path.is_some(),
        "store.vector.extensionPath",
        "vectors are searched without an extension",
    );
    tell(
        search
            .store
            .driver
            .as_deref()
            .is_some_and(|driver| driver != "sqlite"),
        "store.driver",
        "the index is always SQLite",
    );
    tell(
        search.store.fts.tokenizer == Some(Tokenizer::Trigram),
        "store.fts.tokenizer",
        "Chinese, Japanese and Korean are always searchable",
    );
    tell(
        search.store.fts.enabled == Some(false),
        "store.fts.enabled",
        "words are always searched",
    );
    tell(
        !search.remote.batch.is_empty(),
        "remote.batch",
        "batches are sized automatically",
    );
    tell(
        !search.multimodal.is_empty(),
        "multimodal",
        "only text is indexed",
    );
    tell(
        !search.qmd.is_empty(),
        "qmd",
        "its paths are read as extraPaths",
    );
    tell(
        search.local.model_path.is_some() && onnx_file(search).is_none(),
        "local.modelPath",
        "the local model is inside the binary, unless the path is of a .onnx file",
    );
    tell(
        search.local.model_cache_dir.is_some(),
        "local.modelCacheDir",
        "no model is downloaded",
    );
    tell(
        !cuts_compat(search) && search.chunking.overlap.is_some(),
        "chunking.overlap",
        "units do not overlap unless chunking.mode is compat",
    );
    tell(
        query_mode(search) != QueryMode::Compat
            && hybrid_number(search, "candidateMultiplier").is_some(),
        "query.hybrid.candidateMultiplier",
        "every chunk is scored unless query.mode is compat",
    );
    told
}

/// Whether the config itself names conversations.
fn asks_for_sessions(search: &model::MemorySearch) -> bool {
    search.sources.is_some() && sources(search).contains(&SourceKind::Sessions)
}

fn sources(search: &model::MemorySearch) -> Vec<SourceKind> {
    let Some(named) = &search.sources else {
        return MemorySettings::default().sources;
    };
    let mut sources: Vec<SourceKind> = named
        .iter()
        .map(|source| match source {
            model::MemorySource::Memory => SourceKind::Memory,
            model::MemorySource::Sessions => SourceKind::Sessions,
        })
        .collect();
    let experimental = search
        .experimental
        .get("sessionMemory")
        .and_then(Value::as_bool);
    if experimental == Some(true) && !sources.contains(&SourceKind::Sessions) {
        sources.push(SourceKind::Sessions);
    }
    sources
}

fn extra_path(path: &model::ExtraPath) -> ExtraPath {
    match path {
        model::ExtraPath::Path(path) => ExtraPath {
            path: path.clone(),
            pattern: None,
        },
        model::ExtraPath::Folder(folder) => ExtraPath {
            path: folder.path.clone(),
            pattern: folder.pattern.clone(),
        },
    }
}

/// Each of the two modes stands for the other where that one is not set: the reference's ranking
/// is of the reference's pieces.
fn cuts_compat(search: &model::MemorySearch) -> bool {
    match search.chunking.mode {
        Some(mode) => mode == ChunkingMode::Compat,
        None => search.query.mode == Some(MemoryQueryMode::Compat),
    }
}

fn query_mode(search: &model::MemorySearch) -> QueryMode {
    match search.query.mode {
        Some(MemoryQueryMode::Best) => QueryMode::Best,
        Some(MemoryQueryMode::Compat) => QueryMode::Compat,
        Some(MemoryQueryMode::Keyword) => QueryMode::Keyword,
        Some(MemoryQueryMode::Vector) => QueryMode::Vector,
        None if search.chunking.mode == Some(ChunkingMode::Compat) => QueryMode::Compat,
        None => QueryMode::Best,
    }
}

fn cut(search: &model::MemorySearch) -> ChunkCut {
    let tokens = search.chunking.tokens.map(|tokens| tokens as usize);
    if cuts_compat(search) {
        let overlap = search
            .chunking
            .overlap
            .map_or(80, |overlap| overlap as usize);
        return ChunkCut::Fixed {
            tokens: tokens.unwrap_or(400),
            overlap,
        };
    }
    match tokens {
        Some(tokens) => ChunkCut::Units { tokens },
        None => ChunkCut::default(),
    }
}

fn query(search: &model::MemorySearch) -> QuerySettings {
    let defaults = QuerySettings::default();
    let mode = query_mode(search);
    let compat = mode == QueryMode::Compat;
    let usual = compat.then_some(REFERENCE_MIN_SCORE);
    let nested = |outer: &str, key: &str| search.query.hybrid.get(outer)?.get(key).cloned();
    let on = |outer: &str| nested(outer, "enabled").and_then(|value| value.as_bool());
    let number = |outer: &str, key: &str| nested(outer, key)?.as_f64().map(|n| n as f32);
    QuerySettings {
        mode,
        max_results: search.query.max_results.map(|most| most as usize),
        max_chars: search.query.max_chars.map_or(defaults.max_chars, size),
        min_score: search.query.min_score.or(usual).map(|score| score as f32),
        vector_weight: hybrid_number(search, "vectorWeight"),
        text_weight: hybrid_number(search, "textWeight"),
        candidate_multiplier: hybrid_number(search, "candidateMultiplier")
            .map_or(defaults.candidate_multiplier, |n| n.max(1.0) as usize),
        duplicates: match on("mmr") {
            Some(true) => DuplicateHits::Mmr {
                lambda: number("mmr", "lambda").unwrap_or(0.7),
            },
            _ if compat => DuplicateHits::Keep,
            _ => defaults.duplicates,
        },
        recency: RecencySetting {
            half_life_days: number("temporalDecay", "halfLifeDays")
                .filter(|days| *days > 0.0)
                .unwrap_or(defaults.recency.half_life_days),
            weight: match on("temporalDecay") {
                Some(false) => 0.0,
                _ => defaults.recency.weight,
            },
        },
    }
}

fn sync(sync: &model::MemorySync) -> SyncSettings {
    let switch = |value: Option<bool>| match value {
        Some(false) => MemorySwitch::Off,
        _ => MemorySwitch::On,
    };
    SyncSettings {
        on_session_start: switch(sync.on_session_start),
        on_search: switch(sync.on_search),
        watch: switch(sync.watch),
        watch_debounce_ms: sync.watch_debounce_ms,
        interval_minutes: sync
            .interval_minutes
            .map_or(0, |minutes| minutes.max(0.0) as u64),
        session_delta_bytes: sync.sessions.delta_bytes,
        session_delta_messages: sync.sessions.delta_messages,
    }
}

fn hybrid_number(search: &model::MemorySearch, key: &str) -> Option<f32> {
    search
        .query
        .hybrid
        .get(key)?
        .as_f64()
        .map(|number| number as f32)
}

fn hybrid_flag(search: &model::MemorySearch, key: &str) -> Option<bool> {
    search.query.hybrid.get(key)?.as_bool()
}

fn size(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}

#[cfg(test)]
mod tests;
