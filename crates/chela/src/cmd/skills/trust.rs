//! `chela skills trust` and `untrust`: the owner's word, given after looking.

use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;

use chela_skills::{
    FirstLook, ScanReport, ScanVerdict, Skill, SkillContents, SkillScanner, SkillTrust, TrustState,
    TrustVoucher, accept, changes,
};
use chela_tools::approvals::SkillRequest;

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

/// What was said on the command line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GivenConsent {
    pub yes: bool,
    pub despite_scan: bool,
    pub grant: bool,
}

pub fn trust_skill(
    installed: &mut InstalledSkills,
    screen: &mut Screen,
    name: &str,
    consent: GivenConsent,
) -> CommandOutcome {
    let (skill, trust) = waiting(installed, name)?;
    let (paint, state) = (screen.paint, trust.state);
    // One that was only seen is used, but nobody answers for its words yet.
    let is_trusted = state == TrustState::Trusted && trust.voucher != TrustVoucher::Nobody;
    if is_trusted && !consent.grant {
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
    let report = FirstLook.scan(&SkillContents::of(&skill));
    info::print_findings(screen, &skill, &report)?;
    let requests = SkillRequests::of(&skill);
    requests.print(screen)?;
    screen.blank()?;
    check_consent(installed, screen, (&skill, &report), consent)?;
    let granted = requests.granted(screen, &skill, consent)?;
    record(&installed.host, "trust", &skill.name);
    let place = accept(&mut installed.shelf, &skill, &granted, &installed.host)
        .map_err(CommandError::new)?;
    screen.line(format!(
        "Trusted. It is in {}.",
        installed.host.compact(&place)
    ))?;
    if !granted.is_empty() {
        let granted = granted.join(", ");
        screen.line(format!(
            "While it is in use these need no approval: {granted}"
        ))?;
    }
    Ok(CommandExit::Fine)
}

/// Whether the owner said yes to what is shown. What the scan calls dangerous needs more than a
/// plain yes, which hands are quick to type.
fn check_consent(
    installed: &InstalledSkills,
    screen: &mut Screen,
    (skill, report): (&Skill, &ScanReport),
    consent: GivenConsent,
) -> Result<(), CommandError> {
    let name = &skill.name;
    let is_dangerous = report.verdict == ScanVerdict::Dangerous;
    let mut flags = "--yes".to_owned();
    let agreed = match (is_dangerous, consent.yes) {
        (false, true) => true,
        (false, false) => asked(screen, &format!("Trust this version of {name}? [y/N] "))?
            .is_some_and(|answer| is_yes(&answer)),
        (true, _) if consent.despite_scan && consent.yes => true,
        (true, true) => false,
        (true, false) => {
            flags.push_str(" --despite-scan");
            let question = "The scan calls it dangerous. Type its name to trust it all the same: ";
            asked(screen, question)?.is_some_and(|answer| answer.trim() == name)
        }
    };
    if agreed {
        return Ok(());
    }
    if is_dangerous && consent.yes {
        let fail = CommandError::new(format!(
            "nothing was changed: the scan calls {name} dangerous"
        ));
        return Err(fail.hint(format!(
            "if you know better: chela skills trust {name} --yes --despite-scan"
        )));
    }
    Err(CommandError::new("nothing was changed").hint(format!(
        "read {}, then: chela skills trust {name} {flags}",
        installed.host.compact(&skill.file),
    )))
}

/// What a skill asks for beside being read.
struct SkillRequests {
    /// Commands that can be granted, as they are written.
    commands: Vec<String>,
    /// What cannot, and why.
    others: Vec<(String, String)>,
    model: Option<String>,
}

impl SkillRequests {
    fn of(skill: &Skill) -> Self {
        let mut requests = Self {
            commands: Vec::new(),
            others: Vec::new(),
            model: skill.front.model.clone(),
        };
        for written in skill.front.allowed_tools.iter().flatten() {
            match SkillRequest::read(written) {
                SkillRequest::Commands(_) => requests.commands.push(written.clone()),
                SkillRequest::AnyCommand(why) => {
                    requests.others.push((written.clone(), why.to_owned()));
                }
                SkillRequest::Tool(_) => requests.others.push((
                    written.clone(),
                    "needs no grant: your rules decide as for everything".to_owned(),
                )),
            }
        }
        requests
    }

    fn print(&self, screen: &mut Screen) -> std::io::Result<()> {
        if self.commands.is_empty() && self.others.is_empty() && self.model.is_none() {
            return Ok(());
        }
        let paint = screen.paint;
        screen.blank()?;
        screen.line(format!("  {}", paint.bold("It asks for")))?;
        for command in &self.commands {
            screen.line(format!("    {command}  {}", paint.dim("can be granted")))?;
        }
        for (written, why) in &self.others {
            screen.line(format!("    {written}  {}", paint.dim(why)))?;
        }
        if let Some(model) = &self.model {
            let told = paint.dim("answers when you call it, if it is one of your models");
            screen.line(format!("    model {model}  {told}"))?;
        }
        Ok(())
    }

    /// What the owner grants of it.
    fn granted(
        &self,
        screen: &mut Screen,
        skill: &Skill,
        consent: GivenConsent,
    ) -> Result<Vec<String>, CommandError> {
        if self.commands.is_empty() {
            return Ok(Vec::new());
        }
        let question = format!(
            "Let {} run {} without asking while it is in use? [y/N] ",
            skill.name,
            self.commands.join(", ")
        );
        let grants = match consent {
            GivenConsent { grant: true, .. } => true,
            GivenConsent { yes: true, .. } => false,
            _ => asked(screen, &question)?.is_some_and(|answer| is_yes(&answer)),
        };
        Ok(match grants {
            true => self.commands.clone(),
            false => Vec::new(),
        })
    }
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

/// Asks on a terminal; without one nobody answers.
pub fn asked(screen: &mut Screen, question: &str) -> Result<Option<String>, CommandError> {
    if !std::io::stdin().is_terminal() {
        return Ok(None);
    }
    screen.flush()?;
    let mut stderr = std::io::stderr().lock();
    write!(stderr, "{question}")?;
    stderr.flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    Ok(Some(answer))
}

pub fn is_yes(answer: &str) -> bool {
    matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes")
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
