//! The ways to log in: a code typed in elsewhere (RFC 8628), or a browser on this machine that comes
//! back with one (RFC 8252 with PKCE, RFC 7636).

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chela_core::{ContentHash, Host};
use chela_model::ModelHttp;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::endpoints::{LoginEndpoints, TokenAnswer, ask_for_tokens, decoded, encoded, post_form};
use super::tokens::KeptLogin;
use crate::chat::{clean_line, print_note};
use crate::cli::auth::LoginFlow;
use crate::fail::CommandError;
use crate::screen::ColourMode;

const DEVICE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// Nobody takes longer to log in.
const PATIENCE: Duration = Duration::from_secs(15 * 60);
/// A line of a browser's request.
const MOST_LINE: u64 = 16 << 10;

/// Somebody who logs in.
pub struct LoginRequest<'a> {
    pub host: &'a Host,
    pub http: &'a ModelHttp,
    pub endpoints: &'a LoginEndpoints,
    pub client_id: &'a str,
    pub scope: Option<&'a str>,
}

impl LoginRequest<'_> {
    pub async fn run(
        &self,
        flow: Option<LoginFlow>,
        paint: ColourMode,
    ) -> Result<TokenAnswer, CommandError> {
        let (device, authorize) = (&self.endpoints.device, &self.endpoints.authorize);
        match (flow, device, authorize) {
            (Some(LoginFlow::Device) | None, Some(device), _) => {
                self.by_device(device, paint).await
            }
            (Some(LoginFlow::Browser) | None, _, Some(authorize)) => {
                self.by_browser(authorize, paint).await
            }
            _ => Err(CommandError::new(
                "the issuer does not offer this way to log in",
            )),
        }
    }

    async fn by_device(&self, url: &str, paint: ColourMode) -> Result<TokenAnswer, CommandError> {
        let mut fields = vec![("client_id", self.client_id)];
        fields.extend(self.scope.map(|scope| ("scope", scope)));
        let told = post_form(self.http, url, &fields).await??;
        let word = |name: &str| told[name].as_str().unwrap_or_default();
        let (code, shown) = (word("device_code"), clean_line(word("user_code")));
        let page = clean_line(word("verification_uri"));
        if code.is_empty() || page.is_empty() {
            return Err(CommandError::new("the issuer answered without a code"));
        }
        print_note(
            paint,
            &format!("Open {page} on any device and enter {shown}"),
        );
        let mut pause = Duration::from_secs(told["interval"].as_u64().unwrap_or(5).clamp(1, 60));
        let lasts = told["expires_in"]
            .as_u64()
            .map_or(PATIENCE, Duration::from_secs);
        let deadline = tokio::time::Instant::now() + lasts.min(PATIENCE);
        while tokio::time::Instant::now() < deadline {
            tokio::time::sleep(pause).await;
            let fields = [
                ("grant_type", DEVICE_GRANT),
                ("device_code", code),
                ("client_id", self.client_id),
            ];
            match ask_for_tokens(self.http, &self.endpoints.token, &fields).await? {
                Ok(answer) => return Ok(answer),
                Err(refusal) if refusal.code == "authorization_pending" => {}
                Err(refusal) if refusal.code == "slow_down" => pause += Duration::from_secs(5),
                Err(refusal) => return Err(refusal.into()),
            }
        }
        Err(CommandError::new("nobody entered the code in time"))
    }

    async fn by_browser(&self, url: &str, paint: ColourMode) -> Result<TokenAnswer, CommandError> {
        let fail = |error: std::io::Error| {
            CommandError::new(format!(
                "cannot listen for the login on this machine: {error}"
            ))
        };
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(fail)?;
        let port = listener.local_addr().map_err(fail)?.port();
        let back = format!("http://127.0.0.1:{port}/callback");
        let verifier = self.host.random_hex(32);
        let challenge = URL_SAFE_NO_PAD.encode(ContentHash::of(&verifier).as_bytes());
        let state = self.host.random_hex(16);
        let mut query = format!(
            "response_type=code&client_id={}&redirect_uri={}&state={state}\
             &code_challenge={challenge}&code_challenge_method=S256",
            encoded(self.client_id),
            encoded(&back)
        );
        if let Some(scope) = self.scope {
            query.push_str(&format!("&scope={}", encoded(scope)));
        }
        let mark = if url.contains('?') { '&' } else { '?' };
        print_note(
            paint,
            &format!("Open in a browser on this machine: {url}{mark}{query}"),
        );
        let code = tokio::time::timeout(PATIENCE, wait_for_code(&listener, &state))
            .await
            .map_err(|_| CommandError::new("nobody logged in in time"))??;
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code.as_str()),
            ("redirect_uri", back.as_str()),
            ("client_id", self.client_id),
            ("code_verifier", verifier.as_str()),
        ];
        let answer = ask_for_tokens(self.http, &self.endpoints.token, &fields).await?;
        Ok(answer?)
    }
}

/// A new access token for a login that has run out.
pub async fn renew(http: &ModelHttp, login: &KeptLogin) -> Result<TokenAnswer, CommandError> {
    let Some(refresh) = &login.refresh_token else {
        return Err(CommandError::new("the issuer sent no refresh token"));
    };
    let mut fields = vec![
        ("grant_type", "refresh_token"),
        ("refresh_token", refresh.as_str()),
        ("client_id", login.client_id.as_str()),
    ];
    fields.extend(login.scope.as_deref().map(|scope| ("scope", scope)));
    let answer = ask_for_tokens(http, &login.token_endpoint, &fields).await?;
    Ok(answer?)
}

/// Waits for the browser that comes back with what was asked for; whoever else calls is sent away.
async fn wait_for_code(listener: &TcpListener, state: &str) -> Result<String, CommandError> {
    loop {
        let Ok((mut stream, _)) = listener.accept().await else {
            continue;
        };
        let Some(query) = read_query(&mut stream).await else {
            answer(&mut stream, "404 Not Found", "Not found.").await;
            continue;
        };
        let value = |name: &str| {
            let mut pairs = query.split('&').filter_map(|pair| pair.split_once('='));
            pairs
                .find(|(key, _)| *key == name)
                .map(|(_, value)| decoded(value))
        };
        if value("state").as_deref() != Some(state) {
            answer(
                &mut stream,
                "400 Bad Request",
                "This is not the login that was started.",
            )
            .await;
            continue;
        }
        return match (value("code"), value("error")) {
            (Some(code), _) => {
                answer(&mut stream, "200 OK", "Logged in. You can close this page.").await;
                Ok(code)
            }
            (None, why) => {
                answer(&mut stream, "200 OK", "The login was refused.").await;
                let why = clean_line(&why.unwrap_or_else(|| "without a reason".to_owned()));
                Err(CommandError::new(format!("the login was refused: {why}")))
            }
        };
    }
}

/// The query of a request for `/callback`.
async fn read_query(stream: &mut TcpStream) -> Option<String> {
    use tokio::io::AsyncReadExt;
    let mut line = String::new();
    let mut reader = BufReader::new(stream).take(MOST_LINE);
    let read = tokio::time::timeout(Duration::from_secs(5), reader.read_line(&mut line));
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
    // Whoever has gone needs no answer.
    let _ = stream.write_all(reply.as_bytes()).await;
    let _ = stream.shutdown().await;
}
