//! `chela skills scan`: what the files of a skill would do, line by line.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Mutex;

use chela_config::Severity;
use chela_core::{lock, ok_or_warn};
use chela_skills::{
    FirstLook, ScanReport, ScanVerdict, SkillContents, SkillFinding, SkillPackage, SkillScanner,
    SkillSource, inspect,
};
use serde_json::json;

use super::InstalledSkills;
use crate::cmd::CommandOutcome;
use crate::fail::{CommandError, CommandExit};
use crate::screen::{Screen, count_noun};

pub fn run(
    installed: &mut InstalledSkills,
    screen: &mut Screen,
    what: &[String],
    json: bool,
) -> CommandOutcome {
    let seen = RememberedScans::default();
    if what.is_empty() {
        let settled = installed.shelf.settle(&seen);
        ok_or_warn!(settled, "no note is kept of what was scanned");
    }
    let scanned = scanned(installed, what, &seen)?;
    let worst = scanned.iter().map(|scanned| scanned.report.verdict).max();
    let exit = match worst {
        Some(ScanVerdict::Suspicious | ScanVerdict::Dangerous) => CommandExit::Findings,
        _ => CommandExit::Fine,
    };
    if json {
        let rows = scanned.iter().map(|scanned| {
            json!({
                "name": scanned.name, "folder": scanned.folder,
                "verdict": scanned.report.verdict, "findings": scanned.report.findings,
            })
        });
        screen.json(&rows.collect::<Vec<_>>())?;
        return Ok(exit);
    }
    for scanned in &scanned {
        print(installed, screen, scanned)?;
    }
    let count = |verdict| {
        let alike = scanned
            .iter()
            .filter(|scanned| scanned.report.verdict == verdict);
        alike.count()
    };
    let (dangerous, suspicious) = (
        count(ScanVerdict::Dangerous),
        count(ScanVerdict::Suspicious),
    );
    screen.line(match (scanned.len(), dangerous, suspicious) {
        (0, ..) => "Only bundled skills; nothing to scan.".to_owned(),
        (all, 0, 0) => format!("{} scanned, nothing suspicious.", count_noun(all, "skill")),
        (all, dangerous, suspicious) => format!(
            "{} scanned: {dangerous} dangerous, {suspicious} suspicious.",
            count_noun(all, "skill")
        ),
    })?;
    Ok(exit)
}

/// Scans, and remembers what it saw, so that a skill is scanned once.
#[derive(Default)]
struct RememberedScans(Mutex<HashMap<PathBuf, ScanReport>>);

impl SkillScanner for RememberedScans {
    fn scan(&self, contents: &SkillContents<'_>) -> ScanReport {
        let folder = &contents.skill.folder;
        if let Some(known) = lock(&self.0).get(folder) {
            return known.clone();
        }
        let report = FirstLook.scan(contents);
        lock(&self.0).insert(folder.clone(), report.clone());
        report
    }
}

struct Scanned {
    name: String,
    folder: PathBuf,
    report: ScanReport,
}

/// The named skills and folders; without a name all skills that are not ours.
fn scanned(
    installed: &InstalledSkills,
    what: &[String],
    seen: &RememberedScans,
) -> Result<Vec<Scanned>, CommandError> {
    let mut scanned = Vec::new();
    let of_folder = |folder: PathBuf| Scanned {
        name: folder
            .file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
        report: inspect(&SkillPackage::read(&folder)),
        folder,
    };
    let of_skill = |skill: &chela_skills::Skill| Scanned {
        name: skill.name.clone(),
        folder: skill.folder.clone(),
        report: seen.scan(&SkillContents::of(skill)),
    };
    for named in what {
        let path = installed.host.expand(named);
        scanned.push(match installed.skills.get(named) {
            Some(skill) if !named.contains('/') => of_skill(skill.skill()),
            _ if path
                .read_dir()
                .is_ok_and(|mut inside| inside.next().is_none()) =>
            {
                return Err(CommandError::new(format!("there is nothing in {named}")));
            }
            _ if path.is_dir() => of_folder(path),
            _ => match installed.shelf.catalog().skipped_by_name(named).next() {
                Some(skipped) => of_folder(skipped.path.clone()),
                None if path.exists() => {
                    let fail =
                        CommandError::new(format!("{named} is a file, and a skill is a folder"));
                    return Err(fail.hint("give its folder"));
                }
                None if named.contains('/') => {
                    let fail = CommandError::new(format!("there is no folder {named}"));
                    return Err(fail.hint("`chela skills list` shows the skills"));
                }
                None => return Err(installed.unknown(named)),
            },
        });
    }
    if what.is_empty() {
        let found = installed.skills.skills().iter().map(|skill| skill.skill());
        scanned.extend(
            found
                .filter(|skill| skill.source != SkillSource::Bundled)
                .map(of_skill),
        );
        let skipped = installed.shelf.catalog().skipped.iter();
        scanned.extend(
            skipped
                .filter(|skipped| skipped.path.is_dir())
                .map(|skipped| of_folder(skipped.path.clone())),
        );
    }
    Ok(scanned)
}

fn print(
    installed: &InstalledSkills,
    screen: &mut Screen,
    scanned: &Scanned,
) -> std::io::Result<()> {
    let paint = screen.paint;
    let verdict = match scanned.report.verdict {
        ScanVerdict::Clean => paint.good("clean"),
        ScanVerdict::Suspicious => paint.warn("suspicious"),
        ScanVerdict::Dangerous => paint.bad("dangerous"),
    };
    let place = paint.dim(installed.host.compact(&scanned.folder));
    screen.line(format!("{verdict} {} {place}", paint.bold(&scanned.name)))?;
    for found in &scanned.report.findings {
        print_finding(screen, "  ", found)?;
    }
    Ok(())
}

/// One finding: how bad, where, what it would do, and the line itself.
pub fn print_finding(
    screen: &mut Screen,
    indent: &str,
    finding: &SkillFinding,
) -> std::io::Result<()> {
    let paint = screen.paint;
    let mark = match finding.severity {
        Severity::Error => paint.bad("!!"),
        Severity::Warning => paint.warn("! "),
        Severity::Note => paint.dim("- "),
    };
    screen.line(format!("{indent}{mark} {finding} [{}]", finding.code))?;
    if let Some(excerpt) = &finding.excerpt {
        screen.line(paint.dim(format!("{indent}     {excerpt}")))?;
    }
    Ok(())
}
