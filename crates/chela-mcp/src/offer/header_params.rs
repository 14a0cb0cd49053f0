//! Arguments that go along as headers, too (`x-mcp-header`).
//!
//! A server names the header; what it may name is narrow, and a tool that names anything else is left
//! out: a header is where other programs on the way look.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

const MARK: &str = "x-mcp-header";
const MOST_DEPTH: usize = 12;
/// The largest whole number that every reader of JSON takes.
const SAFE_INTEGER: i64 = (1 << 53) - 1;

/// One argument and the header it goes along in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeaderParam {
    /// The names that lead to the argument.
    pub path: Vec<String>,
    /// The end of the header's name.
    pub header: String,
}

/// Why a tool that wants arguments in headers is left out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeaderFault {
    #[error("it names a header that is none")]
    BadName,
    #[error("it names a header twice")]
    Twice,
    #[error("it wants an argument in a header that has no plain value")]
    BadKind,
    #[error("it wants a header of an argument that is not always in the same place")]
    Unreachable,
}

impl HeaderParam {
    /// The header of a call with these arguments; `None` where the argument is left out.
    pub(crate) fn of_call(&self, arguments: &Map<String, Value>) -> Option<(String, String)> {
        let (first, rest) = self.path.split_first()?;
        let mut value = arguments.get(first)?;
        for name in rest {
            value = value.get(name)?;
        }
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Bool(flag) => flag.to_string(),
            Value::Number(number) => {
                let whole = number
                    .as_i64()
                    .filter(|whole| whole.abs() <= SAFE_INTEGER)?;
                whole.to_string()
            }
            _ => return None,
        };
        Some((format!("Mcp-Param-{}", self.header), encode_header(&text)))
    }
}

/// The arguments a tool wants in headers.
pub(crate) fn header_params(schema: &Value) -> Result<Vec<HeaderParam>, HeaderFault> {
    let mut found = Vec::new();
    let mut path = Vec::new();
    reach(schema, &mut path, &mut found)?;
    let mut names: Vec<String> = found
        .iter()
        .map(|param: &HeaderParam| param.header.to_ascii_lowercase())
        .collect();
    names.sort_unstable();
    let before = names.len();
    names.dedup();
    match names.len() == before {
        true => Ok(found),
        false => Err(HeaderFault::Twice),
    }
}

fn reach(
    schema: &Value,
    path: &mut Vec<String>,
    found: &mut Vec<HeaderParam>,
) -> Result<(), HeaderFault> {
    let Value::Object(fields) = schema else {
        return Ok(());
    };
    if let Some(named) = fields.get(MARK) {
        found.push(param_of(named, fields, path)?);
    }
    for (key, value) in fields {
        match (key.as_str(), value) {
            ("properties", Value::Object(properties)) if path.len() < MOST_DEPTH => {
                for (name, inner) in properties {
                    path.push(name.clone());
                    reach(inner, path, found)?;
                    path.pop();
                }
            }
            (MARK, _) => {}
            // What only may be there is in no fixed place.
            (_, value) if marks(value, 0) => return Err(HeaderFault::Unreachable),
            _ => {}
        }
    }
    Ok(())
}

fn param_of(
    named: &Value,
    fields: &Map<String, Value>,
    path: &[String],
) -> Result<HeaderParam, HeaderFault> {
    let name = named.as_str().ok_or(HeaderFault::BadName)?;
    let is_token = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
    if name.is_empty() || name.len() > 64 || !name.chars().all(is_token) {
        return Err(HeaderFault::BadName);
    }
    let kind = fields.get("type").and_then(Value::as_str);
    if path.is_empty() || !matches!(kind, Some("string" | "integer" | "boolean")) {
        return Err(HeaderFault::BadKind);
    }
    Ok(HeaderParam {
        path: path.to_vec(),
        header: name.to_owned(),
    })
}

