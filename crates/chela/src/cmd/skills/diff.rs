//! `chela skills diff`: what changed since the owner trusted it.

use chela_skills::{FileChangeKind, changes};

use super::Desk;
use crate::cmd::Outcome;
use crate::cmd::compared::compared;
use crate::fail::{Exit, Fail};
use crate::screen::Screen;

pub fn run(desk: &Desk, screen: &mut Screen, name: &str) -> Outcome {
    let skill = desk.skill(name)?.skill();
    let lock = desk.shelf.lock();
    let entry = lock
        .entry(skill)
        .filter(|entry| !entry.files.is_empty())
        .ok_or_else(|| {
            Fail::new(format!(
                "`{name}` was never trusted, so there is nothing to compare with"
            ))
            .hint(format!("chela skills info {name}"))
        })?;
    let paint = screen.paint;
    let found = changes(entry, skill);
    if found.is_empty() || entry.tree == skill.tree {
        screen.line(format!("{name} is as it was trusted."))?;
        return Ok(Exit::Fine);
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
            (Some(old), Some(new)) => screen.raw(&compared(&old, &new, paint))?,
            _ => screen.line(paint.dim("  no text to compare with was kept"))?,
        }
    }
    Ok(Exit::Findings)
}
