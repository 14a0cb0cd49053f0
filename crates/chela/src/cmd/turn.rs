//! `chela turn …`: the requests on record.

mod prune;

use chela_core::Host;
use chela_inspect::turn_audit::{CallEvent, call_events};
use chela_ledger::{
    Ledger, RecordFilter, RecordId, RecordedRequest, RequestChange, RequestSummary, dollars,
};
use chela_store::block_on;
use chela_tools::approvals::shown;
use serde_json::json;

use super::time::utc;
use super::{CommandOutcome, CommandSetup, ledger};
use crate::cli::turn::{LAST_REQUEST, TurnCommand};
use crate::fail::{CommandError, CommandExit};
use crate::screen::{Screen, count_noun, grouped, shorten};

pub fn run(host: &Host, screen: &mut Screen, command: TurnCommand) -> CommandOutcome {
    if names_request(&command) && Ledger::open_existing(host)?.is_none() {
        return Err(no_request());
    }
    ledger::with_ledger(host, screen, |ledger, screen| match command {
        TurnCommand::List {
            session,
            agent,
            limit,
            json,
        } => {
            let session = session
                .map(|given| ledger::resolve_session(ledger, Some(&given)))
                .transpose()?;
            let filter = RecordFilter {
                agent,
                session,
                limit: Some(limit),
                ..RecordFilter::default()
            };
            if let Some(agent) = &filter.agent
                && block_on(ledger.list(&filter))?.is_empty()
            {
                // One that was removed still has its requests.
                CommandSetup::load(host).agent(Some(agent))?;
            }
            list(ledger, screen, &filter, json)
        }
        TurnCommand::Show { id, raw: true, .. } => {
            screen.bytes(&block_on(ledger.raw(meant(ledger, id)?))?)?;
            Ok(CommandExit::Fine)
        }
        TurnCommand::Show { id, json, .. } => show(ledger, screen, meant(ledger, id)?, json),
        TurnCommand::Diff { one, other, json } => {
            let ids = (meant(ledger, one)?, meant(ledger, other)?);
            diff(ledger, screen, ids, json)
        }
        TurnCommand::Prune {
            older_than,
            max_size,
            dry_run,
            json,
        } => {
            let asked = prune::TurnPruneRequest {
                older_than,
                max_size,
                dry_run,
                json,
            };
            prune::prune(host, ledger, screen, &asked)
        }
        TurnCommand::Replay { id, json } => {
            let id = meant(ledger, id)?;
            replay(host, ledger, screen, (id, json))
        }
    })
}

/// The request a number stands for: itself, or the newest.
fn meant(ledger: &Ledger, number: i64) -> Result<RecordId, CommandError> {
    if number != LAST_REQUEST {
        return Ok(RecordId(number));
    }
    let newest = RecordFilter {
        limit: Some(1),
        ..RecordFilter::default()
    };
    let newest = block_on(ledger.list(&newest))?.into_iter().next();
    newest.map(|request| request.id).ok_or_else(no_request)
}

fn no_request() -> CommandError {
    CommandError::new("no request is recorded yet")
        .hint("the first message to a model is the first")
}

fn names_request(command: &TurnCommand) -> bool {
    matches!(
        command,
        TurnCommand::Show { .. } | TurnCommand::Diff { .. } | TurnCommand::Replay { .. }
    )
}

fn list(
    ledger: &Ledger,
    screen: &mut Screen,
    filter: &RecordFilter,
    as_json: bool,
) -> CommandOutcome {
    let list = block_on(ledger.list(filter))?;
    if as_json {
        screen.json(&list)?;
        return Ok(CommandExit::Fine);
    }
    if list.is_empty() {
        screen.line("No request is recorded here yet.")?;
    }
    let paint = screen.paint;
    let rows: Vec<Vec<String>> = list
        .iter()
        .map(|one| {
            vec![
                paint.accent(one.id),
                paint.dim(utc(one.at / 1000)),
                shown(&one.session_key),
                shown(&one.model),
                format!("{} tokens", grouped(number(input(one)))),
                format!("{} % reused", percent(one.reused_tokens, one.tokens)),
                how_it_ended(one),
            ]
        })
        .collect();
    screen.table("", &rows)?;
    Ok(CommandExit::Fine)
}

