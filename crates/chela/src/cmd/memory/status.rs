//! `chela memory status`: what is indexed, by what, how fresh, and what failed.

use chela_memory::settings::keys_without_effect;
use serde_json::json;

use super::{explained, open};
use crate::cli::AgentArg;
use crate::cmd::{Outcome, Setup};
use crate::fail::Exit;
use crate::screen::{Screen, counted, grouped};

pub fn run(setup: &Setup, screen: &mut Screen, agent: &AgentArg, json: bool) -> Outcome {
    let opened = open(setup, agent)?;
    let provider_problem = opened.provider_problem();
    let status = opened.memory()?.status().map_err(explained)?;
    let without_effect = keys_without_effect(&opened.view);
    if json {
        let mut report = serde_json::to_value(&status)?;
        report["withoutEffect"] = json!(without_effect);
        report["providerProblem"] = json!(provider_problem);
        screen.json(&report)?;
        return Ok(Exit::Fine);
    }
    let paint = screen.paint;
    let age = status.indexed_at.map_or_else(
        || "never".to_owned(),
        |at| {
            let now = i64::try_from(setup.host.unix_time()).unwrap_or(at);
            format!("{} ago", span(now.saturating_sub(at)))
        },
    );
    screen.line(paint.bold(&status.path))?;
    let mut rows = vec![
        vec![
            "indexed".to_owned(),
            format!(
                "{} in {}, {} KB, last {age}",
                counted(status.chunks, "chunk"),
                counted(status.files, "note"),
                grouped((status.bytes / 1024) as usize)
            ),
        ],
        vec![
            "vectors".to_owned(),
            match &status.model {
                Some(model) => format!(
                    "{model}: {} of {}",
                    grouped(status.embedded),
                    counted(status.chunks, "chunk")
                ),
                None => "off: words only".to_owned(),
            },
        ],
    ];
    for (source, counts) in &status.sources {
        rows.push(vec![
            source.clone(),
            format!(
                "{}, {}",
                counted(counts.files, "note"),
                counted(counts.chunks, "chunk")
            ),
        ]);
    }
    let waiting = status.pending + status.gone;
    rows.push(vec![
        "waiting".to_owned(),
        match waiting {
            0 => "nothing: the index is current".to_owned(),
            _ => format!(
                "{} new or changed, {} gone; the next search or `chela memory index` takes them in",
                grouped(status.pending),
                grouped(status.gone)
            ),
        },
    ]);
    screen.table("  ", &rows)?;
    let problems = status
        .problems
        .iter()
        .chain(&provider_problem)
        .chain(&without_effect);
    for problem in problems {
        screen.line(format!("{} {problem}", paint.warn("warning:")))?;
    }
    Ok(Exit::Fine)
}

fn span(seconds: i64) -> String {
    match seconds {
        ..60 => "less than a minute".into(),
        60..3600 => counted((seconds / 60) as usize, "minute"),
        3600..86_400 => counted((seconds / 3600) as usize, "hour"),
        _ => counted((seconds / 86_400) as usize, "day"),
    }
}
