//! `hooks.mappings`: what a request to a path of the operator's becomes. The words of a template are
//! the operator's; what it takes from the request is external and stands apart.

use std::collections::BTreeMap;

use chela_config::model::HookMapping;
use serde_json::{Map, Value};

/// So many values a template may take.
const MOST_VALUES: usize = 64;
/// So much of one value is told.
const MOST_CHARS: usize = 16 * 1024;

/// What came in, as templates name it: `payload.…`, `headers.…`, `query.…`, `path`.
#[derive(Debug)]
pub(super) struct HookRequest {
    pub path: String,
    pub payload: Value,
    pub headers: BTreeMap<String, String>,
    pub query: BTreeMap<String, String>,
}

/// A template that was filled in.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct FilledTemplate {
    /// The operator's words, with the names of values in place of them.
    pub own: String,
    /// The values, by their names.
    pub values: String,
}

/// The first mapping that is for a request.
pub(super) fn matching<'a>(
    mappings: &'a [HookMapping],
    request: &HookRequest,
) -> Option<&'a HookMapping> {
    mappings.iter().find(|mapping| is_for(mapping, request))
}

/// What a mapping calls itself.
pub(super) fn mapping_name(mapping: &HookMapping, request: &HookRequest) -> String {
    let name = mapping.name.as_ref().or(mapping.id.as_ref());
    // Whoever calls chose the path.
    name.cloned()
        .unwrap_or_else(|| super::turn_request::plain_name(&request.path))
}

fn is_for(mapping: &HookMapping, request: &HookRequest) -> bool {
    let wanted = |name: &str| mapping.matches.get(name).and_then(Value::as_str);
    let path = wanted("path").map(|path| path.trim_matches('/'));
    let source = wanted("source");
    let of_payload = request.payload.get("source").and_then(Value::as_str);
    let is_path = path.is_none_or(|path| path == request.path);
    let is_source = source.is_none_or(|source| of_payload == Some(source));
    // One that says nothing about which requests it is for is for its own name.
    let is_named = match (path, source) {
        (None, None) => mapping.id.as_deref() == Some(request.path.as_str()),
        _ => true,
    };
    is_path && is_source && is_named
}

impl HookRequest {
    /// Fills a template in.
    pub fn fill(&self, template: &str) -> FilledTemplate {
        let mut own = String::new();
        let mut values = Vec::new();
        for piece in pieces(template) {
            match piece {
                TemplatePiece::Text(text) => own.push_str(text),
                TemplatePiece::Value(name) => {
                    own.push_str(&format!("‹{name}›"));
                    let line = format!("{name}: {}", self.value(name));
                    if !values.contains(&line) && values.len() < MOST_VALUES {
                        values.push(line);
                    }
                }
            }
        }
        FilledTemplate {
            own: own.trim().to_owned(),
            values: values.join("\n"),
        }
    }

    /// Fills in the template of a session key: what a request puts there is plain or a hash.
    pub fn fill_key(&self, template: &str) -> String {
        let filled = pieces(template).into_iter().map(|piece| match piece {
            TemplatePiece::Text(text) => text.to_owned(),
            TemplatePiece::Value(name) => super::turn_request::plain_name(&self.value(name)),
        });
        filled.collect()
    }

    /// A value as text; empty where there is none.
    fn value(&self, name: &str) -> String {
        let found = self.look_up(name);
        let text = match found {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text,
            Some(other) => other.to_string(),
        };
        text.chars().take(MOST_CHARS).collect()
    }

    fn look_up(&self, name: &str) -> Option<Value> {
        let (first, rest) = name.split_once('.').unwrap_or((name, ""));
        let of = |values: &BTreeMap<String, String>| {
            values.get(&rest.to_lowercase()).cloned().map(Value::String)
        };
        match first {
            "path" if rest.is_empty() => Some(Value::String(self.path.clone())),
            "headers" => of(&self.headers),
            "query" => of(&self.query),
            "payload" => walk(&self.payload, rest),
            // The reference's templates name fields of the payload alone.
            _ => walk(&self.payload, name),
        }
    }

    /// All of the payload, for mappings without a template.
    pub fn whole(&self) -> String {
        match &self.payload {
            Value::Object(fields) if fields.is_empty() => String::new(),
            payload => serde_json::to_string_pretty(payload).unwrap_or_default(),
        }
    }
}

/// Follows `messages[0].subject`, or `messages.0.subject`.
fn walk(value: &Value, path: &str) -> Option<Value> {
    let steps = path.split(['.', '[', ']']).filter(|step| !step.is_empty());
    let found = steps.clone().try_fold(value, |value, step| match value {
        Value::Object(fields) => fields.get(step),
        Value::Array(items) => items.get(step.parse::<usize>().ok()?),
        _ => None,
    });
    found.cloned()
}

