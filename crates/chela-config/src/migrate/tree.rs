//! Moving values about in a tree, and keeping account of it.

use super::{MigrationReport, MovedKey, written_at};
use crate::check::CheckFinding;
use crate::diagnostic::Severity;
use crate::key_path::{KeyPath, PathSegment};
use crate::node::{ConfigNode, NodeKind, NodeMember, NodeSpan};

/// A tree under migration.
pub struct MigrationTree<'t> {
    pub root: &'t mut ConfigNode,
    id: &'static str,
    done: &'t mut MigrationReport,
}

impl<'t> MigrationTree<'t> {
    pub fn new(root: &'t mut ConfigNode, id: &'static str, done: &'t mut MigrationReport) -> Self {
        Self { root, id, done }
    }

    /// Moves a value, if it is there. Whatever stands at `to` already wins, key by key.
    pub fn shift(&mut self, from: &str, to: &str) {
        self.shift_path(&path(from), &path(to), |value| value);
    }

    /// Moves a value within a part of the tree.
    pub fn shift_in(&mut self, home: &KeyPath, from: &str, to: &str) {
        self.shift_path(&under(home, from), &under(home, to), |value| value);
    }

    /// Moves a value and changes it on the way.
    pub fn shift_as(
        &mut self,
        from: &str,
        to: &str,
        change: impl FnOnce(ConfigNode) -> ConfigNode,
    ) {
        self.shift_path(&path(from), &path(to), change);
    }

    pub fn shift_path(
        &mut self,
        from: &KeyPath,
        to: &KeyPath,
        change: impl FnOnce(ConfigNode) -> ConfigNode,
    ) {
        let Some(member) = self.take(from) else {
            return;
        };
        let at = member.key_at;
        self.note(from, at, &format!("`{to}`"));
        let merged = self.put(to, at, change(member.value));
        for path in merged.moved {
            if let Some(from) = path.rebased(to, from) {
                self.moved_silently(&from, &path);
            }
        }
        if let Some(lost) = merged.lost {
            let message = format!("`{lost}` is set as well, and wins");
            self.warn(from, at, &message, &format!("remove `{from}`"));
        }
    }

    /// Takes a member out of its object.
    pub fn take(&mut self, path: &KeyPath) -> Option<NodeMember> {
        let (parent, last) = path.split_last()?;
        let PathSegment::Key(key) = last else {
            return None;
        };
        let members = self.root.at_path_mut(&parent)?.members_mut()?;
        let index = members.iter().position(|member| member.key == *key)?;
        Some(members.remove(index))
    }

    /// Puts a value in place; what stands there already wins.
    pub fn put(&mut self, to: &KeyPath, at: NodeSpan, value: ConfigNode) -> MergedKeys {
        let mut merged = MergedKeys::default();
        let Some((parent, PathSegment::Key(key))) = to.split_last() else {
            return merged;
        };
        let members = object_at(self.root, &parent, at).and_then(ConfigNode::members_mut);
        let Some(members) = members else {
            merged.lost = Some(parent);
            return merged;
        };
        match members.iter_mut().find(|member| member.key == *key) {
            Some(member) => merge_under(&mut member.value, value, to, &mut merged),
            None => {
                merged.moved.push(to.clone());
                members.push(NodeMember {
                    key: key.clone(),
                    key_at: at,
                    value,
                });
            }
        }
        merged
    }

    /// Records a move and tells about it.
    pub fn moved(&mut self, from: &KeyPath, to: &KeyPath, at: NodeSpan) {
        self.note(from, at, &format!("`{to}`"));
        self.moved_silently(from, to);
    }

    /// Records a move that another note already covers.
    pub fn moved_silently(&mut self, from: &KeyPath, to: &KeyPath) {
        self.done.moves.push(MovedKey {
            id: self.id,
            from: from.clone(),
            to: to.clone(),
        });
    }

    /// Says what a key is read as.
    pub fn note(&mut self, path: &KeyPath, at: NodeSpan, read_as: &str) {
        let message = format!("read as {read_as}");
        self.tell(Severity::Note, path, at, message, None);
    }

    pub fn warn(&mut self, path: &KeyPath, at: NodeSpan, message: &str, hint: &str) {
        let (message, hint) = (message.to_owned(), Some(hint.to_owned()));
        self.tell(Severity::Warning, path, at, message, hint);
    }

    /// Names the key as the user wrote it, whatever happened to it since.
    fn tell(
        &mut self,
        severity: Severity,
        path: &KeyPath,
        at: NodeSpan,
        message: String,
        hint: Option<String>,
    ) {
        let written = written_at(&self.done.moves, path);
        let path = written.map_or_else(|| path.clone(), |(path, _)| path);
        self.done.findings.push(CheckFinding {
            hint,
            ..CheckFinding::new(severity, self.id, (path, at), message)
        });
    }

