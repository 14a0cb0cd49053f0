//! Walks a tree along its shape.

use chela_core::suggest::nearest;

use super::expect::{self, described, kind_fits};
use super::forms::form_problem;
use super::{CheckFinding, CheckedTree, LEFT_OUT};
use crate::diagnostic::Severity;
use crate::key_path::{KeyPath, PathSegment};
use crate::model::{AgentDefaults, AgentEntry, AgentSubagents, Config, Subagents};
use crate::node::{ConfigNode, NodeKind, NodeMember, NodeSpan};
use crate::shape::{FieldRules, HasShape, ObjectShape, ValueShape};

/// Keys that are remarks, not settings.
const REMARKS: [&str; 5] = ["//", "#", "_comment", "$comment", "x-"];

#[derive(Default)]
pub struct ShapeWalk<'n> {
    steps: Vec<Step<'n>>,
    checked: CheckedTree,
}

#[derive(Clone, Copy)]
enum Step<'n> {
    Key(&'n str),
    Index(usize),
}

/// Whether a value can be used.
#[derive(PartialEq, Eq, Clone, Copy)]
enum Fit {
    Yes,
    No,
}

impl<'n> ShapeWalk<'n> {
    pub fn new() -> Self {
        Self::default()
    }

    pub fn finish(self) -> CheckedTree {
        self.checked
    }

    pub fn document(&mut self, shape: &'static ValueShape, root: &'n ConfigNode) {
        if self.value(shape, &FieldRules::NONE, root) == Fit::No {
            self.checked.drops = vec![KeyPath::root()];
        }
    }

    fn value(
        &mut self,
        shape: &'static ValueShape,
        rules: &FieldRules,
        node: &'n ConfigNode,
    ) -> Fit {
        match (shape, &node.kind) {
            (ValueShape::Anything, _) | (ValueShape::Bool, NodeKind::Bool(_)) => Fit::Yes,
            (ValueShape::Secret(inner), _) => self.value(inner, rules, node),
            (ValueShape::Text, NodeKind::String(text)) => match rules.max_len {
                Some(max) if text.chars().count() > max => {
                    self.refuse(node, "too-long", format!("is longer than {max} characters"))
                }
                _ => Fit::Yes,
            },
            (ValueShape::Whole { min, max }, NodeKind::Number(number)) => {
                let fits = match (number.as_u64(), number.as_i64()) {
                    (Some(number), _) => {
                        number <= *max
                            && i64::try_from(number).map_or(true, |number| number >= *min)
                    }
                    (None, Some(number)) => number >= *min,
                    (None, None) => return self.mismatch(shape, rules, node),
                };
                self.limits(shape, rules, node, fits)
            }
            (ValueShape::Number, NodeKind::Number(_)) => self.limits(shape, rules, node, true),
            (ValueShape::Form(form), _) if kind_fits(shape, node) => {
                match form_problem(*form, node) {
                    Some(problem) => self.refuse(node, "bad-value", problem),
                    None => Fit::Yes,
                }
            }
            (ValueShape::Words(words), NodeKind::String(text)) => {
                if words.words.iter().any(|word| word.text == text) {
                    return Fit::Yes;
                }
                self.bad_word(shape, text, node)
            }
            (ValueShape::Exactly(literal), _) if expect::is_literal(*literal, node) => Fit::Yes,
            (ValueShape::List(item), NodeKind::Array(items)) => {
                for (index, value) in items.iter().enumerate() {
                    self.steps.push(Step::Index(index));
                    self.part(item, &FieldRules::NONE, value);
                    self.steps.pop();
                }
                Fit::Yes
            }
            (ValueShape::Map(entry), NodeKind::Object(members)) => {
                for member in members {
                    self.steps.push(Step::Key(&member.key));
                    self.entry(entry, member);
                    self.steps.pop();
                }
                Fit::Yes
            }
            (ValueShape::Object(object), NodeKind::Object(members)) => {
                self.object(object, members, node)
            }
            (ValueShape::OneOf(branches), _) => self.one_of(shape, branches, rules, node),
            _ => self.mismatch(shape, rules, node),
        }
    }

    /// A value that can be left out when it does not fit.
    fn part(
        &mut self,
        shape: &'static ValueShape,
        rules: &FieldRules,
        node: &'n ConfigNode,
    ) -> Fit {
        let mark = self.checked.drops.len();
        let fit = self.value(shape, rules, node);
        if fit == Fit::No {
            // What was to go inside goes with the whole.
            self.checked.drops.truncate(mark);
            self.drop_here();
        }
        fit
    }

