//! A parsed config value that remembers where it stands.

use serde_json::{Map, Value};

use crate::key_path::{KeyPath, PathSegment};

/// The key whose value names files to be read in its place.
pub(crate) const INCLUDE: &str = "$include";

/// Which of the loaded files a value came from; an index into the list of files of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FileId(pub u16);

/// A stretch of one file, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct NodeSpan {
    pub file: FileId,
    pub start: u32,
    pub end: u32,
}

/// A value and the place it was written at.
#[derive(Debug, Clone, PartialEq)]
pub struct ConfigNode {
    pub kind: NodeKind,
    pub at: NodeSpan,
    /// Names of the environment variables that were substituted into this string.
    pub vars: Vec<String>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum NodeKind {
    Null,
    Bool(bool),
    Number(serde_json::Number),
    String(String),
    Array(Vec<ConfigNode>),
    Object(Vec<NodeMember>),
}

/// One `key: value` of an object, in the order written.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeMember {
    pub key: String,
    pub key_at: NodeSpan,
    pub value: ConfigNode,
}

impl ConfigNode {
    pub fn new(kind: NodeKind, at: NodeSpan) -> Self {
        Self {
            kind,
            at,
            vars: Vec::new(),
        }
    }

    pub fn empty_object() -> Self {
        Self::new(NodeKind::Object(Vec::new()), NodeSpan::default())
    }

    /// A node without a place of its own, for values made by code; it takes the place of `at`.
    pub fn from_json(value: &Value, at: NodeSpan) -> Self {
        let kind = match value {
            Value::Null => NodeKind::Null,
            Value::Bool(value) => NodeKind::Bool(*value),
            Value::Number(number) => NodeKind::Number(number.clone()),
            Value::String(text) => NodeKind::String(text.clone()),
            Value::Array(items) => {
                NodeKind::Array(items.iter().map(|item| Self::from_json(item, at)).collect())
            }
            Value::Object(map) => NodeKind::Object(
                map.iter()
                    .map(|(key, value)| NodeMember {
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
            NodeKind::Null => Value::Null,
            NodeKind::Bool(value) => Value::Bool(*value),
            NodeKind::Number(number) => Value::Number(number.clone()),
            NodeKind::String(text) => Value::String(text.clone()),
            NodeKind::Array(items) => Value::Array(items.iter().map(Self::to_json).collect()),
            NodeKind::Object(members) => Value::Object(
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
            NodeKind::Null => "null",
            NodeKind::Bool(_) => "true/false",
            NodeKind::Number(_) => "a number",
            NodeKind::String(_) => "a string",
            NodeKind::Array(_) => "a list",
            NodeKind::Object(_) => "an object",
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match &self.kind {
            NodeKind::String(text) => Some(text),
            _ => None,
        }
    }

    pub fn members(&self) -> &[NodeMember] {
        match &self.kind {
            NodeKind::Object(members) => members,
            _ => &[],
        }
    }

    pub fn members_mut(&mut self) -> Option<&mut Vec<NodeMember>> {
        match &mut self.kind {
            NodeKind::Object(members) => Some(members),
            _ => None,
        }
    }

    pub fn items(&self) -> &[ConfigNode] {
        match &self.kind {
            NodeKind::Array(items) => items,
            _ => &[],
        }
    }

    pub fn member(&self, key: &str) -> Option<&NodeMember> {
        self.members().iter().find(|member| member.key == key)
    }

    pub fn get(&self, key: &str) -> Option<&ConfigNode> {
        self.member(key).map(|member| &member.value)
    }

    pub fn get_mut(&mut self, key: &str) -> Option<&mut ConfigNode> {
        self.members_mut()?
            .iter_mut()
            .find(|member| member.key == key)
            .map(|member| &mut member.value)
    }

    /// The same, to be changed.
    pub fn at_path_mut(&mut self, path: &KeyPath) -> Option<&mut ConfigNode> {
        path.segments()
            .iter()
            .try_fold(self, |node, segment| match (segment, &mut node.kind) {
                (PathSegment::Key(key), NodeKind::Object(members)) => members
                    .iter_mut()
                    .find(|member| member.key == *key)
                    .map(|member| &mut member.value),
                (PathSegment::Index(index), NodeKind::Array(items)) => items.get_mut(*index),
                _ => None,
            })
    }

    /// The value at a path, if every step of it exists.
    pub fn at_path(&self, path: &KeyPath) -> Option<&ConfigNode> {
        path.segments().iter().try_fold(self, Self::step)
    }

    /// The value one step further in.
    pub fn step(&self, segment: &PathSegment) -> Option<&ConfigNode> {
        match segment {
            PathSegment::Key(key) => self.get(key),
            PathSegment::Index(index) => self.items().get(*index),
        }
    }
}
