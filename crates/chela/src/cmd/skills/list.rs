//! `chela skills list`.

use chela_core::tokens;
use chela_skills::{AgentSkill, Presence, RootState, TrustState};
use serde_json::{Value, json};

use super::{Desk, mark};
use crate::cmd::Outcome;
use crate::fail::Exit;
use crate::screen::{Screen, counted, grouped, shorten};

pub fn run(desk: Desk, screen: &mut Screen, all: bool, json: bool) -> Outcome {
    let listing = desk.skills.listing();
    let list_tokens = tokens::count(&listing.text);
    if json {
        screen.json(&json!({
            "agent": desk.agent,
            "skills": desk.skills.skills().iter().map(as_json).collect::<Vec<_>>(),
            "shadowed": shadowed(&desk),
            "skipped": skipped(&desk),
            "roots": roots(&desk),
            "listing": {
                "chars": listing.text.chars().count(), "tokens": list_tokens,
                "described": listing.report.described, "namesOnly": listing.report.names_only,
                "leftOut": listing.report.left_out, "descriptionCap": listing.report.description_cap,
            },
        }))?;
        return Ok(Exit::Fine);
    }
    let paint = screen.paint;
    let skills = desk.skills.skills();
    let in_prompt = skills
        .iter()
        .filter(|skill| skill.presence() == Presence::Listed)
        .count();
    screen.line(format!(
        "{} of agent {}, {} in the prompt for {} tokens",
        counted(skills.len(), "skill"),
        paint.bold(&desk.agent),
        grouped(in_prompt),
        grouped(list_tokens),
    ))?;
    let width = screen.width.saturating_sub(44).max(24);
    let rows: Vec<Vec<String>> = skills
        .iter()
        .map(|skill| row(skill, screen, width))
        .collect();
    screen.table("  ", &rows)?;
    told_about_budget(screen, &listing.report)?;
    if all {
        everything_else(&desk, screen)?;
    } else {
        let catalog = desk.shelf.catalog();
        let more = catalog.shadowed.len() + catalog.skipped.len();
        if more > 0 {
            screen.line(paint.dim(format!(
                "{} shadowed or skipped; `chela skills list --all` shows why",
                counted(more, "more folder")
            )))?;
        }
    }
    if let Some(problem) = &desk.shelf.bundled_problem {
        screen.line(format!(
            "{} the bundled skills are missing: {problem}",
            paint.warn("note:")
        ))?;
    }
    Ok(Exit::Fine)
}

fn row(skill: &AgentSkill, screen: &Screen, width: usize) -> Vec<String> {
    let paint = screen.paint;
    let presence = skill.presence();
    let state = skill.entry.trust.state;
    let said = match presence {
        Presence::Hidden => skill
            .hidden
            .first()
            .map(|hidden| hidden.reason.clone())
            .unwrap_or_default(),
        Presence::Quarantined => skill.entry.trust.reason.clone(),
        Presence::Listed | Presence::OnCall => skill.skill().description.clone(),
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

fn told_about_budget(
    screen: &mut Screen,
    report: &chela_skills::ListingReport,
) -> std::io::Result<()> {
    let paint = screen.paint;
    if let Some(cap) = report.description_cap {
        screen.line(paint.dim(format!(
            "Descriptions are cut to {cap} characters to fit skills.limits.maxSkillsPromptChars."
        )))?;
    }
    if !report.names_only.is_empty() {
        let named = counted(report.names_only.len(), "skill");
        screen.line(paint.dim(format!("Listed by name and place only: {named}.")))?;
    }
    if !report.left_out.is_empty() {
        screen.line(paint.warn(format!(
            "{} not in the list at all: raise skills.limits.maxSkillsPromptChars",
            grouped(report.left_out.len())
        )))?;
    }
    Ok(())
}

fn everything_else(desk: &Desk, screen: &mut Screen) -> std::io::Result<()> {
    let paint = screen.paint;
    let catalog = desk.shelf.catalog();
    if !catalog.shadowed.is_empty() {
        screen.blank()?;
        screen.line(paint.bold("Shadowed by another of the same name"))?;
        let rows = catalog.shadowed.iter().map(|shadowed| {
            vec![
                shadowed.skill.name.clone(),
                desk.host.compact(&shadowed.skill.folder),
                paint.dim(format!("by {}", desk.host.compact(&shadowed.by.folder))),
            ]
        });
        screen.table("  ", &rows.collect::<Vec<_>>())?;
    }
    if !catalog.skipped.is_empty() {
        screen.blank()?;
        screen.line(paint.bold("Skipped"))?;
        for skipped in &catalog.skipped {
            screen.line(format!("  {}", desk.host.compact(&skipped.path)))?;
            screen.paragraph("    ", &skipped.reason.to_string())?;
        }
    }
    screen.blank()?;
    screen.line(paint.bold("Searched, from the last to the first that counts"))?;
    let rows = catalog.roots.iter().map(|report| {
        let found = match &report.state {
            RootState::Missing => paint.dim("not there"),
            RootState::Read => counted(report.candidates, "skill"),
            RootState::Unreadable(why) => paint.warn(why),
        };
        vec![
            report.root.source.to_string(),
            desk.host.compact(&report.root.dir),
            found,
        ]
    });
    screen.table("  ", &rows.collect::<Vec<_>>())
}

/// A skill for scripts.
pub fn as_json(skill: &AgentSkill) -> Value {
    let inner = skill.skill();
    json!({
        "name": inner.name,
        "description": inner.description,
        "source": inner.source.to_string(),
        "location": inner.file,
        "version": inner.version_label(),
        "presence": skill.presence(),
        "trust": skill.entry.trust,
        "hidden": skill.hidden,
        "tokens": chela_skills::entry_tokens(inner),
        "findings": inner.findings,
    })
}

fn shadowed(desk: &Desk) -> Vec<Value> {
    let all = desk.shelf.catalog().shadowed.iter();
    all.map(|shadowed| {
        json!({ "name": shadowed.skill.name, "location": shadowed.skill.file, "by": shadowed.by.file, "trust": shadowed.trust })
    })
    .collect()
}

fn skipped(desk: &Desk) -> Vec<Value> {
    let all = desk.shelf.catalog().skipped.iter();
    all.map(|skipped| {
        json!({ "path": skipped.path, "source": skipped.source.to_string(), "reason": skipped.reason.to_string() })
    })
    .collect()
}

fn roots(desk: &Desk) -> Vec<Value> {
    let all = desk.shelf.catalog().roots.iter();
    all.map(|report| {
        json!({ "dir": report.root.dir, "source": report.root.source.to_string(), "state": report.state, "skills": report.candidates })
    })
    .collect()
}
