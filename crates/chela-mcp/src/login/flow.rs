//! Somebody logs in to a server, with the help of a browser.

use std::pin::Pin;

use chela_core::Host;
use chela_model::ModelHttp;
use chela_model::oauth::{
    AuthorizationServer, BrowserLogin, ClientAuth, IssuerMatch, LoginCallback, OauthClient,
    OauthError, RequestedLogin, ask_for_tokens, post_json,
};
use serde_json::json;

use super::discovery::{check_reach, oldest_way};
use super::kept::KeptLoginError;
use super::{KeptLogin, ServerMetadata};
use crate::challenge::LoginChallenge;
use crate::spec::{LoginSettings, McpServerSpec, ServerReach};

/// Shown the address somebody has to open.
pub type LoginPrompt<'a> = dyn Fn(&str) + Send + Sync + 'a;

/// What a login is made with.
pub struct LoginAsk<'a> {
    pub host: &'a Host,
    pub http: &'a ModelHttp,
    pub spec: &'a McpServerSpec,
    /// Asks for this as well.
    pub scope: Option<&'a str>,
    pub prompt: &'a LoginPrompt<'a>,
}

/// Why nobody could log in.
#[derive(Debug, thiserror::Error)]
pub enum LoginFault {
    #[error(transparent)]
    Oauth(#[from] OauthError),
    #[error(transparent)]
    Kept(#[from] KeptLoginError),
    #[error("it is a program and not at a URL: it gets what it needs in its variables")]
    NoAddress,
    #[error("{place} does not say how to log in")]
    Metadata { place: String },
    #[error("the server says that it is {named}, which is another one: nothing was sent")]
    OtherResource { named: String },
    #[error("a server in the world leads to {place}, on this machine: it was not followed")]
    Inward { place: String },
    #[error("the login of the server does not bind codes to who asked for them (PKCE)")]
    Unbound,
    #[error("the client id of the config is for {expected}, and the server now logs in at {found}")]
    OtherIssuer { expected: String, found: String },
    #[error("the server takes known clients only; set {key} to the id you were given there")]
    NeedsClient { key: String },
    #[error("{0}")]
    Secret(String),
    #[error("the server does not answer: {0}")]
    Silent(String),
}

impl std::fmt::Debug for LoginAsk<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoginAsk")
            .field("server", &self.spec.name)
            .finish_non_exhaustive()
    }
}

/// What a login came to.
type LoginFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, LoginFault>> + Send + 'a>>;

/// Logs in and keeps what was given out.
pub fn log_in<'a>(ask: LoginAsk<'a>) -> LoginFuture<'a, KeptLogin> {
    Box::pin(async move {
        let ServerReach::Http { url, login, .. } = &ask.spec.reach else {
            return Err(LoginFault::NoAddress);
        };
        let challenge = challenge_of(ask.http, url).await?;
        let flow = LoginFlow {
            ask: &ask,
            url,
            settings: login,
            challenge,
        };
        let kept = flow.run().await?;
        kept.keep(ask.host, &ask.spec.prefix)?;
        Ok(kept)
    })
}

/// What a server says to somebody without a login.
async fn challenge_of(http: &ModelHttp, url: &str) -> Result<LoginChallenge, LoginFault> {
    crate::probe::challenge_of(http, url)
        .await
        .map_err(|error| LoginFault::Silent(error.to_string()))
}

struct LoginFlow<'a> {
    ask: &'a LoginAsk<'a>,
    url: &'a str,
    settings: &'a LoginSettings,
    challenge: LoginChallenge,
}

