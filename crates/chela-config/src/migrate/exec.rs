//! Commands: `tools.bash`, and the pair `security` and `ask` that `mode` replaces.

use super::tree::{MigrationTree, path, text_node};
use crate::key_path::KeyPath;

pub fn bash(tree: &mut MigrationTree<'_>) {
    for home in homes(tree) {
        tree.shift_in(&home, "bash", "exec");
    }
}

/// | security  | ask     | mode                                     |
/// |-----------|---------|------------------------------------------|
/// | deny      | any     | deny                                     |
/// | allowlist | off     | allowlist                                |
/// | allowlist | on-miss | ask (also when `ask` is not set)         |
/// | full      | off, on-miss | full: with everything allowed nothing is a miss |
/// | any other | always  | ask, and `ask: always` stays             |
pub fn policy(tree: &mut MigrationTree<'_>) {
    for home in homes(tree) {
        let exec = home.key("exec");
        let word = |key: &str| tree.word(&exec.key(key)).map(str::to_owned);
        let (security, ask, mode) = (word("security"), word("ask"), word("mode"));
        if mode.is_some() {
            continue;
        }
        let mode = match (security.as_deref(), ask.as_deref()) {
            (Some("deny"), _) => "deny",
            (_, Some("always")) => "ask",
            (Some("allowlist"), Some("off")) => "allowlist",
            (Some("allowlist"), _) | (None, Some("on-miss")) => "ask",
            (Some("full"), _) => "full",
            _ => continue,
        };
        let to = exec.key("mode");
        let mut place = None;
        for key in ["security", "ask"] {
            let from = exec.key(key);
            if key == "ask" && ask.as_deref() == Some("always") && mode == "ask" {
                continue;
            }
            if let Some(member) = tree.take(&from) {
                tree.note(&from, member.key_at, &format!("`{to}: {mode}`"));
                if place.is_none() {
                    tree.moved_silently(&from, &to);
                }
                place.get_or_insert((member.key_at, member.value.at));
            }
        }
        let ask_at = tree.root.at_path(&exec).and_then(|exec| exec.member("ask"));
        let (key_at, at) = place
            .or_else(|| ask_at.map(|member| (member.key_at, member.value.at)))
            .unwrap_or_default();
        tree.put(&to, key_at, text_node(mode, at));
    }
}

/// Where tool settings stand: for all, and per agent.
fn homes(tree: &MigrationTree<'_>) -> Vec<KeyPath> {
    std::iter::once(path("tools"))
        .chain(tree.agent_entries().map(|entry| entry.key("tools")))
        .collect()
}
