//! The reply is a sink too: a link preview or a picture is fetched without a click.
//!
//! Links, pictures and bare addresses of hosts the owner did not name stay readable and lead
//! nowhere.

use super::decide::CallJudge;
use super::link::{FoundLink, links_in};
use super::provenance::{Provenance, SessionTaint};

/// A reply that fetches nothing from hosts nobody named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefangedReply {
    pub text: String,
    /// Addresses that were made harmless.
    pub addresses: usize,
}

/// Makes links and pictures to hosts the owner did not name harmless. In a session that read
/// nothing from outside nobody could have planted one.
pub fn defang(judge: CallJudge<'_>, seen: &Provenance, reply: &str) -> DefangedReply {
    if seen.taint() == SessionTaint::Clean {
        return DefangedReply {
            text: reply.to_owned(),
            addresses: 0,
        };
    }
    let mut text = String::with_capacity(reply.len());
    let mut copied = 0;
    let mut addresses = 0;
    for link in links_in(reply) {
        let written = reply.get(link.range.clone()).unwrap_or_default();
        // Nobody makes a link of this machine's own name.
        let is_here = written.starts_with("localhost");
        if link.range.start < copied || is_here || is_harmless(judge, seen, &link) {
            continue;
        }
        text.push_str(reply.get(copied..link.range.start).unwrap_or_default());
        unimage(&mut text);
        text.push_str(&harmless(written));
        copied = link.range.end;
        addresses += 1;
    }
    text.push_str(reply.get(copied..).unwrap_or_default());
    DefangedReply { text, addresses }
}

/// Whole in the owner's words, or of a listed host, or of a named one and read somewhere whole.
fn is_harmless(judge: CallJudge<'_>, seen: &Provenance, link: &FoundLink) -> bool {
    let known = seen.addresses();
    link.readings.iter().any(|address| {
        known.named_by_owner(address).is_some()
            || judge.reaches(address.host())
            || known.is_named_server(address) && known.occurs(address)
    })
}

/// `![alt](` before an address becomes `[alt](`: a link, which is not fetched.
fn unimage(text: &mut String) {
    let Some(open) = text.ends_with('(').then(|| text.rfind("![")).flatten() else {
        return;
    };
    if text.get(open..).unwrap_or_default().contains("](")
        && !text.get(open..).unwrap_or_default().contains('\n')
    {
        text.remove(open);
    }
}

/// The scheme changed and the dots in brackets; no slashes that lead anywhere.
fn harmless(url: &str) -> String {
    let (scheme, rest) = match url.split_once(':') {
        Some((scheme, rest)) if is_scheme(scheme, rest) => {
            let scheme = scheme.to_lowercase();
            let bent = scheme.replace("http", "hxxp");
            match bent == scheme {
                true => (format!("x-{scheme}:"), rest),
                false => (bent + ":", rest),
            }
        }
        _ => (String::new(), url),
    };
    let rest = rest.trim_start_matches(['/', '\\']);
    let end = rest.find(['/', '\\', '?', '#']).unwrap_or(rest.len());
    let host = rest.get(..end).unwrap_or_default().replace('.', "[.]");
    let path = rest.get(end..).unwrap_or_default().replace('.', "[.]");
    let host = match host.contains("[.]") {
        true => host,
        false => format!("[{host}]"),
    };
    let mut harmless = format!("{scheme}{host}{path}");
    // A path may hold another address; none of it may read as one.
    for slashes in ["://", ":/", ":\\", "//", "\\\\", "/\\", "\\/"] {
        while harmless.contains(slashes) {
            let single = slashes.get(..1).unwrap_or_default();
            harmless = harmless.replace(slashes, single);
        }
    }
    harmless
}

fn is_scheme(scheme: &str, rest: &str) -> bool {
    let is_port = rest.starts_with(|c: char| c.is_ascii_digit()) && scheme.contains('.');
    let is_word = scheme
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'));
    !scheme.is_empty() && is_word && !is_port
}
