//! `chela heartbeat …`: what an agent looks at by itself, and whether it costs anything.

use std::sync::Arc;

use chela_agent::agent::Agents;
use chela_clock::{BeatState, BeatVerdict, JobBook, duration_in_words, moment_in_words};
use chela_core::{AgentId, Host};
use chela_gateway::clock::{
    AgentBeat, BeatChecks, HandBeat, beat_id, beat_settings, owner_zone, read_state,
    run_beat_by_hand,
};
use chela_gateway::{RunningGateway, WorkStatus};
use chela_store::{JobRecord, JobStore as _, SqliteRuntimeStore, block_on};
use serde_json::{Value, json};

use super::{CommandOutcome, CommandSetup};
use crate::chat::clean_line;
use crate::cli::heartbeat::HeartbeatCommand;
use crate::fail::{CommandError, CommandExit};
use crate::screen::Screen;

const DAY: u64 = 86_400_000;
/// The last beats that are shown.
const SHOWN: usize = 5;

pub fn run(host: &Host, screen: &mut Screen, command: HeartbeatCommand) -> CommandOutcome {
    let setup = CommandSetup::load(host);
    setup.warn_on_stderr(screen.paint);
    match command {
        HeartbeatCommand::Status { json } => status(&setup, screen, json),
        HeartbeatCommand::Why { agent, json } => {
            let agent = setup.agent(agent.agent.as_deref())?;
            why(&setup, screen, &agent, json)
        }
        HeartbeatCommand::Run { agent, force, json } => {
            let agent = setup.agent(agent.agent.as_deref())?;
            let checks = match force {
                true => BeatChecks::Ignored,
                false => BeatChecks::Count,
            };
            run_now(setup, screen, &agent, (checks, json))
        }
    }
}

/// What is on record of an agent's heartbeat.
fn record_of(setup: &CommandSetup, agent: &AgentId) -> Result<Option<JobRecord>, CommandError> {
    let path = SqliteRuntimeStore::path_in(&setup.host.state_dir());
    let store = SqliteRuntimeStore::open_existing(&path).map_err(CommandError::new)?;
    let Some(store) = store else {
        return Ok(None);
    };
    block_on(store.job(&beat_id(agent))).map_err(CommandError::new)
}

fn status(setup: &CommandSetup, screen: &mut Screen, json: bool) -> CommandOutcome {
    let agents = Agents::open(&setup.host, Arc::new(setup.loaded.clone()));
    let gateway = RunningGateway::find(&setup.host).is_some();
    let mut rows = Vec::new();
    let mut lines = Vec::new();
    for agent in setup.loaded.agents() {
        let Some(view) = setup.loaded.agent(&agent) else {
            continue;
        };
        let settings = beat_settings(&view);
        let record = record_of(setup, &agent)?;
        let state = record.as_ref().map(read_state).unwrap_or_default();
        let next = record.and_then(|record| record.plan.next);
        let zone = owner_zone(&agents, &view);
        let today = match state.day == zone.day(setup.host.unix_millis()) {
            true => state.calls,
            false => 0,
        };
        let most = settings.as_ref().map(|settings| {
            let beats = (DAY / settings.every.max(1)).max(1);
            beats.min(u64::from(settings.most_a_day))
        });
        let told = match (&settings, next.filter(|_| gateway)) {
            (None, _) => "off".to_owned(),
            (Some(settings), Some(next)) => format!(
                "every {}, next {}",
                duration_in_words(settings.every),
                moment_in_words(next, &zone)
            ),
            (Some(settings), None) => {
                format!(
                    "every {} while the gateway runs",
                    duration_in_words(settings.every)
                )
            }
        };
        let cost = most.map_or(String::new(), |most| {
            format!(
                "{today} model calls today, {most} a day at most; none when nothing is to be done"
            )
        });
        lines.push(vec![agent.to_string(), told, cost]);
        rows.push(json!({
            "agent": agent, "on": settings.is_some(),
            "everyMs": settings.as_ref().map(|settings| settings.every),
            "next": next.filter(|_| gateway), "callsToday": today, "mostCallsADay": most,
        }));
    }
    if json {
        screen.json(&json!({ "gateway": gateway, "heartbeats": rows }))?;
        return Ok(CommandExit::Fine);
    }
    screen.table("", &lines)?;
    if !gateway {
        screen.line("No gateway runs now: `chela gateway run` starts one.")?;
    }
    Ok(CommandExit::Fine)
}

