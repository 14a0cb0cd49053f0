//! The strict check: everything in a config that is not as it should be, all at once.
//!
//! The same walk finds what cannot be used. A start is tolerant: it leaves those parts out and
//! goes on with their defaults.

mod agents;
mod expect;
mod fill;
mod forms;
mod later;
mod patterns;
mod providers;
mod walk;

pub(crate) use fill::fill_in;
pub(crate) use later::{idle_parts, not_in_use};
pub use providers::MODEL_APIS;

use crate::diagnostic::{ConfigDiagnostic, Severity, SourcePlace};
use crate::key_path::{KeyPath, PathSegment};
use crate::model::Config;
use crate::node::{ConfigNode, NodeKind, NodeSpan};
use crate::shape::HasShape;

/// What a check found.
#[derive(Debug, Default)]
pub(crate) struct CheckedTree {
    pub findings: Vec<CheckFinding>,
    /// What has to go before the config can be used; no path lies inside another.
    pub drops: Vec<KeyPath>,
}

/// A diagnostic that still knows where its value stands in the bytes of a file.
#[derive(Debug, Clone)]
pub(crate) struct CheckFinding {
    pub severity: Severity,
    pub code: &'static str,
    pub path: KeyPath,
    pub at: NodeSpan,
    pub message: String,
    pub hint: Option<String>,
    /// What a tolerant start does about it.
    pub consequence: Option<&'static str>,
}

impl CheckFinding {
    /// The key at `path`, which stands at `at`.
    pub fn new(
        severity: Severity,
        code: &'static str,
        (path, at): (KeyPath, NodeSpan),
        message: impl Into<String>,
    ) -> Self {
        Self {
            severity,
            code,
            path,
            at,
            message: message.into(),
            hint: None,
            consequence: None,
        }
    }

    /// As the strict check tells it.
    pub fn strict(self, place: Option<SourcePlace>) -> ConfigDiagnostic {
        ConfigDiagnostic {
            severity: self.severity,
            code: self.code,
            path: self.path,
            place,
            message: self.message,
            hint: self.hint,
        }
    }

    /// As a start tells it: nothing here stops it, and the consequence is named. What was
    /// meant to protect and cannot be used stays an error, because the default may allow more.
    pub fn tolerated(mut self, place: Option<SourcePlace>) -> ConfigDiagnostic {
        if let Some(consequence) = self.consequence {
            self.message = format!("{}; {consequence}", self.message);
        }
        if self.severity == Severity::Error {
            if self.consequence == Some(LEFT_OUT) && protects(&self.path) {
                self.message.push_str(", and the default may allow more");
            } else {
                self.severity = Severity::Warning;
            }
        }
        self.strict(place)
    }
}

/// What happens to a value that cannot be used.
pub(crate) const LEFT_OUT: &str = "left out";

/// Keys that keep something out.
const PROTECTING: [&str; 16] = [
    "allow",
    "deny",
    "allowFrom",
    "groupAllowFrom",
    "ownerAllowFrom",
    "dmPolicy",
    "groupPolicy",
    "sandbox",
    "exec",
    "elevated",
    "guard",
    "auth",
    "policy",
    "egress",
    "workspaceOnly",
    "limits",
];

/// Whether a key is there to keep something out.
fn protects(path: &KeyPath) -> bool {
    path.segments().iter().any(
        |segment| matches!(segment, PathSegment::Key(key) if PROTECTING.contains(&key.as_str())),
    )
}

/// Checks a config in its present shape (older shapes are migrated before).
pub(crate) fn check(root: &ConfigNode) -> CheckedTree {
    let mut walk = walk::ShapeWalk::new();
    walk.document(Config::SHAPE, root);
    let mut checked = walk.finish();
    agents::check(root, &mut checked);
    patterns::check(root, &mut checked);
    providers::check(root, &mut checked);
    checked
        .findings
        .sort_by_key(|finding| (finding.at.file, finding.at.start));
    checked
}

/// The tree without what the check found unusable.
pub(crate) fn prune(root: &mut ConfigNode, drops: &[KeyPath]) {
    // Later items first, so that the positions of earlier ones stay true.
    for path in drops.iter().rev() {
        let Some((parent, last)) = path.split_last() else {
            *root = ConfigNode::new(NodeKind::Object(Vec::new()), root.at);
            continue;
        };
        let Some(parent) = root.at_path_mut(&parent) else {
            continue;
        };
        match (last, &mut parent.kind) {
            (PathSegment::Key(key), NodeKind::Object(members)) => {
                members.retain(|member| member.key != *key)
            }
            (PathSegment::Index(index), NodeKind::Array(items)) if *index < items.len() => {
                items.remove(*index);
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests;
