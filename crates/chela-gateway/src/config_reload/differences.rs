//! Which keys differ between two configs. Values are never told: some are secrets.

use serde_json::Value;

/// Every key, in dots, whose value is another one. A list counts as one value.
pub(super) fn changed_keys(old: &Value, new: &Value) -> Vec<String> {
    let mut keys = Vec::new();
    compare("", Some(old), Some(new), &mut keys);
    keys
}

fn compare(path: &str, old: Option<&Value>, new: Option<&Value>, keys: &mut Vec<String>) {
    if old == new {
        return;
    }
    let none = serde_json::Map::new();
    let members = |value: Option<&Value>| match value {
        None => Some(none.clone()),
        Some(Value::Object(members)) => Some(members.clone()),
        Some(_) => None,
    };
    let (Some(before), Some(after)) = (members(old), members(new)) else {
        keys.push(path.to_owned());
        return;
    };
    let mut names: Vec<&String> = before.keys().chain(after.keys()).collect();
    names.sort();
    names.dedup();
    let count = keys.len();
    for name in names {
        let path = match path {
            "" => name.clone(),
            path => format!("{path}.{name}"),
        };
        compare(&path, before.get(name), after.get(name), keys);
    }
    // A block that came or went, and is empty.
    if keys.len() == count && !path.is_empty() {
        keys.push(path.to_owned());
    }
}

/// Whether a key is this one or stands inside it.
pub(super) fn is_below(key: &str, part: &str) -> bool {
    key.strip_prefix(part)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::{changed_keys, is_below};

    #[test]
    fn keys_that_came_went_or_changed_are_named() {
        let old = json!({ "a": { "b": 1, "c": [1] }, "d": true, "same": { "x": 1 } });
        let new = json!({ "a": { "b": 2, "c": [1, 2] }, "e": { "f": { "g": 1 } }, "h": {}, "same": { "x": 1 } });
        assert_eq!(
            changed_keys(&old, &new),
            ["a.b", "a.c", "d", "e.f.g", "h"].map(str::to_owned)
        );
        assert!(changed_keys(&old, &old).is_empty());
        assert!(is_below("gateway.port", "gateway.port"));
        assert!(is_below("gateway.tls.certPath", "gateway.tls"));
        assert!(!is_below("gateway.portal", "gateway.port"));
    }
}