enum TemplatePiece<'a> {
    Text(&'a str),
    Value(&'a str),
}

/// Whether a template takes anything from the request.
pub(super) fn takes_values(template: &str) -> bool {
    let mut pieces = pieces(template).into_iter();
    pieces.any(|piece| matches!(piece, TemplatePiece::Value(_)))
}

fn pieces(template: &str) -> Vec<TemplatePiece<'_>> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once("{{") {
        let Some((name, behind)) = after.split_once("}}") else {
            break;
        };
        pieces.push(TemplatePiece::Text(before));
        pieces.push(TemplatePiece::Value(name.trim()));
        rest = behind;
    }
    pieces.push(TemplatePiece::Text(rest));
    pieces
}

/// `a=1&b=2`, with `%20` and `+` read.
pub(super) fn read_query(query: &str) -> BTreeMap<String, String> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    pairs
        .map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            (unescaped(name).to_lowercase(), unescaped(value))
        })
        .collect()
}

fn unescaped(text: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        let hex = |byte: Option<u8>| char::from(byte?).to_digit(16);
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let pair = (hex(rest.next()), hex(rest.next()));
                let value = match pair {
                    (Some(high), Some(low)) => u8::try_from(high * 16 + low).ok(),
                    _ => None,
                };
                bytes.extend(value);
            }
            byte => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A body that is an object, or an empty one where there is none.
pub(super) fn read_payload(bytes: &[u8]) -> Result<Value, serde_json::Error> {
    match bytes.iter().all(u8::is_ascii_whitespace) {
        true => Ok(Value::Object(Map::new())),
        false => serde_json::from_slice(bytes),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use chela_config::model::HookMapping;
    use serde_json::{Value, json};

    use super::{HookRequest, matching, read_query};

    fn request() -> HookRequest {
        HookRequest {
            path: "gmail".to_owned(),
            payload: json!({ "source": "mail", "messages": [{ "from": "ann", "subject": "Hi {{path}}" }] }),
            headers: BTreeMap::from([("x-event".to_owned(), "push".to_owned())]),
            query: read_query("a=1%202&B=x+y&c=%zz"),
        }
    }

    #[test]
    fn a_template_keeps_the_words_of_the_operator_and_of_the_request_apart() {
        let filled = request().fill("Mail from {{messages[0].from}} about {{ payload.messages.0.subject }}: sort it. {{headers.X-Event}} {{query.b}} {{none}}");
        assert_eq!(
            filled.own,
            "Mail from ‹messages[0].from› about ‹payload.messages.0.subject›: sort it. ‹headers.X-Event› ‹query.b› ‹none›"
        );
        assert_eq!(
            filled.values,
            "messages[0].from: ann\npayload.messages.0.subject: Hi {{path}}\nheaders.X-Event: push\nquery.b: x y\nnone: "
        );
        assert_eq!(request().fill("open {{ brace").own, "open {{ brace");
    }

    #[test]
    fn what_a_request_puts_into_a_session_key_is_plain() {
        let mut request = request();
        assert_eq!(
            request.fill_key("hook:mail-{{messages[0].from}}"),
            "hook:mail-ann"
        );
        request.payload = json!({ "id": "../x:main" });
        let key = request.fill_key("hook:{{id}}");
        assert!(key.starts_with("hook:hash-"), "{key}");
    }

    #[test]
    fn the_first_mapping_that_fits_counts() {
        let mapping = |id: &str, path: Option<&str>, source: Option<&str>| {
            let mut mapping = HookMapping {
                id: Some(id.to_owned()),
                ..HookMapping::default()
            };
            for (name, value) in [("path", path), ("source", source)] {
                if let Some(value) = value {
                    mapping
                        .matches
                        .insert(name.to_owned(), Value::String(value.to_owned()));
                }
            }
            mapping
        };
        let found = |mappings: &[HookMapping]| {
            matching(mappings, &request()).and_then(|mapping| mapping.id.clone())
        };
        let other = mapping("a", Some("github"), None);
        let both = mapping("b", Some("/gmail/"), Some("mail"));
        let source = mapping("c", None, Some("mail"));
        assert_eq!(
            found(&[other.clone(), both, source.clone()]),
            Some("b".to_owned())
        );
        assert_eq!(found(&[other.clone(), source]), Some("c".to_owned()));
        assert_eq!(
            found(&[other, mapping("gmail", None, None)]),
            Some("gmail".to_owned())
        );
        assert_eq!(found(&[mapping("x", None, None)]), None);
    }
}
