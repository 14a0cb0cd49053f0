//! `chela sessions list`.

use chela_config::model::{BareUnit, parse_duration};
use chela_core::SessionKind;
use chela_session::{ListScope, SessionFilter, SessionInfo};
use chela_store::block_on;
use serde_json::json;

use super::{SessionOwner, ago, explained, plain, short};
use crate::cli::AgentArg;
use crate::cmd::{CommandOutcome, Setup};
use crate::fail::{CommandError, CommandExit};
use crate::screen::{Screen, count_noun, grouped, shorten};

/// What was typed, as what is meant.
pub struct ListRequest {
    pub kinds: Vec<SessionKind>,
    pub active: Option<String>,
    pub label: Option<String>,
    pub all: bool,
    pub limit: Option<usize>,
    pub json: bool,
}

pub fn run(
    setup: &Setup,
    screen: &mut Screen,
    agent: &AgentArg,
    request: ListRequest,
) -> CommandOutcome {
    let owner = SessionOwner::of(setup, agent)?;
    let active_within = request
        .active
        .map(|text| {
            parse_duration(&text, BareUnit::Minutes).ok_or_else(|| {
                CommandError::usage(format!("`{text}` is not a length of time")).hint("--active 7d")
            })
        })
        .transpose()?;
    let show = if request.all {
        ListScope::Everything
    } else {
        ListScope::Current
    };
    let filter = SessionFilter {
        kinds: request.kinds,
        active_within,
        label: request.label,
        show,
        limit: request.limit,
    };
    let found = match owner.existing()? {
        Some(sessions) => block_on(sessions.list(&filter)).map_err(explained)?,
        None => Vec::new(),
    };
    if request.json {
        screen.json(&json!({
            "agent": owner.agent.as_str(),
            "path": owner.file().display().to_string(),
            "count": found.len(),
            "sessions": found,
        }))?;
        return Ok(CommandExit::Fine);
    }
    if found.is_empty() {
        let narrowed =
            filter.active_within.is_some() || filter.label.is_some() || !filter.kinds.is_empty();
        screen.line(if narrowed {
            "No matching conversations."
        } else {
            "No conversations yet. Start one with `chela chat`."
        })?;
        return Ok(CommandExit::Fine);
    }
    let paint = screen.paint;
    let mut rows = vec![
        ["id", "key", "used", "said", "tokens", ""]
            .iter()
            .map(|head| paint.dim(head))
            .collect(),
    ];
    for info in &found {
        rows.push(row(owner.host, info));
    }
    screen.table("", &rows)?;
    screen.line(paint.dim(count_noun(found.len(), "session")))?;
    Ok(CommandExit::Fine)
}

fn row(host: &chela_core::Host, info: &SessionInfo) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(name) = info.name() {
        notes.push(format!("\"{}\"", shorten(&plain(name), 24)));
    }
    if let Some(model) = &info.settings.model {
        notes.push(model.clone());
    }
    if info.pinned {
        notes.push("pinned".to_owned());
    }
    match (&info.archived, &info.ended_why) {
        (Some(_), _) => notes.push("archived".to_owned()),
        (None, Some(why)) => notes.push(format!("ended ({why})")),
        (None, None) => {}
    }
    vec![
        short(info.session_id.as_str()).to_owned(),
        shorten(&info.key.to_string(), 40),
        ago(host, info.updated),
        grouped(usize::try_from(info.entries).unwrap_or(usize::MAX)),
        grouped(usize::try_from(info.totals.input + info.totals.output).unwrap_or(usize::MAX)),
        notes.join(", "),
    ]
}
