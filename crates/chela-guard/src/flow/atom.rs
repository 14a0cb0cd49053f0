//! Text cut into what can be compared: words, numbers, addresses, URLs, paths.
//!
//! Compared forms are NFKC and lower case. Look-alike letters are *not* folded: an address that
//! only looks like one the owner wrote is another address.

use crate::invisible::is_invisible;
use std::borrow::Cow;
use std::ops::Range;

use unicode_normalization::{UnicodeNormalization, is_nfkc};

/// A piece of text in the form in which it is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlowAtom {
    pub kind: AtomKind,
    /// The compared form.
    pub text: String,
    /// Where it stands in the text it was cut from.
    pub range: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AtomKind {
    Word,
    Number,
    Email,
    Url,
    Path,
    /// An account, card, passport or phone number, a key: what names or opens something.
    Identifier,
}

/// Fewer digits name nothing in particular: years, postcodes, prices.
const DIGITS_OF_AN_IDENTIFIER: usize = 6;
/// Letters and digits mixed this long are a key.
const SHORTEST_KEY: usize = 16;

/// The atoms of a text, in order, whole things only.
pub fn atoms(text: &str) -> Vec<FlowAtom> {
    cut(text, |_| true)
}

/// The atoms of a text without most of its words: all that name or open something are there.
pub fn telling_atoms(text: &str) -> Vec<FlowAtom> {
    cut(text, |chunk| {
        chunk.len() > 64 || !chunk.bytes().all(|byte| byte.is_ascii_alphabetic())
    })
}

fn cut(text: &str, is_kept: impl Fn(&str) -> bool) -> Vec<FlowAtom> {
    let mut found = Vec::new();
    let mut digits: Vec<Range<usize>> = Vec::new();
    for range in chunks(text) {
        let chunk = text.get(range.clone()).unwrap_or_default();
        let groups = is_group(chunk, digits.is_empty());
        let adjoins = digits.last().is_some_and(|last| {
            matches!(
                text.get(last.end..range.start).unwrap_or_default(),
                " " | "-" | " (" | ") "
            )
        });
        if !groups || !adjoins && !digits.is_empty() {
            found.extend(joined(text, &digits));
            digits.clear();
        }
        if groups {
            digits.push(range.clone());
        }
        if !is_kept(chunk) {
            continue;
        }
        // "src=https://…": what stands before the scheme is another word.
        let scheme = scheme_start(chunk);
        if scheme > 0 {
            found.push(atom(
                chunk.get(..scheme).unwrap_or_default(),
                range.start..range.start + scheme,
            ));
        }
        found.push(atom(
            chunk.get(scheme..).unwrap_or_default(),
            range.start + scheme..range.end,
        ));
    }
    found.extend(joined(text, &digits));
    found
}

fn scheme_start(chunk: &str) -> usize {
    let Some(colon) = chunk.find("://") else {
        return match chunk.find(['=', ':']) {
            Some(at)
                if ComparedUrl::parse(chunk).is_none()
                    && ComparedUrl::parse(chunk.get(at + 1..).unwrap_or_default()).is_some() =>
            {
                at + 1
            }
            _ => 0,
        };
    };
    let scheme = chunk
        .get(..colon)
        .unwrap_or_default()
        .bytes()
        .rev()
        .take_while(|byte| is_of_a_scheme(*byte))
        .count();
    match scheme {
        0 if colon + 3 < chunk.len() => colon + 3,
        0 => 0,
        scheme => colon - scheme,
    }
}

fn is_of_a_scheme(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.')
}

/// Whether a chunk can be a group of a longer number, such as the bank in an account number.
fn is_group(chunk: &str, first: bool) -> bool {
    let plain = chunk
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b'+');
    let bank = !first && chunk.len() == 4 && chunk.bytes().all(|byte| byte.is_ascii_uppercase());
    plain && chunk.len() <= 8 && (bank || chunk.bytes().any(|byte| byte.is_ascii_digit()))
}

/// An account or phone number written in groups, as one.
fn joined(text: &str, groups: &[Range<usize>]) -> Option<FlowAtom> {
    let (first, last) = (groups.first()?, groups.last()?);
    if groups.len() < 2 {
        return None;
    }
    let whole: String = groups
        .iter()
        .filter_map(|range| text.get(range.clone()))
        .collect();
    let digits = whole.bytes().filter(u8::is_ascii_digit).count();
    (digits > DIGITS_OF_AN_IDENTIFIER).then(|| FlowAtom {
        kind: AtomKind::Identifier,
        text: whole.trim_start_matches('+').to_lowercase(),
        range: first.start..last.end,
    })
}

/// The parts of a compound, each of which may be known by itself.
pub fn parts(atom: &str) -> impl Iterator<Item = &str> {
    atom.split(|c: char| !c.is_alphanumeric())
        .filter(|part| !part.is_empty())
}

