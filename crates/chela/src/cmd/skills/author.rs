//! `chela skills new`, `add`, `remove` and `check`.

use std::path::PathBuf;

use chela_config::Severity;
use chela_skills::{NewSkill, Skill, SkillSource, check_folder, create};
use serde_json::json;

use super::InstalledSkills;
use crate::cmd::CommandOutcome;
use crate::fail::{CommandError, CommandExit};
use crate::screen::{Screen, count_noun};

pub fn create_skill(
    installed: &InstalledSkills,
    screen: &mut Screen,
    name: &str,
    description: Option<&str>,
    shared: bool,
) -> CommandOutcome {
    let places = installed.shelf.places();
    let root = if shared {
        places.state_dir.join("skills")
    } else {
        places.workspace.join("skills")
    };
    let file = create(&root, &NewSkill { name, description }).map_err(CommandError::new)?;
    screen.line(format!("Created {}.", installed.host.compact(&file)))?;
    screen.line(format!(
        "Fill it in, delete `draft: true`, then run: chela skills check {name}"
    ))?;
    screen.line(format!(
        "To count its words as yours: chela skills trust {name}"
    ))?;
    Ok(CommandExit::Fine)
}

pub fn remove(installed: &mut InstalledSkills, screen: &mut Screen, name: &str) -> CommandOutcome {
    let skill = Skill::clone(installed.skill(name)?.skill());
    let removed = chela_skills::remove(&mut installed.shelf, &skill, &installed.host)
        .map_err(CommandError::new)?;
    screen.line(format!(
        "Removed {} from {}.",
        removed.name,
        installed.host.compact(&removed.from)
    ))?;
    screen.line(format!(
        "It was moved to {}.",
        installed.host.compact(&removed.trash)
    ))?;
    Ok(CommandExit::Fine)
}

pub fn check(
    installed: &InstalledSkills,
    screen: &mut Screen,
    what: &[String],
    json: bool,
) -> CommandOutcome {
    let mut folders: Vec<PathBuf> = Vec::new();
    for named in what {
        let path = installed.host.expand(named);
        folders.push(match installed.skills.get(named) {
            Some(skill) => skill.skill().folder.clone(),
            None if path.is_dir() => path,
            None => match installed.shelf.catalog().skipped_by_name(named).next() {
                Some(skipped) => skipped.path.clone(),
                None => return Err(installed.unknown(named)),
            },
        });
    }
    if what.is_empty() {
        let found = installed.skills.skills().iter().map(|skill| skill.skill());
        folders.extend(
            found
                .filter(|skill| skill.source != SkillSource::Bundled)
                .map(|skill| skill.folder.clone()),
        );
        folders.extend(
            installed
                .shelf
                .catalog()
                .skipped
                .iter()
                .map(|skipped| skipped.path.clone()),
        );
    }
    let checked: Vec<_> = folders
        .iter()
        .map(|folder| (folder, check_folder(folder)))
        .collect();
    let bad = checked
        .iter()
        .filter(|(_, checked)| checked.worst() >= Some(Severity::Warning))
        .count();
    let exit = if bad > 0 {
        CommandExit::Findings
    } else {
        CommandExit::Fine
    };
    if json {
        let rows = checked.iter().map(|(folder, checked)| {
            json!({ "name": checked.name, "folder": folder, "findings": checked.findings })
        });
        screen.json(&rows.collect::<Vec<_>>())?;
        return Ok(exit);
    }
    let paint = screen.paint;
    for (folder, checked) in &checked {
        for finding in &checked.findings {
            let word = match finding.severity {
                Severity::Error => paint.bad("error"),
                Severity::Warning => paint.warn("warning"),
                Severity::Note => paint.dim("note"),
            };
            screen.line(format!(
                "{}/{finding} [{word}]",
                installed.host.compact(folder)
            ))?;
        }
    }
    screen.line(match (checked.len(), bad) {
        (0, _) => "There is no skill to check.".to_owned(),
        (all, 0) => format!("{} checked, no problems found.", count_noun(all, "skill")),
        (all, bad) => format!("{} checked, {bad} to fix.", count_noun(all, "skill")),
    })?;
    Ok(exit)
}
