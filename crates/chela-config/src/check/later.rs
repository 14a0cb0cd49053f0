//! Keys that are read and kept, and that nothing uses yet: whoever sets one ought to know.

use super::Finding;
use crate::diagnostic::Severity;
use crate::key_path::KeyPath;
use crate::node::{Kind, Node};
use crate::shape::Shape;

/// Every key of a tree that does nothing yet; what lies inside one is not named again.
pub(crate) fn not_in_use(shape: &Shape, root: &Node) -> Vec<Finding> {
    let mut found = Vec::new();
    look(shape, root, &KeyPath::root(), &mut found);
    found
}

fn look(shape: &Shape, node: &Node, path: &KeyPath, found: &mut Vec<Finding>) {
    match &node.kind {
        Kind::Object(members) => {
            for member in members {
                let Some(step) = shape.under_key(&member.key) else {
                    continue;
                };
                let inner = path.key(&member.key);
                match step.field.is_some_and(|field| field.rules.later) {
                    true => found.push(Finding {
                        severity: Severity::Note,
                        code: "not-in-use",
                        path: inner,
                        at: member.key_at,
                        message: "is kept, and nothing uses it yet".to_owned(),
                        hint: None,
                        consequence: None,
                    }),
                    false => look(step.shape, &member.value, &inner, found),
                }
            }
        }
        Kind::Array(items) => {
            let Some(item) = shape.item() else {
                return;
            };
            for (index, value) in items.iter().enumerate() {
                look(item, value, &path.index(index), found);
            }
        }
        _ => {}
    }
}
