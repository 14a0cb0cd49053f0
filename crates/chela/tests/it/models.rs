//! `chela models …`: which there are, and whether they answer.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

use chela_testkit::{EndpointScript, ScriptStep, ScriptedEndpoint};
use serde_json::json;

use crate::home::TestHome;

/// A key that must never be seen again.
const KEY: &str = "sk-models-4NotToBeSeen";

/// A home whose only model is scripted; the endpoint lives as long as it is held.
fn scripted(api: &str, step: ScriptStep) -> (TestHome, ScriptedEndpoint) {
    let endpoint = ScriptedEndpoint::start(EndpointScript::always(step)).unwrap();
    let home = TestHome::with_config(
        &json!({
            "models": { "providers": { "kit": {
                "baseUrl": endpoint.url(), "api": api, "apiKey": KEY,
            } } },
            "agents": { "defaults": { "model": "kit/scripted" } },
        })
        .to_string(),
    );
    (home, endpoint)
}

/// Nothing listens at the usual places of this machine, whatever runs on it.
fn nobody_here() -> serde_json::Value {
    let closed = json!({"baseUrl": "http://127.0.0.1:9"});
    json!({"ollama": closed, "lmstudio": closed, "llamacpp": closed, "vllm": closed,
        "lemonade": closed})
}

#[test]
fn the_list_says_what_is_known() {
    let home = TestHome::with_config(
        r#"{ agents: { defaults: {
            model: { primary: "anthropic/claude-sonnet-4-5", fallbacks: ["ollama/qwen3:8b"] },
            models: { "openai/gpt-5.2": { alias: "smart" } },
        } } }"#,
    )
    .env("OPENAI_API_KEY", "sk-not-to-be-seen");
    let told = home.run(&["models", "list"]).ok();
    assert!(!told.contains("not-to-be-seen"));
    insta::assert_snapshot!(told);
    let report = home.run(&["models", "list", "--json"]).json();
    assert_eq!(report["default"], "anthropic/claude-sonnet-4-5");
    assert_eq!(report["models"][0]["key"], "missing");
    assert_eq!(report["models"][2]["aliases"], json!(["smart", "gpt"]));
    assert_eq!(report["models"][2]["key"], "OPENAI_API_KEY");
}

#[test]
fn a_newcomer_is_told_how_to_get_one() {
    let home = TestHome::with_config(&json!({"models": {"providers": nobody_here()}}).to_string());
    let run = home.run(&["models", "probe"]);
    assert_eq!(run.code, 3);
    insta::assert_snapshot!(run.out);
    let with_key =
        TestHome::with_config(&json!({"models": {"providers": nobody_here()}}).to_string())
            .env("GEMINI_API_KEY", "sk-not-to-be-seen");
    let told = with_key.run(&["models", "probe"]).ok();
    assert!(
        told.contains("google/gemini-2.5-pro - the key in GEMINI_API_KEY"),
        "{told}"
    );
}

#[test]
fn a_probe_asks_in_every_protocol() {
    for api in [
        "openai-completions",
        "openai-responses",
        "anthropic-messages",
        "google-generative-ai",
        "ollama",
    ] {
        let (home, _endpoint) = scripted(api, ScriptStep::reply("pong"));
        let report = home.run(&["models", "probe", "--json"]).json();
        assert_eq!(report["probes"][0]["ok"], true, "{api}: {report}");
        assert_eq!(report["probes"][0]["model"], "kit/scripted");
    }
}

#[test]
fn a_probe_that_fails_says_why_and_hides_the_key() {
    let (home, _endpoint) = scripted("openai-completions", ScriptStep::status(401));
    let run = home.run(&["models", "probe", "kit/scripted", "nobody/x"]);
    assert_eq!(run.code, 1);
    assert!(
        run.out
            .contains("failed kit/scripted: the API key was rejected (401)"),
        "{}",
        run.out
    );
    assert!(
        run.out.contains("there is no provider `nobody`"),
        "{}",
        run.out
    );
    assert!(!run.out.contains(KEY) && !run.err.contains(KEY));
}
