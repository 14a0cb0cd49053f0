//! A home whose agent may read pages of a server on this machine, and what that server was asked.

use chela_testkit::{EndpointScript, ScriptStep, ScriptedEndpoint, StepRule};
use serde_json::{Value, json};

use crate::scene::{APIS, ScriptedHome};

/// A web server with these pages, by path; anything else it answers with the last one.
pub fn pages(pages: &[(&str, &str)]) -> ScriptedEndpoint {
    let steps = pages.iter().map(|(path, body)| {
        let step = match body.strip_prefix("-> ") {
            Some(lead) => ScriptStep::status(302).header("location", lead),
            None => ScriptStep::page(200, "text/html", format!("<p>{body}</p>")),
        };
        step.when(StepRule {
            path: Some((*path).to_owned()),
            ..StepRule::default()
        })
    });
    ScriptedEndpoint::start(EndpointScript::steps(steps)).unwrap()
}

/// The paths a server was asked for, in order.
pub fn asked(pages: &ScriptedEndpoint) -> Vec<String> {
    let requests = pages.requests().into_iter();
    requests.map(|request| request.path).collect()
}

/// An agent that makes these calls one after the other and says this at the end.
pub fn obeying(calls: &[(&str, Value)], reply: &str) -> ScriptedHome {
    obeying_with(calls, reply, json!({}))
}

pub fn obeying_with(calls: &[(&str, Value)], reply: &str, more: Value) -> ScriptedHome {
    let mut config = json!({ "tools": { "web": { "fetch": {
        "ssrfPolicy": { "allowPrivateNetwork": true },
    } } } });
    if let (Some(config), Value::Object(more)) = (config.as_object_mut(), more) {
        config.extend(more);
    }
    ScriptedHome::with(APIS[0], script(calls, reply), config)
}

pub fn script(calls: &[(&str, Value)], reply: &str) -> EndpointScript {
    let steps = calls
        .iter()
        .map(|(tool, arguments)| ScriptStep::tool(tool, arguments.clone()));
    EndpointScript::steps(steps.chain([ScriptStep::reply(reply)]))
}

pub fn fetch(url: impl Into<String>) -> (&'static str, Value) {
    ("web_fetch", json!({ "url": url.into() }))
}

/// What the model was told of its calls, in order.
pub fn told(scene: &ScriptedHome) -> Vec<String> {
    told_about(scene, "")
}

/// The same for whoever was asked this.
pub fn told_about(scene: &ScriptedHome, message: &str) -> Vec<String> {
    let calls = scene.endpoint.calls().into_iter().rev();
    let mut results = calls
        .filter(|call| call.body.contains(message))
        .map(|call| {
            let messages = call.json()["messages"].as_array().unwrap().clone();
            let results = messages.iter().filter(|message| message["role"] == "tool");
            results
                .map(|message| message["content"].as_str().unwrap_or_default().to_owned())
                .collect::<Vec<String>>()
        });
    results.find(|results| !results.is_empty()).unwrap()
}
