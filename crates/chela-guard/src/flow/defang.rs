//! The reply is a sink too: a link preview or a picture is fetched without a click.
//!
//! Links, pictures and bare addresses of hosts the owner did not name stay readable and lead
//! nowhere.

use super::atom::{self, AtomKind, Url};
use super::decide::Judge;
use super::provenance::{Provenance, Taint};

/// A reply that fetches nothing from hosts nobody named.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defanged {
    pub text: String,
    /// Addresses that were made harmless.
    pub addresses: usize,
}

/// Makes links and pictures to hosts the owner did not name harmless. In a session that read
/// nothing from outside nobody could have planted one.
pub fn defang(judge: Judge<'_>, seen: &Provenance, reply: &str) -> Defanged {
    if seen.taint() == Taint::Clean {
        return Defanged {
            text: reply.to_owned(),
            addresses: 0,
        };
    }
    let mut text = String::with_capacity(reply.len());
    let mut copied = 0;
    let mut addresses = 0;
    for atom in atom::telling_atoms(reply) {
        if atom.kind != AtomKind::Url || atom.range.start < copied {
            continue;
        }
        let written = reply.get(atom.range.clone()).unwrap_or_default();
        if is_harmless(judge, seen, written, &atom.text) {
            continue;
        }
        text.push_str(reply.get(copied..atom.range.start).unwrap_or_default());
        unimage(&mut text);
        text.push_str(&harmless(written));
        copied = atom.range.end;
        addresses += 1;
    }
    text.push_str(reply.get(copied..).unwrap_or_default());
    Defanged { text, addresses }
}

/// Whole in the owner's words, or of a listed host, or of a named one and read somewhere whole.
fn is_harmless(judge: Judge<'_>, seen: &Provenance, written: &str, compared: &str) -> bool {
    let Some(host) = Url::parse(written).and_then(|url| url.host) else {
        return false;
    };
    judge.reaches(&host) || seen.is_named_host(&host) && seen.occurs(compared)
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

/// The scheme changed and the dots in brackets.
fn harmless(url: &str) -> String {
    let (scheme, rest) = match url.split_once("://") {
        Some((scheme, rest)) => (scheme.to_lowercase().replace("http", "hxxp") + ":", rest),
        None => (String::new(), url),
    };
    let end = rest.find(['/', '\\', '?', '#']).unwrap_or(rest.len());
    let host = rest.get(..end).unwrap_or_default().replace('.', "[.]");
    let path = rest.get(end..).unwrap_or_default().replace('.', "[.]");
    let scheme = if scheme.starts_with("hxxp") || scheme.is_empty() {
        scheme
    } else {
        format!("x-{scheme}")
    };
    let host = if host.contains("[.]") || scheme.is_empty() {
        host
    } else {
        format!("[{host}]")
    };
    let mut harmless = format!("{scheme}{host}{path}");
    // A path may hold another address; none of it may read as one.
    while harmless.contains("://") {
        harmless = harmless.replace("://", ":");
    }
    harmless
}
