//! What an authorization server offers (RFC 8414, OpenID Discovery).

use std::time::Duration;

use serde_json::Value;

use super::{OauthError, line_of};
use crate::{HttpReply, ModelHttp};

const PATIENCE: Duration = Duration::from_secs(30);
/// Metadata names a handful of these.
const MOST_NAMES: usize = 64;

/// An authorization server, as it says of itself.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AuthorizationServer {
    pub issuer: String,
    pub token: String,
    pub authorize: Option<String>,
    pub device: Option<String>,
    pub register: Option<String>,
    /// What can be asked for; `None` where it does not say.
    pub scopes: Option<Vec<String>>,
    /// How a client may show who it is where it asks for tokens.
    pub token_auth: Vec<String>,
    /// Whether an address that describes a client is taken as its id.
    pub takes_client_address: bool,
    /// Whether its answers say who gives them (RFC 9207).
    pub names_itself: bool,
    /// How codes may be bound; `None` where it does not say.
    pub challenges: Option<Vec<String>>,
}

/// How the issuer in the metadata is compared with the one that was asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IssuerMatch {
    /// Letter by letter.
    Exact,
    /// A slash at the end makes no difference: people type issuers without.
    SlashAside,
}

impl AuthorizationServer {
    /// Asks a server what it offers.
    pub async fn discover(
        http: &ModelHttp,
        issuer: &str,
        compare: IssuerMatch,
    ) -> Result<Self, OauthError> {
        let mut tried = Vec::new();
        for url in metadata_urls(issuer) {
            check_address(&url)?;
            match http.get(&url, &[], PATIENCE).await {
                Ok(reply) if reply.status == 200 => {
                    return read_metadata(&reply, issuer, compare);
                }
                Ok(reply) => tried.push(format!("{url}: {}", reply.status)),
                Err(why) => tried.push(format!("{url}: {why}")),
            }
        }
        Err(OauthError::Undiscovered {
            issuer: line_of(issuer),
            tried: line_of(&tried.join("; ")),
        })
    }

    /// Whether it says that it takes codes that are bound as we bind them.
    pub fn binds_codes(&self) -> bool {
        let named = self.challenges.as_ref();
        named.is_some_and(|names| names.iter().any(|name| name == "S256"))
    }
}

/// Reads what a server says of itself.
pub fn read_metadata(
    reply: &HttpReply,
    issuer: &str,
    compare: IssuerMatch,
) -> Result<AuthorizationServer, OauthError> {
    let told: Value = serde_json::from_slice(&reply.body).map_err(|_| OauthError::Metadata {
        why: "it is not JSON".to_owned(),
    })?;
    let told = &told;
    let named = told["issuer"].as_str().unwrap_or_default();
    let is_same = match compare {
        IssuerMatch::Exact => named == issuer,
        IssuerMatch::SlashAside => named.trim_end_matches('/') == issuer.trim_end_matches('/'),
    };
    if !is_same {
        return Err(OauthError::OtherIssuer {
            named: line_of(named),
            issuer: line_of(issuer),
        });
    }
    let address = |name: &str| -> Result<Option<String>, OauthError> {
        match told[name].as_str() {
            Some(url) => check_address(url).map(|()| Some(url.to_owned())),
            None => Ok(None),
        }
    };
    let is_on = |name: &str| told[name].as_bool() == Some(true);
    Ok(AuthorizationServer {
        issuer: named.to_owned(),
        token: address("token_endpoint")?.ok_or(OauthError::Without {
            what: "a token endpoint",
        })?,
        authorize: address("authorization_endpoint")?,
        device: address("device_authorization_endpoint")?,
        register: address("registration_endpoint")?,
        scopes: names_of(&told["scopes_supported"]),
        token_auth: names_of(&told["token_endpoint_auth_methods_supported"]).unwrap_or_default(),
        takes_client_address: is_on("client_id_metadata_document_supported"),
        names_itself: is_on("authorization_response_iss_parameter_supported"),
        challenges: names_of(&told["code_challenge_methods_supported"]),
    })
}

/// Tokens travel over TLS, or not at all; a server on this machine may do without.
pub fn check_address(url: &str) -> Result<(), OauthError> {
    let parsed = reqwest::Url::parse(url).ok();
    let is_fine = parsed.is_some_and(|url| match url.scheme() {
        "https" => url.has_host(),
        "http" => is_loopback(&url),
        _ => false,
    });
    match is_fine {
        true => Ok(()),
        false => Err(OauthError::Insecure { url: line_of(url) }),
    }
}

fn is_loopback(url: &reqwest::Url) -> bool {
    let host = url.host_str().unwrap_or_default();
    let plain = host.trim_start_matches('[').trim_end_matches(']');
    let address = plain.parse::<std::net::IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

/// With the path of the issuer after the well-known part, as RFC 8414 has it, and as OpenID has it.
pub fn metadata_urls(issuer: &str) -> Vec<String> {
    let issuer = issuer.trim_end_matches('/');
    let start = issuer.find("://").map_or(0, |at| at + 3);
    let split = issuer
        .get(start..)
        .and_then(|rest| rest.find('/'))
        .map_or(issuer.len(), |at| start + at);
    let (origin, path) = issuer.split_at(split);
    let mut urls = vec![
        format!("{origin}/.well-known/oauth-authorization-server{path}"),
        format!("{origin}/.well-known/openid-configuration{path}"),
    ];
    if !path.is_empty() {
        urls.push(format!("{issuer}/.well-known/openid-configuration"));
    }
    urls
}

fn names_of(value: &Value) -> Option<Vec<String>> {
    let names = value.as_array()?.iter();
    let names = names.filter_map(|name| name.as_str().map(str::to_owned));
    Some(names.take(MOST_NAMES).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_looked_for_in_every_usual_place() {
        assert_eq!(
            metadata_urls("https://login.example.org/tenant/"),
            [
                "https://login.example.org/.well-known/oauth-authorization-server/tenant",
                "https://login.example.org/.well-known/openid-configuration/tenant",
                "https://login.example.org/tenant/.well-known/openid-configuration",
            ]
        );
        assert_eq!(
            metadata_urls("https://login.example.org"),
            [
                "https://login.example.org/.well-known/oauth-authorization-server",
                "https://login.example.org/.well-known/openid-configuration",
            ]
        );
    }

    #[test]
    fn tokens_travel_over_tls_or_stay_on_this_machine() {
        for fine in [
            "https://login.example.org/a",
            "http://127.0.0.1:9/token",
            "http://[::1]/x",
            "http://localhost:8080/x",
        ] {
            assert_eq!(check_address(fine), Ok(()), "{fine}");
        }
        for wrong in [
            "http://login.example.org",
            "http://127.0.0.1.evil.example/",
            "http://localhost.evil.example/",
            "file:///etc/passwd",
            "javascript:alert(1)",
            "",
        ] {
            assert!(check_address(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn metadata_of_somebody_else_is_not_used() {
        let reply = |issuer: &str| HttpReply {
            status: 200,
            headers: Vec::new(),
            body: serde_json::json!({
                "issuer": issuer, "token_endpoint": "https://a.example/token",
            })
            .to_string()
            .into_bytes(),
        };
        let read = |named: &str, compare| {
            read_metadata(&reply(named), "https://a.example", compare).map(|it| it.token)
        };
        assert!(read("https://b.example", IssuerMatch::SlashAside).is_err());
        assert!(read("https://a.example/", IssuerMatch::Exact).is_err());
        assert!(read("https://a.example/", IssuerMatch::SlashAside).is_ok());
        assert!(read("https://a.example", IssuerMatch::Exact).is_ok());
    }
}