/// Whether anything in here wants a header.
fn marks(value: &Value, depth: usize) -> bool {
    if depth > 64 {
        return true;
    }
    match value {
        Value::Object(fields) => {
            fields.contains_key(MARK) || fields.values().any(|inner| marks(inner, depth + 1))
        }
        Value::Array(all) => all.iter().any(|inner| marks(inner, depth + 1)),
        _ => false,
    }
}

/// A value as a header may carry it.
pub(crate) fn encode_header(text: &str) -> String {
    let is_plain = text
        .chars()
        .all(|c| c == ' ' || c == '\t' || c.is_ascii_graphic());
    let is_bare = text.trim() == text;
    let is_marked = text.starts_with("=?base64?") && text.ends_with("?=");
    match is_plain && is_bare && !is_marked {
        true => text.to_owned(),
        false => format!("=?base64?{}?=", STANDARD.encode(text)),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::{HeaderFault, encode_header, header_params};

    fn headers(schema: &Value, arguments: Value) -> Vec<(String, String)> {
        let arguments = arguments.as_object().unwrap();
        let params = header_params(schema).unwrap();
        params
            .iter()
            .filter_map(|param| param.of_call(arguments))
            .collect()
    }

    #[test]
    fn arguments_go_along_where_they_are_there() {
        let schema = json!({ "type": "object", "properties": {
            "region": { "type": "string", "x-mcp-header": "Region" },
            "deep": { "type": "object", "properties": {
                "count": { "type": "integer", "x-mcp-header": "Count" },
            } },
            "dry": { "type": "boolean", "x-mcp-header": "Dry" },
        } });
        let sent = headers(&schema, json!({ "region": "eu", "deep": { "count": 42 } }));
        let named = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            sent,
            [
                named("Mcp-Param-Region", "eu"),
                named("Mcp-Param-Count", "42")
            ]
        );
        assert_eq!(headers(&schema, json!({ "region": null })), []);
        let unsafe_number = headers(
            &schema,
            json!({ "deep": { "count": 9_007_199_254_740_993_i64 } }),
        );
        assert_eq!(unsafe_number, []);
    }

    #[test]
    fn a_tool_with_a_header_that_is_none_is_left_out() {
        let one = |property: Value| {
            header_params(&json!({ "type": "object", "properties": { "a": property } }))
        };
        let text = |name: &str| json!({ "type": "string", "x-mcp-header": name });
        for wrong in ["", "a b", "a\r\nX-Evil: 1", "ü", "a:b"] {
            assert_eq!(one(text(wrong)), Err(HeaderFault::BadName), "{wrong:?}");
        }
        for kind in ["number", "object", "array"] {
            let property = json!({ "type": kind, "x-mcp-header": "A" });
            assert_eq!(one(property), Err(HeaderFault::BadKind), "{kind}");
        }
        let inside = json!({ "type": "array", "items": text("A") });
        assert_eq!(one(inside), Err(HeaderFault::Unreachable));
        assert_eq!(
            one(json!({ "anyOf": [text("A")] })),
            Err(HeaderFault::Unreachable)
        );
        let twice = json!({ "properties": { "a": text("Same"), "b": text("sAME") } });
        assert_eq!(header_params(&twice), Err(HeaderFault::Twice));
    }

    #[test]
    fn what_a_header_cannot_carry_is_encoded() {
        assert_eq!(encode_header("us-west1"), "us-west1");
        assert_eq!(encode_header("a b"), "a b");
        assert_eq!(
            encode_header("Hello, 世界"),
            "=?base64?SGVsbG8sIOS4lueVjA==?="
        );
        assert_eq!(encode_header(" padded "), "=?base64?IHBhZGRlZCA=?=");
        assert_eq!(encode_header("line1\nline2"), "=?base64?bGluZTEKbGluZTI=?=");
        assert_eq!(
            encode_header("=?base64?literal?="),
            "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="
        );
    }
}
