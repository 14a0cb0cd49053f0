//! A browser on this machine that comes back with a code (RFC 8252, PKCE, RFC 9207).

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chela_core::{ContentHash, Host, ok_or_debug};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::encoding::{decode_form, encode_form};
use super::{OauthError, line_of};

/// Nobody takes longer to log in.
const PATIENCE: Duration = Duration::from_secs(15 * 60);
/// A line of a browser's request.
const MOST_LINE: u64 = 16 << 10;
const READING: Duration = Duration::from_secs(5);

/// Where the browser comes back to: a port of this machine.
#[derive(Debug)]
pub struct LoginCallback {
    listener: TcpListener,
    address: String,
}

/// What is asked for.
#[derive(Debug, Clone, Copy)]
pub struct RequestedLogin<'a> {
    /// The page where somebody logs in.
    pub page: &'a str,
    pub client_id: &'a str,
    pub scope: Option<&'a str>,
    /// More of the query, such as the resource.
    pub more: &'a [(&'a str, &'a str)],
}

/// A login somebody was sent to.
pub struct BrowserLogin {
    /// The address to open.
    pub address: String,
    /// What shows, where tokens are given out, that the code was asked for here. A secret.
    pub verifier: String,
    state: String,
}

impl std::fmt::Debug for BrowserLogin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("BrowserLogin")
    }
}

impl LoginCallback {
    /// Listens on a free port.
    pub async fn listen() -> Result<Self, OauthError> {
        let failed = |error: std::io::Error| OauthError::Listen {
            why: error.to_string(),
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        Ok(Self {
            listener,
            address: format!("http://127.0.0.1:{port}/callback"),
        })
    }

    /// Where the browser comes back to.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// A login whose answer is taken here.
    pub fn begin(&self, host: &Host, asked: RequestedLogin<'_>) -> BrowserLogin {
        let verifier = host.random_hex(32);
        let challenge = URL_SAFE_NO_PAD.encode(ContentHash::of(&verifier).as_bytes());
        let state = host.random_hex(16);
        let mut fields = vec![
            ("response_type", "code"),
            ("client_id", asked.client_id),
            ("redirect_uri", self.address.as_str()),
            ("state", state.as_str()),
            ("code_challenge", challenge.as_str()),
            ("code_challenge_method", "S256"),
        ];
        fields.extend(asked.scope.map(|scope| ("scope", scope)));
        fields.extend_from_slice(asked.more);
        let mark = if asked.page.contains('?') { '&' } else { '?' };
        BrowserLogin {
            address: format!("{}{mark}{}", asked.page, encode_form(&fields)),
            verifier,
            state,
        }
    }

    /// The code the browser comes back with. What another server answered is not used. `issuer` is
    /// the server that was asked, and whether it said that its answers name it.
    pub async fn wait_for_code(
        &self,
        login: &BrowserLogin,
        issuer: Option<(&str, bool)>,
    ) -> Result<String, OauthError> {
        let answer = self.wait_for_answer(&login.state, issuer);
        let answer = tokio::time::timeout(PATIENCE, answer).await;
        answer.map_err(|_| OauthError::TooLate)?
    }

    async fn wait_for_answer(
        &self,
        state: &str,
        issuer: Option<(&str, bool)>,
    ) -> Result<String, OauthError> {
        loop {
            let accepted = self.listener.accept().await;
            let Some((mut stream, _)) = ok_or_debug!(accepted, "a browser went away") else {
                continue;
            };
            let Some(query) = read_query(&mut stream).await else {
                answer(&mut stream, "404 Not Found", "Not found.").await;
                continue;
            };
            let value = |name: &str| value_in(&query, name);
            if value("state").as_deref() != Some(state) {
                let words = "This is not the login that was started.";
                answer(&mut stream, "400 Bad Request", words).await;
                continue;
            }
            if let Err(mixed) = check_issuer(value("iss"), issuer) {
                let words = "The answer comes from another server and was not used.";
                answer(&mut stream, "400 Bad Request", words).await;
                return Err(mixed);
            }
            return match (value("code"), value("error")) {
                (Some(code), _) => {
                    let words = "Logged in. You can close this page.";
                    answer(&mut stream, "200 OK", words).await;
                    Ok(code)
                }
                (None, why) => {
                    answer(&mut stream, "200 OK", "The login was refused.").await;
                    let code = why.unwrap_or_else(|| "without a reason".to_owned());
                    let words = value("error_description").unwrap_or_else(|| code.clone());
                    Err(OauthError::Refused {
                        code: line_of(&code),
                        words: line_of(&words),
                    })
                }
            };
        }
    }
}

/// Whether an answer comes from the server that was asked, letter by letter.
fn check_issuer(named: Option<String>, issuer: Option<(&str, bool)>) -> Result<(), OauthError> {
    let Some((issuer, names_itself)) = issuer else {
        return Ok(());
    };
    match named {
        Some(named) if named == issuer => Ok(()),
        Some(named) => Err(OauthError::MixedUp {
            named: line_of(&named),
            issuer: line_of(issuer),
        }),
        None if names_itself => Err(OauthError::Unsigned),
        None => Ok(()),
    }
}

fn value_in(query: &str, name: &str) -> Option<String> {
    let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    pairs
        .find(|(key, _)| *key == name)
        .map(|(_, value)| decode_form(value))
}

/// The query of a request for `/callback`.
async fn read_query(stream: &mut TcpStream) -> Option<String> {
    let mut line = String::new();
    let mut reader = BufReader::new(stream).take(MOST_LINE);
    let read = tokio::time::timeout(READING, reader.read_line(&mut line));
    read.await.ok()?.ok()?;
    let path = line.strip_prefix("GET ")?.split(' ').next()?;
    Some(path.strip_prefix("/callback?")?.to_owned())
}

async fn answer(stream: &mut TcpStream, status: &str, text: &str) {
    let reply = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain; charset=utf-8\r\n\
         content-length: {}\r\nconnection: close\r\n\r\n{text}",
        text.len()
    );
    let written = stream.write_all(reply.as_bytes()).await;
    ok_or_debug!(written, "a browser was not answered");
    ok_or_debug!(stream.shutdown().await, "a browser was not answered");
}

#[cfg(test)]
mod tests {
    use super::{OauthError, check_issuer};

    #[test]
    fn an_answer_is_taken_from_the_server_that_was_asked() {
        let check = |named: Option<&str>, names_itself| {
            check_issuer(
                named.map(str::to_owned),
                Some(("https://a.example", names_itself)),
            )
        };
        assert_eq!(check(Some("https://a.example"), true), Ok(()));
        assert_eq!(check(Some("https://a.example"), false), Ok(()));
        assert_eq!(check(None, false), Ok(()));
        assert_eq!(check(None, true), Err(OauthError::Unsigned));
        for other in [
            "https://a.example/",
            "https://A.example",
            "https://b.example",
        ] {
            let mixed = check(Some(other), false);
            assert!(matches!(mixed, Err(OauthError::MixedUp { .. })), "{other}");
        }
        assert_eq!(check_issuer(None, None), Ok(()));
    }
}
