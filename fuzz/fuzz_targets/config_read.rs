//! Any text is read or explained, and what is explained has a place in it.

#![no_main]

use chela_config::text::{self, LineIndex};
use chela_config::{FileId, Severity};
use libfuzzer_sys::fuzz_target;
use serde_json::Value;

fuzz_target!(|source: &str| {
    let parsed = text::parse(source, FileId(0));
    let failed = parsed
        .problems
        .iter()
        .any(|problem| problem.severity == Severity::Error);
    assert_eq!(parsed.root.is_none(), failed);
    let lines = LineIndex::new(source);
    for problem in &parsed.problems {
        assert!(source.is_char_boundary(problem.at));
        let (line, column) = lines.position(source, problem.at);
        assert!(line >= 1 && column >= 1);
    }
    // What strict JSON allows, we allow, and we agree on what it says.
    if let Ok(value) = serde_json::from_str::<Value>(source)
        && let Some(root) = parsed.root
    {
        assert!(agree(&root.to_json(), &value));
    }
});

/// Equal, but for the last bit of a fraction, where serde_json prefers speed.
fn agree(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) if a.is_f64() && b.is_f64() => {
            let (a, b) = (a.as_f64().unwrap_or(0.0), b.as_f64().unwrap_or(0.0));
            (a - b).abs() <= a.abs() * 1e-15
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| agree(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, a)| b.get(key).is_some_and(|b| agree(a, b)))
        }
        (a, b) => a == b,
    }
}
