//! Which certificates the web tools believe: the authorities everybody trusts, and those the owner
//! named in `SSL_CERT_FILE`, such as that of a company's proxy.

use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, OnceLock};

use chela_core::{Host, ok_or_warn};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

/// Certificate authorities, read when the first page is.
#[derive(Debug, Clone, Default)]
pub struct WebTls {
    own: Option<OwnAuthorities>,
}

#[derive(Debug, Clone)]
struct OwnAuthorities {
    file: PathBuf,
    built: Arc<OnceLock<Result<ClientConfig, String>>>,
}

/// Shared by all who name no file.
static USUAL: LazyLock<Result<ClientConfig, String>> = LazyLock::new(|| build(None));

impl WebTls {
    pub fn of(host: &Host) -> Self {
        let file = host.var("SSL_CERT_FILE");
        let file = file.map(|file| file.trim().to_owned());
        Self {
            own: file
                .filter(|file| !file.is_empty())
                .map(|file| OwnAuthorities {
                    file: host.expand(&file),
                    built: Arc::default(),
                }),
        }
    }

    pub(super) fn config(&self) -> Result<ClientConfig, String> {
        match &self.own {
            None => USUAL.clone(),
            Some(own) => own.built.get_or_init(|| build(Some(&own.file))).clone(),
        }
    }
}

fn build(own: Option<&Path>) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore {
        roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
    };
    if let Some(file) = own {
        let fail = |why: rustls::pki_types::pem::Error| {
            format!("SSL_CERT_FILE {} cannot be used: {why}", file.display())
        };
        for certificate in CertificateDer::pem_file_iter(file).map_err(fail)? {
            // One odd certificate does not spoil the bundle.
            ok_or_warn!(
                roots.add(certificate.map_err(fail)?),
                "a certificate of SSL_CERT_FILE is left out"
            );
        }
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| error.to_string())?
        .with_root_certificates(roots)
        .with_no_client_auth();
    // Some pages are served over HTTP/2 alone.
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}