fn show(ledger: &Ledger, screen: &mut Screen, id: RecordId, as_json: bool) -> CommandOutcome {
    let record = block_on(ledger.show(id))?;
    if as_json {
        screen.json(&record)?;
        return Ok(CommandExit::Fine);
    }
    screen.table("", &head(&record))?;
    let paint = screen.paint;
    if !record.sections.is_empty() {
        screen.blank()?;
        screen.line(paint.bold("Sections"))?;
        let rows: Vec<Vec<String>> = record
            .sections
            .iter()
            .map(|mark| {
                vec![
                    shown(&mark.id),
                    shown(&mark.origin.to_string()),
                    mark.trust.as_str().to_owned(),
                    count_noun(number(mark.bytes), "byte"),
                    paint.dim(mark.hash.short()),
                ]
            })
            .collect();
        screen.table("  ", &rows)?;
    }
    let events = block_on(call_events(ledger, &record.summary.turn))?;
    if !events.is_empty() {
        screen.blank()?;
        screen.line(paint.bold("What the turn did"))?;
        let cells =
            |event: &CallEvent| vec![shown(&event.tool), shown(&event.said), shown(&event.call)];
        screen.table("  ", &events.iter().map(cells).collect::<Vec<_>>())?;
    }
    screen.blank()?;
    let id = record.summary.id;
    screen.line(paint.dim(format!(
        "`chela turn show {id} --raw` prints the request itself."
    )))?;
    Ok(CommandExit::Fine)
}

fn head(record: &RecordedRequest) -> Vec<Vec<String>> {
    let summary = &record.summary;
    let mut rows = vec![
        ("request", summary.id.to_string()),
        ("at", utc(summary.at / 1000)),
        (
            "session",
            format!(
                "{} ({})",
                shown(&summary.session_key),
                shown(&summary.session)
            ),
        ),
        (
            "turn",
            format!("{}, step {}", shown(&summary.turn), summary.step),
        ),
        (
            "model",
            format!("{} at {}", shown(&summary.model), shown(&record.url)),
        ),
        (
            "sent",
            format!(
                "{}, SHA-256 {}",
                count_noun(number(summary.length), "byte"),
                record.sent
            ),
        ),
        (
            "reused",
            format!(
                "{} of {} tokens",
                grouped(number(record.reuse.tokens)),
                grouped(number(record.reuse.total_tokens))
            ),
        ),
    ];
    if let Some(broken) = &record.reuse.broken {
        rows.push((
            "because",
            shown(&format!("{}, at {}", broken.cause, broken.place)),
        ));
    }
    if !record.redactions.is_empty() {
        let names: Vec<String> = record
            .redactions
            .iter()
            .map(|one| shown(&one.name))
            .collect();
        rows.push(("left out", format!("the secrets {}", names.join(", "))));
    }
    if let Some(usage) = &summary.usage {
        let whose = if usage.estimated {
            "estimated"
        } else {
            "as the provider counts"
        };
        let text = format!(
            "{} in ({} from its cache), {} out, {whose}",
            grouped(number(usage.input)),
            grouped(number(usage.cache_read)),
            grouped(number(usage.output))
        );
        rows.push(("tokens", text));
    }
    rows.push(("tools", count_noun(record.tools.len(), "tool")));
    rows.push(("ended", how_it_ended(summary)));
    rows.into_iter()
        .map(|(name, value)| vec![name.to_owned(), value])
        .collect()
}

