//! Which hosts may be reached.

use std::net::IpAddr;

/// The hosts of `sandbox.egress`.
///
/// `example.org` is that host, `*.example.org` every one below it, `*` every public one. Ports
/// are 443 and 80, unless an entry names another: `example.org:8443`. Addresses of the machine
/// and of private networks are reached only by entries that are such an address, or `localhost`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EgressHosts(Vec<Entry>);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    name: Name,
    port: Option<u16>,
    /// As it was written.
    text: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Name {
    All,
    Below(String),
    Exactly(String),
}

const USUAL_PORTS: [u16; 2] = [443, 80];

impl EgressHosts {
    pub fn of(list: &[String], notes: &mut Vec<String>) -> Self {
        let mut entries = Vec::new();
        for text in list {
            match Entry::read(text) {
                Some(entry) => entries.push(entry),
                None => notes.push(format!(
                    "sandbox.egress `{}` is ignored: it is not a host; write `example.org`, \
                     `*.example.org` or `example.org:8443`",
                    chela_core::sanitize::literal(text)
                )),
            }
        }
        Self(entries)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As they were written.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(|entry| entry.text.as_str())
    }

    /// Whether a host may be asked for, or what to tell the program.
    pub(super) fn allow(&self, host: &str, port: u16) -> Result<(), String> {
        let named = self.0.iter().filter(|entry| entry.name.matches(host));
        let mut ports = named.map(|entry| entry.port).peekable();
        if ports.peek().is_none() {
            return Err(format!("{host} is not among the hosts of sandbox.egress"));
        }
        let open = ports.any(|listed| match listed {
            Some(listed) => listed == port,
            None => USUAL_PORTS.contains(&port),
        });
        match open {
            true => Ok(()),
            false => Err(format!(
                "port {port} of {host} is not open; sandbox.egress can name it as {host}:{port}"
            )),
        }
    }

    /// Whether an entry is this very machine or address, so that its operator meant it.
    pub(super) fn names_machine(&self, host: &str) -> bool {
        let is_address = host.parse::<IpAddr>().is_ok() || host == "localhost";
        is_address
            && self
                .0
                .iter()
                .any(|entry| entry.name == Name::Exactly(host.to_owned()))
    }
}

impl Name {
    fn matches(&self, host: &str) -> bool {
        match self {
            Self::All => host != "localhost" && host.parse::<IpAddr>().is_err(),
            Self::Exactly(name) => name == host,
            Self::Below(name) => host
                .strip_suffix(name.as_str())
                .is_some_and(|below| below.ends_with('.') && below.len() > 1),
        }
    }
}

impl Entry {
    fn read(text: &str) -> Option<Self> {
        let whole = text.trim().to_ascii_lowercase();
        let plain = whole
            .strip_prefix("https://")
            .or_else(|| whole.strip_prefix("http://"))
            .unwrap_or(&whole)
            .trim_end_matches('/');
        let (host, port) = split(plain)?;
        let is_host = |host: &str| {
            !host.is_empty()
                && (host.parse::<IpAddr>().is_ok()
                    || host
                        .chars()
                        .all(|c| c.is_ascii_alphanumeric() || "-._".contains(c)))
        };
        let name = match host.strip_prefix("*.") {
            _ if host == "*" => Name::All,
            Some(below) if is_host(below) => Name::Below(below.to_owned()),
            None if is_host(host) => Name::Exactly(host.trim_end_matches('.').to_owned()),
            _ => return None,
        };
        Some(Self {
            name,
            port,
            text: plain.to_owned(),
        })
    }
}

fn split(text: &str) -> Option<(&str, Option<u16>)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, after) = rest.split_once(']')?;
        return match after.strip_prefix(':') {
            Some(port) => Some((host, Some(port.parse().ok()?))),
            None => Some((host, None)),
        };
    }
    if text.parse::<IpAddr>().is_ok() {
        return Some((text, None));
    }
    match text.split_once(':') {
        Some((host, port)) => Some((host, Some(port.parse().ok()?))),
        None => Some((text, None)),
    }
}

#[cfg(test)]
mod tests {
    use super::EgressHosts;

    fn hosts(list: &[&str]) -> EgressHosts {
        let list: Vec<String> = list.iter().map(|&text| text.to_owned()).collect();
        let mut notes = Vec::new();
        let hosts = EgressHosts::of(&list, &mut notes);
        assert!(notes.is_empty(), "{notes:?}");
        hosts
    }

    #[test]
    fn entries_mean_what_they_say() {
        let hosts = hosts(&["example.org", "*.crates.io", "api.test:8443", "127.0.0.1:9"]);
        for (host, port, open) in [
            ("example.org", 443, true),
            ("example.org", 80, true),
            ("example.org", 22, false),
            ("www.example.org", 443, false),
            ("evilexample.org", 443, false),
            ("static.crates.io", 443, true),
            ("a.b.crates.io", 443, true),
            ("crates.io", 443, false),
            ("crates.io.evil.test", 443, false),
            ("api.test", 8443, true),
            ("api.test", 443, false),
            ("127.0.0.1", 9, true),
            ("127.0.0.2", 9, false),
        ] {
            assert_eq!(hosts.allow(host, port).is_ok(), open, "{host}:{port}");
        }
        assert!(hosts.names_machine("127.0.0.1"));
        assert!(!hosts.names_machine("example.org"));
    }

    #[test]
    fn everything_is_every_public_name() {
        let all = hosts(&["*"]);
        assert!(all.allow("anything.test", 443).is_ok());
        assert!(all.allow("localhost", 80).is_err());
        assert!(all.allow("10.0.0.1", 80).is_err());
    }

    #[test]
    fn what_is_no_host_is_told() {
        let mut notes = Vec::new();
        let list = ["a b", "", "*.", "ex*mple.org", "x:port"].map(str::to_owned);
        assert!(EgressHosts::of(&list, &mut notes).is_empty());
        assert_eq!(notes.len(), 5);
    }
}
