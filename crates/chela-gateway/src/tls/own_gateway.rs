//! How commands of a home reach its own gateway when that encrypts: the certificate must be the very
//! one the gateway wrote down in the home, whatever names stand in it and whoever signed it.

use std::net::{IpAddr, TcpStream as SyncTcpStream};
use std::sync::Arc;

use chela_core::ContentHash;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    CertificateError, ClientConfig, ClientConnection, DigitallySignedStruct, Error,
    SignatureScheme, StreamOwned,
};
use tokio::net::TcpStream;
use tokio_rustls::{TlsConnector, TlsStream};

use super::GatewayStream;

/// Takes one certificate and no other.
#[derive(Debug)]
struct PinnedCertificate {
    fingerprint: ContentHash,
    provider: Arc<CryptoProvider>,
}

/// A connection of a runtime, encrypted under the certificate that was written down.
pub(crate) async fn connect_tls(
    stream: TcpStream,
    ip: IpAddr,
    fingerprint: ContentHash,
) -> std::io::Result<GatewayStream> {
    let connector = TlsConnector::from(settings(fingerprint)?);
    let made = connector.connect(ServerName::from(ip), stream).await?;
    Ok(GatewayStream::Tls(Box::new(TlsStream::Client(made))))
}

/// The same for a command without a runtime.
pub(crate) fn sync_connection(
    stream: SyncTcpStream,
    ip: IpAddr,
    fingerprint: ContentHash,
) -> std::io::Result<StreamOwned<ClientConnection, SyncTcpStream>> {
    let made = ClientConnection::new(settings(fingerprint)?, ServerName::from(ip));
    Ok(StreamOwned::new(
        made.map_err(std::io::Error::other)?,
        stream,
    ))
}

fn settings(fingerprint: ContentHash) -> std::io::Result<Arc<ClientConfig>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let pinned = PinnedCertificate {
        fingerprint,
        provider: Arc::clone(&provider),
    };
    let settings = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(std::io::Error::other)?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(pinned))
        .with_no_client_auth();
    Ok(Arc::new(settings))
}

impl ServerCertVerifier for PinnedCertificate {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match ContentHash::of(end_entity) == self.fingerprint {
            true => Ok(ServerCertVerified::assertion()),
            false => Err(Error::InvalidCertificate(
                CertificateError::ApplicationVerificationFailure,
            )),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let algorithms = &self.provider.signature_verification_algorithms;
        algorithms.supported_schemes()
    }
}
