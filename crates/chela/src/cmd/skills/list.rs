//! `chela skills list`.

use chela_inspect::skill_report::{ListingCost, SkillsReport};
use chela_skills::{AgentSkill, RootState, SkillPresence, TrustState};

use super::{InstalledSkills, mark};
use crate::cmd::CommandOutcome;
use crate::fail::CommandExit;
use crate::screen::{Screen, count_noun, grouped, shorten};

pub fn run(
    installed: InstalledSkills,
    screen: &mut Screen,
    all: bool,
    json: bool,
) -> CommandOutcome {
    let report = SkillsReport::of(&installed.agent, &installed.shelf, &installed.skills);
    if json {
        screen.json(&report)?;
        return Ok(CommandExit::Fine);
    }
    let paint = screen.paint;
    let skills = installed.skills.skills();
    let in_prompt = skills
        .iter()
        .filter(|skill| skill.presence() == SkillPresence::Listed)
        .count();
    screen.line(format!(
        "{} of agent {}, {} in the prompt for {} tokens",
        count_noun(skills.len(), "skill"),
        paint.bold(&installed.agent),
        grouped(in_prompt),
        grouped(report.listing.tokens),
    ))?;
    let width = screen.width.saturating_sub(44).max(24);
    let rows: Vec<Vec<String>> = skills
        .iter()
        .map(|skill| row(skill, screen, width))
        .collect();
    screen.table("  ", &rows)?;
    told_about_budget(screen, &report.listing)?;
    told_about_quarantine(screen, skills)?;
    let unscanned = installed.shelf.waiting_looks().len();
    if unscanned > 0 {
        screen.line(paint.dim(format!(
            "{} not scanned yet: chela skills scan",
            count_noun(unscanned, "skill")
        )))?;
    }
    if all {
        everything_else(&installed, screen)?;
    } else {
        let catalog = installed.shelf.catalog();
        let more = catalog.shadowed.len() + catalog.skipped.len();
        if more > 0 {
            screen.line(paint.dim(format!(
                "{} shadowed or skipped; `chela skills list --all` shows why",
                count_noun(more, "more folder")
            )))?;
        }
    }
    if let Some(problem) = &installed.shelf.bundled_problem {
        screen.line(format!(
            "{} the bundled skills are missing: {problem}",
            paint.warn("note:")
        ))?;
    }
    Ok(CommandExit::Fine)
}

/// What waits for the owner: by name while these are few.
fn told_about_quarantine(screen: &mut Screen, skills: &[AgentSkill]) -> std::io::Result<()> {
    const FEW: usize = 5;
    let held = skills
        .iter()
        .filter(|skill| skill.presence() == SkillPresence::Quarantined);
    let names: Vec<&str> = held.map(|skill| skill.skill().name.as_str()).collect();
    if names.len() > FEW {
        let told = format!(
            "{} are not used before you look at them: chela skills trust NAME",
            count_noun(names.len(), "skill")
        );
        return screen.paragraph("", &told);
    }
    for name in names {
        let told = format!("{name} is not used before you look at it: chela skills trust {name}");
        screen.paragraph("", &told)?;
    }
    Ok(())
}

fn row(skill: &AgentSkill, screen: &Screen, width: usize) -> Vec<String> {
    let paint = screen.paint;
    let presence = skill.presence();
    let state = skill.entry.trust.state;
    let said = match presence {
        SkillPresence::Hidden => skill
            .hidden
            .first()
            .map(|hidden| hidden.reason.clone())
            .unwrap_or_default(),
        SkillPresence::Quarantined => skill.entry.trust.reason.clone(),
        SkillPresence::Listed | SkillPresence::OnCall => skill.skill().description.clone(),
    };
    let note = match state {
        TrustState::New => paint.accent("new "),
        TrustState::Changed => paint.warn("changed "),
        TrustState::Trusted | TrustState::Quarantined => String::new(),
    };
    vec![
        mark(presence, paint),
        paint.bold(&skill.skill().name),
        paint.dim(&skill.skill().source),
        format!("{note}{}", shorten(&said, width)),
    ]
}

fn told_about_budget(screen: &mut Screen, report: &ListingCost) -> std::io::Result<()> {
    let paint = screen.paint;
    if let Some(cap) = report.description_cap {
        screen.line(paint.dim(format!(
            "Descriptions are cut to {cap} characters to fit skills.limits.maxSkillsPromptChars."
        )))?;
    }
    if !report.names_only.is_empty() {
        let named = count_noun(report.names_only.len(), "skill");
        screen.line(paint.dim(format!(
            "Listed by name, and described with the messages they fit: {named}."
        )))?;
    }
    if !report.left_out.is_empty() {
        screen.line(paint.dim(format!(
            "Not listed, but described with the messages they fit and found by skills_search: {}.",
            count_noun(report.left_out.len(), "skill")
        )))?;
    }
    Ok(())
}

fn everything_else(installed: &InstalledSkills, screen: &mut Screen) -> std::io::Result<()> {
    let paint = screen.paint;
    let catalog = installed.shelf.catalog();
    if !catalog.shadowed.is_empty() {
        screen.blank()?;
        screen.line(paint.bold("Shadowed by another skill of the same name"))?;
        let rows = catalog.shadowed.iter().map(|shadowed| {
            vec![
                shadowed.skill.name.clone(),
                installed.host.compact(&shadowed.skill.folder),
                paint.dim(format!(
                    "by {}",
                    installed.host.compact(&shadowed.by.folder)
                )),
            ]
        });
        screen.table("  ", &rows.collect::<Vec<_>>())?;
    }
    if !catalog.skipped.is_empty() {
        screen.blank()?;
        screen.line(paint.bold("Skipped"))?;
        for skipped in &catalog.skipped {
            screen.line(format!("  {}", installed.host.compact(&skipped.path)))?;
            screen.paragraph("    ", &skipped.reason.to_string())?;
        }
    }
    screen.blank()?;
    screen.line(paint.bold("Folders searched, lowest priority first"))?;
    let rows = catalog.roots.iter().map(|report| {
        let found = match &report.state {
            RootState::Missing => paint.dim("missing"),
            RootState::Read => count_noun(report.candidates, "skill"),
            RootState::Unreadable(why) => paint.warn(why),
        };
        vec![
            report.root.source.to_string(),
            installed.host.compact(&report.root.dir),
            found,
        ]
    });
    screen.table("  ", &rows.collect::<Vec<_>>())
}