fn why(setup: &CommandSetup, screen: &mut Screen, agent: &AgentId, json: bool) -> CommandOutcome {
    let agents = Agents::open(&setup.host, Arc::new(setup.loaded.clone()));
    let view = setup.loaded.agent(agent);
    let view = view.ok_or_else(|| CommandError::new(format!("there is no agent `{agent}`")))?;
    let Some(settings) = beat_settings(&view) else {
        return tell_off(screen, agent, json);
    };
    let path = SqliteRuntimeStore::path_in(&setup.host.state_dir());
    let kept = SqliteRuntimeStore::open_existing(&path).map_err(CommandError::new)?;
    let store = Arc::new(match kept {
        Some(kept) => kept,
        None => SqliteRuntimeStore::open_in_memory().map_err(CommandError::new)?,
    });
    let record = block_on(store.job(&beat_id(agent))).map_err(CommandError::new)?;
    let state: BeatState = record.as_ref().map(read_state).unwrap_or_default();
    let beat = AgentBeat {
        agents: &agents,
        store: store.as_ref(),
        zone: owner_zone(&agents, &view),
        view: &view,
        settings,
        now: setup.host.unix_millis(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let (asks, told) = match runtime.block_on(beat.judge(&state, false)) {
        BeatVerdict::Ask(ask) => (true, ask.in_words()),
        BeatVerdict::Skip(skip) => (false, skip.in_words().to_owned()),
    };
    let runs = JobBook::new(store.clone()).runs(Some(&beat_id(agent)), SHOWN)?;
    if json {
        let runs: Vec<Value> = runs
            .iter()
            .map(|run| json!({ "planned": run.planned, "run": run.note }))
            .collect();
        screen.json(&json!({ "agent": agent, "asks": asks, "why": told, "last": runs }))?;
        return Ok(CommandExit::Fine);
    }
    screen.line(match asks {
        true => format!("A model would be asked: {told}."),
        false => format!("No model would be asked: {told}."),
    })?;
    let lines: Vec<Vec<String>> = runs
        .iter()
        .map(|run| {
            vec![
                moment_in_words(run.planned, &beat.zone),
                run.note.status.as_str().to_owned(),
                clean_line(run.note.why.as_deref().unwrap_or_default()),
            ]
        })
        .collect();
    if !lines.is_empty() {
        screen.line("The last ones:")?;
        screen.table("  ", &lines)?;
    }
    Ok(CommandExit::Fine)
}

fn tell_off(screen: &mut Screen, agent: &AgentId, json: bool) -> CommandOutcome {
    match json {
        true => screen.json(&json!({ "agent": agent, "asks": false, "why": "off" }))?,
        false => screen.line(format!(
            "Heartbeats of {agent} are off. `chela config set agents.defaults.heartbeat.every 30m` switches them on."
        ))?,
    }
    Ok(CommandExit::Fine)
}

fn run_now(
    setup: CommandSetup,
    screen: &mut Screen,
    agent: &AgentId,
    (checks, json): (BeatChecks, bool),
) -> CommandOutcome {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    let loaded = Arc::new(setup.loaded);
    let ran = runtime.block_on(run_beat_by_hand(&setup.host, &loaded, agent, checks))?;
    let ran = match ran {
        HandBeat::Ran(ran) => ran,
        HandBeat::Skipped(skip) => {
            match json {
                true => screen.json(&json!({ "asked": false, "why": skip.in_words() }))?,
                false => screen.line(format!("No model was asked: {}.", skip.in_words()))?,
            }
            return Ok(CommandExit::Fine);
        }
    };
    let outcome = ran.outcome;
    if json {
        screen.json(&json!({
            "asked": true, "status": outcome.status, "reply": outcome.reply,
            "error": outcome.error, "model": outcome.model,
        }))?;
    }
    match outcome.status {
        WorkStatus::Failed | WorkStatus::Dropped if json => Ok(CommandExit::Findings),
        WorkStatus::Failed | WorkStatus::Dropped => {
            let why = outcome.error.as_deref().unwrap_or("no reason was given");
            Err(CommandError::new(format!("the heartbeat failed: {why}")))
        }
        _ if json => Ok(CommandExit::Fine),
        _ if outcome.reply.is_empty() => {
            screen.line("All clear: nothing to say.")?;
            Ok(CommandExit::Fine)
        }
        _ => {
            screen.line(&outcome.reply)?;
            Ok(CommandExit::Fine)
        }
    }
}
