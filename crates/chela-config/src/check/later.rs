//! Keys that are read and kept, and that nothing uses yet: whoever sets one ought to know.

use super::CheckFinding;
use crate::diagnostic::Severity;
use crate::key_path::{KeyPath, PathSegment};
use crate::node::{ConfigNode, NodeKind, NodeSpan};
use crate::shape::{FieldShape, ValueShape};

/// The code of the notes.
const NOT_IN_USE: &str = "not-in-use";

/// A key that is set and that nothing uses.
struct IdleKey {
    path: KeyPath,
    at: NodeSpan,
    field: &'static FieldShape,
    /// The part of the config it is told with.
    part: (KeyPath, NodeSpan),
}

/// Every key of a tree that does nothing yet; what lies inside one is not named again. A part of
/// the config is told once, however many of its keys are set.
pub(crate) fn not_in_use(shape: &ValueShape, root: &ConfigNode) -> Vec<CheckFinding> {
    let idle = idle_keys(shape, root);
    let mut found: Vec<CheckFinding> = Vec::new();
    for (at, key) in idle.iter().enumerate() {
        let with_it = |other: &IdleKey| other.part.0 == key.part.0;
        if idle.iter().take(at).any(with_it) {
            continue;
        }
        let together: Vec<&IdleKey> = idle.iter().filter(|other| with_it(other)).collect();
        found.push(match together.as_slice() {
            [alone] => note((alone.path.clone(), alone.at), alone.field.kept_as()),
            many => note(key.part.clone(), told_together(many)),
        });
    }
    found
}

/// The parts that are set and that nothing runs.
pub(crate) fn idle_parts(shape: &ValueShape, root: &ConfigNode) -> Vec<KeyPath> {
    idle_keys(shape, root)
        .into_iter()
        .filter(|key| key.field.is_part())
        .map(|key| key.path)
        .collect()
}

fn idle_keys(shape: &ValueShape, root: &ConfigNode) -> Vec<IdleKey> {
    let mut idle = Vec::new();
    let part = (KeyPath::root(), root.at);
    look(shape, root, &(KeyPath::root(), part), &mut idle);
    idle
}

fn look(
    shape: &ValueShape,
    node: &ConfigNode,
    (path, part): &(KeyPath, (KeyPath, NodeSpan)),
    idle: &mut Vec<IdleKey>,
) {
    match &node.kind {
        NodeKind::Object(members) => {
            for member in members {
                let Some(step) = shape.under_key(&member.key) else {
                    continue;
                };
                let inner = path.key(&member.key);
                let part = part_of(&inner, member.key_at, part);
                match step.field.filter(|field| field.rules.later) {
                    Some(field) => idle.push(IdleKey {
                        path: inner,
                        at: member.key_at,
                        field,
                        part,
                    }),
                    None => look(step.shape, &member.value, &(inner, part), idle),
                }
            }
        }
        NodeKind::Array(items) => {
            let Some(item) = shape.item() else {
                return;
            };
            for (index, value) in items.iter().enumerate() {
                let inner = path.index(index);
                let part = part_of(&inner, value.at, part);
                look(item, value, &(inner, part), idle);
            }
        }
        _ => {}
    }
}

/// The parts of the config are its keys at the top; those of agents are the agents.
fn part_of(path: &KeyPath, at: NodeSpan, above: &(KeyPath, NodeSpan)) -> (KeyPath, NodeSpan) {
    let of_agents =
        matches!(path.segments().first(), Some(PathSegment::Key(key)) if key == "agents");
    let is_entry = matches!(path.segments().last(), Some(PathSegment::Index(_)));
    let depth = path.segments().len();
    match depth == 1 || (of_agents && (depth == 2 || (depth == 3 && is_entry))) {
        true => (path.clone(), at),
        false => above.clone(),
    }
}

/// Keys of one part, by their names in it.
fn told_together(idle: &[&IdleKey]) -> String {
    let names: Vec<String> = idle
        .iter()
        .map(|key| {
            let name = key.path.rebased(&key.part.0, &KeyPath::root());
            format!("`{}`", name.unwrap_or_else(|| key.path.clone()))
        })
        .collect();
    let (last, others) = names
        .split_last()
        .map_or(("", [].as_slice()), |(last, others)| {
            (last.as_str(), others)
        });
    format!(
        "{} and {last} are accepted, but nothing uses them yet",
        others.join(", ")
    )
}

fn note(place: (KeyPath, NodeSpan), message: impl Into<String>) -> CheckFinding {
    CheckFinding::new(Severity::Note, NOT_IN_USE, place, message)
}
