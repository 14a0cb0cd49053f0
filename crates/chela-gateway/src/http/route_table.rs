//! Every address there is, in one table: the router is made of it, and so is the document.

use std::sync::Arc;

use axum::routing::{MethodRouter, get, post};

use super::{
    approvals, chat_completions, embeddings, health, hooks, mcp, messages, models, openapi,
    responses, tools_invoke, ws,
};
use crate::gateway_state::{GatewayState, HookAccess};
use crate::mcp_callers::MCP_PATH;

/// What is served at an address.
pub(super) struct RouteRow {
    pub method: RouteMethod,
    /// As the router writes it.
    pub path: String,
    pub summary: &'static str,
    pub access: RouteAccess,
    pub handler: MethodRouter<Arc<GatewayState>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RouteMethod {
    Get,
    Post,
}

impl RouteMethod {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::Post => "post",
        }
    }

    pub fn has_body(self) -> bool {
        self == Self::Post
    }
}

/// What a caller shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RouteAccess {
    Open,
    /// The owner's token.
    Owner,
    /// The token of webhooks, or a signature.
    Hook,
    /// A token of a caller of /mcp, or the owner's.
    Caller,
}

/// The addresses of a gateway; those of webhooks where it takes some.
pub(super) fn routes(access: &HookAccess) -> Vec<RouteRow> {
    use RouteAccess::{Caller, Hook, Open, Owner};
    use RouteMethod::{Get, Post};
    let row = |method, path: &str, access, handler, summary| RouteRow {
        method,
        path: path.to_owned(),
        summary,
        access,
        handler,
    };
    let mut rows = vec![
        row(
            Get,
            "/healthz",
            Open,
            get(health::healthz),
            "Whether the process answers",
        ),
        row(
            Get,
            "/readyz",
            Open,
            get(health::readyz),
            "Whether it takes work",
        ),
        row(
            Get,
            "/metrics",
            Owner,
            get(health::metrics),
            "Counters, as Prometheus reads them",
        ),
        row(
            Get,
            "/openapi.json",
            Owner,
            get(openapi::document),
            "This document",
        ),
        row(
            Get,
            "/v1/models",
            Owner,
            get(models::list),
            "The agents, as models",
        ),
        row(
            Get,
            "/v1/models/{*id}",
            Owner,
            get(models::one),
            "One of them",
        ),
        row(
            Post,
            "/v1/chat/completions",
            Owner,
            post(chat_completions::create),
            "A message to an agent (OpenAI)",
        ),
        row(
            Post,
            "/v1/responses",
            Owner,
            post(responses::create),
            "A message to an agent (OpenAI, newer)",
        ),
        row(
            Post,
            "/v1/messages",
            Owner,
            post(messages::create),
            "A message to an agent (Anthropic)",
        ),
        row(
            Post,
            "/v1/embeddings",
            Owner,
            post(embeddings::create),
            "Vectors of the built-in table",
        ),
        row(
            Post,
            "/tools/invoke",
            Owner,
            post(tools_invoke::invoke),
            "One call of a tool, under the rules of a turn",
        ),
        row(
            Get,
            "/approvals",
            Owner,
            get(approvals::list),
            "Questions for the owner that are open",
        ),
        row(
            Post,
            "/approvals/{id}",
            Owner,
            post(approvals::answer),
            "The owner's answer to one",
        ),
        row(
            Post,
            MCP_PATH,
            Caller,
            post(mcp::post).get(mcp::not_kept).delete(mcp::not_kept),
            "Memory, skills and sessions for other agents (Model Context Protocol)",
        ),
        row(
            Get,
            "/ws",
            Owner,
            get(ws::upgrade),
            "The WebSocket: requests, and events as they happen",
        ),
    ];
    if access.is_open() {
        let path = |name: &str| format!("{}/{name}", access.path);
        rows.extend([
            row(
                Post,
                &path("wake"),
                Hook,
                post(hooks::wake),
                "An event for the main session",
            ),
            row(
                Post,
                &path("agent"),
                Hook,
                post(hooks::agent),
                "An event with a turn of its own",
            ),
            row(
                Post,
                &path("{*name}"),
                Hook,
                post(hooks::mapped),
                "An event that hooks.mappings says what to do with",
            ),
        ]);
    }
    rows
}
