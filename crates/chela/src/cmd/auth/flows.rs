//! The ways to log in: a code typed in elsewhere (RFC 8628), or a browser on this machine that comes
//! back with one (RFC 8252 with PKCE, RFC 7636).

use std::time::Duration;

use chela_core::Host;
use chela_model::ModelHttp;
use chela_model::oauth::{
    AuthorizationServer, GrantedTokens, LoginCallback, OauthClient, OauthError, RequestedLogin,
    ask_for_tokens, post_form, refresh_tokens,
};

use super::tokens::KeptLogin;
use crate::chat::{clean_line, print_note};
use crate::cli::auth::LoginFlow;
use crate::fail::CommandError;
use crate::screen::ColourMode;

const DEVICE_GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";
/// Nobody takes longer to log in.
const PATIENCE: Duration = Duration::from_secs(15 * 60);

/// Somebody who logs in.
pub struct LoginRequest<'a> {
    pub host: &'a Host,
    pub http: &'a ModelHttp,
    pub server: &'a AuthorizationServer,
    pub client_id: &'a str,
    pub scope: Option<&'a str>,
}

impl LoginRequest<'_> {
    pub async fn run(
        &self,
        flow: Option<LoginFlow>,
        paint: ColourMode,
    ) -> Result<GrantedTokens, CommandError> {
        let (device, authorize) = (&self.server.device, &self.server.authorize);
        match (flow, device, authorize) {
            (Some(LoginFlow::Device) | None, Some(device), _) => {
                self.by_device(device, paint).await
            }
            (Some(LoginFlow::Browser) | None, _, Some(authorize)) => {
                self.by_browser(authorize, paint).await
            }
            _ => Err(OauthError::NotOffered.into()),
        }
    }

    async fn by_device(&self, url: &str, paint: ColourMode) -> Result<GrantedTokens, CommandError> {
        let mut fields = vec![("client_id", self.client_id)];
        fields.extend(self.scope.map(|scope| ("scope", scope)));
        let told = post_form(self.http, url, &fields).await?;
        let told = told.map_err(OauthError::from)?;
        let word = |name: &str| told[name].as_str().unwrap_or_default();
        let (code, shown) = (word("device_code"), clean_line(word("user_code")));
        let page = clean_line(word("verification_uri"));
        if code.is_empty() || page.is_empty() {
            return Err(OauthError::Without { what: "a code" }.into());
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
        let client = OauthClient::public(self.client_id);
        while tokio::time::Instant::now() < deadline {
            tokio::time::sleep(pause).await;
            let fields = [("grant_type", DEVICE_GRANT), ("device_code", code)];
            match ask_for_tokens(self.http, &self.server.token, &client, &fields).await? {
                Ok(answer) => return Ok(answer),
                Err(refusal) if refusal.code == "authorization_pending" => {}
                Err(refusal) if refusal.code == "slow_down" => pause += Duration::from_secs(5),
                Err(refusal) => return Err(OauthError::from(refusal).into()),
            }
        }
        Err(CommandError::new("nobody entered the code in time"))
    }

    async fn by_browser(
        &self,
        page: &str,
        paint: ColourMode,
    ) -> Result<GrantedTokens, CommandError> {
        let callback = LoginCallback::listen().await?;
        let asked = RequestedLogin {
            page,
            client_id: self.client_id,
            scope: self.scope,
            more: &[],
        };
        let login = callback.begin(self.host, asked);
        print_note(
            paint,
            &format!("Open in a browser on this machine: {}", login.address),
        );
        let issuer = (self.server.issuer.as_str(), self.server.names_itself);
        let code = callback.wait_for_code(&login, Some(issuer)).await?;
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code.as_str()),
            ("redirect_uri", callback.address()),
            ("code_verifier", login.verifier.as_str()),
        ];
        let client = OauthClient::public(self.client_id);
        let granted = ask_for_tokens(self.http, &self.server.token, &client, &fields).await?;
        Ok(granted.map_err(OauthError::from)?)
    }
}

/// A new access token for a login that has run out.
pub async fn renew(http: &ModelHttp, login: &KeptLogin) -> Result<GrantedTokens, CommandError> {
    let Some(refresh) = &login.refresh_token else {
        return Err(CommandError::new("the issuer sent no refresh token"));
    };
    let client = OauthClient::public(&login.client_id);
    let scope = login.scope.as_deref().map(|scope| ("scope", scope));
    let more: Vec<(&str, &str)> = scope.into_iter().collect();
    Ok(refresh_tokens(http, &login.token_endpoint, &client, refresh, &more).await?)
}
