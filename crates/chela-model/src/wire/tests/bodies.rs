//! What is sent, whole.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::super::encode;
use crate::testing::{models, models_with, target};
use crate::{
    CacheRequest, CacheRetention, MessagePart, ModelMessage, ModelRequest, ModelTarget, SystemText,
    ThinkingEffort, ToolCall, ToolMode, ToolSchema,
};

fn call(id: &str, name: &str, arguments: Value) -> MessagePart {
    MessagePart::ToolCall(ToolCall {
        id: id.into(),
        name: name.into(),
        arguments: arguments.as_object().cloned().unwrap_or_default(),
        malformed: None,
    })
}

fn result(id: &str, text: &str, is_error: bool) -> ModelMessage {
    ModelMessage::ToolResult {
        call_id: id.into(),
        tool: "read".into(),
        content: vec![MessagePart::text(text)],
        is_error,
    }
}

/// Everything a conversation can hold.
fn rich(model: &str) -> ModelRequest {
    ModelRequest {
        system: SystemText {
            stable: "You are a crab.\n".into(),
            tail: "It is noon.".into(),
        },
        messages: [
            ModelMessage::User {
                content: vec![
                    MessagePart::text("What is this?"),
                    MessagePart::Image {
                        mime: "image/png".into(),
                        data: "iVBORw0=".into(),
                    },
                ],
            },
            ModelMessage::Assistant {
                content: vec![
                    MessagePart::Reasoning {
                        text: "Let me look.".into(),
                        signature: Some("c2lnbmVk".into()),
                        redacted: false,
                    },
                    MessagePart::text("I look."),
                    call("call_1", "read", json!({"path": "a.txt"})),
                    call("call:2", "read", json!({"path": "b.txt"})),
                    call("call_3", "read", json!({})),
                ],
                model: Some(model.into()),
            },
            result("call:2", "no such file", true),
            result("call_1", "hello", false),
            ModelMessage::user("Thanks."),
            ModelMessage::user("And now?"),
        ]
        .map(Arc::new)
        .into(),
        tools: vec![ToolSchema {
            name: "read".into(),
            description: "Reads a file. Lines are numbered.".into(),
            parameters: json!({"type": "object", "properties": {
                "path": {"type": "string", "pattern": "^.+$"},
                "limit": {"type": "integer"},
            }, "required": ["path"]})
            .into(),
        }],
        tool_mode: ToolMode::Native,
        must_call: Vec::new(),
        thinking: ThinkingEffort::Medium,
        max_tokens: Some(1000),
        cache: CacheRequest {
            retention: Some(CacheRetention::Long),
            key: "session-7".into(),
        },
        params: Map::from_iter([("temperature".into(), json!(0.5))]),
    }
}

fn sent(target: &ModelTarget, request: &ModelRequest) -> Value {
    let encoded = encode(target, request);
    assert_eq!(
        encoded,
        encode(target, request),
        "the same request, the same bytes"
    );
    serde_json::from_slice(encoded.bytes()).unwrap()
}

fn pretty(target: &ModelTarget, request: &ModelRequest) -> String {
    serde_json::to_string_pretty(&sent(target, request)).unwrap()
}

fn known(reference: &str) -> ModelTarget {
    models(&json!({})).resolve(reference).unwrap()
}

/// One model of each protocol, as the built-in list has it.
const ONE_OF_EACH: [&str; 5] = [
    "mistral/mistral-small-latest",
    "openai/gpt-5.2",
    "anthropic/claude-sonnet-4-5",
    "google/gemini-2.5-flash",
    "ollama/qwen3:8b",
];

#[test]
fn openai_completions() {
    insta::assert_snapshot!(pretty(&known(ONE_OF_EACH[0]), &rich(ONE_OF_EACH[0])));
}

