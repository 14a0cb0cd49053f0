//! `${VAR}` in string values.

use chela_core::HostEnv;

use super::folder_env::FolderEnv;
use crate::key_path::{KeyPath, PathSegment};
use crate::node::{ConfigNode, NodeKind, NodeSpan};
use crate::span::cut;

/// A variable that is named in the config and not set, or empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct MissingVar {
    pub(super) name: String,
    pub(super) path: KeyPath,
    pub(super) at: NodeSpan,
}

/// Fills in the variables, notes their names in the nodes, and tells which were missing. What the
/// environment does not know may come from the current folder, where that is allowed.
pub(super) fn fill_in(root: &mut ConfigNode, env: &HostEnv, folder: &FolderEnv) -> Vec<MissingVar> {
    let mut missing = Vec::new();
    visit(root, None, &mut |node, trail| {
        let NodeKind::String(text) = &node.kind else {
            return;
        };
        if !text.contains("${") {
            return;
        }
        let filled = fill(text, |name| {
            let known = env.get(name).filter(|value| !value.is_empty());
            known
                .map(String::as_str)
                .or_else(|| folder.value_at(name, || trail_path(trail)))
        });
        for name in filled.missing {
            missing.push(MissingVar {
                name,
                path: trail_path(trail),
                at: node.at,
            });
        }
        node.kind = NodeKind::String(filled.text);
        node.vars = filled.used;
    });
    missing
}

/// The way from the root to a node, kept on the stack: most nodes never need it as a path.
struct Trail<'a> {
    outer: Option<&'a Trail<'a>>,
    step: Step<'a>,
}

enum Step<'a> {
    Key(&'a str),
    Index(usize),
}

fn visit(
    node: &mut ConfigNode,
    trail: Option<&Trail<'_>>,
    each: &mut impl FnMut(&mut ConfigNode, Option<&Trail<'_>>),
) {
    match &mut node.kind {
        NodeKind::Object(members) => {
            for member in members {
                let inner = Trail {
                    outer: trail,
                    step: Step::Key(&member.key),
                };
                visit(&mut member.value, Some(&inner), each);
            }
        }
        NodeKind::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                visit(
                    item,
                    Some(&Trail {
                        outer: trail,
                        step: Step::Index(index),
                    }),
                    each,
                );
            }
        }
        _ => each(node, trail),
    }
}

fn trail_path(trail: Option<&Trail<'_>>) -> KeyPath {
    match trail {
        None => KeyPath::root(),
        Some(Trail { outer, step }) => trail_path(*outer).with(match step {
            Step::Key(key) => PathSegment::Key((*key).to_owned()),
            Step::Index(index) => PathSegment::Index(*index),
        }),
    }
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Filled {
    text: String,
    used: Vec<String>,
    missing: Vec<String>,
}

fn fill<'e>(text: &str, value_of: impl Fn(&str) -> Option<&'e str>) -> Filled {
    let mut filled = Filled::default();
    let mut rest = text;
    while let Some((plain, tail)) = rest.split_once('$') {
        filled.text.push_str(plain);
        if let Some((name, tail)) = tail.strip_prefix('$').and_then(reference) {
            // `$${NAME}` is how one writes `${NAME}`.
            filled.text.extend(["${", name, "}"]);
            rest = tail;
            continue;
        }
        let Some((name, tail)) = reference(tail) else {
            filled.text.push('$');
            rest = tail;
            continue;
        };
        match value_of(name) {
            Some(value) => {
                filled.text.push_str(value);
                push_new(&mut filled.used, name);
            }
            None => {
                filled.text.extend(["${", name, "}"]);
                push_new(&mut filled.missing, name);
            }
        }
        rest = tail;
    }
    filled.text.push_str(rest);
    filled
}

/// The name in a `{NAME}` at the start of the text, and what follows it. Looks no further than
/// the name goes.
fn reference(text: &str) -> Option<(&str, &str)> {
    let rest = text.strip_prefix('{')?;
    let belongs = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    let length = rest.bytes().take_while(|byte| belongs(*byte)).count();
    let (name, tail) = cut(rest, length);
    let named = !name.is_empty() && !name.starts_with(|c: char| c.is_ascii_digit());
    Some((name, tail.strip_prefix('}')?)).filter(|_| named)
}

fn push_new(names: &mut Vec<String>, name: &str) {
    if !names.iter().any(|known| known == name) {
        names.push(name.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::{Filled, fill};
    use chela_core::HostEnv;

    #[test]
    fn variables_are_filled_in_once_and_only_where_meant() {
        let env: HostEnv = [("A", "x"), ("B_2", "${A}"), ("EMPTY", "")]
            .map(|(k, v)| (k.into(), v.into()))
            .into();
        let value = |name: &str| env.get(name).map(String::as_str).filter(|v| !v.is_empty());
        let text = |text| fill(text, value).text;
        assert_eq!(text("${A}-${A}"), "x-x");
        assert_eq!(text("${B_2}"), "${A}", "values are not looked into again");
        assert_eq!(
            text("$${A} $A ${a} ${} ${A $ $$"),
            "${A} $A ${a} ${} ${A $ $$"
        );
        assert_eq!(text("$$${A}"), "$${A}");
        assert_eq!(text("é${A}é"), "éxé");
        assert_eq!(
            fill("${EMPTY}${GONE}${A}${GONE}", value),
            Filled {
                text: "${EMPTY}${GONE}x${GONE}".into(),
                used: vec!["A".into()],
                missing: vec!["EMPTY".into(), "GONE".into()],
            }
        );
    }
}
