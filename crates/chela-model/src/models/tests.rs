use chela_config::load_text;
use chela_core::{AgentId, Host};
use serde_json::{Value, json};

use super::{ModelSelection, Models};
use crate::testing::{models, models_with};
use crate::{CacheRetention, InfoSource, ModelApi, ModelInput, ResolveError};

fn config() -> Value {
    json!({
        "models": {"providers": {
            "box": {"baseUrl": "http://192.168.1.5:9000/v1", "models": [
                {"id": "big/model", "contextWindow": 100_000, "contextTokens": 60_000,
                 "input": ["text", "image"], "cost": {"input": 1, "output": 2}},
                {"id": "twin"},
            ]},
            "other": {"baseUrl": "https://other.example/v1", "models": [{"id": "twin"}]},
            "bedrock": {"baseUrl": "https://aws.example", "api": "bedrock-converse-stream"},
            "lost": {"models": [{"id": "x"}]},
        }},
        "agents": {
            "defaults": {
                "model": {"primary": "anthropic/claude-sonnet-4-5", "fallbacks": ["opus", "nobody/x"]},
                "models": {
                    "anthropic/claude-opus-4-5": {},
                    "anthropic/claude-opus-4-6": {},
                    "openai/gpt-5.2": {"alias": "smart", "params": {"cacheRetention": "long"}},
                    "google/gemini-2.5-flash": {},
                },
            },
            "list": [
                {"id": "main"},
                {"id": "cheap", "model": "box/twin", "params": {"temperature": 0}},
                {"id": "narrow", "modelPolicy": {"allow": ["anthropic/*", "smart"]}},
            ],
        },
    })
}

fn reference(models: &Models, name: &str) -> String {
    models.resolve(name).unwrap().reference().to_owned()
}

#[test]
fn a_name_is_an_alias_then_a_configured_model_then_one_of_the_default_provider() {
    let models = models(&config());
    assert_eq!(reference(&models, "openai/gpt-4o"), "openai/gpt-4o");
    assert_eq!(reference(&models, "smart"), "openai/gpt-5.2");
    assert_eq!(reference(&models, "Opus"), "anthropic/claude-opus-4-6");
    assert_eq!(
        reference(&models, "gemini-flash"),
        "google/gemini-2.5-flash"
    );
    assert_eq!(reference(&models, "big/model"), "box/big/model");
    assert_eq!(
        reference(&models, "claude-haiku-4-5"),
        "anthropic/claude-haiku-4-5"
    );
    assert_eq!(
        reference(&models, "gemini/gemini-2.5-pro"),
        "google/gemini-2.5-pro"
    );
    // Two models have this id: the default provider is asked.
    assert_eq!(reference(&models, "twin"), "anthropic/twin");
}

#[test]
fn built_in_aliases_need_a_listed_model() {
    let bare = models(&json!({}));
    assert!(matches!(
        bare.resolve("opus"),
        Err(ResolveError::Unknown { .. })
    ));
    let own = models(&json!({"agents": {"defaults": {"models": {
        "anthropic/claude-opus-4-6": {}, "openai/gpt-5.2": {"alias": "opus"},
    }}}}));
    assert_eq!(
        reference(&own, "opus"),
        "openai/gpt-5.2",
        "the operator's alias wins"
    );
}

