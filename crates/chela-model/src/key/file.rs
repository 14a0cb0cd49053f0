//! Credentials kept in a file.

use std::io::Read;

use serde_json::Value;

use super::{KeyError, ModelKey, SecretFile};

/// No credential is longer.
const MOST_BYTES: u64 = 1 << 20;

pub fn read(file: &SecretFile) -> Result<ModelKey, KeyError> {
    let shown = file.path.display();
    let mut text = String::new();
    std::fs::File::open(&file.path)
        .and_then(|open| open.take(MOST_BYTES).read_to_string(&mut text))
        .map_err(|error| KeyError(format!("cannot read the secret in {shown}: {error}")))?;
    let Some(pointer) = &file.pointer else {
        return ModelKey::new(&text).ok_or_else(|| KeyError(format!("{shown} is empty")));
    };
    let value: Value =
        serde_json::from_str(&text).map_err(|_| KeyError(format!("{shown} is not JSON")))?;
    let pointer = if pointer.starts_with('/') {
        pointer.clone()
    } else {
        format!("/{pointer}")
    };
    value
        .pointer(&pointer)
        .and_then(Value::as_str)
        .and_then(ModelKey::new)
        .ok_or_else(|| KeyError(format!("{shown} has no text at {pointer}")))
}
