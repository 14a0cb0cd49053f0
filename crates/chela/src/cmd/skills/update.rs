//! `chela skills outdated` and `update`: newer versions of what was fetched.

use chela_skills::{
    AddSource, FileDifference, LockEntry, RegistryName, ScanVerdict, Skill, SkillOrigin,
    SkillSource, StagedSkill, differences, replace,
};
use serde::Serialize;

use super::fetch::{FetchRequest, stage_source};
use super::registry::SkillRegistries;
use super::trust::{GivenConsent, asked, is_yes};
use super::{InstalledSkills, scan};
use crate::cmd::text_diff::render_diff;
use crate::cmd::{CommandOutcome, CommandSetup};
use crate::fail::{CommandError, CommandExit};
use crate::screen::{Screen, count_noun};

/// A fetched skill, and whether there is a newer one.
#[derive(Debug, Serialize)]
struct OutdatedRow {
    name: String,
    here: String,
    there: Option<String>,
    from: String,
    /// Why nobody can tell.
    unknown: Option<String>,
}

pub async fn outdated(
    setup: &CommandSetup,
    installed: &InstalledSkills,
    screen: &mut Screen,
    json: bool,
) -> CommandOutcome {
    let mut rows = Vec::new();
    for (skill, entry) in fetched(installed) {
        let Some(from) = &entry.from else {
            continue;
        };
        let (there, unknown) = match newest(setup, from).await {
            Ok(version) => (Some(version), None),
            Err(error) => (None, Some(error.message)),
        };
        rows.push(OutdatedRow {
            name: skill.name.clone(),
            here: version_here(from, &entry),
            there,
            from: from.to_string(),
            unknown,
        });
    }
    let is_newer = |row: &OutdatedRow| row.there.as_ref().is_some_and(|there| *there != row.here);
    let newer = rows.iter().filter(|row| is_newer(row)).count();
    let exit = match newer {
        0 => CommandExit::Fine,
        _ => CommandExit::Findings,
    };
    if json {
        screen.json(&rows)?;
        return Ok(exit);
    }
    let paint = screen.paint;
    let table: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let there = match (&row.there, &row.unknown) {
                (Some(there), _) if is_newer(row) => paint.accent(format!("→ {there}")),
                (Some(_), _) => paint.dim("newest"),
                (None, why) => paint.warn(why.as_deref().unwrap_or("unknown")),
            };
            vec![paint.bold(&row.name), row.here.clone(), there]
        })
        .collect();
    screen.table("", &table)?;
    screen.line(match (rows.len(), newer) {
        (0, _) => "No skill was fetched from anywhere.".to_owned(),
        (all, 0) => format!("{} fetched, none outdated.", count_noun(all, "skill")),
        (_, newer) => format!(
            "{} outdated: chela skills update",
            count_noun(newer, "skill")
        ),
    })?;
    Ok(exit)
}

/// The fetched skills that are in use.
fn fetched(installed: &InstalledSkills) -> Vec<(Skill, LockEntry)> {
    let lock = installed.shelf.lock();
    let found = lock.fetched_skills().filter_map(|(folder, entry)| {
        let skill = installed.shelf.skill_in(folder)?;
        (skill.source != SkillSource::Downloaded).then(|| (skill, entry.clone()))
    });
    found.collect()
}

fn version_here(from: &SkillOrigin, entry: &LockEntry) -> String {
    match from {
        SkillOrigin::Registry { version, .. } => version.clone(),
        SkillOrigin::Git { commit, .. } => short(commit),
        _ => entry.version.clone().unwrap_or_else(|| "-".to_owned()),
    }
}

fn short(commit: &str) -> String {
    commit.chars().take(12).collect()
}

/// The version that can be had now.
async fn newest(setup: &CommandSetup, from: &SkillOrigin) -> Result<String, CommandError> {
    match from {
        SkillOrigin::Git { source, .. } => {
            let commit = source
                .newest_commit(&setup.host)
                .map_err(CommandError::new)?;
            Ok(short(&commit))
        }
        SkillOrigin::Registry {
            registry,
            owner,
            name,
            ..
        } => {
            let registries = SkillRegistries::of(&setup.host, &setup.loaded, Some(registry));
            let name = RegistryName {
                owner: owner.clone(),
                name: name.clone(),
                version: None,
            };
            Ok(registries.look_up(&name).await?.version)
        }
        SkillOrigin::Path { .. } | SkillOrigin::Web { .. } => {
            Err(CommandError::new("only `skills update` can tell"))
        }
    }
}

pub async fn update(
    setup: &CommandSetup,
    installed: &mut InstalledSkills,
    screen: &mut Screen,
    (names, consent): (&[String], GivenConsent),
) -> CommandOutcome {
    let all = fetched(installed);
    let mut chosen = Vec::new();
    for name in names {
        let found = all.iter().find(|(skill, _)| skill.name == *name);
        chosen.push(found.cloned().ok_or_else(|| not_fetched(installed, name))?);
    }
    let chosen = if names.is_empty() { all } else { chosen };
    let mut left = 0;
    for (skill, entry) in &chosen {
        if !update_one(setup, installed, screen, (skill, entry), consent).await? {
            left += 1;
        }
    }
    if chosen.is_empty() {
        screen.line("No skill was fetched from anywhere.")?;
    }
    Ok(match left {
        0 => CommandExit::Fine,
        _ => CommandExit::Findings,
    })
}