#[test]
fn openai_responses() {
    let mut request = rich(ONE_OF_EACH[1]);
    if let ModelMessage::Assistant { content, .. } = Arc::make_mut(&mut request.messages[1])
        && let MessagePart::Reasoning { signature, .. } = &mut content[0]
    {
        *signature = Some(r#"{"id":"rs_1","encrypted_content":"gAAA"}"#.into());
    }
    insta::assert_snapshot!(pretty(&known(ONE_OF_EACH[1]), &request));
}

#[test]
fn anthropic_messages() {
    insta::assert_snapshot!(pretty(&known(ONE_OF_EACH[2]), &rich(ONE_OF_EACH[2])));
}

#[test]
fn google_generative_ai() {
    insta::assert_snapshot!(pretty(&known(ONE_OF_EACH[3]), &rich(ONE_OF_EACH[3])));
}

#[test]
fn ollama() {
    insta::assert_snapshot!(pretty(&known(ONE_OF_EACH[4]), &rich(ONE_OF_EACH[4])));
}

#[test]
fn constrained_completions() {
    let mut request = rich("llamacpp/m");
    request.tool_mode = ToolMode::Constrained;
    insta::assert_snapshot!(pretty(&known("llamacpp/smollm2-135m"), &request));
}

#[test]
fn constrained_ollama_takes_the_schema_as_format() {
    let mut request = rich("ollama/m");
    request.tool_mode = ToolMode::Constrained;
    let body = sent(&known("ollama/qwen3:0.6b"), &request);
    assert_eq!(body["format"]["anyOf"][0]["required"], json!(["reply"]));
    assert_eq!(
        body["format"]["anyOf"][1]["properties"]["tool"]["enum"],
        json!(["read"])
    );
    assert!(body.get("tools").is_none());
}

/// Appending to a conversation changes nothing of what was sent before.
#[test]
fn what_was_sent_is_a_prefix_of_what_is_sent_next() {
    for reference in ONE_OF_EACH {
        let target = known(reference);
        for mode in [ToolMode::Native, ToolMode::Constrained] {
            let mut request = rich(reference);
            request.tool_mode = mode;
            let before = conversation(&sent(&target, &request));
            request.messages.push(Arc::new(ModelMessage::Assistant {
                content: vec![MessagePart::text("Done.")],
                model: Some(reference.into()),
            }));
            request.messages.push(Arc::new(ModelMessage::user("More")));
            let after = conversation(&sent(&target, &request));
            assert!(after.len() > before.len());
            assert_eq!(after[..before.len()], before, "{reference} {mode:?}");
        }
    }
}

/// The messages of a body without cache marks, which move by design and are no content.
fn conversation(body: &Value) -> Vec<Value> {
    let list = ["messages", "input", "contents"]
        .iter()
        .find_map(|field| body[*field].as_array())
        .unwrap();
    let mut list = list.clone();
    for message in &mut list {
        for block in message["content"].as_array_mut().into_iter().flatten() {
            block.as_object_mut().unwrap().remove("cache_control");
        }
    }
    list
}

#[test]
fn anthropic_marks_are_at_most_four_and_follow_the_retention() {
    let target = known("anthropic/claude-sonnet-4-5");
    let mut request = rich("anthropic/claude-sonnet-4-5");
    let marks = |request: &ModelRequest| {
        let text = sent(&target, request).to_string();
        (
            text.matches("cache_control").count(),
            text.matches("\"ttl\":\"1h\"").count(),
        )
    };
    assert_eq!(marks(&request), (4, 4));
    request.cache.retention = Some(CacheRetention::Short);
    assert_eq!(marks(&request), (4, 0));
    request.cache.retention = Some(CacheRetention::None);
    assert_eq!(marks(&request), (0, 0));
    // What may change is never marked.
    request.cache.retention = Some(CacheRetention::Short);
    let body = sent(&target, &request);
    assert_eq!(body["system"][0]["text"], "You are a crab.\n");
    assert!(body["system"][0].get("cache_control").is_some());
    assert!(body["system"][1].get("cache_control").is_none());
}

#[test]
fn strangers_who_speak_like_anthropic_get_no_marks_unless_told() {
    let mut request = rich("p/m");
    request.cache.retention = None;
    let plain = target("anthropic-messages", "https://proxy.example", json!({}));
    assert!(!pretty(&plain, &request).contains("cache_control"));
    let told = target(
        "anthropic-messages",
        "https://proxy.example",
        json!({"params": {"cacheRetention": "short"}}),
    );
    assert!(pretty(&told, &request).contains("cache_control"));
    let direct = target("anthropic-messages", "https://api.anthropic.com", json!({}));
    assert!(pretty(&direct, &request).contains("cache_control"));
}

#[test]
fn cache_keys_go_to_openai_and_to_proxies_that_say_so() {
    let request = rich("p/m");
    let key = |url: &str, more: Value| {
        let body = sent(&target("openai-completions", url, more), &request);
        (
            body.get("prompt_cache_key").cloned(),
            body.get("prompt_cache_retention").cloned(),
        )
    };
    let openai = "https://api.openai.com/v1";
    assert_eq!(
        key(openai, json!({})),
        (Some(json!("session-7")), Some(json!("24h")))
    );
    assert_eq!(key("https://proxy.example/v1", json!({})), (None, None));
    let told = json!({"models": [{"id": "m", "compat": {"supportsPromptCacheKey": true}}]});
    assert_eq!(
        key("https://proxy.example/v1", told),
        (Some(json!("session-7")), None)
    );
    let mut quiet = rich("p/m");
    quiet.cache.retention = Some(CacheRetention::None);
    let body = sent(&target("openai-completions", openai, json!({})), &quiet);
    assert!(body.get("prompt_cache_key").is_none());
}

#[test]
fn openrouter_marks_the_system_text_of_anthropic_models_only() {
    let request = rich("x");
    let marked = |reference: &str| {
        let body = sent(&known(reference), &request);
        body["messages"][0]["content"][0]
            .get("cache_control")
            .cloned()
    };
    assert_eq!(
        marked("openrouter/anthropic/claude-sonnet-4.5"),
        Some(json!({"type": "ephemeral", "ttl": "1h"}))
    );
    assert_eq!(marked("openrouter/openai/gpt-5.2"), None);
}

#[test]
fn thoughts_of_another_model_stay_behind() {
    for reference in ONE_OF_EACH {
        let text = pretty(&known(reference), &rich("somebody/else"));
        assert!(!text.contains("c2lnbmVk"), "{reference}: {text}");
        assert!(!text.contains("Let me look."), "{reference}");
    }
}

#[test]
fn a_tool_loop_begun_without_thoughts_goes_on_without_them() {
    let target = known("anthropic/claude-sonnet-4-5");
    let mut request = rich("somebody/else");
    request.messages.truncate(4);
    assert!(sent(&target, &request).get("thinking").is_none());
    let mut request = rich("anthropic/claude-sonnet-4-5");
    request.messages.truncate(4);
    let body = sent(&target, &request);
    assert_eq!(body["thinking"]["budget_tokens"], 10_240);
    assert!(body["max_tokens"].as_u64().unwrap() > 10_240);
    assert!(
        body.get("temperature").is_none(),
        "thinking and temperature exclude each other"
    );
}

#[test]
fn ollama_always_gets_its_window() {
    let request = rich("x");
    let native = sent(&known("ollama/qwen3:8b"), &request);
    assert_eq!(native["options"]["num_ctx"], 16_384);
    let behind = json!({"models": [{"id": "m", "contextWindow": 40_000}]});
    let compat = target(
        "openai-completions",
        "http://127.0.0.1:11434/v1",
        behind.clone(),
    );
    assert_eq!(sent(&compat, &request)["options"]["num_ctx"], 40_000);
    let mut off = behind;
    off["injectNumCtxForOpenAICompat"] = json!(false);
    let off = target("openai-completions", "http://127.0.0.1:11434/v1", off);
    assert!(sent(&off, &request).get("options").is_none());
}

#[test]
fn params_are_merged_from_the_wide_to_the_narrow() {
    let config = json!({
        "models": {"providers": {"p": {
            "baseUrl": "https://p.example/v1",
            "params": {"a": "provider", "b": "provider", "c": "provider", "d": "provider"},
            "models": [{"id": "m", "params": {"b": "entry", "c": "entry", "d": "entry"}}],
        }}},
        "agents": {"defaults": {
            "params": {"c": "defaults", "d": "defaults", "cacheRetention": "long"},
            "models": {"p/m": {"params": {"d": "model", "model": "never"}}},
        }},
    });
    let target = models(&config).resolve("p/m").unwrap();
    let body = sent(&target, &ModelRequest::default());
    assert_eq!(
        [
            &body["a"],
            &body["b"],
            &body["c"],
            &body["d"],
            &body["model"]
        ],
        ["provider", "entry", "defaults", "model", "m"]
    );
    assert!(body.get("cacheRetention").is_none());
    assert_eq!(target.cache_retention(), CacheRetention::Long);
}

#[test]
fn addresses_are_completed() {
    let url = |api: &str, base: &str| super::super::url(&target(api, base, json!({})));
    assert_eq!(
        url("openai-completions", "http://127.0.0.1:8080"),
        "http://127.0.0.1:8080/v1/chat/completions"
    );
    assert_eq!(
        url("openai-completions", "https://x.example/openai/v1/"),
        "https://x.example/openai/v1/chat/completions"
    );
    assert_eq!(
        url("anthropic-messages", "http://127.0.0.1:8080/v1"),
        "http://127.0.0.1:8080/v1/messages"
    );
    assert_eq!(
        url("anthropic-messages", "https://api.anthropic.com"),
        "https://api.anthropic.com/v1/messages"
    );
    assert_eq!(
        url("ollama", "http://127.0.0.1:11434/v1"),
        "http://127.0.0.1:11434/api/chat"
    );
    assert_eq!(
        url(
            "google-generative-ai",
            "https://generativelanguage.googleapis.com"
        ),
        "https://generativelanguage.googleapis.com/v1beta/models/m:streamGenerateContent?alt=sse"
    );
    assert_eq!(
        url("openai-responses", "https://x.example/v1"),
        "https://x.example/v1/responses"
    );
}

#[test]
fn keys_go_where_each_protocol_wants_them() {
    let env = [
        ("ANTHROPIC_API_KEY", "sk-ant"),
        ("GEMINI_API_KEY", "sk-gem"),
    ];
    let models = models_with(&json!({}), &env);
    let names = |reference: &str| -> Vec<&'static str> {
        let target = models.resolve(reference).unwrap();
        let crate::key::KeySource::Ready { key, .. } = &target.provider.key else {
            panic!("no key");
        };
        let headers = crate::wire::headers(&target, &ModelRequest::default(), Some(key));
        headers.iter().map(|(name, _)| *name).collect()
    };
    assert!(names("anthropic/claude-sonnet-4-5").contains(&"x-api-key"));
    assert!(names("google/gemini-2.5-pro").contains(&"x-goog-api-key"));
}

