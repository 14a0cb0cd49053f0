//! Reads typed values straight from nodes.
//!
//! A `null` member counts as absent, so that it means "not set" for every key. Nothing here is
//! generic over where values come from: there are some thousand keys, and each would be compiled
//! again for every such place.

use std::collections::BTreeMap;
use std::fmt::{Debug, Formatter};

use serde_json::{Map, Value};

use crate::node::{ConfigNode, NodeKind, NodeMember};
use crate::shape::{FieldShape, ValueShape};

/// A type that can be read from a config value.
pub trait FromNode: Sized {
    fn from_node(node: &ConfigNode) -> Result<Self, ReadError>;
}

/// A value is of another kind than its type needs. After a clean check this does not happen.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{found} where {expected} is expected")]
pub struct ReadError {
    found: &'static str,
    expected: &'static str,
}

impl ReadError {
    pub fn new(node: &ConfigNode, expected: &'static str) -> Self {
        Self {
            found: node.type_name(),
            expected,
        }
    }
}

impl ConfigNode {
    /// The value as a type of the model. After a clean check this does not fail.
    pub fn read<T: FromNode>(&self) -> Result<T, ReadError> {
        T::from_node(self)
    }
}

/// A type of the model, read from JSON as it would be from the config.
pub fn read_json<T: FromNode>(value: &Value) -> Result<T, ReadError> {
    ConfigNode::from_json(value, Default::default()).read()
}

/// The members of an object, handed out field by field in the order of its shape.
#[derive(Debug)]
pub struct KnownMembers<'n> {
    members: &'n [NodeMember],
    fields: &'static [FieldShape],
    left: std::slice::Iter<'static, FieldShape>,
}

impl<'n> KnownMembers<'n> {
    pub fn of(node: &'n ConfigNode, shape: &'static ValueShape) -> Result<Self, ReadError> {
        let (NodeKind::Object(members), ValueShape::Object(object)) = (&node.kind, shape) else {
            return Err(ReadError::new(node, "an object"));
        };
        Ok(Self {
            members,
            fields: object.fields,
            left: object.fields.iter(),
        })
    }

    /// Reads the next field of the shape into its place, if the object has a value for it.
    pub fn read_next<T: FromNode>(&mut self, place: &mut T) -> Result<(), ReadError> {
        if let Some(node) = self.next_value() {
            *place = T::from_node(node)?;
        }
        Ok(())
    }

    fn next_value(&mut self) -> Option<&'n ConfigNode> {
        let field = self.left.next()?;
        set_members(self.members)
            .filter(|member| member.key == field.key)
            .map(|member| &member.value)
            .last()
    }

    /// Collects the members that are no fields of the shape.
    pub fn read_rest<M: KeyedValues>(&self, map: &mut M) -> Result<(), ReadError> {
        for member in set_members(self.members) {
            if !self.fields.iter().any(|field| field.key == member.key) {
                map.put(member)?;
            }
        }
        Ok(())
    }
}

fn set_members(members: &[NodeMember]) -> impl Iterator<Item = &NodeMember> {
    members
        .iter()
        .filter(|member| member.value.kind != NodeKind::Null)
}

/// An object with keys of the user's choosing.
pub trait KeyedValues {
    fn put(&mut self, member: &NodeMember) -> Result<(), ReadError>;
}

impl KeyedValues for Map<String, Value> {
    fn put(&mut self, member: &NodeMember) -> Result<(), ReadError> {
        self.insert(member.key.clone(), set_json(&member.value));
        Ok(())
    }
}

impl<T: FromNode> KeyedValues for BTreeMap<String, T> {
    fn put(&mut self, member: &NodeMember) -> Result<(), ReadError> {
        self.insert(member.key.clone(), T::from_node(&member.value)?);
        Ok(())
    }
}

fn read_map<M: KeyedValues + Default>(node: &ConfigNode) -> Result<M, ReadError> {
    let NodeKind::Object(members) = &node.kind else {
        return Err(ReadError::new(node, "an object"));
    };
    let mut map = M::default();
    set_members(members).try_for_each(|member| map.put(member))?;
    Ok(map)
}

