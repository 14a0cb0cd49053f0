//! `chela skills diff`: what changed since the owner trusted it.

use chela_skills::{FileChangeKind, TrustedBy, changes};

use super::InstalledSkills;
use crate::cmd::CommandOutcome;
use crate::cmd::text_diff::render_diff;
use crate::fail::{CommandError, CommandExit};
use crate::screen::Screen;

pub fn run(installed: &InstalledSkills, screen: &mut Screen, name: &str) -> CommandOutcome {
    let skill = installed.skill(name)?.skill();
    let lock = installed.shelf.lock();
    let entry = lock
        .entry(skill)
        .filter(|entry| !entry.files.is_empty())
        .ok_or_else(|| {
            CommandError::new(format!(
                "`{name}` was never trusted, so there is nothing to compare with"
            ))
            .hint(format!("chela skills info {name}"))
        })?;
    let paint = screen.paint;
    let found = changes(entry, skill);
    if let Some(why) = &entry.quarantined {
        screen.line(format!("{name} is quarantined: {why}."))?;
    }
    let since = match entry.by {
        TrustedBy::Owner => "it was trusted",
        TrustedBy::FirstSight => "it was first seen",
        TrustedBy::Agent => "the agent wrote it",
    };
    if entry.tree == skill.tree {
        screen.line(format!("Its files are unchanged since {since}."))?;
        return Ok(CommandExit::Fine);
    }
    for change in found {
        screen.line(paint.bold(&change))?;
        let old = entry
            .files
            .get(&change.path)
            .and_then(|hash| lock.kept_text(*hash));
        let new = std::fs::read_to_string(skill.folder.join(&change.path)).ok();
        let (old, new) = match change.kind {
            FileChangeKind::Added => (Some(String::new()), new),
            FileChangeKind::Removed => (old, Some(String::new())),
            FileChangeKind::Changed => (old, new),
        };
        match (old, new) {
            (Some(old), Some(new)) => screen.raw(&render_diff(&old, &new, paint))?,
            _ => screen.line(paint.dim("  no earlier text to compare with"))?,
        }
    }
    Ok(CommandExit::Findings)
}
