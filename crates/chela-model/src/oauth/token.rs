//! Asking for tokens.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::Value;

use super::encoding::{encode_form, encode_part};
use super::{OauthError, line_of};
use crate::ModelHttp;

const PATIENCE: Duration = Duration::from_secs(30);

/// What was given out. Its values are secrets.
#[derive(Clone, Deserialize)]
pub struct GrantedTokens {
    pub access_token: String,
    pub refresh_token: Option<String>,
    pub expires_in: Option<u64>,
    pub scope: Option<String>,
}

impl std::fmt::Debug for GrantedTokens {
    /// Never shows a token.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("GrantedTokens(…)")
    }
}

/// Why nothing was given out, in the server's words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginRefusal {
    /// `authorization_pending`, `access_denied` …
    pub code: String,
    pub words: String,
}

impl From<LoginRefusal> for OauthError {
    fn from(refusal: LoginRefusal) -> Self {
        Self::Refused {
            code: refusal.code,
            words: refusal.words,
        }
    }
}

/// Who asks.
#[derive(Clone)]
pub struct OauthClient {
    pub id: String,
    pub secret: Option<String>,
    pub auth: ClientAuth,
}

/// How a client shows who it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientAuth {
    /// It has no secret.
    None,
    /// In the form.
    Post,
    /// In a header.
    Basic,
}

impl std::fmt::Debug for OauthClient {
    /// Never shows the secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("OauthClient")
            .field("id", &self.id)
            .field("auth", &self.auth)
            .finish_non_exhaustive()
    }
}

impl ClientAuth {
    /// The way a server takes, for a client that has a secret or none. `asked` is what the server
    /// said when it made the client.
    pub fn choose(offered: &[String], asked: Option<&str>, has_secret: bool) -> Self {
        let named = |word: &str| match word {
            "client_secret_basic" if has_secret => Some(Self::Basic),
            "client_secret_post" if has_secret => Some(Self::Post),
            "none" => Some(Self::None),
            _ => None,
        };
        if let Some(way) = asked.and_then(named) {
            return way;
        }
        let offers = |word: &str| offered.iter().any(|offered| offered == word);
        match has_secret {
            false => Self::None,
            // What a server that says nothing takes (RFC 8414).
            true if offered.is_empty() || offers("client_secret_basic") => Self::Basic,
            true if offers("client_secret_post") => Self::Post,
            true => Self::None,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Post => "client_secret_post",
            Self::Basic => "client_secret_basic",
        }
    }
}

impl OauthClient {
    /// A client without a secret.
    pub fn public(id: impl Into<String>) -> Self {
        Self {
            id: id.into(),
            secret: None,
            auth: ClientAuth::None,
        }
    }

    fn header(&self) -> Option<(String, String)> {
        let secret = self.secret.as_deref()?;
        (self.auth == ClientAuth::Basic).then(|| {
            let both = format!("{}:{}", encode_part(&self.id), encode_part(secret));
            let value = format!("Basic {}", STANDARD.encode(both));
            ("authorization".to_owned(), value)
        })
    }
}

/// Sends a form and reads what is given out.
pub async fn post_form(
    http: &ModelHttp,
    url: &str,
    fields: &[(&str, &str)],
) -> Result<Result<Value, LoginRefusal>, OauthError> {
    let body = encode_form(fields).into_bytes();
    post(http, url, "application/x-www-form-urlencoded", None, body).await
}

/// The same with a JSON document.
pub async fn post_json(
    http: &ModelHttp,
    url: &str,
    document: &Value,
) -> Result<Result<Value, LoginRefusal>, OauthError> {
    let body = document.to_string().into_bytes();
    post(http, url, "application/json", None, body).await
}

async fn post(
    http: &ModelHttp,
    url: &str,
    kind: &str,
    header: Option<(String, String)>,
    body: Vec<u8>,
) -> Result<Result<Value, LoginRefusal>, OauthError> {
    let mut headers: Vec<(String, String)> =
        [("content-type", kind), ("accept", "application/json")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec();
    headers.extend(header);
    let reply = http.post(url, &headers, body, PATIENCE).await;
    let reply = reply.map_err(|why| OauthError::NoAnswer {
        url: line_of(url),
        why,
    })?;
    let told: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    if matches!(reply.status, 200 | 201) {
        return Ok(Ok(told));
    }
    let told = &told;
    let code = told["error"].as_str().unwrap_or("an error").to_owned();
    let words = told["error_description"].as_str().unwrap_or(&code);
    Ok(Err(LoginRefusal {
        words: line_of(&format!("{words} ({})", reply.status)),
        code: line_of(&code),
    }))
}

/// Asks where tokens are given out.
pub async fn ask_for_tokens(
    http: &ModelHttp,
    url: &str,
    client: &OauthClient,
    fields: &[(&str, &str)],
) -> Result<Result<GrantedTokens, LoginRefusal>, OauthError> {
    let mut fields = fields.to_vec();
    if client.auth != ClientAuth::Basic {
        fields.push(("client_id", &client.id));
    }
    if let (ClientAuth::Post, Some(secret)) = (client.auth, &client.secret) {
        fields.push(("client_secret", secret));
    }
    let body = encode_form(&fields).into_bytes();
    let kind = "application/x-www-form-urlencoded";
    Ok(match post(http, url, kind, client.header(), body).await? {
        Err(refusal) => Err(refusal),
        Ok(told) => {
            let granted = serde_json::from_value(told);
            Ok(granted.map_err(|_| OauthError::Without { what: "a token" })?)
        }
    })
}

/// New tokens for those that have run out.
pub async fn refresh_tokens(
    http: &ModelHttp,
    url: &str,
    client: &OauthClient,
    refresh: &str,
    more: &[(&str, &str)],
) -> Result<GrantedTokens, OauthError> {
    let mut fields = vec![("grant_type", "refresh_token"), ("refresh_token", refresh)];
    fields.extend_from_slice(more);
    Ok(ask_for_tokens(http, url, client, &fields).await??)
}

#[cfg(test)]
mod tests {
    use super::{ClientAuth, OauthClient};

    #[test]
    fn a_client_shows_who_it_is_as_the_server_wants_it() {
        let choose = |offered: &[&str], asked, has_secret| {
            let offered: Vec<String> = offered.iter().map(ToString::to_string).collect();
            ClientAuth::choose(&offered, asked, has_secret)
        };
        assert_eq!(choose(&[], None, false), ClientAuth::None);
        assert_eq!(choose(&[], None, true), ClientAuth::Basic);
        assert_eq!(
            choose(&["client_secret_post"], None, true),
            ClientAuth::Post
        );
        assert_eq!(choose(&["none"], None, true), ClientAuth::None);
        let both = ["client_secret_basic", "client_secret_post"];
        assert_eq!(
            choose(&both, Some("client_secret_post"), true),
            ClientAuth::Post
        );
    }

    #[test]
    fn a_secret_is_never_shown() {
        let client = OauthClient {
            id: "me".to_owned(),
            secret: Some("hush".to_owned()),
            auth: ClientAuth::Basic,
        };
        assert!(!format!("{client:?}").contains("hush"));
        let (_, value) = client.header().unwrap();
        assert_eq!(value, "Basic bWU6aHVzaA==");
    }
}