/// The value as JSON, without the members that are not set.
fn set_json(node: &ConfigNode) -> Value {
    match &node.kind {
        NodeKind::Array(items) => Value::Array(items.iter().map(set_json).collect()),
        NodeKind::Object(members) => Value::Object(
            set_members(members)
                .map(|member| (member.key.clone(), set_json(&member.value)))
                .collect(),
        ),
        _ => node.to_json(),
    }
}

/// One of some fixed words.
pub fn read_word<T>(node: &ConfigNode, from_word: fn(&str) -> Option<T>) -> Result<T, ReadError> {
    node.as_str()
        .and_then(from_word)
        .ok_or_else(|| ReadError::new(node, "one of some words"))
}

/// The same from another place than the config.
pub fn deserialize_word<'de, D: serde::Deserializer<'de>, T>(
    deserializer: D,
    words: &'static [&'static str],
    from_word: fn(&str) -> Option<T>,
) -> Result<T, D::Error> {
    deserializer.deserialize_str(WordVisitor { words, from_word })
}

struct WordVisitor<T> {
    words: &'static [&'static str],
    from_word: fn(&str) -> Option<T>,
}

impl<T> serde::de::Visitor<'_> for WordVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        write!(f, "one of the words {}", self.words.join(", "))
    }

    fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<T, E> {
        (self.from_word)(word).ok_or_else(|| E::unknown_variant(word, self.words))
    }
}

/// What `derive(Debug)` would show of a struct.
pub fn debug_fields(
    f: &mut Formatter<'_>,
    name: &str,
    fields: &[(&str, &dyn Debug)],
) -> std::fmt::Result {
    let mut shown = f.debug_struct(name);
    for (name, value) in fields {
        shown.field(name, value);
    }
    shown.finish()
}

macro_rules! whole {
    ($($type:ty),*) => {$(
        impl FromNode for $type {
            fn from_node(node: &ConfigNode) -> Result<Self, ReadError> {
                match &node.kind {
                    NodeKind::Number(number) => number.as_u64().and_then(|number| number.try_into().ok()),
                    _ => None,
                }
                .ok_or_else(|| ReadError::new(node, concat!("a whole number (", stringify!($type), ")")))
            }
        }
    )*};
}

whole!(u8, u16, u32, u64);

impl FromNode for f64 {
    fn from_node(node: &ConfigNode) -> Result<Self, ReadError> {
        match &node.kind {
            NodeKind::Number(number) => number.as_f64(),
            _ => None,
        }
        .ok_or_else(|| ReadError::new(node, "a number"))
    }
}

impl FromNode for bool {
    fn from_node(node: &ConfigNode) -> Result<Self, ReadError> {
        match node.kind {
            NodeKind::Bool(value) => Ok(value),
            _ => Err(ReadError::new(node, "true/false")),
        }
    }
}

impl FromNode for String {
    fn from_node(node: &ConfigNode) -> Result<Self, ReadError> {
        let text = node
            .as_str()
            .ok_or_else(|| ReadError::new(node, "a string"))?;
        Ok(text.to_owned())
    }
}

impl FromNode for Value {
    fn from_node(node: &ConfigNode) -> Result<Self, ReadError> {
        Ok(set_json(node))
    }
}

impl FromNode for Map<String, Value> {
    fn from_node(node: &ConfigNode) -> Result<Self, ReadError> {
        read_map(node)
    }
}

impl<T: FromNode> FromNode for BTreeMap<String, T> {
    fn from_node(node: &ConfigNode) -> Result<Self, ReadError> {
        read_map(node)
    }
}

impl<T: FromNode> FromNode for Option<T> {
    fn from_node(node: &ConfigNode) -> Result<Self, ReadError> {
        match node.kind {
            NodeKind::Null => Ok(None),
            _ => T::from_node(node).map(Some),
        }
    }
}

impl<T: FromNode> FromNode for Vec<T> {
    fn from_node(node: &ConfigNode) -> Result<Self, ReadError> {
        match &node.kind {
            NodeKind::Array(items) => items.iter().map(T::from_node).collect(),
            _ => Err(ReadError::new(node, "a list")),
        }
    }
}

#[cfg(test)]
mod tests;
