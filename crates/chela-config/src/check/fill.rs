//! Values that came out of the environment are text; where a number or a switch is expected,
//! text that reads as one is taken as one.

use crate::node::{ConfigNode, NodeKind};
use crate::shape::ValueShape;

pub fn fill_in(shape: &'static ValueShape, node: &mut ConfigNode) {
    if let NodeKind::String(text) = &node.kind {
        if !node.vars.is_empty()
            && let Some(kind) = read_as(shape, text.trim())
        {
            node.kind = kind;
        }
        return;
    }
    match &mut node.kind {
        NodeKind::Array(items) => {
            if let Some(item) = shape.item() {
                items.iter_mut().for_each(|value| fill_in(item, value));
            }
        }
        NodeKind::Object(members) => {
            for member in members {
                if let Some(step) = shape.under_key(&member.key) {
                    fill_in(step.shape, &mut member.value);
                }
            }
        }
        _ => {}
    }
}

fn read_as(shape: &ValueShape, text: &str) -> Option<NodeKind> {
    match shape {
        ValueShape::Bool => text.parse().ok().map(NodeKind::Bool),
        ValueShape::Whole { .. } | ValueShape::Number => text.parse().ok().map(NodeKind::Number),
        ValueShape::OneOf(branches) => branches.iter().find_map(|branch| read_as(branch, text)),
        _ => None,
    }
}
