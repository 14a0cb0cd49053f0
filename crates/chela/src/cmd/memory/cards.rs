//! Skills and tools, ranked by the engine that ranks notes.

use chela_agent::skill_ranker::skill_card;
use chela_memory::{CardIndex, IndexCard};
use serde_json::json;

use super::explained;
use super::search::SearchRequest;
use crate::cli::AgentArg;
use crate::cmd::{CommandOutcome, CommandSetup, skills};
use crate::fail::{CommandError, CommandExit};
use crate::screen::{Screen, count_noun, shorten};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CardKind {
    Skill,
    Tool,
}

const MOST: usize = 6;

pub fn run(
    setup: &CommandSetup,
    screen: &mut Screen,
    agent: &AgentArg,
    request: &SearchRequest,
    kind: CardKind,
) -> CommandOutcome {
    let has_days = request.since.is_some() || request.until.is_some() || request.on.is_some();
    if has_days || request.question.trim().is_empty() {
        return Err(CommandError::usage(
            "skills and tools have no days: they are searched by words",
        )
        .hint("chela memory search --in skills WORDS"));
    }
    let installed = skills::open_skills(setup, agent)?;
    let cards: Vec<IndexCard> = match kind {
        CardKind::Skill => {
            let skills = installed.skills.skills().iter().map(|skill| skill.skill());
            skills.map(skill_card).collect()
        }
        CardKind::Tool => chela_agent::tool_cards(
            &setup.host,
            &setup.loaded,
            &installed.agent,
            &installed.skills,
        ),
    };
    let most = request.max_results.unwrap_or(MOST);
    let names = CardIndex::new(&cards)
        .and_then(|mut index| index.find(&request.question, most))
        .map_err(explained)?;
    let found: Vec<&IndexCard> = names
        .iter()
        .filter_map(|name| cards.iter().find(|card| card.name == *name))
        .collect();
    if request.json {
        let results: Vec<_> = found
            .iter()
            .map(|card| json!({ "name": card.name, "text": card.text }))
            .collect();
        screen.json(&json!({
            "query": request.question, "searched": cards.len(), "results": results,
        }))?;
        return Ok(CommandExit::Fine);
    }
    let noun = match kind {
        CardKind::Skill => "skill",
        CardKind::Tool => "tool",
    };
    if found.is_empty() {
        screen.line(format!(
            "Nothing fits among {}.",
            count_noun(cards.len(), noun)
        ))?;
    }
    for card in found {
        let first = card.text.lines().next().unwrap_or_default();
        let width = screen.width.saturating_sub(4).max(40);
        screen.line(screen.paint.accent(&card.name))?;
        screen.line(format!("  {}", shorten(first, width)))?;
    }
    Ok(CommandExit::Fine)
}
