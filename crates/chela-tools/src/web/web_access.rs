//! The way to a server: addresses are looked up here, checked, and only those are connected to.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::{Duration, Instant};

use chela_guard::{AddressFault, WebAddress};
use chela_sandbox::HostLookup;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::{HeaderMap, LOCATION};
use reqwest::{Client, Response, Url, redirect};

use super::address::AddressPolicy;
use super::web_tls::WebTls;
use crate::RedirectJudge;

/// How servers are reached.
#[derive(Debug, Clone)]
pub struct WebAccess {
    pub policy: AddressPolicy,
    pub lookup: Arc<dyn HostLookup>,
    pub user_agent: String,
    pub timeout: Duration,
    pub most_redirects: u32,
    pub tls: WebTls,
}

/// Why a server was not reached; written for the model.
#[derive(Debug, thiserror::Error)]
pub enum WebAccessError {
    #[error(transparent)]
    Address(#[from] AddressFault),
    #[error("only http and https can be read, not {0}")]
    Scheme(String),
    #[error("it leads on to {0}, which was not followed. {1}")]
    Redirect(String, String),
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

impl WebAccess {
    /// Gets a page, following redirects as far as they may be followed. Every address on the way
    /// is checked before it is connected to, and no other is.
    pub async fn get(
        &self,
        address: &WebAddress,
        mut headers: HeaderMap,
        redirects: &dyn RedirectJudge,
    ) -> Result<Response, WebAccessError> {
        let mut address = address.clone();
        // Servers have this long in all; a person who is asked in between has their own time.
        let mut left = self.timeout;
        for _ in 0..=self.most_redirects {
            let started = Instant::now();
            let response = tokio::time::timeout(left, self.ask(&address, headers.clone()))
                .await
                .map_err(|_| WebAccessError::Slow(self.timeout.as_secs()))??;
            left = left.saturating_sub(started.elapsed());
            let target = response
                .status()
                .is_redirection()
                .then(|| response.headers().get(LOCATION)?.to_str().ok())
                .flatten();
            let Some(target) = target else {
                return Ok(response);
            };
            let next = address.join(target)?;
            if next.url().origin() != address.url().origin() {
                // What was meant for one server is not for another.
                headers.clear();
            }
            redirects
                .judge(&address, &next)
                .await
                .map_err(|why| WebAccessError::Redirect(next.to_string(), why))?;
            address = next;
        }
        Err(WebAccessError::Redirects(self.most_redirects))
    }

    async fn ask(
        &self,
        address: &WebAddress,
        headers: HeaderMap,
    ) -> Result<Response, WebAccessError> {
        let client = self.client(address.url()).await?;
        let request = client.get(address.url().clone()).headers(headers);
        request.send().await.map_err(|error| unreachable(&error))
    }

    /// A client that can reach nothing but the checked addresses of this server.
    async fn client(&self, url: &Url) -> Result<Client, WebAccessError> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(WebAccessError::Scheme(url.scheme().to_owned()));
        }
        let host = url.host_str().unwrap_or_default();
        if let Some(why) = self.policy.refuses_host(host) {
            return Err(WebAccessError::Refused(why));
        }
        let literal = host.trim_matches(['[', ']']).parse::<IpAddr>();
        let addresses = match literal {
            Ok(address) => vec![address],
            Err(_) => {
                let found = self.lookup.addresses(host).await;
                found.map_err(|_| WebAccessError::NotFound(host.to_owned()))?
            }
        };
        if addresses.is_empty() {
            return Err(WebAccessError::NotFound(host.to_owned()));
        }
        let refused = addresses
            .iter()
            .find_map(|address| self.policy.refuses(host, *address));
        if let Some(why) = refused {
            return Err(WebAccessError::Refused(why));
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
        let tls = self.tls.config().map_err(WebAccessError::Unreachable)?;
        builder = builder.tls_backend_preconfigured(tls);
        builder
            .build()
            .map_err(|error| WebAccessError::Unreachable(error.to_string()))
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

/// The innermost reason is the one that says something.
fn unreachable(error: &reqwest::Error) -> WebAccessError {
    let mut reason: &dyn std::error::Error = error;
    while let Some(source) = reason.source() {
        reason = source;
    }
    WebAccessError::Unreachable(chela_core::sanitize::literal(&reason.to_string()).into_owned())
}
