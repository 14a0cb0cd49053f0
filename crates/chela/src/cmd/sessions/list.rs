//! `chela sessions list`.

use chela_config::model::{BareUnit, parse_duration};
use chela_core::SessionKind;
use chela_session::{Filter, SessionInfo, Show};
use chela_store::block_on;
use serde_json::json;

use super::{Place, ago, explained, plain, short};
use crate::cli::AgentArg;
use crate::cmd::{Outcome, Setup};
use crate::fail::{Exit, Fail};
use crate::screen::{Screen, counted, grouped, shorten};

/// What was typed, as what is meant.
pub struct Wish {
    pub kinds: Vec<SessionKind>,
    pub active: Option<String>,
    pub label: Option<String>,
    pub all: bool,
    pub limit: Option<usize>,
    pub json: bool,
}

pub fn run(setup: &Setup, screen: &mut Screen, agent: &AgentArg, wish: Wish) -> Outcome {
    let place = Place::of(setup, agent)?;
    let active_within = wish
        .active
        .map(|text| {
            parse_duration(&text, BareUnit::Minutes).ok_or_else(|| {
                Fail::usage(format!("`{text}` is no length of time")).hint("--active 7d")
            })
        })
        .transpose()?;
    let show = if wish.all {
        Show::Everything
    } else {
        Show::Current
    };
    let filter = Filter {
        kinds: wish.kinds,
        active_within,
        label: wish.label,
        show,
        limit: wish.limit,
    };
    let found = match place.existing()? {
        Some(sessions) => block_on(sessions.list(&filter)).map_err(explained)?,
        None => Vec::new(),
    };
    if wish.json {
        screen.json(&json!({
            "agent": place.agent.as_str(),
            "path": place.file().display().to_string(),
            "count": found.len(),
            "sessions": found,
        }))?;
        return Ok(Exit::Fine);
    }
    if found.is_empty() {
        let narrowed =
            filter.active_within.is_some() || filter.label.is_some() || !filter.kinds.is_empty();
        screen.line(if narrowed {
            "No conversation is like that."
        } else {
            "No conversations yet. `chela chat` begins one."
        })?;
        return Ok(Exit::Fine);
    }
    let paint = screen.paint;
    let mut rows = vec![
        ["id", "key", "used", "said", "tokens", ""]
            .iter()
            .map(|head| paint.dim(head))
            .collect(),
    ];
    for info in &found {
        rows.push(row(place.host, info));
    }
    screen.table("", &rows)?;
    screen.line(paint.dim(counted(found.len(), "session")))?;
    Ok(Exit::Fine)
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
        (Some(_), _) => notes.push("put away".to_owned()),
        (None, Some(why)) => notes.push(format!("over ({why})")),
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
