//! What an authorization server offers (RFC 8414), and what it answers.

use std::time::Duration;

use chela_model::{HttpReply, ModelHttp};
use serde::Deserialize;
use serde_json::Value;

use crate::chat::clean_line;
use crate::fail::CommandError;

const PATIENCE: Duration = Duration::from_secs(30);

/// Where a login is asked for.
pub struct LoginEndpoints {
    pub token: String,
    pub device: Option<String>,
    pub authorize: Option<String>,
}

/// What was given out. Its values are secrets: it has no `Debug`.
#[derive(Deserialize)]
pub struct TokenAnswer {
    pub access_token: String,
    pub refresh_token: Option<String>,
    pub expires_in: Option<u64>,
}

/// Why nothing was given out, in the server's words.
pub struct LoginRefusal {
    /// `authorization_pending`, `access_denied` …
    pub code: String,
    pub words: String,
}

impl From<LoginRefusal> for CommandError {
    fn from(refusal: LoginRefusal) -> Self {
        CommandError::new(format!("the login was refused: {}", refusal.words))
    }
}

impl LoginEndpoints {
    pub async fn discover(http: &ModelHttp, issuer: &str) -> Result<Self, CommandError> {
        let mut tried = Vec::new();
        for url in metadata_urls(issuer) {
            check_address(&url)?;
            match http.get(&url, &[], PATIENCE).await {
                Ok(reply) if reply.status == 200 => return Self::read(&reply, issuer),
                Ok(reply) => tried.push(format!("{url}: {}", reply.status)),
                Err(why) => tried.push(format!("{url}: {why}")),
            }
        }
        Err(CommandError::new(format!(
            "{} does not say how to log in ({})",
            clean_line(issuer),
            clean_line(&tried.join("; "))
        )))
    }

    fn read(reply: &HttpReply, issuer: &str) -> Result<Self, CommandError> {
        let told: Value = serde_json::from_slice(&reply.body)
            .map_err(|_| CommandError::new("the issuer's metadata is not JSON"))?;
        let named = told["issuer"].as_str().unwrap_or_default();
        if named.trim_end_matches('/') != issuer.trim_end_matches('/') {
            return Err(CommandError::new(format!(
                "the issuer's metadata names {}, not {}",
                clean_line(named),
                clean_line(issuer)
            )));
        }
        let word = |name: &str| -> Result<Option<String>, CommandError> {
            match told[name].as_str() {
                Some(url) => check_address(url).map(|()| Some(url.to_owned())),
                None => Ok(None),
            }
        };
        Ok(Self {
            token: word("token_endpoint")?
                .ok_or_else(|| CommandError::new("the issuer names no token endpoint"))?,
            device: word("device_authorization_endpoint")?,
            authorize: word("authorization_endpoint")?,
        })
    }
}

/// Tokens travel over TLS, or not at all; a server on this machine may do without.
fn check_address(url: &str) -> Result<(), CommandError> {
    let local = ["http://127.0.0.1", "http://localhost", "http://[::1]"];
    match url.starts_with("https://") || local.iter().any(|local| url.starts_with(local)) {
        true => Ok(()),
        false => Err(CommandError::usage(format!(
            "{} is not an https URL",
            clean_line(url)
        ))),
    }
}

/// With the path of the issuer after the well-known part, as RFC 8414 has it, and as OpenID has it.
fn metadata_urls(issuer: &str) -> Vec<String> {
    let issuer = issuer.trim_end_matches('/');
    let start = issuer.find("://").map_or(0, |at| at + 3);
    let split = issuer
        .get(start..)
        .unwrap_or_default()
        .find('/')
        .map_or(issuer.len(), |at| start + at);
    let (origin, path) = issuer.split_at(split);
    vec![
        format!("{origin}/.well-known/oauth-authorization-server{path}"),
        format!("{issuer}/.well-known/openid-configuration"),
    ]
}

/// Sends a form and reads what is given out.
pub async fn post_form(
    http: &ModelHttp,
    url: &str,
    fields: &[(&str, &str)],
) -> Result<Result<Value, LoginRefusal>, CommandError> {
    let headers = [
        ("content-type", "application/x-www-form-urlencoded"),
        ("accept", "application/json"),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let reply = http
        .post(url, &headers, form(fields).into_bytes(), PATIENCE)
        .await
        .map_err(|why| CommandError::new(format!("no answer from {}: {why}", clean_line(url))))?;
    let told: Value = serde_json::from_slice(&reply.body).unwrap_or_default();
    if reply.status == 200 {
        return Ok(Ok(told));
    }
    let code = told["error"].as_str().unwrap_or("an error").to_owned();
    let words = told["error_description"].as_str().unwrap_or(&code);
    Ok(Err(LoginRefusal {
        words: clean_line(&format!("{words} ({})", reply.status)),
        code,
    }))
}

/// The same where tokens are expected.
pub async fn ask_for_tokens(
    http: &ModelHttp,
    url: &str,
    fields: &[(&str, &str)],
) -> Result<Result<TokenAnswer, LoginRefusal>, CommandError> {
    Ok(match post_form(http, url, fields).await? {
        Err(refusal) => Err(refusal),
        Ok(told) => Ok(serde_json::from_value(told)
            .map_err(|_| CommandError::new("the issuer answered without a token"))?),
    })
}

fn form(fields: &[(&str, &str)]) -> String {
    let pairs = fields
        .iter()
        .map(|(name, value)| format!("{}={}", encoded(name), encoded(value)));
    pairs.collect::<Vec<_>>().join("&")
}

/// Percent-encoded, but for what never needs it.
pub fn encoded(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes()
        .map(|byte| match plain(byte) {
            true => char::from(byte).to_string(),
            false => format!("%{byte:02X}"),
        })
        .collect()
}

/// The other way round.
pub fn decoded(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = after.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
        match (first, hex.and_then(|hex| u8::from_str_radix(hex, 16).ok())) {
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or_default();
            }
            (b'+', _) => {
                bytes.push(b' ');
                rest = after;
            }
            _ => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::{decoded, encoded, metadata_urls};

    #[test]
    fn addresses_and_forms() {
        assert_eq!(
            metadata_urls("https://login.example.org/tenant/"),
            [
                "https://login.example.org/.well-known/oauth-authorization-server/tenant",
                "https://login.example.org/tenant/.well-known/openid-configuration",
            ]
        );
        assert_eq!(encoded("a b&ü"), "a%20b%26%C3%BC");
        assert_eq!(decoded(&encoded("a b&ü")), "a b&ü");
        assert_eq!(decoded("a+b%zz%"), "a b%zz%");
    }
}
