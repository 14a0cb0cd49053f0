//! The URL of somebody's own server, as people type it.

use crate::fail::CommandError;

/// A URL with its scheme: what is on this machine or in its network speaks plain HTTP, everything
/// else TLS.
pub fn complete_url(typed: &str) -> Result<String, CommandError> {
    let typed = typed.trim();
    let wrong = |why: &str| {
        CommandError::usage(format!("`{typed}` is not the URL of a server: {why}"))
            .hint("such as http://localhost:8080/v1")
    };
    let (scheme, rest) = match typed.split_once("://") {
        Some((scheme, rest)) => (scheme.to_ascii_lowercase(), rest),
        None => (usual_scheme(host_of(typed)).to_owned(), typed),
    };
    if !matches!(scheme.as_str(), "http" | "https") {
        return Err(wrong("it must start with http:// or https://"));
    }
    let host = host_of(rest);
    if host.is_empty() || rest.contains(|c: char| c.is_whitespace() || c.is_control()) {
        return Err(wrong("it names no host"));
    }
    Ok(format!("{scheme}://{}", rest.trim_end_matches('/')))
}

/// The host of `host:port/path`.
fn host_of(rest: &str) -> &str {
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    match host.strip_prefix('[') {
        Some(six) => six.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    }
}

/// What a server is called whose owner gave it no name, by its complete URL.
pub fn usual_name(url: &str) -> &'static str {
    let host = host_of(url.split_once("://").map_or(url, |(_, rest)| rest));
    let is_here = match host.parse::<std::net::IpAddr>() {
        Ok(ip) => ip.is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    };
    if is_here { "local" } else { "server" }
}

fn usual_scheme(host: &str) -> &'static str {
    let is_near = match host.parse::<std::net::IpAddr>() {
        Ok(std::net::IpAddr::V4(ip)) => ip.is_loopback() || ip.is_private() || ip.is_link_local(),
        Ok(std::net::IpAddr::V6(ip)) => ip.is_loopback() || ip.is_unique_local(),
        Err(_) => !host.contains('.') || host.ends_with(".local") || host.ends_with(".localhost"),
    };
    if is_near { "http" } else { "https" }
}

#[cfg(test)]
mod tests {
    use super::{complete_url, usual_name};

    #[test]
    fn a_name_says_where_it_is() {
        assert_eq!(usual_name("http://localhost:8199"), "local");
        assert_eq!(usual_name("http://[::1]:8080/v1"), "local");
        assert_eq!(usual_name("http://10.0.0.5:8000/v1"), "server");
        assert_eq!(usual_name("https://llm.example.org/v1"), "server");
    }

    #[test]
    fn a_scheme_is_added_and_nonsense_refused() {
        for (typed, url) in [
            ("localhost:8199", "http://localhost:8199"),
            ("10.0.0.5:8000/v1/", "http://10.0.0.5:8000/v1"),
            ("[::1]:8080/v1", "http://[::1]:8080/v1"),
            ("box.local:1234", "http://box.local:1234"),
            ("gpu:8000", "http://gpu:8000"),
            ("api.example.com/v1", "https://api.example.com/v1"),
            ("HTTP://localhost:1/v1", "http://localhost:1/v1"),
        ] {
            assert_eq!(complete_url(typed).unwrap(), url);
        }
        for typed in ["ftp://x", "http://", "not a url", ""] {
            let told = format!("{:?}", complete_url(typed).unwrap_err());
            assert!(told.contains("is not the URL of a server"), "{told}");
        }
    }
}
