//! What in a text is a link, for whoever shows or reads it: addresses with a scheme, however
//! many slashes it has and whichever way they lean, addresses without one, bare hosts.

use std::ops::Range;

use super::domain::is_linked_host;
use crate::WebAddress;

/// A stretch of text that somebody would make a link of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundLink {
    /// Without the punctuation of the sentence around it.
    pub range: Range<usize>,
    /// Where it leads: with the punctuation that may belong to it or to the sentence, and
    /// without; for both schemes where none is written. Empty when nobody can tell.
    pub readings: Vec<WebAddress>,
    /// The same with what stands behind a bracket or a quote: in prose it may belong to it.
    pub longer: Vec<WebAddress>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LinkForm {
    /// `https://…`, `https:/…`, `https:\\…`, any other scheme.
    Scheme {
        colon: usize,
    },
    /// `//…`, `///…`, `\\…`.
    Slashes,
    Bare,
}

/// The links of a text, in order.
pub fn links_in(text: &str) -> Vec<FoundLink> {
    let mut links = Vec::new();
    for run in runs(text) {
        let mut at = run.start;
        while let Some((start, form)) = next_link(text, at..run.end) {
            let link = link_at(text, start, form, run.end);
            at = link.range.end.max(start + 1);
            links.push(link);
        }
    }
    links
}

/// Stretches between what no link goes on over.
fn runs(text: &str) -> impl Iterator<Item = Range<usize>> {
    let mut rest = text.char_indices();
    let mut start = None;
    std::iter::from_fn(move || {
        for (at, c) in rest.by_ref() {
            match (ends_run(c), start) {
                (false, None) => start = Some(at),
                (true, Some(from)) => {
                    start = None;
                    // Shorter than any link.
                    if at - from > 3 {
                        return Some(from..at);
                    }
                }
                _ => {}
            }
        }
        start.take().map(|from| from..text.len())
    })
}

fn ends_run(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || matches!(
            c,
            '<' | '>' | '"' | '`' | '“' | '”' | '«' | '»' | '…' | '、' | '。' | '，'
        )
}

/// Where the next link begins. A link begins where a word does.
fn next_link(text: &str, within: Range<usize>) -> Option<(usize, LinkForm)> {
    let mut at = within.start;
    while at < within.end {
        let rest = text.get(at..within.end)?;
        let word = word_length(rest);
        if word == 0 {
            let slashes = slash_length(rest);
            if slashes > 1 && leads_on(text, at, rest.get(slashes..)?) {
                return Some((at, LinkForm::Slashes));
            }
            at += slashes.max(rest.chars().next().map_or(1, char::len_utf8));
            continue;
        }
        let after = rest.get(word..)?;
        if let Some(scheme) = scheme_before(rest.get(..word)?, after) {
            let colon = at + word;
            return Some((colon - scheme, LinkForm::Scheme { colon }));
        }
        let before = text.get(..at).and_then(|head| head.chars().next_back());
        let is_inside = matches!(before, Some('@' | '/' | '\\' | '%'));
        if !is_inside && !after.starts_with('@') && is_bare_host(rest.get(..word)?, after) {
            return Some((at, LinkForm::Bare));
        }
        at += word;
    }
    None
}

/// How far a word goes that can be a scheme or a host.
fn word_length(text: &str) -> usize {
    text.find(|c: char| !(c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '+')))
        .unwrap_or(text.len())
}

fn slash_length(text: &str) -> usize {
    text.find(|c| !matches!(c, '/' | '\\'))
        .unwrap_or(text.len())
}

