//! Logins as OAuth has them: where a server is asked, what it gives out, the browser that comes back.
//!
//! Nothing is kept here, and nobody is shown anything: whoever logs in does both. Metadata is read
//! as RFC 8414 and OpenID have it, codes are bound by PKCE (RFC 7636), answers are compared with the
//! server they were asked of (RFC 9207).

mod callback;
mod encoding;
mod metadata;
mod token;

pub use callback::{BrowserLogin, LoginCallback, RequestedLogin};
pub use encoding::{decode_form, encode_form, encode_part};
pub use metadata::{AuthorizationServer, IssuerMatch, check_address, metadata_urls, read_metadata};
pub use token::{
    ClientAuth, GrantedTokens, LoginRefusal, OauthClient, ask_for_tokens, post_form, post_json,
    refresh_tokens,
};

/// Why a login did not come about.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OauthError {
    #[error("{url} is not an https URL")]
    Insecure { url: String },
    #[error("{issuer} does not say how to log in ({tried})")]
    Undiscovered { issuer: String, tried: String },
    #[error("the issuer's metadata is not usable: {why}")]
    Metadata { why: String },
    #[error("the issuer's metadata names {named}, not {issuer}")]
    OtherIssuer { named: String, issuer: String },
    #[error("no answer from {url}: {why}")]
    NoAnswer { url: String, why: String },
    #[error("the login was refused: {words}")]
    Refused { code: String, words: String },
    #[error("the issuer answered without {what}")]
    Without { what: &'static str },
    #[error("the issuer does not offer this way to log in")]
    NotOffered,
    #[error("cannot listen for the login on this machine: {why}")]
    Listen { why: String },
    #[error("the answer to the login comes from {named}, not from {issuer}: it was not used")]
    MixedUp { named: String, issuer: String },
    #[error("the answer to the login does not say which server it comes from: it was not used")]
    Unsigned,
    #[error("nobody logged in in time")]
    TooLate,
}

/// A text of a server in one short line.
pub(crate) fn line_of(text: &str) -> String {
    const MOST: usize = 300;
    let words: Vec<&str> = text.split_whitespace().collect();
    let line: String = words.join(" ").chars().take(MOST).collect();
    chela_core::sanitize::literal(&line).into_owned()
}
