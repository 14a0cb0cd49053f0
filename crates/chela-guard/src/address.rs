//! The address of something on the web, in the one form in which it is judged and used.

use url::Url;

/// A parsed address. What was judged is what is asked for: nobody parses the text a second time.
///
/// The fragment is left out, because no server is ever sent it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WebAddress(Url);

/// Why a text is no address; written for the model.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AddressFault {
    #[error(
        "`{0}` is not a URL: write it in full, without spaces, quotes, backslashes or line breaks"
    )]
    Malformed(String),
    #[error("only http and https can be read, not {0}")]
    Scheme(String),
    #[error("addresses with a user name or password are not used")]
    Credentials,
}

impl WebAddress {
    /// The address a call names. What a lenient parser would strip or bend makes it no address:
    /// two programs could read it in two ways.
    pub fn parse(text: &str) -> Result<Self, AddressFault> {
        let is_bent = |c: char| {
            c.is_whitespace()
                || c.is_control()
                || matches!(c, '"' | '`' | '<' | '>' | '\\')
                || crate::invisible::is_invisible(c)
        };
        if text.chars().any(is_bent) {
            return Err(malformed(text));
        }
        let whole = match text.split_once("://") {
            Some((_, rest)) if rest.starts_with('/') => return Err(malformed(text)),
            Some(_) => Url::parse(text),
            // A bare host, as people write it. A scheme without slashes is bent.
            None if is_bare(text) => Url::parse(&format!("https://{text}")),
            None => return Err(malformed(text)),
        };
        Self::of(whole.map_err(|_| malformed(text))?, text)
    }

    /// Where a text in prose leads, as whoever makes links of it would read it.
    pub(crate) fn read_from_prose(text: &str) -> Option<Self> {
        Self::of(Url::parse(text).ok()?, text).ok()
    }

    /// Where a redirect leads.
    pub fn join(&self, location: &str) -> Result<Self, AddressFault> {
        let next = self.0.join(location).map_err(|_| malformed(location))?;
        Self::of(next, location)
    }

    fn of(mut url: Url, text: &str) -> Result<Self, AddressFault> {
        if !url.username().is_empty() || url.password().is_some() {
            return Err(AddressFault::Credentials);
        }
        if url.host_str().is_none_or(str::is_empty) {
            return Err(match url.scheme() {
                "http" | "https" => malformed(text),
                other => AddressFault::Scheme(other.to_owned()),
            });
        }
        url.set_fragment(None);
        Ok(Self(url))
    }

    pub fn url(&self) -> &Url {
        &self.0
    }

    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The host without its port.
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// Host and port: what has another port is another server.
    pub fn server(&self) -> String {
        match self.0.port() {
            Some(port) => format!("{}:{port}", self.host()),
            None => self.host().to_owned(),
        }
    }

    /// Whether a redirect stays with whoever was asked: the same server or its `www.` name, and
    /// not from an encrypted connection to an open one.
    pub fn stays_with(&self, next: &Self) -> bool {
        let bare = |server: String| match server.strip_prefix("www.") {
            Some(rest) => rest.to_owned(),
            None => server,
        };
        let is_downgrade = self.0.scheme() == "https" && next.0.scheme() != "https";
        bare(self.server()) == bare(next.server()) && !is_downgrade
    }
}

impl std::fmt::Display for WebAddress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whether a text without a scheme begins with a host.
fn is_bare(text: &str) -> bool {
    let host = text.split(['/', '?', '#']).next().unwrap_or_default();
    !host.is_empty()
        && !host.ends_with(':')
        && (host.contains('.') || host.starts_with("localhost"))
}

fn malformed(text: &str) -> AddressFault {
    const MOST: usize = 200;
    let text: String = text.chars().take(MOST).collect();
    AddressFault::Malformed(chela_core::sanitize::literal(&text).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_one_form() {
        let form = |text: &str| WebAddress::parse(text).map(|address| address.to_string());
        let same = "https://example.org/a?b=c";
        assert_eq!(form(same).as_deref(), Ok(same));
        assert_eq!(
            form("HTTPS://EXAMPLE.org:443/x/../a?b=c#part").as_deref(),
            Ok(same)
        );
        assert_eq!(form("example.org/a?b=c").as_deref(), Ok(same));
        assert_ne!(form("https://example.org/A?b=c").as_deref(), Ok(same));
    }

    #[test]
    fn what_two_programs_read_in_two_ways_is_no_address() {
        for text in [
            "http://docs.example\n.me\n?please",
            " https://example.org/",
            "https://example.org/\ta",
            "https://example.org/\"a\"",
            "https:\\\\example.org",
            "https:/example.org",
            "///example.org",
            "https://exa\u{200b}mple.org/",
            "https://",
            "",
        ] {
            assert!(WebAddress::parse(text).is_err(), "{text:?}");
        }
        let fault = WebAddress::parse("https://news.example@evil.example/");
        assert_eq!(fault, Err(AddressFault::Credentials));
    }

    #[test]
    fn a_redirect_may_stay_with_whom_was_asked() {
        let at = |text: &str| WebAddress::parse(text).unwrap();
        let stays = |a: &str, b: &str| at(a).stays_with(&at(b));
        assert!(stays("http://a.example/x", "https://www.a.example/y"));
        assert!(!stays("https://a.example/", "http://a.example/"));
        assert!(!stays("https://a.example/", "https://b.a.example/"));
        assert!(!stays("https://a.example/", "https://a.example:8443/"));
    }
}
