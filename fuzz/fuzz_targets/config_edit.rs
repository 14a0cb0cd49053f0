//! Whatever parses can be edited, and says afterwards exactly what it should.

#![no_main]

use chela_config::text;
use chela_config::text::edit::{EditError, replace_all, set, unset};
use chela_config::{FileId, KeyPath};
use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};

fn read(source: &str) -> Option<Value> {
    Some(text::parse(source, FileId(0)).root?.to_json())
}

fuzz_target!(|input: (&str, &str, &str)| {
    let (source, other, key) = input;
    let path = KeyPath::root().key(key);
    let Some(before) = read(source).filter(Value::is_object) else {
        assert!(set("x", &path, &json!(1)).is_err());
        return;
    };

    let edited = match set(source, &path, &json!({ "new": [1, "two"] })) {
        Ok(edited) => edited,
        Err(EditError::TooDeep) => return,
        Err(error) => panic!("{error}"),
    };
    let mut want = before.clone();
    want[key] = json!({ "new": [1, "two"] });
    assert_eq!(read(&edited), Some(want.clone()));

    let (removed, _) = unset(&edited, &path).unwrap();
    want.as_object_mut().unwrap().shift_remove(key);
    assert_eq!(read(&removed), Some(want));

    assert_eq!(replace_all(source, &before).unwrap(), source);
    if let Some(other) = read(other).filter(Value::is_object) {
        assert_eq!(read(&replace_all(source, &other).unwrap()), Some(other));
    }
});
