//! `chela sessions list`.

use chela_config::model::{BareUnit, parse_duration};
use chela_core::SessionKind;
use chela_session::{ListScope, SessionFilter, SessionInfo, Sessions};
use chela_store::block_on;
use serde_json::json;

use super::{SessionOwner, explained, plain, short};
use crate::cli::AgentArg;
use crate::cmd::{CommandOutcome, CommandSetup};
use crate::fail::{CommandError, CommandExit};
use crate::screen::{Screen, count_noun, grouped, shorten};

/// So many are shown with what they begin with: looking that up takes a moment each.
const MOST_BEGINNINGS: usize = 200;

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
    setup: &CommandSetup,
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
    let sessions = owner.existing()?;
    let (found, ended) = match &sessions {
        Some(sessions) => {
            let found = block_on(sessions.list(&filter)).map_err(explained)?;
            (found, count_ended(sessions, &filter)?)
        }
        None => (Vec::new(), 0),
    };
    if request.json {
        screen.json(&json!({
            "agent": owner.agent.as_str(),
            "path": owner.file().display().to_string(),
            "count": found.len(),
            "endedNotShown": ended,
            "sessions": found,
        }))?;
        return Ok(CommandExit::Fine);
    }
    if found.is_empty() {
        let narrowed =
            filter.active_within.is_some() || filter.label.is_some() || !filter.kinds.is_empty();
        screen.line(match (narrowed, ended) {
            (_, 1..) => "No active conversation matches.",
            (true, 0) => "No matching conversations.",
            (false, 0) => "No conversations yet. Start one with `chela chat`.",
        })?;
        tell_ended(screen, ended)?;
        return Ok(CommandExit::Fine);
    }
    let paint = screen.paint;
    let mut rows = vec![
        ["id", "key", "used", "entries", "tokens", "about"]
            .iter()
            .map(|head| paint.dim(head))
            .collect(),
    ];
    for (at, info) in found.iter().enumerate() {
        let begins = match &sessions {
            Some(sessions) if at < MOST_BEGINNINGS => {
                block_on(sessions.preview(info.clone()))
                    .map_err(explained)?
                    .first
            }
            _ => None,
        };
        rows.push(row(owner.host, info, begins.as_deref()));
    }
    screen.table("", &rows)?;
    screen.line(paint.dim(count_noun(found.len(), "session")))?;
    tell_ended(screen, ended)?;
    Ok(CommandExit::Fine)
}

/// How many fit that have ended and are therefore not shown.
fn count_ended(sessions: &Sessions, filter: &SessionFilter) -> Result<usize, CommandError> {
    if filter.show == ListScope::Everything {
        return Ok(0);
    }
    let unlimited = |show| SessionFilter {
        show,
        limit: None,
        ..filter.clone()
    };
    let count = |show| block_on(sessions.list(&unlimited(show))).map(|found| found.len());
    let all = count(ListScope::Everything).map_err(explained)?;
    let current = count(ListScope::Current).map_err(explained)?;
    Ok(all.saturating_sub(current))
}

fn tell_ended(screen: &mut Screen, ended: usize) -> std::io::Result<()> {
    if ended == 0 {
        return Ok(());
    }
    let verb = if ended == 1 { "has" } else { "have" };
    let told = format!(
        "{} {verb} ended: `chela sessions list --all` shows them, `chela resume` goes back to one.",
        count_noun(ended, "more conversation")
    );
    screen.paragraph("", &told)
}

fn row(host: &chela_core::Host, info: &SessionInfo, begins: Option<&str>) -> Vec<String> {
    let mut notes = Vec::new();
    match (info.name(), begins) {
        (Some(name), _) => notes.push(format!("\"{}\"", shorten(&plain(name), 24))),
        (None, Some(begins)) => notes.push(shorten(&plain(begins), 28)),
        (None, None) => {}
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
        host.age_in_words(info.updated),
        grouped(usize::try_from(info.entries).unwrap_or(usize::MAX)),
        grouped(usize::try_from(info.totals.input + info.totals.output).unwrap_or(usize::MAX)),
        notes.join(", "),
    ]
}
