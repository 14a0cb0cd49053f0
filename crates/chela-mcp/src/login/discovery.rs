//! Where a server wants its callers to log in (RFC 9728).

use std::time::Duration;

use chela_model::ModelHttp;
use chela_model::oauth::{AuthorizationServer, IssuerMatch, check_address};
use serde_json::Value;

use super::LoginFault;
use crate::challenge::LoginChallenge;
use crate::spec::without_query;

const PATIENCE: Duration = Duration::from_secs(30);
const MOST_SERVERS: usize = 8;
const MOST_SCOPES: usize = 64;

/// What a server says of itself as something to log in to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ServerMetadata {
    /// What tokens are asked for.
    pub resource: String,
    pub authorization_servers: Vec<String>,
    pub scopes: Option<Vec<String>>,
}

impl ServerMetadata {
    /// Asks a server. `None`: it says nothing of itself, as servers of the oldest kind.
    pub async fn discover(
        http: &ModelHttp,
        url: &str,
        challenge: &LoginChallenge,
    ) -> Result<Option<Self>, LoginFault> {
        let named = challenge.metadata.clone().into_iter();
        for place in named.chain(well_known(url)) {
            check_address(&place)?;
            check_reach(url, &place)?;
            let reply = http.get(&place, &[], PATIENCE).await;
            match reply {
                Ok(reply) if reply.status == 200 => {
                    let told: Value = serde_json::from_slice(&reply.body)
                        .map_err(|_| LoginFault::Metadata { place })?;
                    return Self::read(url, &told).map(Some);
                }
                Ok(reply) => tracing::debug!(place, status = reply.status, "nothing said there"),
                Err(why) => tracing::debug!(place, why, "nobody answers there"),
            }
        }
        Ok(None)
    }

    fn read(url: &str, told: &Value) -> Result<Self, LoginFault> {
        let resource = told["resource"].as_str().unwrap_or_default();
        let resource = match resource {
            "" => canonical(url),
            named if covers(named, url) => named.to_owned(),
            named => {
                return Err(LoginFault::OtherResource {
                    named: crate::link::shown(named),
                });
            }
        };
        let texts = |value: &Value, most| -> Option<Vec<String>> {
            let all = value.as_array()?.iter();
            let all = all.filter_map(|text| text.as_str().map(str::to_owned));
            Some(all.take(most).collect())
        };
        Ok(Self {
            resource,
            authorization_servers: texts(&told["authorization_servers"], MOST_SERVERS)
                .unwrap_or_default(),
            scopes: texts(&told["scopes_supported"], MOST_SCOPES),
        })
    }
}

/// The authorization server of a server that says nothing of itself: the server, as it was usual once.
pub(super) async fn oldest_way(
    http: &ModelHttp,
    url: &str,
) -> Result<AuthorizationServer, LoginFault> {
    let origin = origin_of(url).ok_or(LoginFault::NoAddress)?;
    let found = AuthorizationServer::discover(http, &origin, IssuerMatch::SlashAside).await;
    match found {
        Ok(server) => Ok(server),
        Err(error) => {
            tracing::debug!(%error, "the usual addresses are used");
            Ok(AuthorizationServer {
                token: format!("{origin}/token"),
                authorize: Some(format!("{origin}/authorize")),
                register: Some(format!("{origin}/register")),
                challenges: Some(vec!["S256".to_owned()]),
                issuer: origin,
                ..AuthorizationServer::default()
            })
        }
    }
}

/// A server out in the world has no business with what is on this machine.
pub(super) fn check_reach(url: &str, place: &str) -> Result<(), LoginFault> {
    let is_own = |url: &str| !url.starts_with("https://");
    match is_own(place) && !is_own(url) {
        true => Err(LoginFault::Inward {
            place: crate::link::shown(place),
        }),
        false => Ok(()),
    }
}

/// Where a server describes itself, the more exact place first.
fn well_known(url: &str) -> Vec<String> {
    const PART: &str = "/.well-known/oauth-protected-resource";
    let Some(origin) = origin_of(url) else {
        return Vec::new();
    };
    let path = path_of(url);
    let mut places = Vec::new();
    if !path.is_empty() {
        places.push(format!("{origin}{PART}{path}"));
    }
    places.push(format!("{origin}{PART}"));
    places
}

/// An address without what does not name a server.
fn canonical(url: &str) -> String {
    without_query(url).trim_end_matches('/').to_owned()
}

fn origin_of(url: &str) -> Option<String> {
    let plain = without_query(url);
    let (scheme, rest) = plain.split_once("://")?;
    let authority = rest.split('/').next()?;
    Some(format!(
        "{}://{}",
        scheme.to_ascii_lowercase(),
        authority.to_ascii_lowercase()
    ))
}

/// The path without a slash at its end.
fn path_of(url: &str) -> String {
    let plain = without_query(url);
    let rest = plain.split_once("://").map_or("", |(_, rest)| rest);
    let path = rest.find('/').and_then(|at| rest.get(at..));
    path.unwrap_or_default().trim_end_matches('/').to_owned()
}

/// Whether tokens for a resource are for this address: it is that, or lies below it.
pub(super) fn covers(resource: &str, url: &str) -> bool {
    let (own, wanted) = (path_of(resource), path_of(url));
    let is_below = wanted
        .strip_prefix(own.as_str())
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    origin_of(resource).is_some() && origin_of(resource) == origin_of(url) && is_below
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{ServerMetadata, check_reach, covers, well_known};

    #[test]
    fn a_server_describes_itself_beside_its_path_or_at_the_top() {
        assert_eq!(
            well_known("https://A.example/public/mcp?x=1"),
            [
                "https://a.example/.well-known/oauth-protected-resource/public/mcp",
                "https://a.example/.well-known/oauth-protected-resource",
            ]
        );
        assert_eq!(
            well_known("https://a.example/"),
            ["https://a.example/.well-known/oauth-protected-resource"]
        );
    }

    #[test]
    fn tokens_are_asked_for_the_server_that_is_called_and_for_no_other() {
        for fine in [
            "https://a.example",
            "https://a.example/",
            "https://a.example/mcp",
            "https://A.EXAMPLE/mcp/",
        ] {
            assert!(covers(fine, "https://a.example/mcp"), "{fine}");
        }
        for other in [
            "https://b.example/mcp",
            "http://a.example/mcp",
            "https://a.example/mc",
            "https://a.example/mcp/deeper",
            "https://a.example:444/mcp",
            "",
        ] {
            assert!(!covers(other, "https://a.example/mcp"), "{other}");
        }
        let told = json!({ "resource": "https://evil.example/mcp" });
        assert!(ServerMetadata::read("https://a.example/mcp", &told).is_err());
    }

    #[test]
    fn a_server_in_the_world_leads_nobody_inward() {
        assert!(check_reach("https://a.example", "http://127.0.0.1/x").is_err());
        assert!(check_reach("https://a.example", "https://b.example/x").is_ok());
        assert!(check_reach("http://127.0.0.1:9/mcp", "http://127.0.0.1:8/x").is_ok());
    }
}
