//! `sessions_list` and `agents_list`.

use std::sync::Arc;

use chela_core::{SessionForm, SessionKind, Trust, grouped, ok_or_debug};
use serde::Deserialize;
use serde_json::json;

use super::SessionToolset;
use crate::blocking::{BlockingJob, BlockingTool, CallForesight};
use crate::schema::{ArgumentKind, ArgumentSchema};
use crate::spec::shared_spec;
use crate::{
    Effect, HistoryAsk, HistoryMessage, SessionRow, Tool, ToolMessages, ToolNeed, ToolOutput,
    ToolSpec,
};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ListArguments {
    kinds: Option<Vec<SessionKind>>,
    limit: Option<usize>,
    active_minutes: Option<u64>,
    message_limit: Option<usize>,
}

const USUAL_LIMIT: usize = 20;
const KINDS: [&str; 6] = ["main", "group", "cron", "hook", "node", "other"];

pub(super) fn sessions(sessions: &Arc<SessionToolset>) -> Arc<dyn Tool> {
    Arc::new(
        BlockingTool {
            spec: shared_spec!(ToolSpec {
                name: "sessions_list".into(),
                description: "List the sessions you may see, newest first.".into(),
                parameters: ArgumentSchema::object()
                    .optional(
                        "kinds",
                        ArgumentKind::list(ArgumentKind::one_of(&KINDS)),
                        "Only these kinds",
                    )
                    .optional(
                        "limit",
                        ArgumentKind::integer().min(1).max(200),
                        "At most so many; 20 unless given",
                    )
                    .optional(
                        "activeMinutes",
                        ArgumentKind::integer().min(1),
                        "Only those used in the last so many minutes",
                    )
                    .optional(
                        "messageLimit",
                        ArgumentKind::integer().min(0).max(20),
                        "Also so many of the last messages of each",
                    )
                    .build()
                    .into(),
                effect: Effect::Read,
                sinks: [].into(),
            }),
            with: Arc::clone(sessions),
            act: list,
        }
        .foreseeing(CallForesight {
            needs: &[ToolNeed::Children],
            ..CallForesight::default()
        }),
    )
}

fn list(sessions: &SessionToolset, arguments: ListArguments, job: &BlockingJob) -> ToolOutput {
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
    let mut quoted = Trust::Agent;
    for row in rows.iter().take(limit) {
        text.push('\n');
        text.push_str(&line(row, sessions, now));
        let last = last_messages(row, sessions, arguments.message_limit.unwrap_or(0));
        for message in &last {
            quoted = quoted.min(message.trust);
            text.push_str(&format!(
                "\n  {}: {}",
                message.role,
                shortened(&message.text)
            ));
        }
    }
    let keys: Vec<String> = rows.iter().map(|row| row.key.to_string()).collect();
    // Labels hold what whoever named the session had read, and the keys of chats what others are
    // called.
    let names_foreign = rows.iter().take(limit).any(|row| {
        let is_named = row.label.is_some() || matches!(row.key.form, SessionForm::Chat { .. });
        row.trust < Trust::Agent && is_named
    });
    let trust = match names_foreign {
        true => Trust::External,
        false => quoted,
    };
    let label = |text| sessions.label("sessions_list", "sessions", text, trust);
    let output = sessions.bound.output(&job.name, text, trust, label);
    output.with_details(json!({ "sessions": keys }))
}

fn line(row: &SessionRow, sessions: &SessionToolset, now: u64) -> String {
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

/// The newest messages of a session, oldest first. One that cannot be read has none to show.
fn last_messages(row: &SessionRow, sessions: &SessionToolset, most: usize) -> Vec<HistoryMessage> {
    if most == 0 {
        return Vec::new();
    }
    let page = sessions.view.history(&HistoryAsk {
        session: &row.key,
        offset: 0,
        limit: most,
        tools: ToolMessages::LeftOut,
    });
    let page = ok_or_debug!(page, "the messages of a session cannot be listed");
    page.map(|page| page.messages).unwrap_or_default()
}

/// A message in one line.
fn shortened(text: &str) -> String {
    const MOST_CHARS: usize = 300;
    let plain: String = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match plain.char_indices().nth(MOST_CHARS) {
        Some((end, _)) => format!("{}…", plain.get(..end).unwrap_or_default()),
        None => plain,
    }
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

pub(super) fn agents(sessions: &Arc<SessionToolset>) -> Arc<dyn Tool> {
    Arc::new(BlockingTool {
        spec: shared_spec!(ToolSpec {
            name: "agents_list".into(),
            description: "List the agents that sessions_spawn may start.".into(),
            parameters: ArgumentSchema::object().build().into(),
            effect: Effect::Read,
            sinks: [].into(),
        }),
        with: Arc::clone(sessions),
        act: list_agents,
    })
}

fn list_agents(sessions: &SessionToolset, _: NoArguments, _: &BlockingJob) -> ToolOutput {
    let agents = sessions.view.agents();
    if agents.is_empty() {
        return ToolOutput::said("No other agent may be started from here.");
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
    ToolOutput::said(lines.join("\n")).with_details(json!({ "agents": ids }))
}
