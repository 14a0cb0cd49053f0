//! A parsed config value that remembers where it stands.

use serde_json::{Map, Value};

use crate::key_path::{KeyPath, Segment};

/// Which of the loaded files a value came from; an index into the list of files of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FileId(pub u16);

/// A stretch of one file, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct At {
    pub file: FileId,
    pub start: u32,
    pub end: u32,
}

/// A value and the place it was written at.
#[derive(Debug, Clone, PartialEq)]
pub struct Node {
    pub kind: Kind,
    pub at: At,
    /// Names of the environment variables that were substituted into this string.
    pub vars: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    Null,
    Bool(bool),
    Number(serde_json::Number),
    String(String),
    Array(Vec<Node>),
    Object(Vec<Member>),
}

/// One `key: value` of an object, in the order written.
#[derive(Debug, Clone, PartialEq)]
pub struct Member {
    pub key: String,
    pub key_at: At,
    pub value: Node,
}

impl Node {
    pub fn new(kind: Kind, at: At) -> Self {
        Self {
            kind,
            at,
            vars: Vec::new(),
        }
    }

    pub fn empty_object() -> Self {
        Self::new(Kind::Object(Vec::new()), At::default())
    }

    /// A node without a place of its own, for values made by code; it takes the place of `at`.
    pub fn from_json(value: &Value, at: At) -> Self {
        let kind = match value {
            Value::Null => Kind::Null,
            Value::Bool(value) => Kind::Bool(*value),
            Value::Number(number) => Kind::Number(number.clone()),
            Value::String(text) => Kind::String(text.clone()),
            Value::Array(items) => {
                Kind::Array(items.iter().map(|item| Self::from_json(item, at)).collect())
            }
            Value::Object(map) => Kind::Object(
                map.iter()
                    .map(|(key, value)| Member {
                        key: key.clone(),
                        key_at: at,
                        value: Self::from_json(value, at),
                    })
                    .collect(),
            ),
        };
        Self::new(kind, at)
    }

    pub fn to_json(&self) -> Value {
        match &self.kind {
            Kind::Null => Value::Null,
            Kind::Bool(value) => Value::Bool(*value),
            Kind::Number(number) => Value::Number(number.clone()),
            Kind::String(text) => Value::String(text.clone()),
            Kind::Array(items) => Value::Array(items.iter().map(Self::to_json).collect()),
            Kind::Object(members) => Value::Object(
                members
                    .iter()
                    .map(|member| (member.key.clone(), member.value.to_json()))
                    .collect::<Map<_, _>>(),
            ),
        }
    }

    /// What a person calls this kind of value.
    pub fn type_name(&self) -> &'static str {
        match self.kind {
            Kind::Null => "null",
            Kind::Bool(_) => "true/false",
            Kind::Number(_) => "a number",
            Kind::String(_) => "a string",
            Kind::Array(_) => "a list",
            Kind::Object(_) => "an object",
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match &self.kind {
            Kind::String(text) => Some(text),
            _ => None,
        }
    }

    pub fn members(&self) -> &[Member] {
        match &self.kind {
            Kind::Object(members) => members,
            _ => &[],
        }
    }

    pub fn members_mut(&mut self) -> Option<&mut Vec<Member>> {
        match &mut self.kind {
            Kind::Object(members) => Some(members),
            _ => None,
        }
    }

    pub fn items(&self) -> &[Node] {
        match &self.kind {
            Kind::Array(items) => items,
            _ => &[],
        }
    }

    pub fn member(&self, key: &str) -> Option<&Member> {
        self.members().iter().find(|member| member.key == key)
    }

    pub fn get(&self, key: &str) -> Option<&Node> {
        self.member(key).map(|member| &member.value)
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut Node> {
        self.members_mut()?
            .iter_mut()
            .find(|member| member.key == key)
            .map(|member| &mut member.value)
    }

    /// The same, to be changed.
    pub fn at_path_mut(&mut self, path: &KeyPath) -> Option<&mut Node> {
        path.segments()
            .iter()
            .try_fold(self, |node, segment| match (segment, &mut node.kind) {
                (Segment::Key(key), Kind::Object(members)) => members
                    .iter_mut()
                    .find(|member| member.key == *key)
                    .map(|member| &mut member.value),
                (Segment::Index(index), Kind::Array(items)) => items.get_mut(*index),
                _ => None,
            })
    }

    /// The value at a path, if every step of it exists.
    pub fn at_path(&self, path: &KeyPath) -> Option<&Node> {
        path.segments().iter().try_fold(self, Self::step)
    }

    /// The value one step further in.
    pub fn step(&self, segment: &Segment) -> Option<&Node> {
        match segment {
            Segment::Key(key) => self.get(key),
            Segment::Index(index) => self.items().get(*index),
        }
    }
}
