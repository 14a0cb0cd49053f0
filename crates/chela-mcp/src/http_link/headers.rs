//! The headers of an exchange.

use chela_core::lock;

use super::HttpWire;
use super::exchange::LinkExchange;

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