    /// An entry under a key of the user's choosing; a remark among them is not one.
    fn entry(&mut self, shape: &'static ValueShape, member: &'n NodeMember) {
        if is_remark(&member.key) && !expect::fits(shape, &FieldRules::NONE, &member.value) {
            self.drop_here();
        } else if member.value.kind != NodeKind::Null {
            self.part(shape, &FieldRules::NONE, &member.value);
        }
    }

    fn drop_here(&mut self) {
        let path = self.path();
        self.checked.drops.push(path);
    }

    fn object(
        &mut self,
        object: &'static ObjectShape,
        members: &'n [NodeMember],
        node: &'n ConfigNode,
    ) -> Fit {
        let mut fit = Fit::Yes;
        for member in members {
            self.steps.push(Step::Key(&member.key));
            if let Some(field) = object.field(&member.key) {
                if member.value.kind != NodeKind::Null
                    && self.part(field.shape, &field.rules, &member.value) == Fit::No
                    && field.rules.required
                {
                    fit = Fit::No;
                }
            } else if let Some(rest) = object.rest {
                self.entry(rest, member);
            } else {
                if !is_remark(&member.key) {
                    self.unknown_key(object, member);
                }
                self.drop_here();
            }
            self.steps.pop();
        }
        for field in object.fields.iter().filter(|field| field.rules.required) {
            let present = members
                .iter()
                .any(|member| member.key == field.key && member.value.kind != NodeKind::Null);
            if !present {
                let message = format!("`{}` is missing", field.key);
                let expected = described(field.shape, &field.rules);
                let finding = self.finding(node.at, "missing-key", message);
                finding.hint = Some(format!("add `{}`: {expected}", field.key));
                finding.consequence = Some(LEFT_OUT);
                fit = Fit::No;
            }
        }
        if object.field("allow").is_some() && object.field("alsoAllow").is_some() {
            self.allow_twice(members);
        }
        fit
    }

    /// `allow` and `alsoAllow` in one scope contradict each other.
    fn allow_twice(&mut self, members: &'n [NodeMember]) {
        let filled = |key: &str| {
            members
                .iter()
                .find(|member| member.key == key && !member.value.items().is_empty())
        };
        if let (Some(_), Some(also)) = (filled("allow"), filled("alsoAllow")) {
            self.steps.push(Step::Key(&also.key));
            self.drop_here();
            let finding = self.finding(
                also.key_at,
                "allow-and-also-allow",
                "`allow` and `alsoAllow` cannot be set together".to_owned(),
            );
            finding.hint =
                Some("put all names in `allow`, or use `profile` with `alsoAllow`".to_owned());
            finding.consequence = Some("only `allow` is used");
            self.steps.pop();
        }
    }

