//! What every request passes before anything reads it: where it says it goes, which page sent it,
//! whether it shows the token.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::extract::{ConnectInfo, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::Next;
use axum::response::Response;
use chela_config::LoadedConfig;

use crate::access_token::AccessVerdict;
use crate::error_reply::ErrorReply;
use crate::gateway_state::GatewayState;

/// Where the two ends of a connection are, and whose it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ConnectionEnds {
    pub peer: SocketAddr,
    /// A command of an agent is at the other end.
    pub is_command: bool,
}

/// The names this gateway answers to. A page elsewhere can make its own name lead here, and then
/// its scripts would speak to us as if we were theirs; numbers cannot be made to lead elsewhere.
#[derive(Debug, Default)]
pub(crate) struct KnownNames {
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl KnownNames {
    pub fn of(loaded: &LoadedConfig) -> Self {
        let gateway = &loaded.config.gateway;
        let origins: Vec<String> = gateway
            .control_ui
            .allowed_origins
            .iter()
            .map(|origin| origin.trim().trim_end_matches('/').to_ascii_lowercase())
            .collect();
        let mut hosts: Vec<String> = origins
            .iter()
            .filter_map(|origin| origin.split_once("://").map(|(_, host)| host_of(host)))
            .collect();
        hosts.extend(gateway.custom_bind_host.iter().map(|host| host_of(host)));
        hosts.push("localhost".to_owned());
        Self { hosts, origins }
    }

    fn is_known_host(&self, host: &str) -> bool {
        let name = host_of(host);
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        bare.parse::<IpAddr>().is_ok() || self.hosts.contains(&name)
    }

    /// A page may speak to us when it came from here, or from where the owner said.
    fn is_known_origin(&self, origin: &str, host: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        let from_here = origin.split_once("://").is_some_and(|(scheme, rest)| {
            matches!(scheme, "http" | "https") && rest == host.to_ascii_lowercase()
        });
        from_here || self.origins.contains(&origin)
    }
}

/// A host without its port, in small letters.
fn host_of(host: &str) -> String {
    let host = host.trim().to_ascii_lowercase();
    match host.rsplit_once(':') {
        // The last colon of an address in brackets may be inside of them.
        Some((name, port)) if !port.contains(']') && !name.is_empty() => {
            match name.contains(':') && !name.starts_with('[') {
                true => host,
                false => name.to_owned(),
            }
        }
        _ => host,
    }
}

/// Everything but health passes this.
pub(crate) async fn guard_request(
    State(state): State<Arc<GatewayState>>,
    ConnectInfo(ends): ConnectInfo<ConnectionEnds>,
    request: Request,
    next: Next,
) -> Response {
    state.requests.fetch_add(1, Ordering::Relaxed);
    let path = request.uri().path();
    let refused = check_place(&state, request.headers())
        .and_then(|()| check_caller(&state, ends, path, request.headers()));
    match refused {
        Ok(()) => next.run(request).await,
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
    let mut hosts = headers.get_all(header::HOST).iter();
    let host = hosts.next().and_then(|host| host.to_str().ok());
    let (Some(host), None) = (host, hosts.next()) else {
        return Err(ErrorReply::new(
            StatusCode::BAD_REQUEST,
            "bad_host",
            "one Host header is needed",
        ));
    };
    if !state.names.is_known_host(host) {
        return Err(ErrorReply::new(
            StatusCode::MISDIRECTED_REQUEST,
            "unknown_host",
            "this gateway does not go by that name; add it to gateway.controlUi.allowedOrigins if it should",
        ));
    }
    if let Some(origin) = headers.get(header::ORIGIN) {
        let origin = origin.to_str().unwrap_or_default();
        if !state.names.is_known_origin(origin, host) {
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
) -> Result<(), ErrorReply> {
    if matches!(path, "/healthz" | "/readyz") {
        return Ok(());
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
    // Webhooks have a token of their own, which opens nothing else.
    let access = match path.starts_with(&format!("{}/", state.hooks.path)) {
        true => match &state.hooks.access {
            Some(access) => access,
            None => return Err(ErrorReply::not_found()),
        },
        false => &state.access,
    };
    match access.judge(ip, shown_token(headers), now) {
        AccessVerdict::Granted => Ok(()),
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

#[cfg(test)]
mod tests {
    use super::{KnownNames, host_of};

    #[test]
    fn names_that_lead_here_by_a_trick_are_not_ours() {
        let names = KnownNames {
            hosts: vec!["localhost".into(), "home.example".into()],
            origins: vec!["https://home.example".into()],
        };
        for host in [
            "127.0.0.1:18790",
            "localhost:1",
            "[::1]:80",
            "::1",
            "LOCALHOST",
            "home.example",
        ] {
            assert!(names.is_known_host(host), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example:80",
            "127.0.0.1.nip.io",
            "",
        ] {
            assert!(!names.is_known_host(host), "{host}");
        }
        assert!(names.is_known_origin("http://localhost:18790", "localhost:18790"));
        assert!(names.is_known_origin("https://home.example", "127.0.0.1:18790"));
        for origin in [
            "null",
            "http://localhost:9",
            "https://evil.example",
            "file://",
            "ftp://localhost:18790",
        ] {
            assert!(
                !names.is_known_origin(origin, "localhost:18790"),
                "{origin}"
            );
        }
        assert_eq!(host_of("[::1]:80"), "[::1]");
    }
}
