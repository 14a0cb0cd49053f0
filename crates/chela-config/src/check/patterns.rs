//! Regular expressions that must be such.

use chela_core::secret::SecretPattern;

use super::agents::drop_whole;
use super::{CheckFinding, CheckedTree, LEFT_OUT};
use crate::diagnostic::Severity;
use crate::key_path::KeyPath;
use crate::node::ConfigNode;

/// `logging.redactPatterns`: one that cannot be read hides nothing.
pub fn check(root: &ConfigNode, checked: &mut CheckedTree) {
    let path = KeyPath::root().key("logging").key("redactPatterns");
    let patterns = root.at_path(&path).map_or(&[][..], ConfigNode::items);
    for (index, node) in patterns.iter().enumerate() {
        let Some(Err(why)) = node.as_str().map(SecretPattern::parse) else {
            continue;
        };
        let place = (path.index(index), node.at);
        let message = format!("is not a valid pattern: {why}");
        let hint = "write a regular expression such as `\\\\bACME-[0-9]{8}\\\\b`, or \
            `/expression/flags`; until then nothing is hidden by it";
        checked.findings.push(CheckFinding {
            hint: Some(hint.to_owned()),
            consequence: Some(LEFT_OUT),
            ..CheckFinding::new(Severity::Error, "bad-pattern", place, message)
        });
        drop_whole(checked, path.index(index));
    }
}