/// The length of the scheme at the end of a word, when an address follows.
fn scheme_before(word: &str, after: &str) -> Option<usize> {
    let address = after.strip_prefix(':')?;
    let slashes = slash_length(address);
    let follows = address.get(slashes..)?.chars().next()?;
    let lower = word.to_ascii_lowercase();
    let web = ["https", "http", "wss", "ws", "ftp"];
    let web = web.into_iter().find(|scheme| lower.ends_with(scheme));
    match (web, slashes) {
        (Some(scheme), 1..) if follows.is_alphanumeric() || follows == '[' => Some(scheme.len()),
        // Browsers need no slashes at all.
        (Some(scheme @ ("http" | "https")), 0) => {
            let host = address.get(..word_length(address))?;
            (lower == scheme && is_linked_host(host)).then_some(scheme.len())
        }
        // A drive is no scheme, `C:\\`; one letter and two slashes that lean forward are.
        (None, 2..) if word.is_ascii() && (word.len() > 1 || address.starts_with("//")) => {
            let from = word.find(|c: char| c.is_ascii_alphabetic())?;
            Some(word.len() - from)
        }
        _ => None,
    }
}

/// Whether slashes lead to another host: one that is named like one, or any where a link is
/// written.
fn leads_on(text: &str, at: usize, rest: &str) -> bool {
    let before = text.get(..at).and_then(|head| head.chars().next_back());
    let host = rest.get(..word_length(rest)).unwrap_or_default();
    match before {
        Some('(' | '=') => !host.is_empty(),
        Some(c) if c.is_alphanumeric() || matches!(c, ':' | '.' | '_' | '-' | '*') => false,
        _ => is_linked_host(host),
    }
}

fn is_bare_host(word: &str, after: &str) -> bool {
    let host = word.trim_matches(['.', '-', '_', '+']);
    let local = host.eq_ignore_ascii_case("localhost");
    is_linked_host(host)
        || split_before_sentence(host).is_some()
        || local && after.starts_with([':', '/'])
}

/// `example.com.They`: a full stop, and no blank after it.
fn split_before_sentence(host: &str) -> Option<&str> {
    let (host, word) = host.rsplit_once('.')?;
    let is_word = word.starts_with(|c: char| c.is_uppercase()) && word.contains(char::is_lowercase);
    (is_word && is_linked_host(host)).then_some(host)
}

fn link_at(text: &str, start: usize, form: LinkForm, run_end: usize) -> FoundLink {
    let rest = text.get(start..run_end).unwrap_or_default();
    let lead = match form {
        LinkForm::Scheme { colon } => {
            let behind = text.get(colon + 1..run_end).unwrap_or_default();
            colon + 1 - start + slash_length(behind)
        }
        LinkForm::Slashes => slash_length(rest),
        LinkForm::Bare => 0,
    };
    let body = rest.get(lead..).unwrap_or_default();
    let authority = body.find(['/', '\\', '?', '#']).unwrap_or(body.len());
    let in_authority = |c: char| matches!(c, ',' | ';' | '(' | '{' | '}' | '*' | '!' | '=');
    let ends = |(at, c): &(usize, char)| {
        matches!(c, ')' | ']' | '\'' | '|' | '’' | '‘') && !(*c == ']' && is_literal(body, *at))
            || *at < authority && in_authority(*c)
    };
    let end = body
        .char_indices()
        .find(ends)
        .map_or(rest.len(), |(at, _)| lead + at);
    let whole = rest.get(..end).unwrap_or_default();
    let mut trimmed = whole.trim_end_matches(is_of_sentence);
    if form == LinkForm::Bare
        && !trimmed.contains(['/', '?', '#', ':'])
        && let Some(host) = split_before_sentence(trimmed)
    {
        trimmed = host;
    }
    // A scheme alone, `https://` and nothing.
    let range = start..start + trimmed.len().max(lead);
    let mut readings = Vec::new();
    for written in [trimmed, whole] {
        read_as(&mut readings, written, form, lead);
    }
    let mut longer = Vec::new();
    if end < rest.len() {
        for written in [rest.trim_end_matches(is_of_sentence), rest] {
            read_as(&mut longer, written, form, lead);
        }
        longer.retain(|address| !readings.contains(address));
    }
    FoundLink {
        range,
        readings,
        longer,
    }
}

