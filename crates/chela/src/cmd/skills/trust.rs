//! `chela skills trust` and `untrust`: the owner's word, given after looking.

use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;

use chela_skills::{
    FirstLook, Skill, SkillContents, SkillScanner, SkillTrust, TrustState, TrustVoucher, accept,
    changes,
};

use super::{InstalledSkills, info};
use crate::cmd::CommandOutcome;
use crate::fail::{CommandError, CommandExit};
use crate::file_trouble::unreadable;
use crate::screen::Screen;

/// Whether a folder is to be trusted or no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FolderTrust {
    Yes,
    No,
}

pub fn trust_skill(
    installed: &mut InstalledSkills,
    screen: &mut Screen,
    name: &str,
    yes: bool,
) -> CommandOutcome {
    let (skill, trust) = waiting(installed, name)?;
    let (paint, state) = (screen.paint, trust.state);
    // One that was only seen is used, but nobody answers for its words yet.
    if state == TrustState::Trusted && trust.voucher != TrustVoucher::Nobody {
        screen.line(format!(
            "This version of {} is already trusted.",
            paint.bold(&skill.name)
        ))?;
        return Ok(CommandExit::Fine);
    }
    screen.line(format!(
        "{}  {}",
        paint.bold(&skill.name),
        paint.warn(match state {
            TrustState::Trusted | TrustState::New => "used; its words do not count as yours yet",
            state => state.as_str(),
        })
    ))?;
    screen.paragraph("  ", &skill.description)?;
    screen.blank()?;
    info::print_contents(screen, &skill, &installed.host)?;
    let lock = installed.shelf.lock();
    let known = lock.entry(&skill).filter(|entry| !entry.files.is_empty());
    let changed = known.map_or_else(Vec::new, |entry| changes(entry, &skill));
    if !changed.is_empty() {
        screen.blank()?;
        screen.line(format!("  {}", paint.bold("Since it was trusted")))?;
        for change in changed {
            screen.line(format!("    {change}"))?;
        }
    }
    info::print_findings(screen, &skill, &FirstLook.scan(&SkillContents::of(&skill)))?;
    screen.blank()?;
    if !yes && !agreed(screen, &format!("Trust this version of {}?", skill.name))? {
        return Err(CommandError::new("nothing was changed").hint(format!(
            "read {}, then: chela skills trust {} --yes",
            installed.host.compact(&skill.file),
            skill.name
        )));
    }
    record(&installed.host, "trust", &skill.name);
    let place = accept(&mut installed.shelf, &skill, &installed.host).map_err(CommandError::new)?;
    screen.line(format!(
        "Trusted. It is in {}.",
        installed.host.compact(&place)
    ))?;
    Ok(CommandExit::Fine)
}

/// The skill of a name that waits for trust: one that another shadows, before one that is used.
fn waiting(installed: &InstalledSkills, name: &str) -> Result<(Skill, SkillTrust), CommandError> {
    let shadowed = installed.shelf.catalog().shadowed_by_name(name);
    let quarantined = shadowed
        .filter(|shadowed| shadowed.trust.state == TrustState::Quarantined)
        .map(|shadowed| (Skill::clone(&shadowed.skill), shadowed.trust.clone()))
        .next();
    let used = installed.shelf.catalog().get(name);
    match (used, quarantined) {
        (Some(entry), None) => Ok((Skill::clone(&entry.skill), entry.trust.clone())),
        (Some(entry), Some(_)) if entry.trust.state == TrustState::Changed => {
            Ok((Skill::clone(&entry.skill), entry.trust.clone()))
        }
        (_, Some(waiting)) => Ok(waiting),
        (None, None) => Err(installed.unknown(name)),
    }
}

fn record(host: &chela_core::Host, what: &str, about: &str) {
    let body = serde_json::json!({ "change": what, "about": about });
    crate::cmd::change_records::record_change(host, chela_ledger::AuditKind::TrustChange, &body);
}

/// Asks on a terminal; without one nobody agreed.
fn agreed(screen: &mut Screen, question: &str) -> Result<bool, CommandError> {
    if !std::io::stdin().is_terminal() {
        return Ok(false);
    }
    screen.flush()?;
    let mut stderr = std::io::stderr().lock();
    write!(stderr, "{question} [y/N] ")?;
    stderr.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(matches!(
        answer.trim().to_ascii_lowercase().as_str(),
        "y" | "yes"
    ))
}

pub fn untrust_skill(
    installed: &mut InstalledSkills,
    screen: &mut Screen,
    name: &str,
) -> CommandOutcome {
    let skill = Skill::clone(installed.skill(name)?.skill());
    let host = installed.host.clone();
    record(&host, "untrust", &skill.name);
    installed
        .shelf
        .change_lock(|lock| lock.untrust(&skill, &host))
        .map_err(CommandError::new)?;
    screen.line(format!(
        "{} is quarantined: it stays in {} and out of every prompt.",
        skill.name,
        host.compact(&skill.folder)
    ))?;
    Ok(CommandExit::Fine)
}

pub fn set_folder_trust(
    installed: &mut InstalledSkills,
    screen: &mut Screen,
    folder: &Path,
    trusted: FolderTrust,
) -> CommandOutcome {
    let host = installed.host.clone();
    let path = std::fs::canonicalize(host.cwd.join(folder))
        .map_err(|error| unreadable(folder.display(), &error))?;
    let shown = host.compact(&path);
    let what = match trusted {
        FolderTrust::Yes => "trust-folder",
        FolderTrust::No => "untrust-folder",
    };
    record(&host, what, &shown);
    installed
        .shelf
        .change_lock(|lock| match trusted {
            FolderTrust::Yes => lock.trust_folder(&path, &host),
            FolderTrust::No => lock.untrust_folder(&path),
        })
        .map_err(CommandError::new)?;
    screen.line(match trusted {
        FolderTrust::Yes => {
            format!("Skills in {shown} are now trusted: new ones are used, changes are shown.")
        }
        FolderTrust::No => format!("Skills in {shown} are quarantined again."),
    })?;
    Ok(CommandExit::Fine)
}
