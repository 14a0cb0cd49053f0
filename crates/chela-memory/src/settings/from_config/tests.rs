use super::{configured_index_file, keys_without_effect};
use crate::chunk::ChunkCut;
use crate::embed::provider::{EmbedKeys, VectorSettings};
use crate::settings::{
    CitationSetting, DuplicateHits, MemorySettings, MemorySwitch, QueryMode, SourceKind,
};
use chela_config::AgentView;
use chela_core::Host;

fn agent(config: &str) -> (Host, AgentView, tempfile::TempDir) {
    let home = tempfile::tempdir().unwrap();
    let host = Host::fixed(home.path());
    std::fs::create_dir_all(host.state_dir()).unwrap();
    std::fs::write(host.config_file(), config).unwrap();
    let loaded = chela_config::load(&host);
    let view = loaded.agent(&loaded.default_agent()).unwrap();
    (host, view, home)
}

#[test]
fn nothing_written_means_the_defaults() {
    let (_, view, _home) = agent("{}");
    assert_eq!(MemorySettings::of(&view), MemorySettings::default());
    assert_eq!(VectorSettings::of(&view), VectorSettings::default());
    assert!(keys_without_effect(&view).is_empty());
}

#[test]
fn keys_of_both_eras_count() {
    let old = "{ agents: { defaults: { memorySearch: { sources: ['memory'], experimental: { sessionMemory: true }, \
        query: { maxResults: 3, minScore: 0.5, hybrid: { vectorWeight: 0.9, textWeight: 0.1, mmr: { enabled: true, lambda: 0.6 }, \
        temporalDecay: { enabled: false } } }, sync: { watch: false }, provider: 'none' } } } }";
    let (_, view, _home) = agent(old);
    let settings = MemorySettings::of(&view);
    assert_eq!(settings.sources, [SourceKind::Memory, SourceKind::Sessions]);
    assert_eq!(
        (settings.query.max_results, settings.query.min_score),
        (Some(3), Some(0.5))
    );
    assert_eq!(
        settings.query.duplicates,
        DuplicateHits::Mmr { lambda: 0.6 }
    );
    assert_eq!(
        (settings.query.vector_weight, settings.query.recency.weight),
        (Some(0.9), 0.0)
    );
    assert_eq!(settings.sync.watch, MemorySwitch::Off);
    assert_eq!(VectorSettings::of(&view).provider.as_deref(), Some("none"));

    let new = "{ memory: { citations: 'on', search: { chunking: { mode: 'compat' }, extraPaths: ['~/x', { path: 'y', pattern: '*.txt' }], \
        store: { path: 'm/{agentId}.db', vector: { extensionPath: '/x.so' } }, provider: 'ollama', fallback: 'local' } } }";
    let (host, view, _home) = agent(new);
    let settings = MemorySettings::of(&view);
    assert_eq!(settings.citations, CitationSetting::On);
    assert_eq!(
        settings.cut,
        ChunkCut::Fixed {
            tokens: 400,
            overlap: 80
        }
    );
    assert_eq!(
        (settings.query.mode, settings.query.min_score),
        (QueryMode::Compat, Some(0.35))
    );
    assert_eq!(settings.extra_paths.len(), 2);
    assert_eq!(
        configured_index_file(&host, &view),
        Some(host.state_dir().join("m/main.db"))
    );
    let told = keys_without_effect(&view);
    assert!(
        told.len() == 1 && told[0].starts_with("store.vector.extensionPath"),
        "{told:?}"
    );
    let wanted = VectorSettings::of(&view);
    assert_eq!(wanted.provider.as_deref(), Some("ollama"));
    assert_eq!(wanted.fallback.as_deref(), Some("local"));
}

#[test]
fn the_query_mode_is_found_in_every_shape() {
    let mode = |config: &str| {
        let (_, view, _home) = agent(config);
        let settings = MemorySettings::of(&view);
        (settings.query.mode, settings.cut == ChunkCut::default())
    };
    let compat = (QueryMode::Compat, false);
    for shape in [
        "{ memory: { query: { mode: 'compat' } } }",
        "{ memory: { search: { query: { mode: 'compat' } } } }",
        "{ memorySearch: { query: { mode: 'compat' } } }",
        "{ agents: { defaults: { memorySearch: { query: { mode: 'compat' } } } } }",
        "{ agents: { list: [{ id: 'main', memorySearch: { query: { mode: 'compat' } } }] } }",
        "{ agents: { list: [{ id: 'main', memory: { query: { mode: 'compat' } } }] } }",
        "{ memory: { search: { chunking: { mode: 'compat' } } } }",
    ] {
        assert_eq!(mode(shape), compat, "{shape}");
    }
    assert_eq!(
        mode("{ memory: { search: { query: { mode: 'compat' }, chunking: { mode: 'fine' } } } }"),
        (QueryMode::Compat, true)
    );
    assert_eq!(
        mode("{ memory: { search: { query: { mode: 'best' }, chunking: { mode: 'compat' } } } }"),
        (QueryMode::Best, false)
    );
    assert_eq!(
        mode("{ memory: { query: { mode: 'keyword' } } }"),
        (QueryMode::Keyword, true)
    );
}

#[test]
fn a_service_is_read_with_its_key() {
    let (_, view, _home) = agent(
        "{ memory: { search: { provider: 'voyage', model: 'voyage-3.5', remote: { baseUrl: 'https://x/v1', \
         apiKey: 'MY_KEY', headers: { 'X-Team': 'a' }, nonBatchConcurrency: 2 }, inputType: 'passage', \
         queryInputType: 'q', outputDimensionality: 256 } } }",
    );
    let wanted = VectorSettings::of(&view);
    assert_eq!(wanted.base_url.as_deref(), Some("https://x/v1"));
    assert_eq!(wanted.headers, [("X-Team".to_owned(), "a".to_owned())]);
    assert_eq!(
        (wanted.concurrency, wanted.dimensions),
        (Some(2), Some(256))
    );
    assert_eq!(wanted.query_type.as_deref(), Some("q"));
    assert_eq!(wanted.document_type.as_deref(), Some("passage"));
    let there = EmbedKeys::of(&view, |name| (name == "MY_KEY").then(|| "secret".into()));
    assert!(there.own.is_some() && there.own_problem.is_none());
    let gone = EmbedKeys::of(&view, |_| None);
    assert_eq!(
        gone.own_problem.as_deref(),
        Some("the variable MY_KEY is not set")
    );
}