fn not_fetched(installed: &InstalledSkills, name: &str) -> CommandError {
    match installed.skills.get(name) {
        Some(_) => CommandError::new(format!("`{name}` was not fetched from anywhere"))
            .hint("only what `skills add` fetched, and you trust, can be updated"),
        None => installed.unknown(name),
    }
}

/// Shows what a newer version changes, and puts it in place when the owner agrees; false when it is
/// left.
async fn update_one(
    setup: &CommandSetup,
    installed: &mut InstalledSkills,
    screen: &mut Screen,
    (here, entry): (&Skill, &LockEntry),
    consent: GivenConsent,
) -> Result<bool, CommandError> {
    let Some(from) = &entry.from else {
        return Ok(true);
    };
    let registry = match from {
        SkillOrigin::Registry { registry, .. } => Some(registry.as_str()),
        _ => None,
    };
    let request = FetchRequest {
        source: "",
        only: Some(&here.name),
        registry,
    };
    let (staged, warnings) = stage_source(setup, AddSource::of_origin(from), request).await?;
    let newer = staged.skills().first().cloned().ok_or_else(|| {
        CommandError::new(format!("{from} has no skill `{}` any more", here.name))
    })?;
    let paint = screen.paint;
    if newer.skill.tree == here.tree {
        screen.line(format!("{} is up to date.", paint.bold(&here.name)))?;
        return Ok(true);
    }
    if entry.tree != here.tree {
        let told = format!(
            "{} was changed here since you trusted it; an update would undo that",
            here.name
        );
        crate::chat::print_warning(paint, &told);
    }
    screen.line(format!(
        "{}  {} → {}",
        paint.bold(&here.name),
        version_here(from, entry),
        version_of(staged.origin(), &newer)
    ))?;
    for warning in warnings {
        crate::chat::print_warning(paint, &warning);
    }
    for difference in differences(here, &staged, &newer) {
        print_difference(screen, &difference)?;
    }
    for finding in &newer.report.findings {
        scan::print_finding(screen, "  ", finding)?;
    }
    if !agrees(screen, (here, &newer), consent)? {
        screen.line(format!("{} was left as it is.", here.name))?;
        return Ok(false);
    }
    crate::cmd::change_records::record_change(
        &installed.host,
        chela_ledger::AuditKind::TrustChange,
        &serde_json::json!({ "change": "update", "about": here.name }),
    );
    let host = installed.host.clone();
    replace(&mut installed.shelf, here, (&staged, &newer), &host).map_err(CommandError::new)?;
    screen.line(format!(
        "{} is updated, and trusted as it is now.",
        here.name
    ))?;
    if !entry.granted.is_empty() {
        let told = format!(
            "what was granted to the version before is not granted to this one: chela skills trust \
                {} --grant",
            here.name
        );
        screen.paragraph("", &told)?;
    }
    Ok(true)
}

fn version_of(origin: &SkillOrigin, newer: &StagedSkill) -> String {
    match origin {
        SkillOrigin::Registry { version, .. } => version.clone(),
        SkillOrigin::Git { commit, .. } => short(commit),
        _ => newer
            .skill
            .front
            .version
            .clone()
            .unwrap_or_else(|| "-".to_owned()),
    }
}

fn print_difference(screen: &mut Screen, difference: &FileDifference) -> std::io::Result<()> {
    let paint = screen.paint;
    let what = match (&difference.before, &difference.after) {
        (None, _) => "added",
        (_, None) => "removed",
        _ => "changed",
    };
    screen.line(format!("  {} {what}", paint.bold(&difference.path)))?;
    let text = |side: &Option<Option<String>>| match side {
        None => Some(String::new()),
        Some(text) => text.clone(),
    };
    match (text(&difference.before), text(&difference.after)) {
        (Some(before), Some(after)) => screen.raw(&render_diff(&before, &after, paint)),
        _ => screen.line(paint.dim("    not text")),
    }
}

/// Whether the owner wants it. What the scan calls dangerous needs more than a plain yes.
fn agrees(
    screen: &mut Screen,
    (here, newer): (&Skill, &StagedSkill),
    consent: GivenConsent,
) -> Result<bool, CommandError> {
    let is_dangerous = newer.report.verdict == ScanVerdict::Dangerous;
    if consent.yes && (!is_dangerous || consent.despite_scan) {
        return Ok(true);
    }
    if consent.yes {
        let fail = CommandError::new(format!(
            "the scan calls the newer version of {} dangerous; nothing was changed",
            here.name
        ));
        return Err(fail.hint("if you know better, add --despite-scan"));
    }
    let name = &here.name;
    let answer = match is_dangerous {
        true => asked(
            screen,
            "The scan calls it dangerous. Type its name to use it all the same: ",
        )?
        .is_some_and(|answer| answer.trim() == name),
        false => asked(screen, &format!("Use this version of {name}? [y/N] "))?
            .is_some_and(|answer| is_yes(&answer)),
    };
    Ok(answer)
}
