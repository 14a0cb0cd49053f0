//! The headers of an exchange.

use chela_core::lock;

use super::HttpWire;
use super::exchange::LinkExchange;
use crate::link::LoginChallenge;

impl HttpWire {
    pub(super) async fn headers_of(&self, exchange: &LinkExchange) -> Vec<(String, String)> {
        let mut headers: Vec<(String, String)> = self.headers.clone();
        let mut put = |name: &str, value: String| {
            headers.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
            headers.push((name.to_owned(), value));
        };
        put("accept", exchange.accepts().to_owned());
        if exchange.has_body() {
            put("content-type", "application/json".to_owned());
        }
        if let Some(token) = self.login.token().await {
            put("authorization", format!("Bearer {token}"));
        }
        // The first message of the older era names no version: there is none yet.
        if !exchange.is_first_of_older_era() {
            put("mcp-protocol-version", self.version());
        }
        if let Some(session) = exchange.session().map(str::to_owned).or(self.session()) {
            put("mcp-session-id", session);
        }
        if let Some(last) = exchange.last_id() {
            put("last-event-id", last.to_owned());
        }
        if self.is_modern() {
            for (name, value) in exchange.mirrored() {
                put(&name, value);
            }
        }
        headers
    }

    pub(super) fn keep_session(&self, session: Option<&str>) {
        let is_plain = |session: &&str| {
            session.len() <= 512 && session.bytes().all(|byte| (0x21..=0x7e).contains(&byte))
        };
        let mut state = lock(&self.state);
        if state.session.is_none()
            && let Some(session) = session.filter(is_plain)
        {
            state.session = Some(session.to_owned());
        }
    }
}

/// What a `WWW-Authenticate` header says.
pub(crate) fn read_challenge(header: &str, is_too_narrow: bool) -> LoginChallenge {
    let value = |name: &str| parameter(header, name);
    LoginChallenge {
        metadata: value("resource_metadata"),
        scope: value("scope").filter(|scope| !scope.is_empty()),
        is_too_narrow,
    }
}

/// A parameter of a challenge, with or without quotes.
pub(super) fn parameter(header: &str, wanted: &str) -> Option<String> {
    const MOST: usize = 2_048;
    let mut rest = header.trim_start();
    // The name of the scheme comes first.
    rest = rest.split_once(' ').map_or("", |(_, rest)| rest);
    while !rest.trim_start_matches([' ', ',', '\t']).is_empty() {
        rest = rest.trim_start_matches([' ', ',', '\t']);
        let (name, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let (value, next) = match after.strip_prefix('"') {
            Some(quoted) => quoted_value(quoted)?,
            None => match after.find([',', ' ']) {
                Some(at) => {
                    let (value, next) = after.split_at(at);
                    (value.to_owned(), next)
                }
                None => (after.to_owned(), ""),
            },
        };
        if name.trim().eq_ignore_ascii_case(wanted) && value.len() <= MOST {
            return Some(value);
        }
        rest = next;
    }
    None
}

fn quoted_value(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((value, text.get(at + 1..).unwrap_or_default())),
            '\\' => value.push(chars.next()?.1),
            c => value.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::parameter;

    #[test]
    fn challenges_are_read() {
        let header = r#"Bearer realm="a \"b\"", error="insufficient_scope", scope="files:read files:write", resource_metadata="https://a.example/.well-known/oauth-protected-resource", x=1"#;
        let value = |name| parameter(header, name);
        assert_eq!(value("scope").as_deref(), Some("files:read files:write"));
        assert_eq!(value("error").as_deref(), Some("insufficient_scope"));
        assert_eq!(value("realm").as_deref(), Some("a \"b\""));
        assert_eq!(value("x").as_deref(), Some("1"));
        assert_eq!(value("nothing"), None);
        for odd in ["", "Bearer", "Bearer =", "Bearer a=\"", "Bearer ,,,", "Bearer a"] {
            assert_eq!(parameter(odd, "scope"), None, "{odd}");
        }
    }
}
