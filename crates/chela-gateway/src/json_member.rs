//! Members of JSON objects that are made here.

use serde_json::Value;

/// Sets a member; what is no object stays as it is.
pub(crate) fn put(object: &mut Value, name: &str, value: impl Into<Value>) {
    if let Some(members) = object.as_object_mut() {
        members.insert(name.to_owned(), value.into());
    }
}
