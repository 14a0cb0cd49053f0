//! The certificate the gateway shows: read from `gateway.tls`, and again when its files change, so
//! that a renewed one needs no restart.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};

use chela_config::LoadedConfig;
use chela_core::{ContentHash, Host};
use rustls::ServerConfig;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio_rustls::TlsAcceptor;

use super::validity::valid_until;

/// How somebody without a certificate makes one.
const MAKE_ONE: &str = "`openssl req -x509 -newkey rsa:2048 -nodes -days 365 -subj /CN=NAME -addext subjectAltName=DNS:NAME -keyout key.pem -out cert.pem` makes both for one machine";

/// Why the gateway cannot encrypt.
#[derive(Debug, thiserror::Error)]
pub enum TlsSetupError {
    #[error("gateway.tls is on, and gateway.tls.{missing} is not set; {MAKE_ONE}")]
    Unset { missing: &'static str },
    #[error("gateway.tls.{key}: {file} cannot be read: {why}")]
    Read {
        key: &'static str,
        file: PathBuf,
        why: String,
    },
    #[error("gateway.tls.{key}: {file} contains no {wanted} in PEM form")]
    Empty {
        key: &'static str,
        file: PathBuf,
        wanted: &'static str,
    },
    #[error("{certificate} and {key} cannot be used together: {why}")]
    Pair {
        certificate: PathBuf,
        key: PathBuf,
        why: rustls::Error,
    },
    #[error("TLS cannot be set up: {0}")]
    Setup(rustls::Error),
}

/// The pair the gateway shows.
#[derive(Debug)]
pub struct ServerCertificate {
    files: CertificateFiles,
    shown: Arc<ShownCertificate>,
    settings: Arc<ServerConfig>,
}

#[derive(Debug)]
struct CertificateFiles {
    certificate: PathBuf,
    key: PathBuf,
}

/// Whichever was read last.
#[derive(Debug)]
struct ShownCertificate(RwLock<Arc<CertifiedKey>>);

/// Whether the config asks for encryption.
pub(crate) fn is_encrypted(loaded: &LoadedConfig) -> bool {
    let tls = &loaded.config.gateway.tls;
    tls.enabled.unwrap_or(tls.cert_path.is_some())
}

impl ServerCertificate {
    /// The pair the config names; `None` where it asks for none.
    pub fn of(host: &Host, loaded: &LoadedConfig) -> Result<Option<Self>, TlsSetupError> {
        if !is_encrypted(loaded) {
            return Ok(None);
        }
        let tls = &loaded.config.gateway.tls;
        let config_file = loaded.file();
        let folder = config_file.parent().unwrap_or(Path::new("/"));
        let place = |path: &Option<String>, missing| match path {
            Some(path) => Ok(host.expand_from(path, folder)),
            None => Err(TlsSetupError::Unset { missing }),
        };
        let files = CertificateFiles {
            certificate: place(&tls.cert_path, "certPath")?,
            key: place(&tls.key_path, "keyPath")?,
        };
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let shown = Arc::new(ShownCertificate(RwLock::new(files.read(&provider)?)));
        let settings = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(TlsSetupError::Setup)?
            .with_no_client_auth();
        let mut settings =
            settings.with_cert_resolver(Arc::clone(&shown) as Arc<dyn ResolvesServerCert>);
        settings.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Some(Self {
            files,
            shown,
            settings: Arc::new(settings),
        }))
    }

    pub(crate) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(Arc::clone(&self.settings))
    }

    /// The files it was read from: the certificate, and its key.
    pub fn files(&self) -> [PathBuf; 2] {
        [self.files.certificate.clone(), self.files.key.clone()]
    }

    /// What tells it from others.
    pub fn fingerprint(&self) -> Option<ContentHash> {
        let shown = self.shown.now();
        shown.end_entity_cert().ok().map(ContentHash::of)
    }

    /// Until when clients take it, in seconds since 1970.
    pub fn valid_until(&self) -> Option<u64> {
        valid_until(self.shown.now().end_entity_cert().ok()?)
    }

    /// Reads the files again; says whether there is another one now. One that cannot be used
    /// leaves the one there was.
    pub(crate) fn read_again(&self) -> Result<bool, TlsSetupError> {
        let read = self.files.read(self.settings.crypto_provider())?;
        let is_new = read.cert != self.shown.now().cert;
        *self.shown.0.write().unwrap_or_else(PoisonError::into_inner) = read;
        Ok(is_new)
    }
}

impl CertificateFiles {
    fn read(&self, provider: &CryptoProvider) -> Result<Arc<CertifiedKey>, TlsSetupError> {
        let chain = read_pem("certPath", &self.certificate)?;
        let chain = CertificateDer::pem_slice_iter(&chain)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|why| unreadable("certPath", &self.certificate, &why))?;
        if chain.is_empty() {
            return Err(TlsSetupError::Empty {
                key: "certPath",
                file: self.certificate.clone(),
                wanted: "certificate",
            });
        }
        let key = PrivateKeyDer::from_pem_slice(&read_pem("keyPath", &self.key)?);
        let key = key.map_err(|why| match why {
            pem::Error::NoItemsFound => TlsSetupError::Empty {
                key: "keyPath",
                file: self.key.clone(),
                wanted: "private key",
            },
            why => unreadable("keyPath", &self.key, &why),
        })?;
        let pair = CertifiedKey::from_der(chain, key, provider);
        pair.map(Arc::new).map_err(|why| TlsSetupError::Pair {
            certificate: self.certificate.clone(),
            key: self.key.clone(),
            why,
        })
    }
}

fn read_pem(key: &'static str, file: &Path) -> Result<Vec<u8>, TlsSetupError> {
    std::fs::read(file).map_err(|why| TlsSetupError::Read {
        key,
        file: file.to_owned(),
        why: why.to_string(),
    })
}

fn unreadable(key: &'static str, file: &Path, why: &pem::Error) -> TlsSetupError {
    TlsSetupError::Read {
        key,
        file: file.to_owned(),
        why: why.to_string(),
    }
}

impl ShownCertificate {
    fn now(&self) -> Arc<CertifiedKey> {
        let shown = self.0.read().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(&shown)
    }
}

impl ResolvesServerCert for ShownCertificate {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.now())
    }
}
