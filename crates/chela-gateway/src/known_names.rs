//! Which names lead to this gateway, and which pages may speak to it.

use std::net::IpAddr;

use chela_config::LoadedConfig;

/// The names this gateway answers to. A page elsewhere can make its own name lead here, and then
/// its scripts would speak to us as if we were theirs; numbers cannot be made to lead elsewhere.
#[derive(Debug, Default)]
pub(crate) struct KnownNames {
    hosts: Vec<String>,
    origins: Vec<String>,
}

impl KnownNames {
    pub fn of(loaded: &LoadedConfig) -> Self {
        let gateway = &loaded.config.gateway;
        let origins: Vec<String> = gateway
            .control_ui
            .allowed_origins
            .iter()
            .map(|origin| origin.trim().trim_end_matches('/').to_ascii_lowercase())
            .collect();
        let mut hosts: Vec<String> = origins
            .iter()
            .filter_map(|origin| origin.split_once("://").map(|(_, host)| host_of(host)))
            .collect();
        hosts.extend(gateway.custom_bind_host.iter().map(|host| host_of(host)));
        hosts.push("localhost".to_owned());
        Self { hosts, origins }
    }

    pub fn is_known_host(&self, host: &str) -> bool {
        let name = host_of(host);
        let bare = name.trim_start_matches('[').trim_end_matches(']');
        bare.parse::<IpAddr>().is_ok() || self.hosts.contains(&name)
    }

    /// A page may speak to us when it came from here, or from where the owner said.
    pub fn is_known_origin(&self, origin: &str, host: &str) -> bool {
        let origin = origin.to_ascii_lowercase();
        let from_here = origin.split_once("://").is_some_and(|(scheme, rest)| {
            matches!(scheme, "http" | "https") && rest == host.to_ascii_lowercase()
        });
        from_here || self.origins.contains(&origin)
    }
}

/// A host without its port, in small letters.
fn host_of(host: &str) -> String {
    let host = host.trim().to_ascii_lowercase();
    match host.rsplit_once(':') {
        // The last colon of an address in brackets may be inside of them.
        Some((name, port)) if !port.contains(']') && !name.is_empty() => {
            match name.contains(':') && !name.starts_with('[') {
                true => host,
                false => name.to_owned(),
            }
        }
        _ => host,
    }
}

#[cfg(test)]
mod tests {
    use super::{KnownNames, host_of};

    #[test]
    fn names_that_lead_here_by_a_trick_are_not_ours() {
        let names = KnownNames {
            hosts: vec!["localhost".into(), "home.example".into()],
            origins: vec!["https://home.example".into()],
        };
        for host in [
            "127.0.0.1:18790",
            "localhost:1",
            "[::1]:80",
            "::1",
            "LOCALHOST",
            "home.example",
        ] {
            assert!(names.is_known_host(host), "{host}");
        }
        for host in [
            "evil.example",
            "localhost.evil.example:80",
            "127.0.0.1.nip.io",
            "",
        ] {
            assert!(!names.is_known_host(host), "{host}");
        }
        assert!(names.is_known_origin("http://localhost:18790", "localhost:18790"));
        assert!(names.is_known_origin("https://home.example", "127.0.0.1:18790"));
        for origin in [
            "null",
            "http://localhost:9",
            "https://evil.example",
            "file://",
            "ftp://localhost:18790",
        ] {
            assert!(
                !names.is_known_origin(origin, "localhost:18790"),
                "{origin}"
            );
        }
        assert_eq!(host_of("[::1]:80"), "[::1]");
    }
}
