//! Keys that are read and kept, and that nothing uses yet: whoever sets one ought to know.

use super::CheckFinding;
use crate::diagnostic::Severity;
use crate::key_path::KeyPath;
use crate::node::{ConfigNode, NodeKind};
use crate::shape::ValueShape;

/// Every key of a tree that does nothing yet; what lies inside one is not named again.
pub(crate) fn not_in_use(shape: &ValueShape, root: &ConfigNode) -> Vec<CheckFinding> {
    let mut found = Vec::new();
    look(shape, root, &KeyPath::root(), &mut found);
    found
}

fn look(shape: &ValueShape, node: &ConfigNode, path: &KeyPath, found: &mut Vec<CheckFinding>) {
    match &node.kind {
        NodeKind::Object(members) => {
            for member in members {
                let Some(step) = shape.under_key(&member.key) else {
                    continue;
                };
                let inner = path.key(&member.key);
                match step.field.is_some_and(|field| field.rules.later) {
                    true => found.push(CheckFinding {
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
        NodeKind::Array(items) => {
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