/// Whether the text has a form that hides what it is: characters nobody sees, or that read as
/// others.
pub fn is_disguised(text: &str) -> bool {
    !text.is_ascii() && (!is_nfkc(text) || text.chars().any(is_invisible))
        || text
            .bytes()
            .any(|byte| byte < 0x20 && !matches!(byte, b'\n' | b'\t' | b'\r') || byte == 0x7F)
}

/// Stretches between blanks, quotes and brackets, without the punctuation of sentences.
fn chunks(text: &str) -> impl Iterator<Item = Range<usize>> {
    let bytes = text.as_bytes();
    let mut rest = text.char_indices().peekable();
    std::iter::from_fn(move || {
        loop {
            let (start, _) = *rest.peek()?;
            let mut end = start;
            let mut in_url = false;
            while let Some((at, c)) = rest.peek().copied() {
                let inside = c == ','
                    && at
                        .checked_sub(1)
                        .and_then(|before| bytes.get(before))
                        .is_some_and(u8::is_ascii_digit)
                    && bytes.get(at + 1).is_some_and(u8::is_ascii_digit);
                in_url |= c == '/' && text.get(start..at).unwrap_or_default().ends_with(":/");
                let inside = inside || in_url && matches!(c, ',' | ';' | '*' | '(' | '{' | '}');
                if separates(c) && !inside {
                    break;
                }
                end = at + c.len_utf8();
                rest.next();
            }
            if end == start {
                rest.next();
                continue;
            }
            let chunk = text.get(start..end).unwrap_or_default();
            let from = chunk.len() - chunk.trim_start_matches(is_edge).len();
            let kept = chunk.trim_matches(is_edge);
            if !kept.is_empty() {
                return Some(start + from..start + from + kept.len());
            }
        }
    })
}

fn separates(c: char) -> bool {
    c.is_whitespace()
        || matches!(
            c,
            '<' | '>'
                | '"'
                | '\''
                | '('
                | ')'
                | '['
                | ']'
                | '{'
                | '}'
                | '|'
                | ','
                | ';'
                | '`'
                | '*'
                | '‘'
                | '’'
                | '“'
                | '”'
                | '«'
                | '»'
                | '…'
                | '、'
                | '。'
                | '，'
        )
}

fn is_edge(c: char) -> bool {
    matches!(c, '.' | ':' | '!' | '?' | '-' | '–' | '—' | '=' | '_' | '~')
}

fn atom(chunk: &str, range: Range<usize>) -> FlowAtom {
    if chunk.contains('@') && email(chunk) {
        let text = fold(chunk.strip_prefix("mailto:").unwrap_or(chunk)).into_owned();
        return FlowAtom {
            kind: AtomKind::Email,
            text,
            range,
        };
    }
    if let Some(url) = ComparedUrl::parse(chunk) {
        let range = range.start..range.start + url.length;
        return FlowAtom {
            kind: AtomKind::Url,
            text: url.text,
            range,
        };
    }
    if let Some(number) = number(chunk) {
        let kind = if number.bytes().filter(u8::is_ascii_digit).count() >= DIGITS_OF_AN_IDENTIFIER
            && !number.contains('.')
        {
            AtomKind::Identifier
        } else {
            AtomKind::Number
        };
        return FlowAtom {
            kind,
            text: number,
            range,
        };
    }
    if let Some(text) = identifier(chunk) {
        return FlowAtom {
            kind: AtomKind::Identifier,
            text,
            range,
        };
    }
    let kind = if chunk.contains(['/', '\\']) {
        AtomKind::Path
    } else {
        AtomKind::Word
    };
    FlowAtom {
        kind,
        text: fold(chunk).into_owned(),
        range,
    }
}

fn email(chunk: &str) -> bool {
    chunk.split_once('@').is_some_and(|(local, host)| {
        !local.is_empty()
            && !local.contains('/')
            && host.contains('.')
            && !host.contains(['/', '@'])
    })
}

/// A number without its currency, thousands and trailing zeros.
fn number(chunk: &str) -> Option<String> {
    let bare = chunk
        .trim_start_matches(['$', '€', '£', '¥', '#', '+'])
        .trim_end_matches(['$', '€', '£', '¥', '%']);
    if !bare.starts_with(|c: char| c.is_ascii_digit())
        || !bare
            .bytes()
            .all(|byte| byte.is_ascii_digit() || matches!(byte, b'.' | b','))
        || bare.bytes().filter(|byte| *byte == b'.').count() > 1
    {
        return None;
    }
    let plain = bare.replace(',', "");
    Some(match plain.split_once('.') {
        Some((whole, part)) => match part.trim_end_matches('0') {
            "" => whole.to_owned(),
            part => format!("{whole}.{part}"),
        },
        None => plain,
    })
}

