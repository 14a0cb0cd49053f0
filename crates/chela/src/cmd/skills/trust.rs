//! `chela skills trust` and `untrust`: the owner's word, given after looking.

use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;

use chela_skills::{FirstLook, Skill, SkillContents, SkillScanner, TrustState, accept, changes};

use super::{Desk, info};
use crate::cmd::Outcome;
use crate::fail::{Exit, Fail};
use crate::screen::Screen;

/// Whether a folder is to be trusted or no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trusted {
    Yes,
    No,
}

pub fn skill(desk: &mut Desk, screen: &mut Screen, name: &str, yes: bool) -> Outcome {
    let (skill, state) = waiting(desk, name)?;
    let paint = screen.paint;
    if state == TrustState::Trusted {
        screen.line(format!(
            "{} is trusted already in this version.",
            paint.bold(&skill.name)
        ))?;
        return Ok(Exit::Fine);
    }
    screen.line(format!(
        "{}  {}",
        paint.bold(&skill.name),
        paint.warn(state.as_str())
    ))?;
    screen.paragraph("  ", &skill.description)?;
    screen.blank()?;
    info::contents(screen, &skill, &desk.host)?;
    if let Some(entry) = desk
        .shelf
        .lock()
        .entry(&skill)
        .filter(|entry| !entry.files.is_empty())
    {
        screen.blank()?;
        screen.line(format!("  {}", paint.bold("Since it was trusted")))?;
        for change in changes(entry, &skill) {
            screen.line(format!("    {change}"))?;
        }
    }
    info::findings(screen, &skill, &FirstLook.scan(&SkillContents::of(&skill)))?;
    screen.blank()?;
    if !yes && !agreed(screen, &format!("Trust {} in this version?", skill.name))? {
        return Err(Fail::new("nothing was changed").hint(format!(
            "read {}, then: chela skills trust {} --yes",
            desk.host.compact(&skill.file),
            skill.name
        )));
    }
    record(&desk.host, "trust", &skill.name);
    let place = accept(&mut desk.shelf, &skill, &desk.host).map_err(Fail::new)?;
    screen.line(format!(
        "Trusted. It lies in {}.",
        desk.host.compact(&place)
    ))?;
    Ok(Exit::Fine)
}

/// The skill of a name that waits for trust: one that another shadows, before one that is used.
fn waiting(desk: &Desk, name: &str) -> Result<(Skill, TrustState), Fail> {
    let shadowed = desk.shelf.catalog().shadowed_by_name(name);
    let quarantined = shadowed
        .filter(|shadowed| shadowed.trust.state == TrustState::Quarantined)
        .map(|shadowed| (Skill::clone(&shadowed.skill), shadowed.trust.state))
        .next();
    let used = desk.shelf.catalog().get(name);
    match (used, quarantined) {
        (Some(entry), None) => Ok((Skill::clone(&entry.skill), entry.trust.state)),
        (Some(entry), Some(_)) if entry.trust.state == TrustState::Changed => {
            Ok((Skill::clone(&entry.skill), entry.trust.state))
        }
        (_, Some(waiting)) => Ok(waiting),
        (None, None) => Err(desk.unknown(name)),
    }
}

fn record(host: &chela_core::Host, what: &str, about: &str) {
    let body = serde_json::json!({ "change": what, "about": about });
    crate::cmd::noted::change(host, chela_ledger::AuditKind::TrustChange, &body);
}

/// Asks on a terminal; without one nobody agreed.
fn agreed(screen: &mut Screen, question: &str) -> Result<bool, Fail> {
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

pub fn untrust(desk: &mut Desk, screen: &mut Screen, name: &str) -> Outcome {
    let skill = Skill::clone(desk.skill(name)?.skill());
    let host = desk.host.clone();
    record(&host, "untrust", &skill.name);
    desk.shelf
        .change_lock(|lock| lock.untrust(&skill, &host))
        .map_err(Fail::new)?;
    screen.line(format!(
        "{} is quarantined: it stays in {} and out of every prompt.",
        skill.name,
        host.compact(&skill.folder)
    ))?;
    Ok(Exit::Fine)
}

pub fn folder(desk: &mut Desk, screen: &mut Screen, folder: &Path, trusted: Trusted) -> Outcome {
    let host = desk.host.clone();
    let path = std::fs::canonicalize(host.cwd.join(folder))
        .map_err(|error| Fail::new(format!("cannot find {}: {error}", folder.display())))?;
    let shown = host.compact(&path);
    let what = match trusted {
        Trusted::Yes => "trust-folder",
        Trusted::No => "untrust-folder",
    };
    record(&host, what, &shown);
    desk.shelf
        .change_lock(|lock| match trusted {
            Trusted::Yes => lock.trust_folder(&path, &host),
            Trusted::No => lock.untrust_folder(&path),
        })
        .map_err(Fail::new)?;
    screen.line(match trusted {
        Trusted::Yes => format!(
            "Skills of {shown} now count as your own: new ones are used, changes are shown."
        ),
        Trusted::No => format!("Skills of {shown} are quarantined again."),
    })?;
    Ok(Exit::Fine)
}