fn diff(
    ledger: &Ledger,
    screen: &mut Screen,
    (one, other): (RecordId, RecordId),
    as_json: bool,
) -> CommandOutcome {
    let found = block_on(ledger.diff(one, other))?;
    if as_json {
        screen.json(&found)?;
        return Ok(CommandExit::Fine);
    }
    if found.is_empty() {
        screen.line("The two requests are identical.")?;
        return Ok(CommandExit::Fine);
    }
    let paint = screen.paint;
    for one in &found {
        let bytes = |side: &Option<chela_ledger::DifferenceSide>| {
            side.as_ref().map_or(0, |side| side.bytes)
        };
        let (mark, size) = match one.change {
            RequestChange::Added => (paint.good("+"), format!("{} bytes", bytes(&one.after))),
            RequestChange::Removed => (paint.bad("-"), format!("{} bytes", bytes(&one.before))),
            RequestChange::Changed => (
                paint.warn("~"),
                format!("{} → {} bytes", bytes(&one.before), bytes(&one.after)),
            ),
        };
        let place = shown(&one.place.to_string());
        screen.line(format!("{mark} {place}  {}", paint.dim(size)))?;
        for (sign, side) in [("-", &one.before), ("+", &one.after)] {
            let text = side.as_ref().and_then(|side| side.text.as_deref());
            if let Some(text) = text {
                screen.line(format!("    {sign} {}", shorten(&shown(text), 160)))?;
            }
        }
    }
    Ok(CommandExit::Fine)
}

fn replay(
    host: &Host,
    ledger: &Ledger,
    screen: &mut Screen,
    (id, as_json): (RecordId, bool),
) -> CommandOutcome {
    let secrets = chela_agent::known_secrets(host, &CommandSetup::look(host).loaded);
    let replayed = block_on(ledger.replay(id, &|name| {
        let known = secrets.iter().find(|secret| secret.name == name);
        known.map(|secret| secret.value.clone())
    }))?;
    let exit = match replayed.matches() {
        true => CommandExit::Fine,
        false => CommandExit::Findings,
    };
    if as_json {
        screen.json(&json!({
            "matches": replayed.matches(),
            "bytes": replayed.bytes.len(),
            "hash": replayed.hash,
            "sent": replayed.sent,
            "unknownSecrets": replayed.unknown_secrets,
        }))?;
        return Ok(exit);
    }
    let paint = screen.paint;
    let size = count_noun(replayed.bytes.len(), "byte");
    if replayed.matches() {
        let line = format!(
            "Request {id} matches what was sent: {size}, SHA-256 {}",
            replayed.hash
        );
        screen.line(paint.good(line))?;
    } else if replayed.unknown_secrets.is_empty() {
        let line = format!(
            "Request {id} does not match what was sent: {size}, SHA-256 {}",
            replayed.hash
        );
        screen.line(paint.bad(line))?;
        screen.line(format!("  sent was {}", replayed.sent))?;
    } else {
        let names: Vec<String> = replayed
            .unknown_secrets
            .iter()
            .map(|name| shown(name))
            .collect();
        screen.line(format!(
            "Request {id} cannot be compared: it contained the secrets {}, which are not \
                available here.",
            names.join(", ")
        ))?;
    }
    Ok(exit)
}

fn how_it_ended(summary: &RequestSummary) -> String {
    match (&summary.error, summary.ended, summary.cost) {
        (Some(error), _, _) => shorten(&shown(error), 60),
        (None, None, _) => "no answer recorded".to_owned(),
        (None, Some(_), Some(cost)) => dollars(cost),
        (None, Some(_), None) => "done".to_owned(),
    }
}

/// What the provider counted, or what we did.
fn input(summary: &RequestSummary) -> u64 {
    summary.usage.map_or(summary.tokens, |usage| usage.input)
}

pub fn percent(part: u64, whole: u64) -> u64 {
    part.saturating_mul(100).checked_div(whole).unwrap_or(0)
}

pub fn number(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