impl LoginFlow<'_> {
    async fn run(&self) -> Result<KeptLogin, LoginFault> {
        let LoginAsk { host, http, .. } = *self.ask;
        let metadata = ServerMetadata::discover(http, self.url, &self.challenge).await?;
        let server = self.authorization_server(metadata.as_ref()).await?;
        if !server.binds_codes() {
            return Err(LoginFault::Unbound);
        }
        let page = server.authorize.as_deref().ok_or(OauthError::NotOffered)?;
        let before = KeptLogin::load(host, &self.ask.spec.prefix).unwrap_or_default();
        let callback = LoginCallback::listen().await?;
        let (client, is_registered) = self
            .client(&server, before.as_ref(), callback.address())
            .await?;
        let resource = metadata
            .as_ref()
            .map_or_else(|| self.url.to_owned(), |metadata| metadata.resource.clone());
        let scope = self.scope(metadata.as_ref(), &server, before.as_ref());
        let asked = RequestedLogin {
            page,
            client_id: &client.id,
            scope: scope.as_deref(),
            more: &[("resource", &resource)],
        };
        let login = callback.begin(host, asked);
        (self.ask.prompt)(&login.address);
        let code = callback
            .wait_for_code(&login, Some((&server.issuer, server.names_itself)))
            .await?;
        let granted = self
            .redeem(&server, &client, &callback, &login, &code, &resource)
            .await?;
        let kept = KeptLogin {
            resource,
            issuer: server.issuer,
            token_endpoint: server.token,
            client_auth: client.auth.as_str().to_owned(),
            client_id: client.id,
            client_secret: client.secret,
            is_registered,
            scope,
            wanted: None,
            access_token: String::new(),
            refresh_token: None,
            expires_at: None,
        };
        Ok(kept.with(host, granted))
    }

    async fn redeem(
        &self,
        server: &AuthorizationServer,
        client: &OauthClient,
        callback: &LoginCallback,
        login: &BrowserLogin,
        code: &str,
        resource: &str,
    ) -> Result<chela_model::oauth::GrantedTokens, LoginFault> {
        let fields = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", callback.address()),
            ("code_verifier", login.verifier.as_str()),
            ("resource", resource),
        ];
        let granted = ask_for_tokens(self.ask.http, &server.token, client, &fields).await?;
        Ok(granted.map_err(OauthError::from)?)
    }

    async fn authorization_server(
        &self,
        metadata: Option<&ServerMetadata>,
    ) -> Result<AuthorizationServer, LoginFault> {
        let http = self.ask.http;
        let named = metadata.and_then(|metadata| metadata.authorization_servers.first());
        let issuer = named.or(self.settings.issuer.as_ref());
        match issuer {
            Some(issuer) => {
                check_reach(self.url, issuer)?;
                Ok(AuthorizationServer::discover(http, issuer, IssuerMatch::Exact).await?)
            }
            None => oldest_way(http, self.url).await,
        }
    }

    /// Who logs in: a client its owner registered, one that is known there already, one that is
    /// described at an address, or one that is made now. Says whether this program made it.
    async fn client(
        &self,
        server: &AuthorizationServer,
        before: Option<&KeptLogin>,
        callback: &str,
    ) -> Result<(OauthClient, bool), LoginFault> {
        if let Some(id) = &self.settings.client_id {
            if let Some(expected) = self.settings.issuer.as_ref()
                && *expected != server.issuer
            {
                return Err(LoginFault::OtherIssuer {
                    expected: expected.clone(),
                    found: server.issuer.clone(),
                });
            }
            let secret = match &self.settings.client_secret {
                Some(secret) => Some(secret.fetch().await.map_err(LoginFault::Secret)?),
                None => None,
            };
            let auth = ClientAuth::choose(&server.token_auth, None, secret.is_some());
            let client = OauthClient {
                id: id.clone(),
                secret,
                auth,
            };
            return Ok((client, false));
        }
        if let (true, Some(url)) = (
            server.takes_client_address,
            &self.settings.client_metadata_url,
        ) {
            return Ok((OauthClient::public(url), false));
        }
        // A client that was made with another address to come back to is of no use for this one.
        if let Some(before) = before
            && before.is_registered
            && before.issuer == server.issuer
            && server.register.is_none()
        {
            return Ok((before.client(), true));
        }
        let Some(register) = &server.register else {
            return Err(LoginFault::NeedsClient {
                key: format!("{}.oauth.clientId", self.ask.spec.set_up_by),
            });
        };
        Ok((self.register(server, register, callback).await?, true))
    }

    async fn register(
        &self,
        server: &AuthorizationServer,
        register: &str,
        callback: &str,
    ) -> Result<OauthClient, LoginFault> {
        let offers = |word: &str| server.token_auth.iter().any(|offered| offered == word);
        let way = match () {
            () if server.token_auth.is_empty() || offers("none") => "none",
            () if offers("client_secret_basic") => "client_secret_basic",
            () => "client_secret_post",
        };
        let document = json!({
            "client_name": "Chela",
            "redirect_uris": [callback],
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "token_endpoint_auth_method": way,
            "application_type": "native",
        });
        let told = post_json(self.ask.http, register, &document).await?;
        let told = &told.map_err(OauthError::from)?;
        let id = told["client_id"].as_str().ok_or(OauthError::Without {
            what: "a client id",
        })?;
        let secret = told["client_secret"].as_str().map(str::to_owned);
        let asked = told["token_endpoint_auth_method"].as_str().or(Some(way));
        Ok(OauthClient {
            id: id.to_owned(),
            auth: ClientAuth::choose(&server.token_auth, asked, secret.is_some()),
            secret,
        })
    }

    /// What is asked for: what the config says, or what the server wants, and what was given before.
    fn scope(
        &self,
        metadata: Option<&ServerMetadata>,
        server: &AuthorizationServer,
        before: Option<&KeptLogin>,
    ) -> Option<String> {
        let named = self.settings.scope.clone();
        let wanted = named.or_else(|| self.challenge.scope.clone()).or_else(|| {
            let scopes = metadata.and_then(|metadata| metadata.scopes.clone());
            scopes.map(|scopes| scopes.join(" "))
        });
        let mut all: Vec<String> = Vec::new();
        let mut add = |scope: &str| {
            for word in scope.split_whitespace() {
                if !all.iter().any(|known| known == word) {
                    all.push(word.to_owned());
                }
            }
        };
        let before = before.filter(|before| before.issuer == server.issuer);
        if let Some(more) = before.and_then(|before| before.wanted.as_deref()) {
            let given = before.and_then(|before| before.scope.as_deref());
            add(given.unwrap_or_default());
            add(more);
        }
        add(wanted.as_deref().unwrap_or_default());
        add(self.ask.scope.unwrap_or_default());
        // Whoever offers to renew logins without anybody there is asked for that.
        let offered = server.scopes.iter().flatten();
        if offered.into_iter().any(|scope| scope == "offline_access") {
            add("offline_access");
        }
        (!all.is_empty()).then(|| all.join(" "))
    }
}
