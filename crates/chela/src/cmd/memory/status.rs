//! `chela memory status`: what is indexed, by what, how fresh, and what failed.

use std::collections::BTreeMap;

use chela_memory::settings::keys_without_effect;
use chela_memory::status::SourceStatus;
use serde_json::json;

use super::{explained, open, vectors_of};
use crate::cli::AgentArg;
use crate::cmd::{CommandOutcome, CommandSetup};
use crate::fail::CommandExit;
use crate::screen::{Screen, count_noun, grouped};

pub fn run(
    setup: &CommandSetup,
    screen: &mut Screen,
    agent: &AgentArg,
    json: bool,
) -> CommandOutcome {
    let opened = open(setup, agent)?;
    let provider_problem = opened.provider_problem();
    let memory = opened.memory()?;
    let status = memory.status().map_err(explained)?;
    let grown_by = memory.settings().sync.session_delta_messages;
    let messages = count_noun(usize::try_from(grown_by).unwrap_or(usize::MAX), "message");
    let without_effect = keys_without_effect(&opened.view);
    if json {
        let mut report = serde_json::to_value(&status)?;
        report["withoutEffect"] = json!(without_effect);
        report["providerProblem"] = json!(provider_problem);
        screen.json(&report)?;
        return Ok(CommandExit::Fine);
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
                count_noun(status.chunks, "chunk"),
                sources(&status.sources),
                grouped((status.bytes / 1024) as usize)
            ),
        ],
        vec!["vectors".to_owned(), vectors_of(&status)],
    ];
    for (source, counts) in &status.sources {
        rows.push(vec![
            source.clone(),
            format!(
                "{}, {}",
                count_noun(counts.files, kept_in(source)),
                count_noun(counts.chunks, "chunk")
            ),
        ]);
    }
    let waiting = status.pending + status.gone;
    rows.push(vec![
        "waiting".to_owned(),
        match waiting {
            0 => "nothing: the index is up to date".to_owned(),
            _ => format!(
                "{} new or changed, {} removed; `chela memory index` indexes them. A search \
                 indexes notes first, and a conversation once it has grown by {messages}",
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
    Ok(CommandExit::Fine)
}

/// What one item of a source is.
fn kept_in(source: &str) -> &'static str {
    match source {
        "sessions" => "conversation",
        _ => "note",
    }
}

/// `3 notes and 1 conversation`.
fn sources(counts: &BTreeMap<String, SourceStatus>) -> String {
    let counted: Vec<String> = counts
        .iter()
        .filter(|(_, counts)| counts.files > 0)
        .map(|(source, counts)| count_noun(counts.files, kept_in(source)))
        .collect();
    match counted.is_empty() {
        true => count_noun(0, "note"),
        false => counted.join(" and "),
    }
}

fn span(seconds: i64) -> String {
    match seconds {
        ..60 => "less than a minute".into(),
        60..3600 => count_noun((seconds / 60) as usize, "minute"),
        3600..86_400 => count_noun((seconds / 3600) as usize, "hour"),
        _ => count_noun((seconds / 86_400) as usize, "day"),
    }
}
