//! The login to a server: found out where, kept, renewed, and asked for anew where that does not help.

mod discovery;
mod flow;
mod kept;

use std::sync::Arc;
use std::time::Duration;

use chela_core::{Host, ok_or_debug, ok_or_warn};
use chela_files::LockFile;
use chela_model::ModelHttp;
use chela_model::oauth::refresh_tokens;

use crate::secret_desk::SecretDesk;
use crate::spec::{McpServerSpec, ServerReach};

pub(crate) use discovery::ServerMetadata;
use discovery::covers;
pub use flow::{LoginAsk, LoginFault, LoginPrompt, log_in};
pub use kept::{KeptLogin, LoginStanding};

/// The login to one server, as its connection uses it.
pub(crate) struct ServerLogin {
    host: Host,
    http: ModelHttp,
    /// The prefix of the server.
    server: String,
    /// Where the server is; `None`: it is a program.
    url: Option<String>,
    desk: Arc<SecretDesk>,
    /// One renewal at a time.
    renewing: tokio::sync::Mutex<()>,
}

/// Another process renews a login in less than this.
const PATIENCE: Duration = Duration::from_secs(20);

impl ServerLogin {
    pub fn new(
        host: &Host,
        http: &ModelHttp,
        spec: &McpServerSpec,
        desk: &Arc<SecretDesk>,
    ) -> Arc<Self> {
        let url = match &spec.reach {
            ServerReach::Http { url, .. } => Some(url.clone()),
            ServerReach::Program { .. } => None,
        };
        Arc::new(Self {
            host: host.clone(),
            http: http.clone(),
            server: spec.prefix.clone(),
            url,
            desk: Arc::clone(desk),
            renewing: tokio::sync::Mutex::new(()),
        })
    }

    /// The token to show; one that has run out is renewed before.
    pub async fn token(&self) -> Option<String> {
        let kept = self.kept()?;
        if kept.has_run_out(&self.host) && kept.refresh_token.is_some() {
            self.renew_from(&kept.access_token).await;
        }
        let kept = self.kept()?;
        self.desk
            .learn(&format!("mcp:{}", self.server), &kept.access_token);
        Some(kept.access_token)
    }

    /// Renews a login that a server does not take any more. Says whether there is another token now.
    pub async fn renew(&self) -> bool {
        match self.kept() {
            Some(kept) => self.renew_from(&kept.access_token).await,
            None => false,
        }
    }

    async fn renew_from(&self, before: &str) -> bool {
        let _one = self.renewing.lock().await;
        let path = KeptLogin::path(&self.host, &self.server);
        let locked = tokio::task::spawn_blocking(move || {
            LockFile::take(&path.with_extension("lock"), PATIENCE)
        });
        // Without the lock two processes may renew at once, and one of them has to log in again.
        let lock = ok_or_debug!(locked.await, "a login is not locked");
        let _lock = lock.and_then(|lock| ok_or_debug!(lock, "a login is not locked"));
        let Some(kept) = self.kept() else {
            return false;
        };
        if kept.access_token != before {
            return true;
        }
        let Some(refresh) = kept.refresh_token.clone() else {
            return false;
        };
        let mut more = vec![("resource", kept.resource.as_str())];
        more.extend(kept.scope.as_deref().map(|scope| ("scope", scope)));
        let client = kept.client();
        let renewed =
            refresh_tokens(&self.http, &kept.token_endpoint, &client, &refresh, &more).await;
        let Some(granted) = ok_or_warn!(renewed, "a login cannot be renewed", server = self.server)
        else {
            return false;
        };
        let renewed = kept.clone().with(&self.host, granted);
        self.desk
            .learn(&format!("mcp:{}", self.server), &renewed.access_token);
        let written = renewed.keep(&self.host, &self.server);
        ok_or_warn!(written, "a renewed login is not kept", server = self.server).is_some()
    }

    /// Remembers that more is wanted than the login gives, for the next one.
    pub fn note_wanted(&self, scope: Option<&str>) {
        let (Some(mut kept), Some(scope)) = (self.kept(), scope) else {
            return;
        };
        kept.wanted = Some(scope.to_owned());
        let written = kept.keep(&self.host, &self.server);
        ok_or_debug!(written, "what a server wants is not kept");
    }

    /// The login, where it was given out for the server that is called now: a name may come to mean
    /// another one.
    fn kept(&self) -> Option<KeptLogin> {
        let url = self.url.as_ref()?;
        let kept = KeptLogin::load(&self.host, &self.server);
        let kept = ok_or_warn!(kept, "a login cannot be read", server = self.server).flatten()?;
        let is_for_it = covers(&kept.resource, url);
        if !is_for_it {
            tracing::warn!(
                server = self.server,
                "the login is for another server, so it is not shown to this one"
            );
        }
        is_for_it.then_some(kept)
    }
}