    fn one_of(
        &mut self,
        shape: &'static ValueShape,
        branches: &'static [&'static ValueShape],
        rules: &FieldRules,
        node: &'n ConfigNode,
    ) -> Fit {
        let mut likely = None;
        for branch in branches.iter().filter(|branch| kind_fits(branch, node)) {
            if expect::fits(branch, rules, node) {
                return Fit::Yes;
            }
            likely.get_or_insert(*branch);
        }
        match (likely, node.as_str()) {
            (Some(ValueShape::Exactly(_)), None) => self.mismatch(shape, rules, node),
            (Some(branch), None) => self.value(branch, rules, node),
            (Some(ValueShape::Form(form)), Some(_)) => match form_problem(*form, node) {
                Some(problem) => self.refuse(node, "bad-value", problem),
                None => self.mismatch(shape, rules, node),
            },
            (Some(_), Some(text)) => self.bad_word(shape, text, node),
            (None, _) => self.mismatch(shape, rules, node),
        }
    }

    fn limits(
        &mut self,
        shape: &'static ValueShape,
        rules: &FieldRules,
        node: &'n ConfigNode,
        fits: bool,
    ) -> Fit {
        let NodeKind::Number(number) = &node.kind else {
            return Fit::No;
        };
        let value = number.as_f64().unwrap_or(f64::NAN);
        let inside =
            rules.min.is_none_or(|min| value >= min) && rules.max.is_none_or(|max| value <= max);
        if fits && inside {
            return Fit::Yes;
        }
        let message = format!("is {number}, expected {}", described(shape, rules));
        self.refuse(node, "out-of-range", message)
    }

    fn bad_word(&mut self, shape: &'static ValueShape, text: &str, node: &'n ConfigNode) -> Fit {
        let message = format!(
            "is `{}`, expected {}",
            shown(text),
            described(shape, &FieldRules::NONE)
        );
        let close = nearest(text, expect::words_of(shape));
        let fit = self.refuse(node, "bad-value", message);
        if let (Some(close), Some(finding)) = (close, self.checked.findings.last_mut()) {
            finding.hint = Some(format!("did you mean `{close}`?"));
        }
        fit
    }

    fn mismatch(
        &mut self,
        shape: &'static ValueShape,
        rules: &FieldRules,
        node: &'n ConfigNode,
    ) -> Fit {
        // A value is shown only where it cannot be a secret.
        let found = match (&node.kind, shape) {
            (NodeKind::Bool(value), _) => format!("`{value}`"),
            (NodeKind::Number(number), ValueShape::Whole { .. }) => number.to_string(),
            _ => node.type_name().to_owned(),
        };
        let message = format!("is {found}, expected {}", described(shape, rules));
        self.refuse(node, "wrong-type", message)
    }

    fn refuse(&mut self, node: &'n ConfigNode, code: &'static str, message: String) -> Fit {
        self.finding(node.at, code, message).consequence = Some(LEFT_OUT);
        Fit::No
    }

    fn unknown_key(&mut self, object: &'static ObjectShape, member: &'n NodeMember) {
        let key = member.key.as_str();
        if let Some(defaults) = defaults_only(object, key) {
            let message = "applies to all agents and cannot be set for one".to_owned();
            let finding = self.finding(member.key_at, "defaults-only", message);
            finding.hint = Some(format!("set `{defaults}` instead"));
            finding.consequence = Some("ignored");
            return;
        }
        let usual = format!("agents.defaults.{key}");
        let is_usual = self.steps.len() == 1 && expect::is_key(Config::SHAPE, &usual);
        let hint = match meant(key, object) {
            _ if is_usual => Some(format!("did you mean `{usual}`?")),
            Some(close) => {
                let mut path = self.path_to_parent();
                path = path.key(close);
                Some(format!("did you mean `{path}`?"))
            }
            None => expect::elsewhere(Config::SHAPE, key)
                .map(|path| format!("there is a key of this name at `{path}`")),
        };
        let finding = self.finding(member.key_at, "unknown-key", "unknown key".to_owned());
        finding.hint = hint;
        finding.consequence = Some("ignored");
    }

    fn finding(&mut self, at: NodeSpan, code: &'static str, message: String) -> &mut CheckFinding {
        let finding = CheckFinding::new(Severity::Error, code, (self.path(), at), message);
        self.checked.findings.push_mut(finding)
    }

    fn path(&self) -> KeyPath {
        key_path(&self.steps)
    }

    fn path_to_parent(&self) -> KeyPath {
        key_path(self.steps.split_last().map_or(&[], |(_, parents)| parents))
    }
}

fn key_path(steps: &[Step<'_>]) -> KeyPath {
    steps.iter().fold(KeyPath::root(), |path, step| {
        path.with(match step {
            Step::Key(key) => PathSegment::Key((*key).to_owned()),
            Step::Index(index) => PathSegment::Index(*index),
        })
    })
}

fn is_remark(key: &str) -> bool {
    REMARKS.iter().any(|remark| key.starts_with(remark))
}

/// The key that sets for all agents what was tried for one.
fn defaults_only(object: &ObjectShape, key: &str) -> Option<String> {
    let has = |shape: &ValueShape| {
        shape
            .as_object()
            .is_some_and(|object| object.field(key).is_some())
    };
    let is = |shape: &ValueShape| {
        shape
            .as_object()
            .is_some_and(|known| known.name == object.name)
    };
    if is(AgentEntry::SHAPE) && has(AgentDefaults::SHAPE) {
        Some(format!("agents.defaults.{key}"))
    } else if is(AgentSubagents::SHAPE) && has(Subagents::SHAPE) {
        Some(format!("agents.defaults.subagents.{key}"))
    } else {
        None
    }
}

/// The known key that was probably meant. Two words that start differently are seldom one
/// word mistyped, unless one holds the other.
fn meant(key: &str, object: &'static ObjectShape) -> Option<&'static str> {
    let given = key.to_lowercase();
    let alike = |known: &&str| {
        let known = known.to_lowercase();
        known.chars().next() == given.chars().next()
            || known.contains(&given)
            || given.contains(&known)
    };
    nearest(
        key,
        object.fields.iter().map(|field| field.key).filter(alike),
    )
}

/// Long values are cut; nothing secret is ever a choice between words.
fn shown(text: &str) -> String {
    if text.chars().count() <= 40 {
        return text.to_owned();
    }
    let start: String = text.chars().take(39).collect();
    format!("{start}…")
}
