//! What every request passes before anything reads it: where it says it goes, which page sent it,
//! whether it shows the token.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;

use crate::access_token::AccessVerdict;
use crate::delivery::SIGNATURE;
use crate::error_reply::ErrorReply;
use crate::gateway_state::GatewayState;
use crate::mcp_callers::{MCP_PATH, McpCaller};

/// Where the two ends of a connection are, and whose it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionEnds {
    pub peer: SocketAddr,
    /// A command of an agent is at the other end.
    pub is_command: bool,
}

/// Everything but health passes this.
pub(crate) async fn guard_request(
    State(state): State<Arc<GatewayState>>,
    ConnectInfo(ends): ConnectInfo<ConnectionEnds>,
    mut request: Request,
    next: Next,
) -> Response {
    state.requests.fetch_add(1, Ordering::Relaxed);
    let path = request.uri().path();
    let judged = check_place(&state, request.headers())
        .and_then(|()| check_caller(&state, ends, path, request.headers()));
    match judged {
        Ok(caller) => {
            if let Some(caller) = caller {
                request.extensions_mut().insert(caller);
            }
            next.run(request).await
        }
        Err(refused) => {
            state.refused.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(
                peer = %ends.peer,
                path = chela_core::sanitize::literal(&path.chars().take(120).collect::<String>()).to_string(),
                status = refused.status.as_u16(),
                why = refused.code,
                "a request was refused"
            );
            refused.into_reply(path)
        }
    }
}

fn check_place(state: &GatewayState, headers: &HeaderMap) -> Result<(), ErrorReply> {
    let names = state.names.read().unwrap_or_else(PoisonError::into_inner);
    // Whoever passed it on may have read another end of it.
    if headers.contains_key(header::TRANSFER_ENCODING)
        && headers.contains_key(header::CONTENT_LENGTH)
    {
        return Err(ErrorReply::new(
            StatusCode::BAD_REQUEST,
            "two_lengths",
            "a request with both Content-Length and Transfer-Encoding is not read",
        ));
    }
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = hosts.next().and_then(|host| host.to_str().ok());
    let (Some(host), None) = (host, hosts.next()) else {
        return Err(ErrorReply::new(
            StatusCode::BAD_REQUEST,
            "bad_host",
            "one Host header is needed",
        ));
    };
    if !names.is_known_host(host) {
        return Err(ErrorReply::new(
            StatusCode::MISDIRECTED_REQUEST,
            "unknown_host",
            "this gateway does not go by that name; add it to gateway.controlUi.allowedOrigins if it should",
        ));
    }
    if let Some(origin) = headers.get(header::ORIGIN) {
        let origin = origin.to_str().unwrap_or_default();
        if !names.is_known_origin(origin, host) {
            return Err(ErrorReply::new(
                StatusCode::FORBIDDEN,
                "unknown_origin",
                "pages from elsewhere may not speak to this gateway; gateway.controlUi.allowedOrigins lists those that may",
            ));
        }
    } else if headers
        .get("sec-fetch-site")
        .is_some_and(|site| site == "cross-site")
    {
        return Err(ErrorReply::new(
            StatusCode::FORBIDDEN,
            "cross_site",
            "pages from elsewhere may not speak to this gateway",
        ));
    }
    Ok(())
}

fn check_caller(
    state: &GatewayState,
    ends: ConnectionEnds,
    path: &str,
    headers: &HeaderMap,
) -> Result<Option<McpCaller>, ErrorReply> {
    if matches!(path, "/healthz" | "/readyz") {
        return Ok(None);
    }
    if ends.is_command {
        return Err(ErrorReply::new(
            StatusCode::FORBIDDEN,
            "agent_command",
            "a command of an agent may not speak to the gateway: the token is the owner's",
        ));
    }
    let now = state.lanes.host().unix_millis();
    let ip = ends.peer.ip();
    // A token of a caller opens this one address and nothing else.
    if path == MCP_PATH
        && let Some(token) = shown_token(headers)
        && let Some(caller) = McpCaller::of_token(state.lanes.host(), token)
    {
        return Ok(Some(caller));
    }
    // Webhooks have a token of their own, which opens nothing else.
    let access = match path.starts_with(&format!("{}/", state.hooks.path)) {
        // A signature covers the body: it is looked at where that is read.
        true if state.hooks.secret.is_some() && headers.contains_key(SIGNATURE) => return Ok(None),
        true => match &state.hooks.access {
            Some(access) => access,
            None if state.hooks.secret.is_some() => {
                return Err(ErrorReply::new(
                    StatusCode::UNAUTHORIZED,
                    "unsigned",
                    "webhooks have to be signed: x-chela-timestamp and x-chela-signature",
                ));
            }
            None => return Err(ErrorReply::not_found()),
        },
        false => &state.access,
    };
    match access.judge(ip, shown_token(headers), now) {
        AccessVerdict::Granted => Ok((path == MCP_PATH).then(McpCaller::with_owners_token)),
        AccessVerdict::Refused => Err(ErrorReply::new(
            StatusCode::UNAUTHORIZED,
            "unauthorized",
            "show the token: `Authorization: Bearer …`; `chela gateway token` prints it",
        )),
        AccessVerdict::SlowDown => Err(ErrorReply::new(
            StatusCode::TOO_MANY_REQUESTS,
            "slow_down",
            "too many wrong tokens from this address; wait a minute",
        )),
    }
}

/// The token a caller shows, in a header: one in an address would stand in logs.
fn shown_token(headers: &HeaderMap) -> Option<&str> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let bearer = text("authorization").and_then(|value| {
        let (scheme, token) = value.split_once(' ')?;
        scheme
            .eq_ignore_ascii_case("bearer")
            .then_some(token.trim())
    });
    bearer
        .or_else(|| text("x-api-key"))
        .or_else(|| text("x-chela-token"))
        .or_else(|| text("x-openclaw-token"))
        .or_else(|| socket_token(headers))
}

/// A page cannot set headers of a WebSocket, but for the protocols it speaks.
fn socket_token(headers: &HeaderMap) -> Option<&str> {
    let protocols = headers.get("sec-websocket-protocol")?.to_str().ok()?;
    protocols
        .split(',')
        .find_map(|protocol| protocol.trim().strip_prefix("chela.token."))
}
