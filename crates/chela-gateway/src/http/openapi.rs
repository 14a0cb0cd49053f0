//! `/openapi.json`: what is served, for programs that read such documents, from the table the
//! router is made of.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde_json::{Map, Value, json};

use super::route_table::{RouteAccess, RouteRow, routes};
use crate::gateway_state::GatewayState;
use crate::json_member::put;

pub(super) async fn document(State(state): State<Arc<GatewayState>>) -> Json<Value> {
    let mut paths = Map::new();
    for row in routes(&state.hooks) {
        let path = document_path(&row.path);
        let operation = operation(&row, &path);
        let at = paths.entry(path).or_insert_with(|| json!({}));
        at[row.method.as_str()] = operation;
    }
    Json(json!({
        "openapi": "3.1.0",
        "info": { "title": "Chela gateway", "version": state.running.version },
        "paths": paths,
        "components": {
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer", "description": "`chela gateway token` prints it" },
                "callerToken": { "type": "http", "scheme": "bearer", "description": "`chela mcp token create` makes one" },
                "hookToken": { "type": "http", "scheme": "bearer", "description": "hooks.token of the config" },
                "hookSignature": {
                    "type": "apiKey", "in": "header", "name": crate::delivery::SIGNATURE,
                    "description": "v1= and the HMAC-SHA256, in hex, of `<x-chela-timestamp>.<body>` under hooks.secret",
                },
            },
            "schemas": { "Error": { "type": "object", "required": ["error"], "properties": {
                "error": { "type": "object", "properties": {
                    "message": { "type": "string" }, "type": { "type": "string" },
                    "code": { "type": "string" },
                } },
            } } },
        },
    }))
}

/// `{*id}` of the router is `{id}` in a document.
fn document_path(path: &str) -> String {
    path.replace("{*", "{")
}

fn operation(row: &RouteRow, path: &str) -> Value {
    let refused = |text: &str| {
        let schema = json!({ "$ref": "#/components/schemas/Error" });
        json!({ "description": text, "content": { "application/json": { "schema": schema } } })
    };
    let mut responses = json!({ "200": { "description": "It worked" } });
    let mut operation = json!({ "summary": row.summary });
    let security = match row.access {
        RouteAccess::Open => json!([]),
        RouteAccess::Owner => json!([{ "token": [] }]),
        RouteAccess::Caller => json!([{ "callerToken": [] }, { "token": [] }]),
        RouteAccess::Hook => json!([{ "hookToken": [] }, { "hookSignature": [] }]),
    };
    if row.access != RouteAccess::Open {
        put(&mut operation, "security", security);
        put(&mut responses, "401", refused("No token, or another one"));
    }
    if row.method.has_body() {
        let content = json!({ "application/json": { "schema": { "type": "object" } } });
        let body = json!({ "required": true, "content": content });
        put(&mut operation, "requestBody", body);
        let refused = refused("The request cannot be carried out as it is");
        put(&mut responses, "400", refused);
    }
    let names: Vec<Value> = path
        .split('{')
        .skip(1)
        .filter_map(|rest| rest.split('}').next())
        .map(|name| {
            json!({
                "name": name, "in": "path", "required": true, "schema": { "type": "string" },
            })
        })
        .collect();
    if !names.is_empty() {
        put(&mut operation, "parameters", names);
    }
    put(&mut operation, "responses", responses);
    operation
}