#[test]
fn what_cannot_be_meant_is_explained() {
    let models = models(&config());
    let said = |name: &str| models.resolve(name).unwrap_err().to_string();
    let said: Vec<String> = [
        "opuss",
        "antropic/claude-opus-4-6",
        "bedrock/x",
        "lost/x",
        " ",
    ]
    .iter()
    .map(|name| said(name))
    .collect();
    insta::assert_snapshot!(said.join("\n"), @r"
    there is no model `opuss`; did you mean `opus`?
    there is no provider `antropic` (in `antropic/claude-opus-4-6`); did you mean `anthropic/claude-opus-4-6`?
    provider `bedrock` uses `bedrock-converse-stream`, which Chela does not support
    models.providers.lost has no baseUrl
    no model is configured
    ");
}

#[test]
fn the_config_knows_more_than_the_table() {
    let models = models(&config());
    let own = models.resolve("box/big/model").unwrap();
    assert_eq!(own.info().context_window, Some(60_000));
    assert!(own.info().reads(ModelInput::Image));
    assert_eq!(own.info().cost.map(|cost| cost.output), Some(2.0));
    assert_eq!(own.info().api, ModelApi::OpenAiCompletions);
    let table = models.resolve("anthropic/claude-sonnet-4-5").unwrap();
    assert_eq!(table.info().context_window, Some(200_000));
    assert_eq!(table.info().source, InfoSource::Table);
    assert_eq!(table.info().cost.map(|cost| cost.cache_read), Some(0.3));
    // A local server decides its window itself, and costs nothing.
    let local = models.resolve("ollama/qwen3:8b").unwrap();
    assert_eq!(
        (local.info().context_window, local.info().cost),
        (None, None)
    );
}

#[test]
fn an_agent_has_its_chain() {
    let host = Host::fixed("/home/me");
    let loaded = load_text(&host, &config().to_string());
    let models = Models::of(&host, &loaded);
    let view = |id: &str| loaded.agent(&AgentId::normalize(id)).unwrap();
    let names = |id: &str, selection| {
        let chain = models.chain(&view(id), selection).unwrap();
        let names = chain.targets().map(|target| target.reference().to_owned());
        (names.collect::<Vec<_>>(), chain.skipped().len())
    };
    assert_eq!(
        names("main", ModelSelection::Configured),
        (
            vec![
                "anthropic/claude-sonnet-4-5".to_owned(),
                "anthropic/claude-opus-4-6".to_owned()
            ],
            1
        )
    );
    assert_eq!(
        names("cheap", ModelSelection::Configured),
        (vec!["box/twin".to_owned()], 0)
    );
    assert_eq!(
        names("main", ModelSelection::Chosen("smart")),
        (vec!["openai/gpt-5.2".to_owned()], 0)
    );
    let cheap = models
        .chain(&view("cheap"), ModelSelection::Configured)
        .unwrap();
    assert_eq!(cheap.primary().params["temperature"], 0);
    let smart = models
        .chain(&view("cheap"), ModelSelection::Chosen("smart"))
        .unwrap();
    assert_eq!(smart.primary().cache_retention(), CacheRetention::Long);
    let narrow = |name: &str| models.chain(&view("narrow"), ModelSelection::Chosen(name));
    assert!(narrow("openai/gpt-5.2").is_ok());
    assert!(narrow("anthropic/claude-haiku-4-5").is_ok());
    assert_eq!(
        narrow("openai/gpt-4o").unwrap_err(),
        ResolveError::NotAllowed {
            name: "openai/gpt-4o".into()
        }
    );
}

#[test]
fn the_list_names_what_is_configured() {
    let models = models(&config());
    let names: Vec<String> = models
        .list()
        .into_iter()
        .map(|info| info.reference)
        .collect();
    assert_eq!(
        names,
        [
            "anthropic/claude-sonnet-4-5",
            "anthropic/claude-opus-4-6",
            "box/big/model",
            "box/twin",
            "other/twin",
            "anthropic/claude-opus-4-5",
            "google/gemini-2.5-flash",
            "openai/gpt-5.2",
        ]
    );
}

#[test]
fn replacing_leaves_only_what_is_configured() {
    let mut only = config();
    only["models"]["mode"] = json!("replace");
    let models = models(&only);
    assert!(matches!(
        models.resolve("groq/x"),
        Err(ResolveError::UnknownProvider { .. })
    ));
}

#[test]
fn a_known_name_at_another_address_is_a_proxy() {
    let api = |provider: Value| {
        let models = models(&json!({"models": {"providers": provider}}));
        models.list();
        models
    };
    let proxied = api(json!({"openai": {"baseUrl": "https://proxy.example/v1"}}));
    assert_eq!(
        proxied.resolve("openai/gpt-5.2").unwrap().info().api,
        ModelApi::OpenAiCompletions
    );
    let behind = api(json!({"ollama": {"baseUrl": "http://10.0.0.1:11434/v1"}}));
    assert_eq!(
        behind.resolve("ollama/q").unwrap().info().api,
        ModelApi::OpenAiCompletions
    );
    let native = api(json!({"ollama": {"baseUrl": "http://10.0.0.1:11434"}}));
    assert_eq!(
        native.resolve("ollama/q").unwrap().info().api,
        ModelApi::Ollama
    );
    let direct = api(json!({}));
    assert_eq!(
        direct.resolve("openai/gpt-5.2").unwrap().info().api,
        ModelApi::OpenAiResponses
    );
}

#[test]
fn keys_in_the_environment_are_found_in_order() {
    let models = models_with(
        &json!({}),
        &[
            ("GROQ_API_KEY", "sk-g"),
            ("GOOGLE_API_KEY", "sk-v"),
            ("OPENAI_API_KEY", " "),
        ],
    );
    let found: Vec<String> = models
        .with_keys()
        .into_iter()
        .map(|(target, key)| format!("{} {key}", target.reference()))
        .collect();
    assert_eq!(
        found,
        [
            "google/gemini-2.5-pro GOOGLE_API_KEY",
            "groq/openai/gpt-oss-120b GROQ_API_KEY"
        ]
    );
}
