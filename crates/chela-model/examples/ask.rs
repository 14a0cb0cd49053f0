//! One question to any endpoint, from the command line:
//!
//! ```text
//! cargo run -p chela-model --example ask -- openai-completions http://127.0.0.1:8080/v1 smollm2 "Who are you?"
//! ```
//!
//! A fifth word, `tools`, offers a tool in the constrained mode.

#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "an example stops where it fails and prints what it learns"
)]

use chela_config::load_text;
use chela_core::Host;
use chela_model::{
    ModelHttp, ModelMessage, ModelRequest, Models, ResponseEvent, SystemText, ToolMode, ToolSchema,
    call_model, learn_from_server,
};
use serde_json::json;

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [api, url, model, question, more @ ..] = words.as_slice() else {
        eprintln!("usage: ask API BASE_URL MODEL QUESTION [tools]");
        return;
    };
    let config = json!({"models": {"providers": {"llamacpp": {
        "baseUrl": url, "api": api, "apiKey": "none-needed",
    }}}});
    let host = Host::fixed("/");
    let loaded = load_text(&host, &config.to_string());
    let models = Models::of(&host, &loaded);
    let http = ModelHttp::new(&host, &loaded);
    let mut request = ModelRequest {
        system: SystemText {
            stable: "You are a helpful assistant.".into(),
            tail: String::new(),
        },
        messages: vec![ModelMessage::user(question.as_str()).into()],
        max_tokens: Some(120),
        ..ModelRequest::default()
    };
    if more.first().is_some_and(|word| word == "tools") {
        request.tool_mode = ToolMode::Constrained;
        request.tools = vec![ToolSchema {
            name: "weather".into(),
            description: "Tells the weather of a city.".into(),
            parameters: json!({"type": "object", "properties": {
                "city": {"type": "string"},
            }, "required": ["city"], "additionalProperties": false})
            .into(),
        }];
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let target = models.resolve(&format!("llamacpp/{model}")).unwrap();
        let target = learn_from_server(&http, target).await;
        println!("{:?}", target.info());
        let mut listen = |event: ResponseEvent| println!("{event:?}");
        match call_model(&target, &http, &request, &mut listen).await {
            Ok(response) => println!("{response:#?}"),
            Err(error) => println!("{error}\n{:?}", error.hint),
        }
    });
}
