//! `chela guard canary`: planting a string, and seeing whether it ever left.

use chela_agent::canary::{self, CanaryError, CanaryState, PlantedCanary};
use chela_core::{Host, ok_or_warn};
use chela_ledger::{AuditFilter, AuditKind, Ledger};
use serde::Serialize;
use serde_json::{Value, json};

use crate::cli::guard::CanaryArgs;
use crate::cmd::time::utc;
use crate::cmd::{CommandOutcome, CommandSetup};
use crate::fail::{CommandError, CommandExit};
use crate::screen::{Screen, count_noun};

impl From<CanaryError> for CommandError {
    fn from(error: CanaryError) -> Self {
        let hint = match &error {
            CanaryError::Already => {
                Some("`chela guard canary` shows whether it was touched; --remove removes it")
            }
            CanaryError::None => Some("chela guard canary --plant"),
            _ => None,
        };
        let fail = Self::new(error);
        match hint {
            Some(hint) => fail.hint(hint),
            None => fail,
        }
    }
}

/// One time the canary turned up.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Sighting {
    seq: u64,
    at: u64,
    /// `hidden`: taken out of a result. `blocked`: a call that carried it was refused.
    what: String,
    tool: String,
    session: String,
}

pub fn run(host: &Host, screen: &mut Screen, args: &CanaryArgs) -> CommandOutcome {
    let setup = CommandSetup::load(host);
    let agent = setup.agent(args.agent.agent.as_deref())?;
    if args.plant {
        let canary = canary::plant(host, &setup.workspace_dir(&agent))?;
        ok_or_warn!(
            canary.answer_for(&setup.journal(&agent)),
            "the planted files are not marked as trusted: reading them counts as untrusted content"
        );
        let places: Vec<&std::path::Path> = canary.places.iter().map(AsRef::as_ref).collect();
        return said(host, screen, args, ("planted", "Planted in"), &places);
    }
    if args.remove {
        let canary = canary::remove(host)?;
        let gone: Vec<&std::path::Path> = canary
            .places_now()
            .into_iter()
            .filter_map(|(path, state)| (state == CanaryState::Gone).then_some(path))
            .collect();
        return said(host, screen, args, ("removed", "Removed from"), &gone);
    }
    let Some(canary) = canary::planted(host)? else {
        if args.json {
            screen.json(&json!({ "planted": false }))?;
        } else {
            screen.line("No canary is planted; `chela guard canary --plant` plants one.")?;
        }
        return Ok(CommandExit::Fine);
    };
    report(host, screen, &canary, args.json)
}

fn said(
    host: &Host,
    screen: &mut Screen,
    args: &CanaryArgs,
    (word, start): (&str, &str),
    places: &[&std::path::Path],
) -> CommandOutcome {
    if args.json {
        screen.json(&json!({ word: true, "places": places }))?;
        return Ok(CommandExit::Fine);
    }
    for place in places {
        screen.line(format!("{start} {}", host.compact(place)))?;
    }
    if args.plant {
        let next = "`chela guard canary` shows whether anyone touched it.";
        screen.line(screen.paint.dim(next))?;
    }
    Ok(CommandExit::Fine)
}

fn report(
    host: &Host,
    screen: &mut Screen,
    canary: &PlantedCanary,
    as_json: bool,
) -> CommandOutcome {
    let sightings = sightings(host, canary)?;
    let carried = sightings
        .iter()
        .filter(|seen| seen.what == "blocked")
        .count();
    let exit = match carried {
        0 => CommandExit::Fine,
        _ => CommandExit::Findings,
    };
    let places = canary.places_now();
    if as_json {
        let places: Vec<Value> = places
            .iter()
            .map(|(path, state)| json!({ "path": path, "state": state }))
            .collect();
        screen.json(&json!({
            "planted": true,
            "plantedAt": canary.planted_at,
            "places": places,
            "carried": carried,
            "sightings": sightings,
        }))?;
        return Ok(exit);
    }
    let paint = screen.paint;
    screen.line(format!("Planted {}", utc(canary.planted_at / 1000)))?;
    for (path, state) in places {
        let state = match state {
            CanaryState::Intact => paint.good("in place"),
            CanaryState::Changed => paint.warn("the canary was removed from it"),
            CanaryState::Gone => paint.warn("gone"),
        };
        screen.line(format!("  {}  {state}", host.compact(path)))?;
    }
    let read = sightings.len() - carried;
    match (read, carried) {
        (0, 0) => screen.line(paint.good("Nobody touched it."))?,
        (read, 0) => screen.line(format!(
            "It was read {}, hidden from the model each time, and never sent anywhere.",
            times(read)
        ))?,
        (_, carried) => screen.line(paint.bad(format!(
            "A call tried to send it {}; each was refused.",
            times(carried)
        )))?,
    }
    let rows: Vec<Vec<String>> = sightings
        .iter()
        .map(|seen| {
            let what = match seen.what.as_str() {
                "blocked" => paint.bad("refused"),
                what => what.to_owned(),
            };
            vec![
                paint.dim(utc(seen.at / 1000)),
                what,
                seen.tool.clone(),
                paint.dim(format!("audit entry {}", seen.seq)),
            ]
        })
        .collect();
    screen.table("  ", &rows)?;
    Ok(exit)
}

fn times(count: usize) -> String {
    match count {
        1 => "once".to_owned(),
        many => count_noun(many, "time"),
    }
}

/// What the audit chain knows of it since it was planted.
fn sightings(host: &Host, canary: &PlantedCanary) -> Result<Vec<Sighting>, CommandError> {
    let Some(ledger) = Ledger::open_existing(host)? else {
        return Ok(Vec::new());
    };
    let entries = chela_store::block_on(ledger.audit(&AuditFilter {
        kind: Some(AuditKind::Secret),
        about: Some("canary".to_owned()),
        ..AuditFilter::default()
    }))?;
    let word = |body: &Value, key: &str| body[key].as_str().unwrap_or_default().to_owned();
    Ok(entries
        .iter()
        .filter(|entry| entry.at >= canary.planted_at)
        .map(|entry| {
            let body = entry.json();
            Sighting {
                seq: entry.seq,
                at: entry.at,
                what: word(&body, "what"),
                tool: chela_tools::approvals::shown(&word(&body, "tool")),
                session: word(&body, "session"),
            }
        })
        .collect())
}
