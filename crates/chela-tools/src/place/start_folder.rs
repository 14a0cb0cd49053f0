//! Where a path without a folder begins: in the project the user started the agent in, or in the
//! workspace.

use std::path::{Component, Path, PathBuf};

use super::PlaceAccess;

/// What is the agent's, wherever it works. A project may have an AGENTS.md of its own.
const OWN_NAMES: &[&str] = &[
    "BOOTSTRAP.md",
    "HEARTBEAT.md",
    "IDENTITY.md",
    "MEMORY.md",
    "SOUL.md",
    "TOOLS.md",
    "USER.md",
    "memory",
];

/// The folder a relative path begins in, for files as for commands. The agent's own files are in the
/// workspace; what is there and not in the project, too; everything else, and everything new, is in
/// the project. A project that may only be read gets nothing new.
pub(crate) fn start_of(
    project: Option<(&Path, PlaceAccess)>,
    workspace: &Path,
    path: &Path,
) -> PathBuf {
    let Some((project, access)) = project else {
        return workspace.to_owned();
    };
    let first = path.components().find_map(|part| match part {
        Component::Normal(name) => Some(name),
        _ => None,
    });
    let is_own = first.is_some_and(|name| OWN_NAMES.iter().any(|own| name == *own));
    let is_there = |folder: &Path| folder.join(path).symlink_metadata().is_ok();
    let is_elsewhere =
        || !is_there(project) && (access == PlaceAccess::Read || is_there(workspace));
    match is_own || is_elsewhere() {
        true => workspace.to_owned(),
        false => project.to_owned(),
    }
}
