//! Somebody answers, and no secure connection comes of it: why, in plain words.

use std::error::Error;

use rustls::CertificateError;

const OWN: &str = "to trust your own certificate or authority, set SSL_CERT_FILE=FILE.pem";

/// What is wrong with a secure connection.
#[derive(Debug, Clone)]
pub enum TlsFault {
    /// The certificate does not prove who answers.
    Certificate(CertificateError),
    /// Whoever answers does not speak TLS, or breaks it off.
    Handshake(rustls::Error),
}

impl TlsFault {
    /// Looks for one among the causes of an error.
    pub fn behind(error: &(dyn Error + 'static)) -> Option<Self> {
        match tls_error(error)? {
            rustls::Error::InvalidCertificate(why) => Some(Self::Certificate(why.clone())),
            other => Some(Self::Handshake(other.clone())),
        }
    }

    /// What happened at an address.
    pub fn told(&self, at: &str) -> String {
        match self {
            Self::Certificate(why) => {
                format!("the certificate of {at} cannot be trusted: {}", words(why))
            }
            Self::Handshake(why) => format!("no secure connection to {at} can be made ({why})"),
        }
    }

    /// The same where the address is told by others, with what to do.
    pub fn why(&self) -> String {
        match self {
            Self::Certificate(why) => {
                format!("its certificate cannot be trusted: {}; {OWN}", words(why))
            }
            Self::Handshake(why) => format!("no secure connection can be made ({why})"),
        }
    }

    /// What to do; `id` is the provider whose address it is.
    pub fn advice(&self, id: &str) -> String {
        match self {
            Self::Certificate(why) => match why {
                CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
                    "whoever runs that server must renew it".to_owned()
                }
                CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
                    "is the clock of this machine right?".to_owned()
                }
                CertificateError::NotValidForName
                | CertificateError::NotValidForNameContext { .. } => format!(
                    "models.providers.{id}.baseUrl must name the host as the certificate does; \
                     `openssl req -x509 … -addext subjectAltName=DNS:HOST` makes one for a host"
                ),
                _ => OWN.to_owned(),
            },
            Self::Handshake(_) => format!(
                "does it speak https? models.providers.{id}.baseUrl may have to start with http://"
            ),
        }
    }
}

/// An error of the system that wraps another names that one's causes as its own and leaves out the
/// error itself, so each is unwrapped by hand.
fn tls_error<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e rustls::Error> {
    if let Some(tls) = error.downcast_ref::<rustls::Error>() {
        return Some(tls);
    }
    let wrapped = error
        .downcast_ref::<std::io::Error>()
        .and_then(std::io::Error::get_ref);
    match wrapped {
        Some(inner) => tls_error(inner),
        None => tls_error(error.source()?),
    }
}

fn words(why: &CertificateError) -> String {
    match why {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            "it has expired".to_owned()
        }
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            "it is not valid yet".to_owned()
        }
        CertificateError::NotValidForName => "it is for another host".to_owned(),
        CertificateError::NotValidForNameContext {
            expected,
            presented,
        } => {
            let expected = expected.to_str();
            let names: Vec<&str> = presented.iter().map(|name| bare_name(name)).collect();
            match names.is_empty() {
                true => format!("it names no host (subjectAltName), and {expected} was asked for"),
                false => format!("it is for {}, not for {expected}", names.join(", ")),
            }
        }
        CertificateError::UnknownIssuer => {
            "it was signed by an authority this machine does not know".to_owned()
        }
        CertificateError::Revoked => "it was revoked".to_owned(),
        // The only one of these that people meet, and it has no name of its own.
        other if other.to_string().contains("CaUsedAsEndEntity") => {
            "it was signed by itself, and nobody vouches for it".to_owned()
        }
        other => other.to_string(),
    }
}

/// `DnsName("example.org")` is example.org.
fn bare_name(name: &str) -> &str {
    let inner = name.split_once('(').map_or(name, |(_, inner)| inner);
    inner.trim_end_matches(')').trim_matches('"')
}

#[cfg(test)]
mod tests {
    use rustls::CertificateError;
    use rustls::pki_types::ServerName;

    use super::{TlsFault, words};

    #[test]
    fn names_are_told_without_their_types() {
        let other = CertificateError::NotValidForNameContext {
            expected: ServerName::try_from("localhost").unwrap(),
            presented: vec![
                "DnsName(\"a.example\")".to_owned(),
                "IpAddress(10.0.0.1)".to_owned(),
            ],
        };
        assert_eq!(
            words(&other),
            "it is for a.example, 10.0.0.1, not for localhost"
        );
    }

    #[test]
    fn the_cause_is_found_behind_what_wraps_it() {
        let tls = rustls::Error::InvalidCertificate(CertificateError::Expired);
        let error = std::io::Error::other(std::io::Error::other(tls));
        assert!(matches!(
            TlsFault::behind(&error),
            Some(TlsFault::Certificate(CertificateError::Expired))
        ));
        let plain = std::io::Error::from(std::io::ErrorKind::ConnectionRefused);
        assert!(TlsFault::behind(&plain).is_none());
    }
}
