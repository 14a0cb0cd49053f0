//! `chela skills info`: one skill from head to foot.

use chela_core::Host;
use chela_inspect::skill_report::SkillSummary;
use chela_skills::{
    FileKind, FirstLook, ScanReport, ScanVerdict, Skill, SkillContents, SkillFinding, SkillScanner,
};
use serde_json::json;

use super::{InstalledSkills, mark, scan};
use crate::cmd::CommandOutcome;
use crate::fail::CommandExit;
use crate::screen::{Screen, count_noun, grouped};

pub fn run(
    installed: &mut InstalledSkills,
    screen: &mut Screen,
    name: &str,
    json: bool,
) -> CommandOutcome {
    let agent_skill = installed.skill(name)?;
    let skill = agent_skill.skill();
    let report = FirstLook.scan(&SkillContents::of(skill));
    if json {
        let mut value = serde_json::to_value(SkillSummary::of(agent_skill))?;
        value["files"] = json!(skill.files);
        value["scan"] = json!(report);
        value["license"] = json!(skill.front.license);
        value["homepage"] = json!(skill.homepage());
        value["allowedTools"] = json!(skill.front.allowed_tools);
        screen.json(&value)?;
        return Ok(CommandExit::Fine);
    }
    let paint = screen.paint;
    let emoji = skill
        .front
        .gating
        .emoji
        .as_deref()
        .map(|emoji| format!("{emoji} "));
    screen.line(format!(
        "{}{}  {}",
        emoji.unwrap_or_default(),
        paint.bold(&skill.name),
        mark(agent_skill.presence(), paint)
    ))?;
    screen.paragraph("  ", &skill.description)?;
    screen.blank()?;
    for hidden in &agent_skill.hidden {
        screen.line(format!("  {} {}", paint.warn("hidden:"), hidden.reason))?;
        screen.line(format!("    {} {}", paint.accent("try:"), hidden.fix))?;
    }
    print_contents(screen, skill, &installed.host)?;
    print_findings(screen, skill, &report)?;
    if let Some(hint) = super::trust_hint(agent_skill) {
        screen.blank()?;
        screen.paragraph("  ", &hint)?;
    }
    Ok(CommandExit::Fine)
}

/// Where it is, what it asks for, what files it has.
pub fn print_contents(screen: &mut Screen, skill: &Skill, host: &Host) -> std::io::Result<()> {
    let paint = screen.paint;
    let gating = &skill.front.gating;
    let requires = &gating.requires;
    let words = |words: &[String]| words.join(", ");
    let mut rows: Vec<(&str, String)> = vec![
        (
            "place",
            format!("{} ({})", host.compact(&skill.folder), skill.source),
        ),
        ("version", skill.version_label()),
    ];
    let optional = [
        ("license", skill.front.license.clone()),
        ("homepage", skill.homepage().map(str::to_owned)),
        ("needs", skill.front.compatibility.clone()),
        ("systems", some(words(&gating.os))),
        ("programs", some(words(&requires.bins))),
        ("one of", some(words(&requires.any_bins))),
        ("variables", some(words(&requires.env))),
        ("config", some(words(&requires.config))),
        ("tools", skill.front.allowed_tools.as_deref().map(words)),
    ];
    rows.extend(
        optional
            .into_iter()
            .filter_map(|(name, value)| Some((name, value?))),
    );
    let table: Vec<Vec<String>> = rows
        .into_iter()
        .map(|(name, value)| vec![paint.dim(name), value])
        .collect();
    screen.table("  ", &table)?;
    screen.blank()?;
    screen.line(format!("  {}", count_noun(skill.files.len(), "file")))?;
    let files: Vec<Vec<String>> = skill
        .files
        .iter()
        .take(40)
        .map(|file| {
            let kind = match file.kind {
                FileKind::Plain => String::new(),
                FileKind::Executable => paint.warn("program"),
                FileKind::Link => paint.warn("link"),
            };
            vec![
                file.path.clone(),
                format!(
                    "{:>8}",
                    grouped(usize::try_from(file.bytes).unwrap_or(usize::MAX))
                ),
                kind,
            ]
        })
        .collect();
    screen.table("    ", &files)
}

/// What the scan and the reading found.
pub fn print_findings(
    screen: &mut Screen,
    skill: &Skill,
    report: &ScanReport,
) -> std::io::Result<()> {
    let paint = screen.paint;
    let scanned = |finding: &SkillFinding| {
        let known = |other: &SkillFinding| {
            (&other.file, other.line, other.code) == (&finding.file, finding.line, finding.code)
        };
        report.findings.iter().any(known)
    };
    let read: Vec<&SkillFinding> = skill
        .findings
        .iter()
        .filter(|finding| !scanned(finding))
        .collect();
    screen.blank()?;
    if report.findings.is_empty() && read.is_empty() {
        return screen.line(format!("  the {} found nothing suspicious", report.scanner));
    }
    let verdict = match report.verdict {
        ScanVerdict::Clean => paint.good(report.verdict.as_str()),
        ScanVerdict::Suspicious => paint.warn(report.verdict.as_str()),
        ScanVerdict::Dangerous => paint.bad(report.verdict.as_str()),
    };
    screen.line(format!(
        "  {} (the {} says: {verdict})",
        paint.bold("Notes"),
        report.scanner
    ))?;
    for finding in report.findings.iter().chain(read) {
        scan::print_finding(screen, "    ", finding)?;
    }
    Ok(())
}

fn some(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}
