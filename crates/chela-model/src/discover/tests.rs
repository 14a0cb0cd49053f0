use serde_json::json;

use super::{discover, pick};
use crate::testing::{ServerPlay, TestServer, models_with, serve};
use crate::{ModelHttp, ModelInput, PromptProfile, ToolMode};

fn json_play(body: &serde_json::Value) -> ServerPlay {
    ServerPlay::status(200, "content-type: application/json\r\n", &body.to_string())
}

/// Nothing listens at any of the usual places.
fn nobody() -> serde_json::Value {
    let closed = json!({"baseUrl": "http://127.0.0.1:9"});
    json!({"ollama": {"baseUrl": "http://127.0.0.1:9", "api": "ollama"}, "lmstudio": closed,
        "llamacpp": closed, "vllm": closed, "lemonade": closed})
}

async fn llama_cpp(template: &str) -> TestServer {
    let props = json!({"default_generation_settings": {"n_ctx": 8192}, "chat_template": template,
        "modalities": {"vision": true}});
    let list = json!({"data": [{"id": "SmolLM2-135M"}]});
    serve(vec![json_play(&props), json_play(&list), json_play(&props)]).await
}

#[tokio::test]
async fn a_local_server_comes_before_keys() {
    let server = llama_cpp("{{ messages }}").await;
    let mut providers = nobody();
    providers["llamacpp"]["baseUrl"] = json!(format!("{}/v1", server.url));
    let config = json!({"models": {"providers": providers}});
    let models = models_with(
        &config,
        &[("ANTHROPIC_API_KEY", "sk-a"), ("OPENAI_API_KEY", "sk-o")],
    );
    let found = discover(&ModelHttp::direct(), &models).await.models;
    let names: Vec<&str> = found.iter().map(|found| found.target.reference()).collect();
    assert_eq!(names[0], "llamacpp/SmolLM2-135M");
    assert!(
        found[0].why.starts_with("llama.cpp at 127.0.0.1:") && found[0].why.ends_with(", 1 model")
    );
    assert_eq!(
        names[1..],
        ["anthropic/claude-sonnet-4-6", "openai/gpt-5.2"]
    );
    assert_eq!(found[1].why, "the key in ANTHROPIC_API_KEY");
    let target = &found[0].target;
    assert_eq!(target.info().context_window, Some(8192));
    assert!(target.info().reads(ModelInput::Image));
    assert_eq!(target.prompt_profile(), PromptProfile::Short);
    assert_eq!(target.tool_mode(), ToolMode::Constrained);
}

#[tokio::test]
async fn ollama_says_what_its_models_can() {
    let tags = json!({"models": [{"name": "nomic-embed-text:latest"}, {"name": "qwen3:8b"}]});
    let show = json!({"model_info": {"general.architecture": "qwen3", "qwen3.context_length": 40960},
        "capabilities": ["completion", "tools", "thinking"]});
    let server = serve(vec![json_play(&tags), json_play(&show)]).await;
    let mut providers = nobody();
    providers["ollama"]["baseUrl"] = json!(server.url);
    let models = models_with(&json!({"models": {"providers": providers}}), &[]);
    let found = discover(&ModelHttp::direct(), &models).await.models;
    assert_eq!(found.len(), 1);
    let info = found[0].target.info();
    assert_eq!(info.reference, "ollama/qwen3:8b");
    assert_eq!(info.context_window, Some(32_768));
    assert!(info.reasoning && info.compat.tools && !info.reads(ModelInput::Image));
    assert_eq!(found[0].target.tool_mode(), ToolMode::Native);
    let sent = crate::wire::encode(&found[0].target, &crate::testing::request("hi"));
    let body: serde_json::Value = serde_json::from_slice(sent.bytes()).unwrap();
    assert_eq!(body["options"]["num_ctx"], 32_768);
}

#[tokio::test]
async fn something_else_on_the_port_is_no_model() {
    let page = ServerPlay::status(200, "content-type: text/html\r\n", "<html>my app</html>");
    let server = serve(vec![page]).await;
    let mut providers = nobody();
    for id in ["llamacpp", "vllm", "lmstudio"] {
        providers[id]["baseUrl"] = json!(server.url);
    }
    let models = models_with(&json!({"models": {"providers": providers}}), &[]);
    assert!(
        discover(&ModelHttp::direct(), &models)
            .await
            .models
            .is_empty()
    );
    assert_eq!(super::HOW_TO_GET_ONE.lines().count(), 2);
}

#[test]
fn embedding_models_do_not_talk() {
    let names = ["bge-m3".to_owned(), "llama3.2:3b".to_owned()];
    assert_eq!(pick(&names), Some("llama3.2:3b"));
    assert_eq!(pick(&names[..1]), None);
}

#[tokio::test]
async fn what_a_server_says_is_known_from_then_on() {
    let props = json!({"default_generation_settings": {"n_ctx": 4096}});
    let server = serve(vec![json_play(&props)]).await;
    let config = json!({
        "models": {"providers": {"llamacpp": {"baseUrl": format!("{}/v1", server.url)}}},
        "agents": {"defaults": {"model": "llamacpp/mine"}},
    });
    let models = models_with(&config, &[]);
    let window = || {
        models
            .resolve("llamacpp/mine")
            .unwrap()
            .info()
            .context_window
    };
    assert_eq!(window(), None);
    let chain = models.chain_of(models.resolve("llamacpp/mine").unwrap());
    models.learn(&ModelHttp::direct(), &chain).await;
    assert_eq!(window(), Some(4096));
}