/// Inside of `[::1]`.
fn is_literal(body: &str, at: usize) -> bool {
    let head = body.get(..at).unwrap_or_default();
    head.starts_with('[') && !head.contains(']')
}

/// Punctuation that ends a sentence around a link, or marks it.
fn is_of_sentence(c: char) -> bool {
    matches!(
        c,
        '.' | ',' | ';' | ':' | '!' | '?' | ')' | ']' | '}' | '\'' | '*' | '_' | '’' | '‘'
    )
}

fn read_as(readings: &mut Vec<WebAddress>, written: &str, form: LinkForm, lead: usize) {
    let body = written.get(lead..).unwrap_or_default();
    let found = match form {
        LinkForm::Scheme { .. } => [WebAddress::read_from_prose(written), None],
        LinkForm::Slashes | LinkForm::Bare => ["https", "http"]
            .map(|scheme| WebAddress::read_from_prose(&format!("{scheme}://{body}"))),
    };
    for address in found.into_iter().flatten() {
        if !readings.contains(&address) {
            readings.push(address);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn leads(text: &str) -> Vec<String> {
        links_in(text)
            .iter()
            .map(|link| match link.readings.first() {
                Some(address) => address.to_string(),
                None => format!("? {}", &text[link.range.clone()]),
            })
            .collect()
    }

    #[test]
    fn every_way_of_writing_a_link_is_one() {
        for text in [
            "https://evil.example/x",
            "HTTPS://EVIL.example/x",
            "https:/evil.example/x",
            "https:\\\\evil.example/x",
            "https:///evil.example/x",
            "https:evil.example/x",
            "//evil.example/x",
            "///evil.example/x",
            "/\\evil.example/x",
            "evil.example/x",
            "[a](https://evil.example/x)",
            "[a](///evil.example/x)",
            "<img src=//evil.example/x>",
            "see https://evil.example/x, and",
            "*https://evil.example/x*",
        ] {
            assert_eq!(leads(text), ["https://evil.example/x"], "{text}");
        }
        assert_eq!(leads("go to evil.pl now"), ["https://evil.pl/"]);
        assert_eq!(leads("evil.zip"), ["https://evil.zip/"]);
        assert_eq!(leads("at example.com.They say"), ["https://example.com/"]);
        assert_eq!(leads("[a](//intern/x)"), ["https://intern/x"]);
        assert_eq!(
            leads("a https://x@evil.example/"),
            ["? https://x@evil.example/"]
        );
        assert_eq!(leads("tg://resolve?x=1"), ["tg://resolve?x=1"]);
        assert_eq!(leads("..com:a://a"), ["a://a"]);
        assert_eq!(
            leads("https://a.example/x,https://b.example"),
            ["https://a.example/x,https://b.example"]
        );
    }

    #[test]
    fn what_is_no_link_is_left() {
        for text in [
            "open notes.md, v1.2.3",
            "src/main.rs:12:5",
            "std::io::Error and http::Request",
            "ann@home.example",
            "C:\\Users\\x and C:\\\\Users",
            "// a comment",
            "//comment",
            "a//b and */",
            "12:30 key:value http:",
            "e.g. this, i.e. that",
        ] {
            assert_eq!(leads(text), [""; 0], "{text}");
        }
    }

    #[test]
    fn prose_is_read_in_more_than_one_way() {
        let all = |text: &str| -> Vec<String> {
            let link = links_in(text).remove(0);
            let both = link.readings.iter().chain(&link.longer);
            both.map(ToString::to_string).collect()
        };
        assert_eq!(
            all("Read https://a.example/b."),
            ["https://a.example/b", "https://a.example/b."]
        );
        assert_eq!(
            all("https://a.example/b_(c)"),
            ["https://a.example/b_(c", "https://a.example/b_(c)"]
        );
        assert_eq!(
            all("docs.example"),
            ["https://docs.example/", "http://docs.example/"]
        );
    }
}
