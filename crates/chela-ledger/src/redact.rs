//! Secrets never reach the disk: their names do.

use serde::{Deserialize, Serialize};

/// Shorter values hide nothing and would be found everywhere.
const SHORTEST: usize = 6;

/// A value that must not be stored, and the name that stands for it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret {
    pub name: String,
    pub value: String,
}

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Secret({})", self.name)
    }
}

/// Where a secret was taken out of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Redaction {
    /// Where its stand-in begins, in the stored bytes.
    pub offset: usize,
    pub stand_in: usize,
    /// How many bytes were taken out.
    pub length: usize,
    pub name: String,
    /// It stood there as JSON writes it, with escapes.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub escaped: bool,
}

/// The bytes without the secrets, and what was done.
pub fn redact(body: &[u8], secrets: &[Secret]) -> (Vec<u8>, Vec<Redaction>) {
    let found = find(body, secrets);
    let mut clean = Vec::with_capacity(body.len());
    let mut redactions = Vec::with_capacity(found.len());
    let mut end = 0;
    for hit in found {
        clean.extend(&body[end..hit.start]);
        let stand_in = stand_in(&hit.secret.name);
        redactions.push(Redaction {
            offset: clean.len(),
            stand_in: stand_in.len(),
            length: hit.length,
            name: hit.secret.name.clone(),
            escaped: hit.escaped,
        });
        clean.extend(stand_in.as_bytes());
        end = hit.start + hit.length;
    }
    clean.extend(&body[end..]);
    (clean, redactions)
}

/// The text without the secrets.
pub fn redact_text(text: &str, secrets: &[Secret]) -> String {
    String::from_utf8_lossy(&redact(text.as_bytes(), secrets).0).into_owned()
}

/// Puts the secrets back; names of those that could not be found are given as the error.
pub fn restore(
    stored: &[u8],
    redactions: &[Redaction],
    resolve: &dyn Fn(&str) -> Option<String>,
) -> (Vec<u8>, Vec<String>) {
    let mut body = Vec::with_capacity(stored.len());
    let mut unknown = Vec::new();
    let mut end = 0;
    for redaction in redactions {
        let after = redaction.offset.saturating_add(redaction.stand_in);
        let Some(before) = stored.get(end..redaction.offset) else {
            break;
        };
        body.extend(before);
        match resolve(&redaction.name) {
            Some(value) if redaction.escaped => body.extend(escaped(&value).as_bytes()),
            Some(value) => body.extend(value.as_bytes()),
            None => {
                body.extend(stored.get(redaction.offset..after).unwrap_or_default());
                unknown.push(redaction.name.clone());
            }
        }
        end = after;
    }
    body.extend(stored.get(end..).unwrap_or_default());
    unknown.sort();
    unknown.dedup();
    (body, unknown)
}

struct Hit<'s> {
    start: usize,
    length: usize,
    secret: &'s Secret,
    escaped: bool,
}

/// Where secrets stand, in order; of two that overlap the earlier and longer one.
fn find<'s>(body: &[u8], secrets: &'s [Secret]) -> Vec<Hit<'s>> {
    let mut hits = Vec::new();
    for secret in secrets
        .iter()
        .filter(|secret| secret.value.len() >= SHORTEST)
    {
        let as_json = escaped(&secret.value);
        let escaped_too = (as_json != secret.value).then_some((as_json.as_str(), true));
        for (needle, escaped) in [Some((secret.value.as_str(), false)), escaped_too]
            .into_iter()
            .flatten()
        {
            hits.extend(starts(body, needle).into_iter().map(|start| Hit {
                start,
                length: needle.len(),
                secret,
                escaped,
            }));
        }
    }
    hits.sort_by_key(|hit| (hit.start, std::cmp::Reverse(hit.length)));
    let mut end = 0;
    hits.retain(|hit| {
        let free = hit.start >= end;
        if free {
            end = hit.start + hit.length;
        }
        free
    });
    hits
}

fn starts(body: &[u8], needle: &str) -> Vec<usize> {
    match std::str::from_utf8(body) {
        Ok(text) => text.match_indices(needle).map(|(at, _)| at).collect(),
        Err(_) => body
            .windows(needle.len())
            .enumerate()
            .filter(|(_, window)| *window == needle.as_bytes())
            .map(|(at, _)| at)
            .collect(),
    }
}

/// As JSON writes it inside quotes.
fn escaped(value: &str) -> String {
    let quoted = serde_json::Value::from(value).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// Fits into a JSON string whatever the name is.
fn stand_in(name: &str) -> String {
    let name: String = name
        .chars()
        .map(|c| match c {
            '"' | '\\' => '_',
            c if c.is_control() => '_',
            c => c,
        })
        .collect();
    format!("[secret {name}]")
}

#[cfg(test)]
mod tests {
    use super::{Secret, redact, restore};
    use proptest::prelude::*;

    fn secret(name: &str, value: &str) -> Secret {
        Secret {
            name: name.into(),
            value: value.into(),
        }
    }

    #[test]
    fn names_stand_for_values_escaped_or_not() {
        let secrets = [
            secret("KEY", "sk-12345"),
            secret("LONG", "sk-12345-67890"),
            secret("ODD", "a\"b\nc\\d"),
            secret("TINY", "abc"),
        ];
        let body = r#"{"a":"sk-12345 sk-12345-67890","b":"a\"b\nc\\d abc"}"#;
        let (clean, redactions) = redact(body.as_bytes(), &secrets);
        assert_eq!(
            String::from_utf8(clean.clone()).unwrap(),
            r#"{"a":"[secret KEY] [secret LONG]","b":"[secret ODD] abc"}"#
        );
        let resolve = |name: &str| {
            secrets
                .iter()
                .find(|secret| secret.name == name)
                .map(|secret| secret.value.clone())
        };
        let (back, unknown) = restore(&clean, &redactions, &resolve);
        assert_eq!(back, body.as_bytes());
        assert!(unknown.is_empty());
        let (_, unknown) = restore(&clean, &redactions, &|_| None);
        assert_eq!(unknown, ["KEY", "LONG", "ODD"]);
    }

    #[test]
    fn a_secret_is_not_printed() {
        assert_eq!(format!("{:?}", secret("KEY", "sk-12345")), "Secret(KEY)");
    }

    proptest! {
        #[test]
        fn what_was_taken_out_comes_back(body in "[ab\"\\\\]{0,60}", first in "[ab\"]{6,8}", second in "[ab\\\\]{6,9}") {
            let secrets = [secret("one", &first), secret("two", &second)];
            let (clean, redactions) = redact(body.as_bytes(), &secrets);
            let resolve = |name: &str| Some(if name == "one" { first.clone() } else { second.clone() });
            prop_assert_eq!(restore(&clean, &redactions, &resolve).0, body.as_bytes());
        }
    }
}
