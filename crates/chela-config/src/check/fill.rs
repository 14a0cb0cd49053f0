//! Values that came out of the environment are text; where a number or a switch is expected,
//! text that reads as one is taken as one.

use crate::node::{Kind, Node};
use crate::shape::Shape;

pub fn fill_in(shape: &'static Shape, node: &mut Node) {
    if let Kind::String(text) = &node.kind {
        if !node.vars.is_empty()
            && let Some(kind) = read_as(shape, text.trim())
        {
            node.kind = kind;
        }
        return;
    }
    match &mut node.kind {
        Kind::Array(items) => {
            if let Some(item) = shape.item() {
                items.iter_mut().for_each(|value| fill_in(item, value));
            }
        }
        Kind::Object(members) => {
            for member in members {
                if let Some(step) = shape.under_key(&member.key) {
                    fill_in(step.shape, &mut member.value);
                }
            }
        }
        _ => {}
    }
}

fn read_as(shape: &Shape, text: &str) -> Option<Kind> {
    match shape {
        Shape::Bool => text.parse().ok().map(Kind::Bool),
        Shape::Whole { .. } | Shape::Number => text.parse().ok().map(Kind::Number),
        Shape::OneOf(branches) => branches.iter().find_map(|branch| read_as(branch, text)),
        _ => None,
    }
}
