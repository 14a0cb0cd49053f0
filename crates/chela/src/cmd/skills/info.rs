//! `chela skills info`: one skill from head to foot.

use chela_core::Host;
use chela_skills::{
    FileKind, Finding, FirstLook, ScanReport, ScanVerdict, Skill, SkillContents, SkillScanner,
};
use serde_json::json;

use super::{Desk, list, mark, scan};
use crate::cmd::Outcome;
use crate::fail::Exit;
use crate::screen::{Screen, counted, grouped};

pub fn run(desk: &mut Desk, screen: &mut Screen, name: &str, json: bool) -> Outcome {
    let agent_skill = desk.skill(name)?;
    let skill = agent_skill.skill();
    let report = FirstLook.scan(&SkillContents::of(skill));
    if json {
        let mut value = list::as_json(agent_skill);
        value["files"] = json!(skill.files);
        value["scan"] = json!(report);
        value["license"] = json!(skill.front.license);
        value["homepage"] = json!(skill.homepage());
        value["allowedTools"] = json!(skill.front.allowed_tools);
        screen.json(&value)?;
        return Ok(Exit::Fine);
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
    contents(screen, skill, &desk.host)?;
    findings(screen, skill, &report)?;
    Ok(Exit::Fine)
}

/// Where it is, what it asks for, what files it has.
pub fn contents(screen: &mut Screen, skill: &Skill, host: &Host) -> std::io::Result<()> {
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
    screen.line(format!("  {}", counted(skill.files.len(), "file")))?;
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
pub fn findings(screen: &mut Screen, skill: &Skill, report: &ScanReport) -> std::io::Result<()> {
    let paint = screen.paint;
    let scanned = |finding: &Finding| {
        let known = |other: &Finding| {
            (&other.file, other.line, other.code) == (&finding.file, finding.line, finding.code)
        };
        report.findings.iter().any(known)
    };
    let read: Vec<&Finding> = skill
        .findings
        .iter()
        .filter(|finding| !scanned(finding))
        .collect();
    screen.blank()?;
    if report.findings.is_empty() && read.is_empty() {
        return screen.line(format!(
            "  the {} found nothing that stands out",
            report.scanner
        ));
    }
    let verdict = match report.verdict {
        ScanVerdict::Clean => paint.good(report.verdict.as_str()),
        ScanVerdict::Suspicious => paint.warn(report.verdict.as_str()),
        ScanVerdict::Dangerous => paint.bad(report.verdict.as_str()),
    };
    screen.line(format!(
        "  {} (the {} says: {verdict})",
        paint.bold("Worth knowing"),
        report.scanner
    ))?;
    for finding in report.findings.iter().chain(read) {
        scan::finding(screen, "    ", finding)?;
    }
    Ok(())
}

fn some(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}
