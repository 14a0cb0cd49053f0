//! `/openapi.json`: what is served, for programs that read such documents.

use crate::json_member::put;
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde_json::{Map, Value, json};

use crate::gateway_state::GatewayState;

/// Method, path, what it does, and whether it needs the token.
const ROUTES: &[(&str, &str, &str, bool)] = &[
    ("get", "/healthz", "Whether the process answers", false),
    ("get", "/readyz", "Whether it takes work", false),
    (
        "get",
        "/metrics",
        "Counters, as Prometheus reads them",
        true,
    ),
    ("get", "/openapi.json", "This document", true),
    ("get", "/v1/models", "The agents, as models", true),
    ("get", "/v1/models/{id}", "One of them", true),
    (
        "post",
        "/v1/chat/completions",
        "A message to an agent (OpenAI)",
        true,
    ),
    (
        "post",
        "/v1/responses",
        "A message to an agent (OpenAI, newer)",
        true,
    ),
    (
        "post",
        "/v1/messages",
        "A message to an agent (Anthropic)",
        true,
    ),
    (
        "post",
        "/v1/embeddings",
        "Vectors of the built-in table",
        true,
    ),
    (
        "get",
        "/approvals",
        "Questions for the owner that are open",
        true,
    ),
    ("post", "/approvals/{id}", "The owner's answer to one", true),
    (
        "get",
        "/ws",
        "The WebSocket: requests, and events as they happen",
        true,
    ),
];

pub(super) async fn document(State(state): State<Arc<GatewayState>>) -> Json<Value> {
    let mut paths = Map::new();
    for (method, path, summary, guarded) in ROUTES {
        add(
            &mut paths,
            (method, path),
            summary,
            if *guarded { "token" } else { "" },
        );
    }
    if state.hooks.access.is_some() {
        for (name, summary) in [
            ("wake", "An event for the main session"),
            ("agent", "An event with a turn of its own"),
        ] {
            let path = format!("{}/{name}", state.hooks.path);
            add(&mut paths, ("post", &path), summary, "hookToken");
        }
    }
    Json(json!({
        "openapi": "3.1.0",
        "info": { "title": "Chela gateway", "version": state.running.version },
        "paths": paths,
        "components": { "securitySchemes": {
            "token": { "type": "http", "scheme": "bearer", "description": "`chela gateway token` prints it" },
            "hookToken": { "type": "http", "scheme": "bearer", "description": "hooks.token of the config" },
        } },
    }))
}

fn add(paths: &mut Map<String, Value>, (method, path): (&str, &str), summary: &str, scheme: &str) {
    let mut operation = json!({
        "summary": summary,
        "responses": { "200": { "description": "It worked" } },
    });
    if !scheme.is_empty() {
        put(&mut operation, "security", json!([{ scheme: [] }]));
        if let Some(responses) = operation.get_mut("responses") {
            put(
                responses,
                "401",
                json!({ "description": "No token, or another one" }),
            );
        }
    }
    if method == "post" {
        put(
            &mut operation,
            "requestBody",
            json!({ "required": true, "content": {
            "application/json": { "schema": { "type": "object" } },
        } }),
        );
    }
    if let Some((_, name)) = path.split_once('{') {
        let name = name.trim_end_matches('}');
        put(
            &mut operation,
            "parameters",
            json!([{
                "name": name, "in": "path", "required": true, "schema": { "type": "string" },
            }]),
        );
    }
    let at = paths.entry(path.to_owned()).or_insert_with(|| json!({}));
    at[method] = operation;
}
