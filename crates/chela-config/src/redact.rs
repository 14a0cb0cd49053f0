//! Secrets are never shown.

use chela_core::secret::starts_like_one;
use serde_json::Value;

use crate::key_path::{KeyPath, PathSegment};
use crate::node::ConfigNode;
use crate::schema::shape_at;
use crate::shape::ValueShape;

/// What stands where a secret was.
pub const HIDDEN: &str = "••••";

/// Ends of key names that hold secrets, in lower case without separators.
const SECRET_ENDS: [&str; 14] = [
    "apikey",
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "privatekey",
    "secretkey",
    "accesskey",
    "encryptkey",
    "credential",
    "credentials",
    "authorization",
    "cookie",
];

/// Hides every secret in a value that stands at `path` in the config. Names of variables
/// (`${VAR}`) and references to where a secret is kept stay readable.
pub fn redact(value: &mut Value, path: &KeyPath) {
    each_secret(value, &Stand::at(path), &mut |_, secret| {
        // Where a secret is kept is no secret.
        if !secret.is_object() {
            *secret = Value::from(HIDDEN);
        }
    });
}

/// Every credential of a config, by the path of its key: the text itself, or the object that says
/// where it is kept.
pub fn secrets_in(tree: &ConfigNode) -> Vec<(KeyPath, Value)> {
    let mut found = Vec::new();
    let mut value = tree.to_json();
    each_secret(
        &mut value,
        &Stand::at(&KeyPath::root()),
        &mut |path, secret| {
            found.push((path.clone(), secret.clone()));
        },
    );
    found
}

/// A node as JSON, with its secrets hidden; a secret that came from the environment shows the
/// name of its variable.
pub fn redacted(node: &ConfigNode, path: &KeyPath) -> Value {
    let mut node = node.clone();
    name_vars(&mut node);
    let mut value = node.to_json();
    redact(&mut value, path);
    value
}

/// Whether a key of this name holds a secret.
pub fn is_secret_key(key: &str) -> bool {
    let folded: String = key
        .chars()
        .filter(|c| c.is_ascii_alphanumeric())
        .map(|c| c.to_ascii_lowercase())
        .collect();
    SECRET_ENDS.iter().any(|end| folded.ends_with(end))
}

/// Where in the config a value stands.
struct Stand {
    path: KeyPath,
    shape: Option<&'static ValueShape>,
    /// A key above it says that it is secret.
    secret: bool,
}

impl Stand {
    fn at(path: &KeyPath) -> Self {
        let named = path
            .segments()
            .iter()
            .rev()
            .find_map(|segment| match segment {
                PathSegment::Key(key) => Some(is_secret_key(key)),
                PathSegment::Index(_) => None,
            });
        Self {
            path: path.clone(),
            shape: shape_at(path).map(|(shape, _)| shape),
            secret: named.unwrap_or(false),
        }
    }
}

fn each_secret(value: &mut Value, stand: &Stand, act: &mut dyn FnMut(&KeyPath, &mut Value)) {
    let secret = stand.secret || stand.shape.is_some_and(ValueShape::is_secret);
    match value {
        Value::String(text) => {
            let shown = text.is_empty() || is_variable(text);
            if !shown && (secret || starts_like_one(text)) {
                act(&stand.path, value);
            }
        }
        Value::Number(_) if secret => act(&stand.path, value),
        Value::Object(map) if secret && map.contains_key("source") => act(&stand.path, value),
        Value::Array(items) => {
            let shape = stand.shape.and_then(ValueShape::item);
            for (at, item) in items.iter_mut().enumerate() {
                let path = stand.path.index(at);
                each_secret(
                    item,
                    &Stand {
                        path,
                        shape,
                        secret,
                    },
                    act,
                );
            }
        }
        Value::Object(map) => {
            for (key, value) in map {
                let step = stand.shape.and_then(|shape| shape.under_key(key));
                let inner = Stand {
                    path: stand.path.key(key),
                    shape: step.map(|step| step.shape),
                    secret: secret || is_secret_key(key),
                };
                each_secret(value, &inner, act);
            }
        }
        _ => {}
    }
}

fn is_variable(text: &str) -> bool {
    text.strip_prefix("${")
        .and_then(|rest| rest.strip_suffix('}'))
        .is_some_and(|name| !name.contains(['$', '}', ' ']))
}

fn name_vars(node: &mut ConfigNode) {
    use crate::node::NodeKind;
    match &mut node.kind {
        NodeKind::String(text) => {
            // Only a value that is one variable and nothing else can be named by it.
            if let [var] = node.vars.as_slice()
                && !text.is_empty()
            {
                *text = format!("${{{var}}}");
            }
        }
        NodeKind::Array(items) => items.iter_mut().for_each(name_vars),
        NodeKind::Object(members) => members
            .iter_mut()
            .for_each(|member| name_vars(&mut member.value)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{is_secret_key, redact};
    use crate::key_path::KeyPath;

    #[test]
    fn secrets_are_hidden_by_key_by_shape_and_by_look() {
        let mut value = json!({
            "gateway": { "auth": { "token": "abc", "mode": "token" }, "port": 1 },
            "models": { "providers": { "x": {
                "apiKey": "${KEY}", "headers": { "X-Any": "abc" },
                "models": [{ "id": "m", "maxTokens": 5, "contextTokens": 7 }],
            } } },
            "channels": { "feishu": { "appSecret": "abc", "accounts": { "a": { "clientSecret": "d" } } } },
            "skills": { "entries": { "s": { "apiKey": { "source": "env", "id": "KEY" }, "env": { "A": "b" } } } },
            "env": { "vars": { "OPENAI_API_KEY": "abc", "LANG": "C" } },
            "plugins": { "entries": { "p": { "config": { "anything": "sk-live-123", "n": 1 } } } },
        });
        redact(&mut value, &KeyPath::root());
        assert_eq!(
            value,
            json!({
                "gateway": { "auth": { "token": "••••", "mode": "token" }, "port": 1 },
                "models": { "providers": { "x": {
                    "apiKey": "${KEY}", "headers": { "X-Any": "••••" },
                    "models": [{ "id": "m", "maxTokens": 5, "contextTokens": 7 }],
                } } },
                "channels": { "feishu": { "appSecret": "••••", "accounts": { "a": { "clientSecret": "••••" } } } },
                "skills": { "entries": { "s": { "apiKey": { "source": "env", "id": "KEY" }, "env": { "A": "••••" } } } },
                "env": { "vars": { "OPENAI_API_KEY": "••••", "LANG": "C" } },
                "plugins": { "entries": { "p": { "config": { "anything": "••••", "n": 1 } } } },
            })
        );
    }

    #[test]
    fn a_single_value_knows_its_key() {
        let mut value = json!("abc");
        redact(&mut value, &KeyPath::parse("gateway.auth.token").unwrap());
        assert_eq!(value, "••••");
        assert!(is_secret_key("bot_token") && is_secret_key("webhookToken"));
        assert!(
            !is_secret_key("maxTokens") && !is_secret_key("tokens") && !is_secret_key("tokenizer")
        );
    }
}
