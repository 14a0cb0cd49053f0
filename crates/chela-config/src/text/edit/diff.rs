//! What has to change for a text to say something else.

use std::collections::HashMap;

use serde_json::Value;

use super::want::index_of;
use crate::key_path::Segment;
use crate::node::{Kind, Node};

/// The changes, by kind. Within one kind no two touch the same stretch of text.
#[derive(Debug, Default)]
pub struct Plan<'a> {
    pub replace: Vec<Replacement<'a>>,
    pub remove: Vec<Removal<'a>>,
    pub insert: Vec<Insertion<'a>>,
}

#[derive(Debug)]
pub struct Replacement<'a> {
    pub old: &'a Node,
    pub new: &'a Value,
    /// The object or list it stands in.
    pub outer: Option<&'a Node>,
}

#[derive(Debug)]
pub struct Removal<'a> {
    pub container: &'a Node,
    pub indices: Vec<usize>,
}

#[derive(Debug)]
pub struct Insertion<'a> {
    pub container: &'a Node,
    pub outer: Option<&'a Node>,
    /// Keys are absent in a list.
    pub entries: Vec<(Option<&'a str>, &'a Value)>,
}

pub fn plan<'a>(root: &'a Node, want: &'a Value) -> Plan<'a> {
    let mut plan = Plan::default();
    plan.visit(root, want, None);
    plan
}

impl<'a> Plan<'a> {
    fn visit(&mut self, node: &'a Node, want: &'a Value, outer: Option<&'a Node>) {
        match (&node.kind, want) {
            (Kind::Object(_), Value::Object(map)) => self.visit_object(node, map, outer),
            (Kind::Array(items), Value::Array(wanted)) => match list_change(items, wanted) {
                ListChange::Whole => self.replace.push(Replacement {
                    old: node,
                    new: want,
                    outer,
                }),
                ListChange::LeaveOut(indices) => self.remove.push(Removal {
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
                        self.insert.push(Insertion {
                            container: node,
                            outer,
                            entries,
                        });
                    }
                }
            },
            _ if says(node, want) => {}
            _ => self.replace.push(Replacement {
                old: node,
                new: want,
                outer,
            }),
        }
    }

    fn visit_object(
        &mut self,
        node: &'a Node,
        map: &'a serde_json::Map<String, Value>,
        outer: Option<&'a Node>,
    ) {
        let counting = counting_members(node);
        let gone = node
            .members()
            .iter()
            .enumerate()
            .filter(|(_, member)| !map.contains_key(&member.key));
        let indices: Vec<usize> = gone.map(|(index, _)| index).collect();
        if !indices.is_empty() {
            self.remove.push(Removal {
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
            self.insert.push(Insertion {
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

fn list_change(items: &[Node], wanted: &[Value]) -> ListChange {
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
fn left_out(items: &[Node], wanted: &[Value]) -> Option<Vec<usize>> {
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
fn counting_members(node: &Node) -> HashMap<&str, &Node> {
    node.members()
        .iter()
        .map(|member| (member.key.as_str(), &member.value))
        .collect()
}

fn says(node: &Node, value: &Value) -> bool {
    match (&node.kind, value) {
        (Kind::Null, Value::Null) => true,
        (Kind::Bool(a), Value::Bool(b)) => a == b,
        (Kind::Number(a), Value::Number(b)) => a == b,
        (Kind::String(a), Value::String(b)) => a == b,
        (Kind::Array(items), Value::Array(values)) => {
            items.len() == values.len()
                && items
                    .iter()
                    .zip(values)
                    .all(|(item, value)| says(item, value))
        }
        (Kind::Object(_), Value::Object(map)) => {
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
pub fn step<'n>(node: &'n Node, segment: &Segment) -> Option<&'n Node> {
    match (&node.kind, segment) {
        (Kind::Object(members), Segment::Key(key)) => members
            .iter()
            .rfind(|member| member.key == *key)
            .map(|member| &member.value),
        (Kind::Array(items), segment) => items.get(index_of(segment)?),
        _ => None,
    }
}

/// The elements a step names; several when a key stands there more than once.
pub fn indices_of(node: &Node, segment: &Segment) -> Vec<usize> {
    match (&node.kind, segment) {
        (Kind::Object(members), Segment::Key(key)) => members
            .iter()
            .enumerate()
            .filter(|(_, member)| member.key == *key)
            .map(|(index, _)| index)
            .collect(),
        (Kind::Array(items), segment) => index_of(segment)
            .filter(|index| *index < items.len())
            .into_iter()
            .collect(),
        _ => Vec::new(),
    }
}