    pub fn get(&self, at: &str) -> Option<&ConfigNode> {
        self.root.at_path(&path(at))
    }

    /// The text at a path.
    pub fn word(&self, path: &KeyPath) -> Option<&str> {
        self.root.at_path(path).and_then(ConfigNode::as_str)
    }

    /// The keys of the object at a path.
    pub fn keys(&self, at: &str) -> Vec<String> {
        let members = self.get(at).map_or(&[][..], ConfigNode::members);
        members.iter().map(|member| member.key.clone()).collect()
    }

    /// Replaces a switch by a key that holds one of two words.
    pub fn switch_to_word(&mut self, home: &KeyPath, from: &str, to: &str, words: [&str; 2]) {
        let (from, to) = (home.key(from), home.key(to));
        if let Some(NodeKind::Bool(on)) = self.root.at_path(&from).map(|node| &node.kind) {
            let [off, word] = words;
            let word = if *on { word } else { off };
            self.shift_path(&from, &to, |value| text_node(word, value.at));
        }
    }

    pub fn node_mut(&mut self, path: &KeyPath) -> Option<&mut ConfigNode> {
        self.root.at_path_mut(path)
    }

    /// How many agents the roster has.
    pub fn agents(&self) -> usize {
        self.get("agents.list").map_or(0, |list| list.items().len())
    }

    /// Every entry of the roster.
    pub fn agent_entries(&self) -> impl Iterator<Item = KeyPath> + use<> {
        let list = path("agents.list");
        (0..self.agents()).map(move |index| list.index(index))
    }

    /// `agents.defaults` and every entry of the roster.
    pub fn agent_scopes(&self) -> Vec<KeyPath> {
        std::iter::once(path("agents.defaults"))
            .chain(self.agent_entries())
            .collect()
    }

    /// Removes an object that has nothing left in it.
    pub fn remove_if_empty(&mut self, at: &KeyPath) {
        let node = self.root.at_path(at);
        if matches!(node.map(|node| &node.kind), Some(NodeKind::Object(members)) if members.is_empty())
        {
            self.take(at);
        }
    }
}

/// A path of plain keys.
pub fn path(text: &str) -> KeyPath {
    under(&KeyPath::root(), text)
}

fn under(home: &KeyPath, text: &str) -> KeyPath {
    text.split('.')
        .fold(home.clone(), |path, key| path.key(key))
}

pub fn text_node(text: &str, at: NodeSpan) -> ConfigNode {
    ConfigNode::new(NodeKind::String(text.to_owned()), at)
}

pub fn object_node(members: Vec<(&str, ConfigNode)>, at: NodeSpan) -> ConfigNode {
    let members = members
        .into_iter()
        .map(|(key, value)| NodeMember {
            key: key.to_owned(),
            key_at: value.at,
            value,
        })
        .collect();
    ConfigNode::new(NodeKind::Object(members), at)
}

pub fn list_node(items: Vec<ConfigNode>, at: NodeSpan) -> ConfigNode {
    ConfigNode::new(NodeKind::Array(items), at)
}

/// The object at a path, made if it is missing; nothing if something else stands in the way.
fn object_at<'a>(
    root: &'a mut ConfigNode,
    path: &KeyPath,
    at: NodeSpan,
) -> Option<&'a mut ConfigNode> {
    path.segments()
        .iter()
        .try_fold(root, |node, segment| match (segment, &mut node.kind) {
            (PathSegment::Key(key), NodeKind::Object(members)) => {
                let index = match members.iter().position(|member| member.key == *key) {
                    Some(index) => index,
                    None => {
                        let value = ConfigNode::new(NodeKind::Object(Vec::new()), at);
                        members.push(NodeMember {
                            key: key.clone(),
                            key_at: at,
                            value,
                        });
                        members.len() - 1
                    }
                };
                members.get_mut(index).map(|member| &mut member.value)
            }
            (PathSegment::Index(index), NodeKind::Array(items)) => items.get_mut(*index),
            _ => None,
        })
}

/// What became of a value that was put in place.
#[derive(Debug, Default)]
pub struct MergedKeys {
    /// What found its place.
    pub moved: Vec<KeyPath>,
    /// The first path where something stood already.
    pub lost: Option<KeyPath>,
}

/// Adds what `under` has and `over` has not.
fn merge_under(over: &mut ConfigNode, under: ConfigNode, path: &KeyPath, merged: &mut MergedKeys) {
    let (NodeKind::Object(members), NodeKind::Object(more)) = (&mut over.kind, under.kind) else {
        merged.lost.get_or_insert_with(|| path.clone());
        return;
    };
    for member in more {
        let inner = path.key(&member.key);
        match members.iter_mut().find(|known| known.key == member.key) {
            Some(known) => merge_under(&mut known.value, member.value, &inner, merged),
            None => {
                merged.moved.push(inner);
                members.push(member);
            }
        }
    }
}
