//! One HTTP client for all endpoints. Certificates are loaded when the first secure address is
//! called, not before: a local server costs nothing of it.

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use chela_config::LoadedConfig;
use chela_core::{Host, ok_or_warn};
use reqwest::{Client, NoProxy, Proxy, redirect};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use crate::api::is_local;
use crate::own_certificates::client_tls;
use crate::tls_fault::TlsFault;

const CONNECT_TIMEOUT: Duration = Duration::from_secs(15);

/// The way out to model endpoints. Cheap to clone; connections are shared.
#[derive(Clone, Debug)]
pub struct ModelHttp {
    way: Arc<Way>,
}

#[derive(Debug, Default)]
struct Way {
    /// For every address outside of the machine and its network.
    proxy: Option<String>,
    no_proxy: Option<String>,
    /// More certificate authorities, in PEM.
    cert_file: Option<PathBuf>,
    plain: OnceLock<Result<Client, String>>,
    secure: OnceLock<Result<Client, String>>,
}

impl ModelHttp {
    /// With the proxy of `models.proxy` or of the environment, and `SSL_CERT_FILE`.
    pub fn new(host: &Host, loaded: &LoadedConfig) -> Self {
        let env = loaded.env();
        let var = |names: &[&str]| {
            names
                .iter()
                .find_map(|name| env.get(*name).map(|value| value.trim().to_owned()))
                .filter(|value| !value.is_empty())
        };
        let proxy = loaded.config.models.proxy.clone();
        let from_env = [
            "HTTPS_PROXY",
            "https_proxy",
            "ALL_PROXY",
            "all_proxy",
            "HTTP_PROXY",
            "http_proxy",
        ];
        Self {
            way: Arc::new(Way {
                proxy: proxy.or_else(|| var(&from_env)),
                no_proxy: var(&["NO_PROXY", "no_proxy"]),
                cert_file: var(&["SSL_CERT_FILE"]).map(|path| host.expand(&path)),
                ..Way::default()
            }),
        }
    }

    /// Straight to every address.
    pub fn direct() -> Self {
        Self {
            way: Arc::new(Way::default()),
        }
    }

    /// One plain request, for services that are no chat models. The error says why there was no
    /// answer at all.
    pub async fn post(
        &self,
        url: &str,
        headers: &[(String, String)],
        body: Vec<u8>,
        patience: Duration,
    ) -> Result<HttpReply, String> {
        let request = self.client(url)?.post(url).body(body);
        Self::reply(request, headers, patience).await
    }

    /// The same without a body.
    pub async fn get(
        &self,
        url: &str,
        headers: &[(String, String)],
        patience: Duration,
    ) -> Result<HttpReply, String> {
        Self::reply(self.client(url)?.get(url), headers, patience).await
    }

    async fn reply(
        request: reqwest::RequestBuilder,
        headers: &[(String, String)],
        patience: Duration,
    ) -> Result<HttpReply, String> {
        let mut request = request.timeout(patience);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        let plain = |error: reqwest::Error| match error.is_timeout() {
            true => format!("no answer within {} s", patience.as_secs()),
            false => chain(&error.without_url()),
        };
        let mut response = request.send().await.map_err(plain)?;
        let mut posted = HttpReply {
            status: response.status().as_u16(),
            headers: response
                .headers()
                .iter()
                .filter_map(|(name, value)| {
                    Some((name.as_str().to_owned(), value.to_str().ok()?.to_owned()))
                })
                .collect(),
            body: Vec::new(),
        };
        while let Some(piece) = response.chunk().await.map_err(plain)? {
            if posted.body.len() + piece.len() > MOST_ANSWER {
                return Err("the answer is too long".to_owned());
            }
            posted.body.extend_from_slice(&piece);
        }
        Ok(posted)
    }

    /// The client for an address; the error says what in the setup is at fault.
    pub(crate) fn client(&self, url: &str) -> Result<&Client, String> {
        let secure = url.starts_with("https:") || !is_local(url);
        let cell = if secure {
            &self.way.secure
        } else {
            &self.way.plain
        };
        cell.get_or_init(|| self.way.build(secure))
            .as_ref()
            .map_err(Clone::clone)
    }
}

/// What came back, whatever the status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpReply {
    pub status: u16,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

/// More than any service has to say.
const MOST_ANSWER: usize = 64 * 1024 * 1024;

/// An error and what is behind it, in one line.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    if let Some(fault) = TlsFault::behind(error) {
        return fault.why();
    }
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text.push_str(&format!(": {inner}"));
        source = inner.source();
    }
    text
}

impl Way {
    fn build(&self, secure: bool) -> Result<Client, String> {
        let mut roots = rustls::RootCertStore::empty();
        let mut own = Vec::new();
        if secure {
            roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
            own = self.own_certificates()?;
            for certificate in &own {
                // One odd certificate does not spoil the bundle.
                ok_or_warn!(
                    roots.add(certificate.clone()),
                    "a certificate of SSL_CERT_FILE is left out"
                );
            }
        }
        let mut tls = client_tls(roots, own)?;
        // Said aloud, so that an endpoint that speaks HTTP/2 can choose it.
        tls.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        let mut builder = Client::builder()
            .tls_backend_preconfigured(tls)
            .user_agent(concat!("chela/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_nodelay(true)
            // A key must not follow a redirect to another host.
            .redirect(redirect::Policy::none())
            .no_proxy();
        if let Some(proxy) = self.proxy.as_deref().filter(|_| secure) {
            let no_proxy = self.no_proxy.as_deref().and_then(NoProxy::from_string);
            let proxy = Proxy::all(proxy)
                .map_err(|error| format!("the proxy address cannot be used: {error}"))?;
            builder = builder.proxy(proxy.no_proxy(no_proxy));
        }
        builder
            .build()
            .map_err(|error| format!("cannot set up HTTP: {error}"))
    }

    fn own_certificates(&self) -> Result<Vec<CertificateDer<'static>>, String> {
        let Some(path) = &self.cert_file else {
            return Ok(Vec::new());
        };
        let fail = |why: String| format!("SSL_CERT_FILE {} cannot be used: {why}", path.display());
        let certificates =
            CertificateDer::pem_file_iter(path).map_err(|error| fail(error.to_string()))?;
        certificates
            .map(|certificate| certificate.map_err(|error| fail(error.to_string())))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::ModelHttp;

    #[test]
    fn a_local_address_loads_no_certificates() {
        let http = ModelHttp::direct();
        http.client("http://127.0.0.1:8080/v1").unwrap();
        assert!(http.way.plain.get().is_some());
        assert!(http.way.secure.get().is_none());
        http.client("https://api.openai.com/v1").unwrap();
        assert!(http.way.secure.get().is_some());
    }
}
