use super::{ProviderChoice, configured_index_file, keys_without_effect};
use crate::chunk::Cut;
use crate::settings::{Citations, Duplicates, MemorySettings, QueryMode, SourceKind, Switch};
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
    assert_eq!(ProviderChoice::of(&view), ProviderChoice::Local);
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
        (3, Some(0.5))
    );
    assert_eq!(settings.query.duplicates, Duplicates::Mmr { lambda: 0.6 });
    assert_eq!(
        (settings.query.vector_weight, settings.query.recency.weight),
        (Some(0.9), 0.0)
    );
    assert_eq!(settings.sync.watch, Switch::Off);
    assert_eq!(ProviderChoice::of(&view), ProviderChoice::Off);

    let new = "{ memory: { citations: 'on', search: { chunking: { mode: 'compat' }, extraPaths: ['~/x', { path: 'y', pattern: '*.txt' }], \
        store: { path: 'm/{agentId}.db', vector: { extensionPath: '/x.so' } }, provider: 'ollama', fallback: 'local' } } }";
    let (host, view, _home) = agent(new);
    let settings = MemorySettings::of(&view);
    assert_eq!(settings.citations, Citations::On);
    assert_eq!(
        settings.cut,
        Cut::Fixed {
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
    let provider = ProviderChoice::Named {
        provider: "ollama".into(),
        fallback: Some("local".into()),
    };
    assert_eq!(ProviderChoice::of(&view), provider);
}

#[test]
fn the_query_mode_is_found_in_every_shape() {
    let mode = |config: &str| {
        let (_, view, _home) = agent(config);
        let settings = MemorySettings::of(&view);
        (settings.query.mode, settings.cut == Cut::default())
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
