//! Signed requests: `v1=` and the HMAC-SHA256, in hex, of `<timestamp>.<body>` under a secret both
//! ends know. The timestamp is in seconds since 1970 and part of what is signed, so a request that
//! was overheard is worth nothing after a while.

use hmac::{Hmac, Mac as _};
use sha2::Sha256;

/// The header a signature stands in.
pub(crate) const SIGNATURE: &str = "x-chela-signature";
const VERSION: &str = "v1=";

/// Why a signature does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SignatureFault {
    #[error("the timestamp is not a number of seconds since 1970")]
    Timestamp,
    #[error("the timestamp is too far from now")]
    Stale,
    #[error("the signature is not that of this body, timestamp and secret")]
    Wrong,
}

/// The signature of a body.
pub(crate) fn sign(secret: &str, timestamp: u64, body: &[u8]) -> String {
    let bytes = keyed(secret, &timestamp.to_string(), body)
        .finalize()
        .into_bytes();
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{VERSION}{hex}")
}

/// Whether a signature is the one of a body, and not older or newer than a window of seconds.
pub(crate) fn check_signature(
    secret: &str,
    shown: (&str, &str),
    body: &[u8],
    (now, window): (u64, u64),
) -> Result<(), SignatureFault> {
    let (timestamp, signature) = shown;
    let at: u64 = timestamp.parse().map_err(|_| SignatureFault::Timestamp)?;
    if at.abs_diff(now) > window {
        return Err(SignatureFault::Stale);
    }
    let hex = signature
        .strip_prefix(VERSION)
        .ok_or(SignatureFault::Wrong)?;
    let bytes = from_hex(hex).ok_or(SignatureFault::Wrong)?;
    // Compares in the same time, wherever they differ.
    let is_right = keyed(secret, timestamp, body).verify_slice(&bytes).is_ok();
    match is_right {
        true => Ok(()),
        false => Err(SignatureFault::Wrong),
    }
}

fn keyed(secret: &str, timestamp: &str, body: &[u8]) -> Hmac<Sha256> {
    // A key of any length will do.
    #[expect(clippy::expect_used, reason = "HMAC takes keys of every length")]
    let mut mac = Hmac::<Sha256>::new_from_slice(secret.as_bytes()).expect("any key");
    mac.update(timestamp.as_bytes());
    mac.update(b".");
    mac.update(body);
    mac
}

fn from_hex(hex: &str) -> Option<Vec<u8>> {
    let digits: Option<Vec<u8>> = hex
        .chars()
        .map(|digit| u8::try_from(digit.to_digit(16)?).ok())
        .collect();
    let digits = digits?;
    (digits.len() % 2 == 0).then(|| {
        digits
            .chunks(2)
            .map(|pair| pair.iter().fold(0, |byte, digit| (byte << 4) | digit))
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::{SignatureFault, check_signature, sign};

    #[test]
    fn only_the_same_secret_body_and_moment_count() {
        // openssl: printf '100.hello' | openssl dgst -sha256 -hmac key
        let signed = sign("key", 100, b"hello");
        assert_eq!(signed.len(), "v1=".len() + 64);
        let check =
            |secret, shown, body: &[u8], now| check_signature(secret, shown, body, (now, 300));
        assert_eq!(check("key", ("100", &signed), b"hello", 400), Ok(()));
        let wrong = Err(SignatureFault::Wrong);
        assert_eq!(check("other", ("100", &signed), b"hello", 100), wrong);
        assert_eq!(check("key", ("101", &signed), b"hello", 100), wrong);
        assert_eq!(check("key", ("100", &signed), b"hellO", 100), wrong);
        assert_eq!(check("key", ("100", "v1=00"), b"hello", 100), wrong);
        assert_eq!(
            check("key", ("100", &signed), b"hello", 401),
            Err(SignatureFault::Stale)
        );
        assert_eq!(
            check("key", ("x", &signed), b"hello", 100),
            Err(SignatureFault::Timestamp)
        );
    }
}
