//! Secrets never reach the disk: what stands for them does.

use chela_core::secret::{KnownBy, Redactor, SecretForm};
use serde::{Deserialize, Serialize};

/// Where a secret was taken out of a request.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct RequestRedaction {
    /// Where its stand-in begins, in the stored bytes.
    pub offset: usize,
    pub stand_in: usize,
    /// How many bytes were taken out.
    pub length: usize,
    /// The name of a known secret, or the kind its shape told.
    pub name: String,
    /// How it was written there.
    #[serde(default, skip_serializing_if = "is_plain")]
    pub form: SecretForm,
}

fn is_plain(form: &SecretForm) -> bool {
    *form == SecretForm::Plain
}

/// The JSON without the secrets, and what was done.
pub fn redact(body: &[u8], redactor: &Redactor) -> (Vec<u8>, Vec<RequestRedaction>) {
    let found = redactor.find_in_json(body);
    let mut clean = Vec::with_capacity(body.len());
    let mut redactions = Vec::with_capacity(found.len());
    let mut end = 0;
    for hit in found {
        clean.extend(body.get(end..hit.range.start).unwrap_or_default());
        let stand_in = redactor.stand_in(&hit, body);
        redactions.push(RequestRedaction {
            offset: clean.len(),
            stand_in: stand_in.len(),
            length: hit.range.len(),
            name: hit.name.to_string(),
            form: match hit.by {
                KnownBy::Value(form) => form,
                KnownBy::Shape => SecretForm::Plain,
            },
        });
        clean.extend(stand_in.as_bytes());
        end = hit.range.end;
    }
    clean.extend(body.get(end..).unwrap_or_default());
    (clean, redactions)
}

/// Puts the secrets back; names of those that could not be found are given as the error.
pub fn restore(
    stored: &[u8],
    redactions: &[RequestRedaction],
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
            Some(value) => body.extend(redaction.form.write(&value).as_bytes()),
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

#[cfg(test)]
mod tests {
    use super::{Redactor, redact, restore};
    use chela_core::secret::KnownSecret;
    use proptest::prelude::*;

    fn secret(name: &str, value: &str) -> KnownSecret {
        KnownSecret {
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
        let redactor = Redactor::new(None, secrets.to_vec());
        let body = r#"{"a":"sk-12345 sk-12345-67890","b":"a\"b\nc\\d abc"}"#;
        let (clean, redactions) = redact(body.as_bytes(), &redactor);
        assert_eq!(
            String::from_utf8(clean.clone()).unwrap(),
            r#"{"a":"[secret:KEY] [secret:LONG]","b":"[secret:ODD] abc"}"#
        );
        let resolve = |name: &str| redactor.value_of(name);
        let (back, unknown) = restore(&clean, &redactions, &resolve);
        assert_eq!(back, body.as_bytes());
        assert!(unknown.is_empty());
        let (_, unknown) = restore(&clean, &redactions, &|_| None);
        assert_eq!(unknown, ["KEY", "LONG", "ODD"]);
    }

    proptest! {
        #[test]
        fn what_was_taken_out_comes_back(text in "[ab\"\\\\]{0,60}", first in "[ab\"]{8,9}", second in "[ab\\\\]{8,9}") {
            let secrets = vec![secret("one", &first), secret("two", &second)];
            let redactor = Redactor::new(Some("key".into()), secrets);
            let body = serde_json::json!({ "text": text, "also": [first, second] }).to_string();
            let (clean, redactions) = redact(body.as_bytes(), &redactor);
            prop_assert!(serde_json::from_slice::<serde_json::Value>(&clean).is_ok());
            let resolve = |name: &str| redactor.value_of(name);
            prop_assert_eq!(restore(&clean, &redactions, &resolve).0, body.as_bytes());
        }
    }
}
