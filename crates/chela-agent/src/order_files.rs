//! The files that tell the agent what to do in every session, as opposed to those it takes notes in.
//!
//! A clean session may take notes as it likes. What gives orders changes with the owner's knowledge:
//! they named the file, or they are shown what would change.

use std::path::Path;

use chela_guard::flow::Provenance;
use chela_workspace::custody::Custody;
use chela_workspace::trust::TrustAct;
use chela_workspace::{BOOT_FILE, CoreFile};

/// Files of a workspace that give orders. USER.md and MEMORY.md are notes.
const ORDERS: &[CoreFile] = &[
    CoreFile::Agents,
    CoreFile::Soul,
    CoreFile::Identity,
    CoreFile::Tools,
    CoreFile::Heartbeat,
    CoreFile::Bootstrap,
];
/// What the first conversation fills in, and the file that begins it.
const FIRST_TALK: &[CoreFile] = &[
    CoreFile::Identity,
    CoreFile::Soul,
    CoreFile::Agents,
    CoreFile::Bootstrap,
];
/// The names all skills go by, and what runs when something happens.
const SKILLS: &str = "skills";
pub(crate) const HOOKS: &str = "hooks";
/// What adds to the agent itself.
pub(crate) const PLUGINS: &str = "plugins";

/// The files of a workspace that give orders, by their names.
fn orders() -> impl Iterator<Item = &'static str> {
    let files = ORDERS.iter().map(|file| file.name());
    files.chain([BOOT_FILE])
}

/// What a file that gives orders is known by; `None` for any other.
pub(crate) fn order_name(root: &Path, path: &Path) -> Option<&'static str> {
    let inside = path.strip_prefix(root).ok();
    let is_part = |part: std::path::Component<'_>| {
        let part = part.as_os_str().to_string_lossy().to_lowercase();
        matches!(part.as_str(), "skills" | ".agents")
    };
    // Of this workspace only its own: a project in it has a skills folder that means nothing here.
    let of_skill = match inside {
        Some(inside) => inside.components().next().is_some_and(is_part),
        None => path.components().any(is_part),
    };
    if of_skill {
        return Some(SKILLS);
    }
    let of_workspace = |folder: &&str| inside.is_some_and(|inside| inside.starts_with(folder));
    if let Some(folder) = [HOOKS, PLUGINS].into_iter().find(of_workspace) {
        return Some(folder);
    }
    let is_near = inside.is_none_or(|inside| inside.components().count() == 1);
    let name = path.file_name()?.to_string_lossy();
    orders()
        .find(|order| order.eq_ignore_ascii_case(&name))
        .filter(|_| is_near)
}

/// Which of these files give orders, by what they are known by.
pub(crate) fn order_names<'p>(
    root: &Path,
    paths: impl IntoIterator<Item = &'p Path>,
) -> Vec<&'static str> {
    let mut names: Vec<&'static str> = paths
        .into_iter()
        .filter_map(|path| order_name(root, path))
        .collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// The files that give orders and that may change without a question now.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct OrderLeave {
    /// The owner named or allowed these.
    known: Vec<&'static str>,
    /// The first conversation is about these, in the workspace.
    first: Vec<&'static str>,
}

impl OrderLeave {
    /// Whatever gives orders: the owner wants no questions.
    pub(crate) fn everything() -> Self {
        Self {
            known: orders().chain([SKILLS, HOOKS, PLUGINS]).collect(),
            first: Vec::new(),
        }
    }

    /// What the owner named or allowed, and what the first conversation is about.
    pub(crate) fn now(seen: &Provenance, custody: Option<&Custody>) -> Self {
        let names = orders().chain([SKILLS, HOOKS, PLUGINS]);
        let known = names.filter(|name| seen.owner_knows_order(name)).collect();
        let first = match custody.is_some_and(is_first_talk) {
            true => FIRST_TALK.iter().map(|file| file.name()).collect(),
            false => Vec::new(),
        };
        Self { known, first }
    }

    /// Whether a file may change unasked.
    pub(crate) fn covers_file(&self, root: &Path, path: &Path) -> bool {
        order_name(root, path).is_none_or(|name| {
            let is_first = path.starts_with(root) && self.first.contains(&name);
            is_first || self.known.contains(&name)
        })
    }
}

/// Whether the first conversation goes on: its file is there, as Chela or the owner wrote it.
fn is_first_talk(custody: &Custody) -> bool {
    let file = custody.root().join(CoreFile::Bootstrap.name());
    let judged = custody.look(&file).map(|(judged, _)| judged.judgement);
    judged.is_some_and(|judgement| judgement.act == TrustAct::Use && !judgement.waits())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_told_from_notes() {
        let root = Path::new("/w");
        let name = |path: &str| order_name(root, Path::new(path));
        assert_eq!(name("/w/SOUL.md"), Some("SOUL.md"));
        assert_eq!(name("/w/agents.MD"), Some("AGENTS.md"));
        assert_eq!(name("/w/BOOT.md"), Some("BOOT.md"));
        assert_eq!(name("/w/skills/mail/run.sh"), Some("skills"));
        assert_eq!(name("/home/x/.chela/skills/mail/SKILL.md"), Some("skills"));
        assert_eq!(name("/w/hooks/greet.sh"), Some("hooks"));
        assert_eq!(name("/w/plugins/a/index.js"), Some("plugins"));
        assert_eq!(name("/w/app/plugins/a.js"), None);
        assert_eq!(name("/other/HEARTBEAT.md"), Some("HEARTBEAT.md"));
        for note in [
            "/w/USER.md",
            "/w/MEMORY.md",
            "/w/memory/a.md",
            "/w/lib/AGENTS.md",
        ] {
            assert_eq!(name(note), None, "{note}");
        }
        let paths = ["/w/SOUL.md", "/w/a.md", "/w/skills/a/b", "/w/skills/c"];
        let names = order_names(root, paths.iter().map(|path| Path::new(*path)));
        assert_eq!(names, ["SOUL.md", "skills"]);
    }
}
