//! What the config should say after an edit, as plain JSON.

use serde_json::{Map, Value};

use super::{EditError, KeyExisted, json_type_name};
use crate::key_path::{KeyPath, PathSegment};
use crate::node::INCLUDE;

/// Puts `value` at `path`, making what is missing on the way.
pub fn put(root: &mut Value, path: &KeyPath, value: Value) -> Result<(), EditError> {
    *slot(root, path)? = value;
    Ok(())
}

/// Takes out what stands at `path`.
pub fn take(root: &mut Value, path: &KeyPath) -> Result<KeyExisted, EditError> {
    let Some((outer, last)) = path.split_last() else {
        let Value::Object(map) = root else {
            return Ok(KeyExisted::No);
        };
        let existed = if map.is_empty() {
            KeyExisted::No
        } else {
            KeyExisted::Yes
        };
        map.clear();
        return Ok(existed);
    };
    let mut value = root;
    for (depth, segment) in outer.segments().iter().enumerate() {
        guard_included(value, segment, path, depth)?;
        value = match (value, segment) {
            (Value::Object(map), PathSegment::Key(key)) => match map.get_mut(key) {
                Some(inner) => inner,
                None => return Ok(KeyExisted::No),
            },
            (Value::Array(items), segment) => {
                match index_of(segment).and_then(|index| items.get_mut(index)) {
                    Some(inner) => inner,
                    None => return Ok(KeyExisted::No),
                }
            }
            _ => return Ok(KeyExisted::No),
        };
    }
    guard_included(value, last, path, outer.segments().len())?;
    let removed = match (value, last) {
        (Value::Object(map), PathSegment::Key(key)) => map.shift_remove(key).is_some(),
        (Value::Array(items), segment) => {
            match index_of(segment).filter(|index| *index < items.len()) {
                Some(index) => {
                    items.remove(index);
                    true
                }
                None => false,
            }
        }
        _ => false,
    };
    Ok(if removed {
        KeyExisted::Yes
    } else {
        KeyExisted::No
    })
}

/// Merges `patch` into what stands at `path`.
pub fn patch(root: &mut Value, path: &KeyPath, patch: &Value) -> Result<(), EditError> {
    let target = slot(root, path)?;
    merge(target, patch, path)
}

fn merge(target: &mut Value, patch: &Value, path: &KeyPath) -> Result<(), EditError> {
    let Value::Object(changes) = patch else {
        *target = patch.clone();
        return Ok(());
    };
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    for (key, change) in changes {
        let inner = path.key(key.as_str());
        guard_included(
            target,
            &PathSegment::Key(key.clone()),
            &inner,
            path.segments().len(),
        )?;
        let Value::Object(map) = &mut *target else {
            continue;
        };
        if change.is_null() {
            map.shift_remove(key);
        } else {
            merge(
                map.entry(key.as_str()).or_insert(Value::Null),
                change,
                &inner,
            )?;
        }
    }
    Ok(())
}

/// The place a path names, made if it is missing.
fn slot<'v>(root: &'v mut Value, path: &KeyPath) -> Result<&'v mut Value, EditError> {
    let mut value = root;
    for (depth, segment) in path.segments().iter().enumerate() {
        let at = || prefix(path, depth);
        guard_included(value, segment, path, depth)?;
        if value.is_null() {
            *value = match segment {
                PathSegment::Key(_) => Value::Object(Map::new()),
                PathSegment::Index(_) => Value::Array(Vec::new()),
            };
        }
        value = match (value, segment) {
            (Value::Object(map), PathSegment::Key(key)) => {
                map.entry(key.as_str()).or_insert(Value::Null)
            }
            (Value::Object(_), PathSegment::Index(index)) => {
                return Err(EditError::IndexIntoObject {
                    path: path.clone(),
                    at: at(),
                    index: *index,
                });
            }
            (Value::Array(items), segment) => {
                let Some(index) = index_of(segment) else {
                    return Err(EditError::KeyIntoList {
                        path: path.clone(),
                        at: at(),
                    });
                };
                let length = items.len();
                if index == length {
                    items.push(Value::Null);
                }
                match items.get_mut(index) {
                    Some(item) => item,
                    None => {
                        return Err(EditError::OutOfRange {
                            path: path.clone(),
                            at: at(),
                            length,
                        });
                    }
                }
            }
            (scalar, _) => {
                let found = json_type_name(scalar);
                return Err(EditError::ThroughScalar {
                    path: path.clone(),
                    at: at(),
                    found,
                });
            }
        };
    }
    Ok(value)
}

/// An item of a list can also be named `list.0`, as other tools write it.
pub fn index_of(segment: &PathSegment) -> Option<usize> {
    match segment {
        PathSegment::Index(index) => Some(*index),
        PathSegment::Key(key) => key.parse().ok(),
    }
}

/// An object that is nothing but an `$include` belongs to the included file. The root does not:
/// there, keys beside `$include` are the way to override what a shared base says.
fn guard_included(
    value: &Value,
    segment: &PathSegment,
    path: &KeyPath,
    depth: usize,
) -> Result<(), EditError> {
    let Value::Object(map) = value else {
        return Ok(());
    };
    let Some(include) = map.get(INCLUDE).filter(|_| map.len() == 1 && depth > 0) else {
        return Ok(());
    };
    if *segment == PathSegment::Key(INCLUDE.to_owned()) {
        return Ok(());
    }
    let include = match include {
        Value::String(name) => name.clone(),
        Value::Array(names) => names
            .iter()
            .filter_map(Value::as_str)
            .collect::<Vec<_>>()
            .join(", "),
        _ => String::new(),
    };
    Err(EditError::Included {
        path: path.clone(),
        include,
    })
}

fn prefix(path: &KeyPath, length: usize) -> KeyPath {
    path.segments()
        .iter()
        .take(length)
        .cloned()
        .fold(KeyPath::root(), |path, segment| path.with(segment))
}

/// How many objects and lists lie inside one another.
pub fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or(0),
        Value::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
        _ => 0,
    }
}
