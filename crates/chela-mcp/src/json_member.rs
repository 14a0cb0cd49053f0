//! Members of JSON objects.

use serde_json::{Value, json};

/// Puts a member into an object. What is no object stays as it is.
pub(crate) fn put(value: &mut Value, name: &str, member: impl Into<Value>) {
    if let Value::Object(fields) = value {
        fields.insert(name.to_owned(), member.into());
    }
}

/// The same into the object that is a member of it, made if there is none.
pub(crate) fn put_within(value: &mut Value, outer: &str, name: &str, member: impl Into<Value>) {
    if let Value::Object(fields) = value {
        let inner = fields.entry(outer).or_insert_with(|| json!({}));
        put(inner, name, member);
    }
}
