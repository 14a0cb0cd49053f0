//! What has to change for a text to say something else.

use std::collections::HashMap;

use serde_json::Value;

use super::want::index_of;
use crate::key_path::PathSegment;
use crate::node::{ConfigNode, NodeKind};

/// The changes, by kind. Within one kind no two touch the same stretch of text.
#[derive(Debug, Default)]
pub struct EditPlan<'a> {
    pub replace: Vec<ValueReplacement<'a>>,
    pub remove: Vec<ElementRemoval<'a>>,
    pub insert: Vec<ElementInsertion<'a>>,
}

#[derive(Debug)]
pub struct ValueReplacement<'a> {
    pub old: &'a ConfigNode,
    pub new: &'a Value,
    /// The object or list it stands in.
    pub outer: Option<&'a ConfigNode>,
}

#[derive(Debug)]
pub struct ElementRemoval<'a> {
    pub container: &'a ConfigNode,
    pub indices: Vec<usize>,
}

#[derive(Debug)]
pub struct ElementInsertion<'a> {
    pub container: &'a ConfigNode,
    pub outer: Option<&'a ConfigNode>,
    /// Keys are absent in a list.
    pub entries: Vec<(Option<&'a str>, &'a Value)>,
}

pub fn plan<'a>(root: &'a ConfigNode, want: &'a Value) -> EditPlan<'a> {
    let mut plan = EditPlan::default();
    plan.visit(root, want, None);
    plan
}

impl<'a> EditPlan<'a> {
    fn visit(&mut self, node: &'a ConfigNode, want: &'a Value, outer: Option<&'a ConfigNode>) {
        match (&node.kind, want) {
            (NodeKind::Object(_), Value::Object(map)) => self.visit_object(node, map, outer),
            (NodeKind::Array(items), Value::Array(wanted)) => match list_change(items, wanted) {
                ListChange::Whole => self.replace.push(ValueReplacement {
                    old: node,
                    new: want,
                    outer,
                }),
                ListChange::LeaveOut(indices) => self.remove.push(ElementRemoval {
                    container: node,
                    indices,
                }),
                ListChange::ItemByItem => {
                    for (item, value) in items.iter().zip(wanted) {
                        self.visit(item, value, Some(node));
                    }
                    let entries: Vec<_> = wanted
                        .iter()
                        .skip(items.len())
                        .map(|value| (None, value))
                        .collect();
                    if !entries.is_empty() {
                        self.insert.push(ElementInsertion {
                            container: node,
                            outer,
                            entries,
                        });
                    }
                }
            },
            _ if says(node, want) => {}
            _ => self.replace.push(ValueReplacement {
                old: node,
                new: want,
                outer,
            }),
        }
    }

    fn visit_object(
        &mut self,
        node: &'a ConfigNode,
        map: &'a serde_json::Map<String, Value>,
        outer: Option<&'a ConfigNode>,
    ) {
        let counting = counting_members(node);
        let gone = node
            .members()
            .iter()
            .enumerate()
            .filter(|(_, member)| !map.contains_key(&member.key));
        let indices: Vec<usize> = gone.map(|(index, _)| index).collect();
        if !indices.is_empty() {
            self.remove.push(ElementRemoval {
                container: node,
                indices,
            });
        }
        let mut entries = Vec::new();
        for (key, value) in map {
            match counting.get(key.as_str()) {
                Some(member) => self.visit(member, value, Some(node)),
                None => entries.push((Some(key.as_str()), value)),
            }
        }
        if !entries.is_empty() {
            self.insert.push(ElementInsertion {
                container: node,
                outer,
                entries,
            });
        }
    }
}

/// How a list becomes another one.
enum ListChange {
    LeaveOut(Vec<usize>),
    /// Each item becomes the one in its place, and more may follow.
    ItemByItem,
    /// Items have moved, so that comments would end up beside the wrong ones.
    Whole,
}

fn list_change(items: &[ConfigNode], wanted: &[Value]) -> ListChange {
    if wanted.len() < items.len() {
        return left_out(items, wanted).map_or(ListChange::Whole, ListChange::LeaveOut);
    }
    let mut rest = wanted.iter();
    let moved = wanted.len() > items.len()
        && !items
            .iter()
            .zip(wanted)
            .all(|(item, value)| says(item, value))
        && items.iter().all(|item| rest.any(|value| says(item, value)));
    if moved {
        ListChange::Whole
    } else {
        ListChange::ItemByItem
    }
}

/// If `wanted` is `items` with some left out, in order: which.
fn left_out(items: &[ConfigNode], wanted: &[Value]) -> Option<Vec<usize>> {
    let mut rest = wanted.iter().peekable();
    let mut indices = Vec::new();
    for (index, item) in items.iter().enumerate() {
        match rest.peek() {
            Some(value) if says(item, value) => {
                rest.next();
            }
            _ => indices.push(index),
        }
    }
    rest.peek().is_none().then_some(indices)
}

/// The value that counts for each key: the last one.
fn counting_members(node: &ConfigNode) -> HashMap<&str, &ConfigNode> {
    node.members()
        .iter()
        .map(|member| (member.key.as_str(), &member.value))
        .collect()
}

fn says(node: &ConfigNode, value: &Value) -> bool {
    match (&node.kind, value) {
        (NodeKind::Null, Value::Null) => true,
        (NodeKind::Bool(a), Value::Bool(b)) => a == b,
        (NodeKind::Number(a), Value::Number(b)) => a == b,
        (NodeKind::String(a), Value::String(b)) => a == b,
        (NodeKind::Array(items), Value::Array(values)) => {
            items.len() == values.len()
                && items
                    .iter()
                    .zip(values)
                    .all(|(item, value)| says(item, value))
        }
        (NodeKind::Object(_), Value::Object(map)) => {
            let counting = counting_members(node);
            counting.len() == map.len()
                && counting
                    .iter()
                    .all(|(key, node)| map.get(*key).is_some_and(|value| says(node, value)))
        }
        _ => false,
    }
}

/// One step along a path, where the last of several equal keys counts.
pub fn step<'n>(node: &'n ConfigNode, segment: &PathSegment) -> Option<&'n ConfigNode> {
    match (&node.kind, segment) {
        (NodeKind::Object(members), PathSegment::Key(key)) => members
            .iter()
            .rfind(|member| member.key == *key)
            .map(|member| &member.value),
        (NodeKind::Array(items), segment) => items.get(index_of(segment)?),
        _ => None,
    }
}

/// The elements a step names; several when a key stands there more than once.
pub fn indices_of(node: &ConfigNode, segment: &PathSegment) -> Vec<usize> {
    match (&node.kind, segment) {
        (NodeKind::Object(members), PathSegment::Key(key)) => members
            .iter()
            .enumerate()
            .filter(|(_, member)| member.key == *key)
            .map(|(index, _)| index)
            .collect(),
        (NodeKind::Array(items), segment) => index_of(segment)
            .filter(|index| *index < items.len())
            .into_iter()
            .collect(),
        _ => Vec::new(),
    }
}
