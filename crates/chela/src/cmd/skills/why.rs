//! `chela skills why`: everything that decides about one skill.

use chela_core::tokens;
use chela_skills::{AgentSkill, Presence};
use serde_json::json;

use super::{Desk, list};
use crate::cmd::Outcome;
use crate::fail::Exit;
use crate::screen::{Screen, counted, grouped};

pub fn run(
    desk: &mut Desk,
    screen: &mut Screen,
    name: &str,
    message: Option<&str>,
    json: bool,
) -> Outcome {
    let skill = desk.skill(name)?;
    let inner = skill.skill();
    let listing = desk.skills.listing();
    let report = &listing.report;
    let in_list = |names: &[String]| names.contains(&inner.name);
    let place = if in_list(&report.described) {
        "yes, with its description"
    } else if in_list(&report.names_only) {
        "yes, by name and place"
    } else if in_list(&report.left_out) {
        "no: the budget for skills is too small for all names"
    } else {
        "no"
    };
    let rank = message.map(|message| rank_of(desk, &inner.name, message));
    let command = desk
        .skills
        .commands()
        .find(|(_, known)| known.skill().name == inner.name);
    let command = command.map(|(command, _)| format!("/{command}"));
    let used = desk.shelf.uses.get(&inner.name);
    let entry_tokens = chela_skills::entry_tokens(inner);
    if json {
        let mut value = list::as_json(skill);
        let shadows = desk.shelf.catalog().shadowed_by_name(&inner.name);
        value["agent"] = json!(desk.agent);
        value["inPrompt"] = json!(place);
        value["shadows"] = json!(
            shadows
                .map(|shadowed| &shadowed.skill.file)
                .collect::<Vec<_>>()
        );
        value["command"] = json!(command);
        value["used"] = json!(used);
        value["rank"] = json!(rank);
        screen.json(&value)?;
        return Ok(Exit::Fine);
    }
    let paint = screen.paint;
    screen.line(paint.bold(&inner.name))?;
    let mut rows = vec![(
        "found",
        format!("{} ({})", desk.host.compact(&inner.folder), inner.source),
    )];
    for shadowed in desk.shelf.catalog().shadowed_by_name(&inner.name) {
        let path = desk.host.compact(&shadowed.skill.folder);
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
    rows.extend(gates(skill));
    rows.push(("in prompt", format!("{place} (agent {})", desk.agent)));
    let list_tokens = tokens::count(&listing.text);
    rows.push((
        "costs",
        format!(
            "{entry_tokens} tokens in full; the whole list {}",
            grouped(list_tokens)
        ),
    ));
    rows.push((
        "body",
        format!(
            "{} characters, read only when it is used",
            grouped(inner.body_chars)
        ),
    ));
    match command {
        Some(command) => rows.push(("called by", format!("{command}, /skill {}", inner.name))),
        None => rows.push(("called by", "nobody".to_owned())),
    }
    rows.push((
        "used",
        match used {
            Some(used) => format!(
                "{}, last {}",
                counted(usize::try_from(used.count).unwrap_or(usize::MAX), "time"),
                crate::cmd::time::utc(used.last)
            ),
            None => "never".to_owned(),
        },
    ));
    match rank {
        Some(Some(rank)) => rows.push((
            "rank",
            format!("{rank} of {} for this message", desk.skills.listed().len()),
        )),
        Some(None) => rows.push(("rank", "shares no word with this message".to_owned())),
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
    Ok(Exit::Fine)
}

fn gates(skill: &AgentSkill) -> Vec<(&'static str, String)> {
    if skill.hidden.is_empty() {
        let said = match skill.presence() {
            Presence::OnCall => "open, but it stays out of the prompt (disable-model-invocation)",
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

/// Its place among the listed skills for a message, from 1.
fn rank_of(desk: &Desk, name: &str, message: &str) -> Option<usize> {
    let listed = desk.skills.listed();
    let ranked = desk.skills.rank(message);
    ranked
        .iter()
        .position(|ranked| {
            listed
                .get(ranked.at)
                .is_some_and(|skill| skill.name == name)
        })
        .map(|at| at + 1)
}
