//! The way to a server: addresses are looked up here, checked, and only those are connected to.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use chela_sandbox::Lookup;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{HeaderMap, LOCATION};
use reqwest::{Client, Response, Url, redirect};

use super::address::AddressPolicy;

/// How servers are reached.
#[derive(Debug, Clone)]
pub struct Way {
    pub policy: AddressPolicy,
    pub lookup: Arc<dyn Lookup>,
    pub user_agent: String,
    pub timeout: Duration,
    pub most_redirects: u32,
}

/// Why a server was not reached; written for the model.
#[derive(Debug, thiserror::Error)]
pub enum WayError {
    #[error("`{0}` is no web address")]
    NotAUrl(String),
    #[error("only http and https can be read, not {0}")]
    Scheme(String),
    #[error("addresses with a user name or password are not read")]
    Credentials,
    #[error("refused: {0}")]
    Refused(String),
    #[error("{0} was not found: check the name")]
    NotFound(String),
    #[error("it redirects more than {0} times")]
    Redirects(u32),
    #[error("no answer within {0} seconds")]
    Slow(u64),
    #[error("the server could not be reached: {0}")]
    Unreachable(String),
}

impl Way {
    /// Gets a page, following redirects. Every address on the way is checked before it is
    /// connected to, and no other is.
    pub async fn get(&self, url: &str, headers: HeaderMap) -> Result<Response, WayError> {
        let fetching = self.follow(url, headers);
        let slow = || WayError::Slow(self.timeout.as_secs());
        tokio::time::timeout(self.timeout, fetching)
            .await
            .map_err(|_| slow())?
    }

    async fn follow(&self, url: &str, mut headers: HeaderMap) -> Result<Response, WayError> {
        let mut url = Url::parse(url.trim())
            .map_err(|_| WayError::NotAUrl(chela_core::sanitize::literal(url).into_owned()))?;
        for _ in 0..=self.most_redirects {
            let client = self.client(&url).await?;
            let request = client.get(url.clone()).headers(headers.clone());
            let response = request.send().await.map_err(|error| unreachable(&error))?;
            let target = response
                .status()
                .is_redirection()
                .then(|| response.headers().get(LOCATION)?.to_str().ok())
                .flatten();
            let Some(target) = target else {
                return Ok(response);
            };
            let next = url.join(target).map_err(|_| {
                WayError::NotAUrl(chela_core::sanitize::literal(target).into_owned())
            })?;
            if next.origin() != url.origin() {
                // What was meant for one server is not for another.
                headers.clear();
            }
            url = next;
        }
        Err(WayError::Redirects(self.most_redirects))
    }

    /// A client that can reach nothing but the checked addresses of this server.
    async fn client(&self, url: &Url) -> Result<Client, WayError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(WayError::Scheme(url.scheme().to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(WayError::Credentials);
        }
        let host = url
            .host_str()
            .ok_or_else(|| WayError::NotAUrl(url.to_string()))?;
        if let Some(why) = self.policy.refuses_host(host) {
            return Err(WayError::Refused(why));
        }
        let literal = host.trim_matches(['[', ']']).parse::<IpAddr>();
        let addresses = match literal {
            Ok(address) => vec![address],
            Err(_) => {
                let found = self.lookup.addresses(host).await;
                found.map_err(|_| WayError::NotFound(host.to_owned()))?
            }
        };
        if addresses.is_empty() {
            return Err(WayError::NotFound(host.to_owned()));
        }
        let refused = addresses
            .iter()
            .find_map(|address| self.policy.refuses(host, *address));
        if let Some(why) = refused {
            return Err(WayError::Refused(why));
        }
        let port = url.port_or_known_default().unwrap_or(80);
        let pinned: Vec<SocketAddr> = addresses
            .into_iter()
            .map(|address| SocketAddr::new(address, port))
            .collect();
        let mut builder = Client::builder()
            .user_agent(&self.user_agent)
            .redirect(redirect::Policy::none())
            .no_proxy()
            .pool_max_idle_per_host(0)
            .connect_timeout(self.timeout)
            .timeout(self.timeout)
            .dns_resolver(Arc::new(Pinned(pinned)));
        builder = match &*TLS {
            Ok(tls) => builder.tls_backend_preconfigured(tls.clone()),
            Err(error) => return Err(WayError::Unreachable(error.clone())),
        };
        builder
            .build()
            .map_err(|error| WayError::Unreachable(error.to_string()))
    }
}

/// Knows only the addresses that were checked, whatever name it is asked for.
struct Pinned(Vec<SocketAddr>);

impl Resolve for Pinned {
    fn resolve(&self, _: Name) -> Resolving {
        let addresses: Addrs = Box::new(self.0.clone().into_iter());
        Box::pin(std::future::ready(Ok(addresses)))
    }
}

/// Certificate authorities are read when the first page is.
static TLS: LazyLock<Result<rustls::ClientConfig, String>> = LazyLock::new(|| {
    let roots = rustls::RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    };
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(config)
});

/// The innermost reason is the one that says something.
fn unreachable(error: &reqwest::Error) -> WayError {
    let mut reason: &dyn std::error::Error = error;
    while let Some(source) = reason.source() {
        reason = source;
    }
    WayError::Unreachable(chela_core::sanitize::literal(&reason.to_string()).into_owned())
}
