//! `chela skills why`: everything that decides about one skill.

use chela_agent::skill_ranker::SkillRanker;
use chela_inspect::skill_report::SkillReasons;
use chela_skills::{AgentSkill, SkillPresence};

use super::InstalledSkills;
use crate::cmd::CommandOutcome;
use crate::fail::CommandExit;
use crate::screen::{Screen, count_noun, grouped};

pub fn run(
    installed: &mut InstalledSkills,
    screen: &mut Screen,
    name: &str,
    message: Option<&str>,
    json: bool,
) -> CommandOutcome {
    let skill = installed.skill(name)?;
    let inner = skill.skill();
    let whose = (&installed.agent, &installed.shelf, &installed.skills);
    let rank = message.map(|message| rank_of(installed, &inner.name, message));
    let reasons = SkillReasons::of(whose, skill, rank);
    if json {
        screen.json(&reasons)?;
        return Ok(CommandExit::Fine);
    }
    let paint = screen.paint;
    screen.line(paint.bold(&inner.name))?;
    let mut rows = vec![(
        "found",
        format!(
            "{} ({})",
            installed.host.compact(&inner.folder),
            inner.source
        ),
    )];
    for shadowed in installed.shelf.catalog().shadowed_by_name(&inner.name) {
        let path = installed.host.compact(&shadowed.skill.folder);
        rows.push(("shadows", format!("{path} ({})", shadowed.skill.source)));
    }
    rows.push((
        "trust",
        format!(
            "{}: {}",
            skill.entry.trust.state.as_str(),
            skill.entry.trust.reason
        ),
    ));
    rows.extend(super::trust_hint(skill).map(|hint| ("", hint)));
    rows.extend(gates(skill));
    rows.push((
        "in prompt",
        format!("{} (agent {})", reasons.in_prompt, reasons.agent),
    ));
    rows.push((
        "costs",
        format!(
            "{} tokens in full; the whole list {}",
            reasons.summary.tokens,
            grouped(reasons.listing_tokens)
        ),
    ));
    rows.push((
        "body",
        format!(
            "{} characters, read only when it is used",
            grouped(inner.body_chars)
        ),
    ));
    match reasons.command {
        Some(command) => rows.push(("called by", format!("{command}, /skill {}", inner.name))),
        None => rows.push(("called by", "nobody".to_owned())),
    }
    rows.push((
        "used",
        match reasons.used {
            Some(used) => format!(
                "{}, last {}",
                count_noun(usize::try_from(used.count).unwrap_or(usize::MAX), "time"),
                crate::cmd::time::utc(used.last)
            ),
            None => "never".to_owned(),
        },
    ));
    match reasons.rank {
        Some(Some(rank)) => rows.push((
            "rank",
            format!(
                "{rank} of {} for this message",
                installed.skills.listed().len()
            ),
        )),
        Some(None) => rows.push((
            "rank",
            format!("not among the first {LOOKED_AT} for this message"),
        )),
        None => {}
    }
    let rows: Vec<Vec<String>> = rows
        .into_iter()
        .map(|(name, value)| vec![paint.dim(name), value])
        .collect();
    screen.table("  ", &rows)?;
    for finding in &inner.findings {
        screen.paragraph("  ", &finding.to_string())?;
    }
    Ok(CommandExit::Fine)
}

/// How far down the ranking is looked.
const LOOKED_AT: usize = 100;

fn rank_of(installed: &InstalledSkills, name: &str, message: &str) -> Option<usize> {
    let ranked = SkillRanker::default().rank(&installed.skills, message, LOOKED_AT);
    let place = ranked.iter().position(|skill| skill.name == name);
    place.map(|at| at + 1)
}

fn gates(skill: &AgentSkill) -> Vec<(&'static str, String)> {
    if skill.hidden.is_empty() {
        let said = match skill.presence() {
            SkillPresence::OnCall => {
                "open, but it stays out of the prompt (disable-model-invocation)"
            }
            _ => "open",
        };
        return vec![("gates", said.to_owned())];
    }
    skill
        .hidden
        .iter()
        .map(|hidden| ("closed", hidden.to_string()))
        .collect()
}
