//! `chela skills bench`: does the right skill turn up?

use std::path::Path;

use chela_core::Host;
use chela_skills::{DESCRIBED_PER_MESSAGE, QuerySet, RankingBench, RankingFigures, Skill};
use serde_json::json;

use super::Desk;
use crate::cmd::{Outcome, input};
use crate::fail::{Exit, Fail};
use crate::screen::{Screen, grouped};

/// The made-up skills lie in a made-up home, so that everyone measures the same.
pub fn built_in(host: &Host, screen: &mut Screen, json: bool) -> Outcome {
    let host = Host {
        user_home: "/home/me".into(),
        ..host.clone()
    };
    let sets = [("tuned on", QuerySet::Dev), ("held out", QuerySet::HeldOut)];
    let figures: Vec<(&str, RankingFigures)> = sets
        .into_iter()
        .map(|(name, set)| (name, RankingBench::built_in(set).run(&host)))
        .collect();
    if json {
        let rows = figures
            .iter()
            .map(|(name, figures)| json!({ "set": name, "figures": figures }));
        screen.json(&rows.collect::<Vec<_>>())?;
        return Ok(Exit::Fine);
    }
    for (name, figures) in &figures {
        print(screen, name, figures)?;
    }
    Ok(Exit::Fine)
}

pub fn own(desk: &Desk, screen: &mut Screen, file: &Path, json: bool) -> Outcome {
    let queries = input::read(file)?;
    let skills: Vec<Skill> = desk.skills.listed().into_iter().cloned().collect();
    if skills.is_empty() {
        return Err(Fail::new("there is no skill to find").hint("chela skills list"));
    }
    let figures = RankingBench::of(skills, &queries).run(&desk.host);
    if json {
        screen.json(&figures)?;
        return Ok(Exit::Fine);
    }
    print(screen, "your queries", &figures)?;
    for miss in &figures.misses {
        screen.line(format!("  missed {}: \"{}\"", miss.wanted, miss.query))?;
    }
    Ok(Exit::Fine)
}

fn print(screen: &mut Screen, name: &str, figures: &RankingFigures) -> std::io::Result<()> {
    let paint = screen.paint;
    screen.line(format!(
        "{}: {:.1} % of {} queries find their skill among the {DESCRIBED_PER_MESSAGE} described ({} as the first)",
        paint.bold(name),
        figures.recall(),
        figures.queries,
        figures.first
    ))?;
    screen.line(format!(
        "  {} skills cost {} tokens of names and at most {} of descriptions",
        grouped(figures.skills),
        grouped(figures.names_tokens),
        grouped(figures.described_tokens)
    ))
}