/// Digits, or letters and digits, that name or open something; dates and times do not.
fn identifier(chunk: &str) -> Option<String> {
    if !chunk.bytes().all(|byte| {
        byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'_' | b'.' | b'/')
    }) || is_date(chunk)
    {
        return None;
    }
    let compact: String = chunk
        .bytes()
        .filter(u8::is_ascii_alphanumeric)
        .map(|byte| char::from(byte.to_ascii_lowercase()))
        .collect();
    let digits = compact.bytes().filter(u8::is_ascii_digit).count();
    let letters = compact.len() - digits;
    let number = digits >= DIGITS_OF_AN_IDENTIFIER && letters <= digits;
    let key = compact.len() >= SHORTEST_KEY && digits >= 3 && letters >= 3 && !chunk.contains('/');
    (number || key).then_some(compact)
}

fn is_date(chunk: &str) -> bool {
    let head = chunk.get(..10).unwrap_or(chunk);
    let mut numbers = head
        .split(['-', '/', '.'])
        .map(|part| (part.len(), part.parse::<u32>()));
    let (Some((a, Ok(first))), Some((_, Ok(second))), Some((c, Ok(third))), None) = (
        numbers.next(),
        numbers.next(),
        numbers.next(),
        numbers.next(),
    ) else {
        return false;
    };
    let tail = chunk.get(10..).unwrap_or_default();
    let (year, rest) = match (a, c) {
        (4, _) => (first, [second, third]),
        (_, 4) => (third, [first, second]),
        _ => return false,
    };
    (1900..2100).contains(&year)
        && rest.iter().all(|part| (1..=31).contains(part))
        && (tail.is_empty() || tail.starts_with(['T', 't']))
        && tail.len() <= 15
}

/// A URL in its compared form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ComparedUrl {
    /// Without scheme and closing slash.
    pub text: String,
    /// How much of the chunk belongs to it.
    pub length: usize,
}

impl ComparedUrl {
    pub fn parse(chunk: &str) -> Option<Self> {
        let after = chunk.find("://").map(|at| at + 3);
        let scheme = after.filter(|at| {
            *at > 3
                && chunk
                    .get(..*at - 3)
                    .unwrap_or_default()
                    .bytes()
                    .all(is_of_a_scheme)
        });
        let body = match scheme {
            Some(at) => chunk.get(at..).unwrap_or_default(),
            None => chunk.strip_prefix("//").unwrap_or(chunk),
        };
        let end = body.find(['/', '\\', '?', '#']).unwrap_or(body.len());
        let authority = body.get(..end).unwrap_or_default();
        if scheme.is_none() && !looks_like_host(authority) {
            return None;
        }
        let mut length = chunk.len();
        // "…example.com.They": a full stop and no blank.
        if end == body.len()
            && let Some((host, word)) = authority.rsplit_once('.')
            && word.starts_with(|c: char| c.is_ascii_uppercase())
            && word.bytes().any(|byte| byte.is_ascii_lowercase())
            && looks_like_host(host)
        {
            length -= word.len() + 1;
        }
        let whole = body
            .get(..body.len() - (chunk.len() - length))
            .unwrap_or_default();
        let text = fold(whole.trim_end_matches('/')).into_owned();
        Some(Self { text, length })
    }
}

fn looks_like_host(text: &str) -> bool {
    let text = text.rsplit('@').next().unwrap_or_default();
    let text = text.split(':').next().unwrap_or_default();
    let Some((name, last)) = text.rsplit_once('.') else {
        return false;
    };
    let last = last.to_lowercase();
    !name.is_empty()
        && name
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | '%'))
        && (TOP_LEVELS.contains(&last.as_str())
            || last.starts_with("xn--")
            || name.to_lowercase().starts_with("www.")
            || name.split('.').all(is_octet) && is_octet(&last) && name.matches('.').count() == 2)
}

fn is_octet(part: &str) -> bool {
    part.parse::<u8>().is_ok()
}

/// What makes a bare name a link in most chats. Endings that are also those of files are left
/// out.
const TOP_LEVELS: &[&str] = &[
    "com", "net", "org", "io", "dev", "app", "ai", "co", "uk", "de", "fr", "eu", "us", "ch", "at",
    "it", "es", "nl", "be", "se", "no", "dk", "fi", "cz", "ca", "au", "jp", "kr", "cn", "in", "br",
    "ru", "ua", "tr", "xyz", "top", "site", "online", "link", "click", "info", "biz", "me", "tv",
    "cc", "gg", "ly", "to", "edu", "gov", "mil", "int", "cloud", "store", "shop", "club", "live",
    "page", "tech", "space", "website", "world", "news", "blog", "wiki", "icu", "su", "tk", "ml",
    "ga", "cf", "gq", "pw", "ws", "example", "test", "onion",
];

/// The compared form.
pub fn fold(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return Cow::Owned(text.to_ascii_lowercase());
        }
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.nfkc().flat_map(char::to_lowercase).collect())
}