#[test]
fn a_call_that_is_asked_for_is_asked_for_in_each_protocols_own_way() {
    let asked = |number: usize, names: &[&str]| {
        let mut request = rich(ONE_OF_EACH[number]);
        request.must_call = names.iter().map(|name| (*name).to_owned()).collect();
        sent(&known(ONE_OF_EACH[number]), &request)
    };
    let choice = |number, names| asked(number, names)["tool_choice"].clone();
    assert_eq!(
        choice(0, &["read"]),
        json!({"type": "function", "function": {"name": "read"}})
    );
    assert_eq!(
        choice(1, &["read"]),
        json!({"type": "function", "name": "read"})
    );
    assert_eq!(choice(0, &["read", "write"]), "required");
    assert_eq!(choice(1, &["read", "write"]), "required");
    assert_eq!(
        choice(2, &["read"]),
        json!({"type": "tool", "name": "read"})
    );
    assert_eq!(choice(2, &["read", "write"]), json!({"type": "any"}));
    // Anthropic's models do not think before a call they have to make.
    assert_eq!(asked(2, &["read"]).get("thinking"), None);
    assert_eq!(
        asked(3, &["read"])["toolConfig"],
        json!({"functionCallingConfig": {"mode": "ANY", "allowedFunctionNames": ["read"]}})
    );
    for number in 0..ONE_OF_EACH.len() {
        let free = asked(number, &[]);
        assert!(free.get("tool_choice").is_none() && free.get("toolConfig").is_none());
    }
}
