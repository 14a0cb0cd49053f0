use std::sync::Arc;
use std::time::Duration;

use super::{ChosenEmbedder, EmbedKeys, VectorSettings, choose};
use crate::embed::remote::{ApiKey, EmbedHttpRequest, EmbedHttpResponse, EmbedTransport};

struct Nowhere;

impl EmbedTransport for Nowhere {
    fn post(&self, _: EmbedHttpRequest) -> Result<EmbedHttpResponse, String> {
        Err("no network in this test".into())
    }

    fn pause(&self, _: Duration) {}
}

fn pick(wanted: &VectorSettings, keys: &EmbedKeys) -> ChosenEmbedder {
    let transport: Arc<dyn EmbedTransport> = Arc::new(Nowhere);
    choose(wanted, keys, Some(&transport))
}

/// The model that answers, who stands in for it, and the problem.
fn said(chosen: &ChosenEmbedder) -> String {
    let name = chosen.embedder.as_ref().map(|e| e.id().to_string());
    let then = chosen
        .embedder
        .as_ref()
        .and_then(|e| e.stand_in().map(|then| then.id().to_string()));
    format!(
        "{} / {} / {}",
        name.as_deref().unwrap_or("words"),
        then.as_deref().unwrap_or("-"),
        chosen.problem.as_deref().unwrap_or("-")
    )
}

fn named(provider: &str) -> VectorSettings {
    VectorSettings {
        provider: Some(provider.into()),
        ..VectorSettings::default()
    }
}

fn all_keys() -> EmbedKeys {
    EmbedKeys::of_environment(|name| Some(format!("key-of-{name}")))
}

#[test]
fn local_comes_first_and_none_is_respected() {
    let local = said(&pick(&VectorSettings::default(), &all_keys()));
    assert!(local.starts_with("local/table-"), "{local}");
    assert_eq!(local, said(&pick(&named("auto"), &all_keys())));
    assert_eq!(said(&pick(&named("none"), &all_keys())), "words / - / -");
}

#[test]
fn auto_takes_the_service_whose_model_and_key_are_there() {
    let wanted = VectorSettings {
        model: Some("voyage-3.5".into()),
        ..named("auto")
    };
    assert!(said(&pick(&wanted, &all_keys())).starts_with("voyage/voyage-3.5 / local/"));
    assert!(said(&pick(&wanted, &EmbedKeys::default())).starts_with("local/"));
}

#[test]
fn every_service_has_a_model_and_a_stand_in() {
    let ids: Vec<String> = ["openai", "gemini", "google", "voyage", "ollama"]
        .map(|name| said(&pick(&named(name), &all_keys())))
        .into();
    insta::assert_snapshot!(ids.join("\n").replace(crate::embed::LocalTable::MODEL, "TABLE"), @r"
    openai/text-embedding-3-small / local/TABLE / -
    gemini/gemini-embedding-001 / local/TABLE / -
    google/gemini-embedding-001 / local/TABLE / -
    voyage/voyage-3.5 / local/TABLE / -
    ollama/nomic-embed-text / local/TABLE / -
    ");
}

#[test]
fn what_is_missing_is_named_and_search_goes_on() {
    let cases = [
        named("openai"),
        VectorSettings {
            fallback: Some("none".into()),
            ..named("openai")
        },
        named("openai-compatible"),
        named("mistery"),
        VectorSettings {
            base_url: Some("http://127.0.0.1:9/v1".into()),
            ..named("mistery")
        },
        VectorSettings {
            base_url: Some("http://127.0.0.1:9/v1".into()),
            model: Some("m".into()),
            ..named("mistery")
        },
        VectorSettings {
            fallback: Some("voyage".into()),
            ..named("ollama")
        },
    ];
    let told: Vec<String> = cases
        .iter()
        .map(|wanted| said(&pick(wanted, &EmbedKeys::default())))
        .collect();
    insta::assert_snapshot!(told.join("\n").replace(crate::embed::LocalTable::MODEL, "TABLE"), @r"
    local/TABLE / - / embedding provider `openai` needs a key (there is none): set OPENAI_API_KEY or `remote.apiKey`; local/TABLE is used meanwhile
    words / - / embedding provider `openai` needs a key (there is none): set OPENAI_API_KEY or `remote.apiKey`; only words are searched meanwhile
    local/TABLE / - / embedding provider `openai-compatible` needs `remote.baseUrl`; local/TABLE is used meanwhile
    local/TABLE / - / there is no embedding provider `mistery`; choose local, none, openai, gemini, voyage, ollama, openai-compatible or set `remote.baseUrl`; local/TABLE is used meanwhile
    local/TABLE / - / embedding provider `mistery` needs `model`; local/TABLE is used meanwhile
    mistery/m / local/TABLE / -
    ollama/nomic-embed-text / - / embedding provider `voyage` needs a key (there is none): set VOYAGE_API_KEY or `remote.apiKey`
    ");
}

#[test]
fn the_key_of_the_first_never_goes_to_the_fallback() {
    let keys = EmbedKeys {
        own: ApiKey::new("own-key"),
        ..EmbedKeys::default()
    };
    let wanted = VectorSettings {
        fallback: Some("openai".into()),
        ..named("voyage")
    };
    let chosen = pick(&wanted, &keys);
    assert_eq!(
        said(&chosen),
        "voyage/voyage-3.5 / - / embedding provider `openai` needs a key (there is none): set OPENAI_API_KEY or `remote.apiKey`"
    );
    assert!(!format!("{keys:?}").contains("own-key"));
}

#[test]
fn without_a_way_out_only_the_table_answers() {
    let chosen = choose(&named("openai"), &all_keys(), None);
    assert!(
        said(&chosen).contains("cannot be reached from here"),
        "{}",
        said(&chosen)
    );
}

#[test]
fn a_local_model_is_used_where_it_can_be_run() {
    let wanted = VectorSettings {
        model_file: Some("/m/all-minilm-l6-v2.onnx".into()),
        ..named("local")
    };
    let told = said(&pick(&wanted, &EmbedKeys::default()));
    match cfg!(feature = "minilm") {
        true => assert!(
            told.starts_with("local/all-minilm-l6-v2 / local/table-"),
            "{told}"
        ),
        false => assert!(told.contains("a build with the feature `minilm`"), "{told}"),
    }
}
