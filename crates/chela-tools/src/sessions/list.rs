//! `sessions_list` and `agents_list`.

use std::sync::Arc;

use chela_core::{SessionKind, Trust, grouped};
use chela_guard::Labelled;
use serde::Deserialize;
use serde_json::json;

use super::Sessions;
use crate::blocking::{Blocking, Job};
use crate::schema::{Kind, Schema};
use crate::{Effect, Output, SessionRow, Spec, Tool};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ListArguments {
    kinds: Option<Vec<SessionKind>>,
    limit: Option<usize>,
    active_minutes: Option<u64>,
}

const USUAL_LIMIT: usize = 20;

pub(super) fn sessions(sessions: &Arc<Sessions>) -> Arc<dyn Tool> {
    let kinds = ["main", "group", "cron", "hook", "node", "other"];
    Arc::new(Blocking {
        spec: Spec {
            name: "sessions_list".into(),
            description: "List the sessions you may see, newest first.".into(),
            parameters: Schema::object()
                .optional(
                    "kinds",
                    Kind::list(Kind::one_of(&kinds)),
                    "Only these kinds",
                )
                .optional(
                    "limit",
                    Kind::integer().min(1).max(200),
                    "At most so many; 20 unless given",
                )
                .optional(
                    "activeMinutes",
                    Kind::integer().min(1),
                    "Only those used in the last so many minutes",
                )
                .build()
                .into(),
            effect: Effect::Read,
            sinks: [].into(),
        },
        with: Arc::clone(sessions),
        act: list,
    })
}

fn list(sessions: &Sessions, arguments: ListArguments, job: &Job) -> Output {
    let rows = match sessions.visible() {
        Ok(rows) => rows,
        Err(failed) => return failed,
    };
    let now = sessions.now();
    let since = arguments
        .active_minutes
        .map_or(0, |minutes| now.saturating_sub(minutes.saturating_mul(60)));
    let rows: Vec<SessionRow> = rows
        .into_iter()
        .filter(|row| row.updated_at >= since)
        .filter(|row| {
            let kinds = arguments.kinds.as_ref();
            kinds.is_none_or(|kinds| kinds.contains(&row.key.kind()))
        })
        .collect();
    let limit = arguments.limit.unwrap_or(USUAL_LIMIT);
    let mut text = match rows.len() {
        0 => "No sessions.".to_owned(),
        1 => "1 session:".to_owned(),
        all if all > limit => format!("{limit} of {all} sessions, newest first:"),
        all => format!("{all} sessions, newest first:"),
    };
    for row in rows.iter().take(limit) {
        text.push('\n');
        text.push_str(&line(row, sessions, now));
    }
    let keys: Vec<String> = rows.iter().map(|row| row.key.to_string()).collect();
    // Labels and keys hold what others wrote: names of chats, of people.
    let label = |text| Labelled::local(text, Trust::Agent, chela_core::Origin::Runtime);
    let output = sessions.bound.output(&job.name, text, Trust::Agent, label);
    output.with_details(json!({ "sessions": keys }))
}

fn line(row: &SessionRow, sessions: &Sessions, now: u64) -> String {
    let mut parts = vec![row.key.to_string()];
    if row.key == sessions.own {
        parts.push("this session".to_owned());
    }
    if let Some(label) = &row.label {
        let plain: String = label
            .chars()
            .map(|c| if c.is_control() { ' ' } else { c })
            .take(80)
            .collect();
        parts.push(format!("“{plain}”"));
    }
    parts.extend(row.model.clone());
    parts.push(format!("{} messages", grouped(row.messages as usize)));
    if let Some(tokens) = row.context_tokens {
        parts.push(format!("{} tokens", grouped(tokens as usize)));
    }
    parts.push(ago(now.saturating_sub(row.updated_at)));
    if let Some(parent) = &row.parent {
        parts.push(format!("started by {parent}"));
    }
    format!("- {}", parts.join(" · "))
}

fn ago(seconds: u64) -> String {
    match seconds {
        0..60 => "just now".to_owned(),
        60..3_600 => format!("{} min ago", seconds / 60),
        3_600..86_400 => format!("{} h ago", seconds / 3_600),
        _ => format!("{} days ago", seconds / 86_400),
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NoArguments {}

pub(super) fn agents(sessions: &Arc<Sessions>) -> Arc<dyn Tool> {
    Arc::new(Blocking {
        spec: Spec {
            name: "agents_list".into(),
            description: "List the agents that sessions_spawn may start.".into(),
            parameters: Schema::object().build().into(),
            effect: Effect::Read,
            sinks: [].into(),
        },
        with: Arc::clone(sessions),
        act: list_agents,
    })
}

fn list_agents(sessions: &Sessions, _: NoArguments, _: &Job) -> Output {
    let agents = sessions.view.agents();
    if agents.is_empty() {
        return Output::said("No other agent may be started from here.");
    }
    let lines: Vec<String> = agents
        .iter()
        .map(|agent| {
            let mut line = format!("- {}", agent.id.as_str());
            if let Some(name) = &agent.name {
                line.push_str(&format!(" ({name})"));
            }
            if let Some(description) = &agent.description {
                line.push_str(&format!(": {description}"));
            }
            line
        })
        .collect();
    let ids: Vec<&str> = agents.iter().map(|agent| agent.id.as_str()).collect();
    Output::said(lines.join("\n")).with_details(json!({ "agents": ids }))
}
