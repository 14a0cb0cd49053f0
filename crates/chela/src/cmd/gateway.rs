//! `chela gateway …`: the process that is always on.

mod deliveries;
mod heap;
mod run;
mod service;

use std::time::{Duration, Instant};

use chela_core::Host;
use chela_gateway::{
    AccessError, ConfigStanding, GatewayError, InstanceError, LocalClient, RunningGateway,
    owner_secret, rotate_token,
};
use chela_ledger::AuditKind;
use chela_sandbox::{ProcessSignal, signal_process};
use chela_store::{InboxStore, SqliteRuntimeStore, block_on};
use serde_json::json;

use super::time::utc;
use super::{CommandOutcome, CommandSetup, change_records, logs};
use crate::cli::gateway::{GatewayCommand, GatewayTokenCommand};
use crate::fail::{CommandError, CommandExit};
use crate::screen::{Screen, count_noun};

/// `EX_TEMPFAIL` of sysexits: another gateway runs; trying again at once changes nothing.
const BUSY_CODE: u8 = 75;
/// So long a gateway that was told to end may take: turns come to their end first.
const STOP_PATIENCE: Duration = Duration::from_secs(60);
const LOOK_EVERY: Duration = Duration::from_millis(50);

pub fn run(host: &Host, screen: &mut Screen, command: GatewayCommand) -> CommandOutcome {
    match command {
        GatewayCommand::Run(args) => run::run(host, screen, &args),
        GatewayCommand::Status { json } => status(host, screen, json),
        GatewayCommand::Stop => stop(host, screen),
        GatewayCommand::Restart => restart(host, screen),
        GatewayCommand::Install(args) => service::install(host, screen, &args),
        GatewayCommand::Uninstall(args) => service::uninstall(host, screen, &args),
        GatewayCommand::Logs(args) => logs::run(host, screen, &args),
        GatewayCommand::Deliveries(args) => deliveries::run(host, screen, args),
        GatewayCommand::Token { command } => token(host, screen, command),
    }
}

impl From<AccessError> for CommandError {
    fn from(error: AccessError) -> Self {
        match &error {
            AccessError::Mode(_) | AccessError::NoPassword => Self::config(error),
            _ => Self::new(error),
        }
    }
}

impl From<GatewayError> for CommandError {
    fn from(error: GatewayError) -> Self {
        match error {
            GatewayError::Access(error) => error.into(),
            GatewayError::Instance(InstanceError::Running { .. } | InstanceError::Locked) => {
                let mut told = Self::new(error).hint("`chela gateway stop` ends it");
                told.code = BUSY_CODE;
                told
            }
            GatewayError::Place(_) | GatewayError::Tls(_) | GatewayError::HookPath => {
                Self::config(error)
            }
            GatewayError::Listen { .. } => {
                Self::new(error).hint("another program may have the port: `--port`, gateway.port")
            }
            GatewayError::Instance(_) | GatewayError::Store(_) => Self::new(error),
        }
    }
}

fn status(host: &Host, screen: &mut Screen, as_json: bool) -> CommandOutcome {
    let running = RunningGateway::find(host);
    let answers = running.as_ref().is_some_and(is_well);
    let (waiting, working) = inbox_counts(host);
    let (to_deliver, undelivered) = deliveries::delivery_counts(host);
    let exit = match answers {
        true => CommandExit::Fine,
        false => CommandExit::Findings,
    };
    if as_json {
        screen.json(&json!({
            "running": running, "answers": answers, "waiting": waiting, "working": working,
            "deliveries": { "waiting": to_deliver, "failed": undelivered },
        }))?;
        return Ok(exit);
    }
    let paint = screen.paint;
    let Some(running) = running else {
        screen.line(format!(
            "The gateway does not run. {}",
            paint.dim("`chela gateway run` starts it here, `chela gateway install` for good.")
        ))?;
        if waiting > 0 {
            let waiting = count_noun(waiting, "message");
            screen.line(format!("{waiting} wait for it."))?;
        }
        return Ok(exit);
    };
    let health = match answers {
        true => paint.good("answers"),
        false => paint.bad("does not answer"),
    };
    let address = format!("{}  {health}", running.url());
    let mut rows = vec![
        vec!["gateway".into(), address],
        vec!["process".into(), running.pid.to_string()],
        vec!["since".into(), utc(running.started / 1_000)],
        vec!["version".into(), running.version],
        vec![
            "work".into(),
            format!("{working} running, {waiting} waiting"),
        ],
        vec![
            "deliveries".into(),
            format!("{to_deliver} waiting, {undelivered} failed"),
        ],
    ];
    rows.extend(config_rows(&running.config));
    screen.table("", &rows)?;
    Ok(exit)
}

/// Which config it works with, and what of the files is not in use.
fn config_rows(config: &ConfigStanding) -> Vec<Vec<String>> {
    let mut rows = vec![vec![
        "config".to_owned(),
        format!("read {}", utc(config.loaded / 1_000)),
    ]];
    if !config.needs_restart.is_empty() {
        let keys = config.needs_restart.join(", ");
        rows.push(vec![
            String::new(),
            format!("after `chela gateway restart`: {keys}"),
        ]);
    }
    for problem in &config.problems {
        rows.push(vec![String::new(), format!("not in use: {problem}")]);
    }
    rows
}

/// Whether it answers.
pub fn is_well(running: &RunningGateway) -> bool {
    let client = LocalClient::of(running, None);
    client.is_some_and(|client| client.get("/readyz").is_ok_and(|reply| reply.status == 200))
}

/// How many messages wait, and how many are being worked on.
pub fn inbox_counts(host: &Host) -> (usize, usize) {
    let path = SqliteRuntimeStore::path_in(&host.state_dir());
    if !path.exists() {
        return (0, 0);
    }
    let all = SqliteRuntimeStore::open(&path).and_then(|store| block_on(store.unanswered(None)));
    let Ok(all) = all else { return (0, 0) };
    let working = all
        .iter()
        .filter(|message| message.holder.is_some())
        .count();
    (all.len() - working, working)
}

/// One line about the gateway, for `chela status`.
pub fn status_line(host: &Host) -> Option<String> {
    let running = RunningGateway::find(host)?;
    let health = match is_well(&running) {
        true => "answers",
        false => "does not answer",
    };
    let mut line = format!("{} (process {}, {health})", running.url(), running.pid);
    if !running.config.problems.is_empty() {
        line.push_str("; the changed config has errors and is not in use");
    }
    if !running.config.needs_restart.is_empty() {
        let keys = running.config.needs_restart.join(", ");
        line.push_str(&format!("; restart it for {keys}"));
    }
    Some(line)
}

fn stop(host: &Host, screen: &mut Screen) -> CommandOutcome {
    let Some(running) = RunningGateway::find(host) else {
        screen.line("The gateway does not run.")?;
        return Ok(CommandExit::Fine);
    };
    signal(&running, ProcessSignal::Terminate)?;
    wait_until(|| match RunningGateway::find(host) {
        Some(now) => now.pid != running.pid,
        None => true,
    })?;
    screen.line("The gateway has ended.")?;
    Ok(CommandExit::Fine)
}

fn restart(host: &Host, screen: &mut Screen) -> CommandOutcome {
    let Some(running) = RunningGateway::find(host) else {
        return Err(CommandError::new("the gateway does not run")
            .hint("`chela gateway run` starts it; `chela gateway install` makes it a service"));
    };
    signal(&running, ProcessSignal::Restart)?;
    wait_until(|| {
        RunningGateway::find(host)
            .is_some_and(|now| now.started != running.started && is_well(&now))
    })?;
    screen.line("The gateway has been restarted.")?;
    Ok(CommandExit::Fine)
}

fn signal(running: &RunningGateway, signal: ProcessSignal) -> Result<(), CommandError> {
    let told = i32::try_from(running.pid)
        .map_err(std::io::Error::other)
        .and_then(|pid| signal_process(pid, signal));
    told.map_err(|why| CommandError::new(format!("process {} cannot be told: {why}", running.pid)))
}

fn wait_until(is_so: impl Fn() -> bool) -> Result<(), CommandError> {
    let deadline = Instant::now() + STOP_PATIENCE;
    while !is_so() {
        if Instant::now() >= deadline {
            return Err(CommandError::new(format!(
                "the gateway has not ended after {} s",
                STOP_PATIENCE.as_secs()
            ))
            .hint("`chela gateway status` says what it is doing"));
        }
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(())
}

fn token(host: &Host, screen: &mut Screen, command: Option<GatewayTokenCommand>) -> CommandOutcome {
    let setup = CommandSetup::look(host);
    let auth = &setup.loaded.config.gateway.auth;
    match command {
        None => {
            let secret = on_one_thread(owner_secret(host, &setup.loaded))??;
            screen.line(secret)?;
        }
        Some(GatewayTokenCommand::Rotate) => {
            if auth.token.is_some() || auth.password.is_some() {
                return Err(CommandError::new(
                    "the secret is written in the config: change it there",
                )
                .hint("chela config set gateway.auth.token …"));
            }
            let body = json!({ "change": "gateway token rotate", "about": "gateway" });
            change_records::record_change(host, AuditKind::TrustChange, &body);
            rotate_token(host)?;
            screen.line("There is a new token; the old one counts no more. `chela gateway token` prints it.")?;
        }
    }
    Ok(CommandExit::Fine)
}

fn on_one_thread<T>(work: impl Future<Output = T>) -> Result<T, CommandError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CommandError::new(format!("cannot start: {error}")))?;
    Ok(runtime.block_on(work))
}

/// Gives the owner's answer to a question that is open in a turn of the gateway. `None` when no
/// gateway runs, or none of its questions has this id.
pub fn answer_question(
    setup: &CommandSetup,
    id: &str,
    word: &str,
) -> Result<Option<String>, CommandError> {
    let Some(running) = RunningGateway::find(&setup.host) else {
        return Ok(None);
    };
    let secret = on_one_thread(owner_secret(&setup.host, &setup.loaded))??;
    let Some(client) = LocalClient::of(&running, Some(secret)) else {
        return Ok(None);
    };
    let body = json!({ "answer": word, "by": "chela approvals" }).to_string();
    let path = format!("/approvals/{id}");
    let reply = client.post(&path, &body).map_err(|error| {
        CommandError::new(format!("the gateway did not answer: {error}"))
            .hint("`chela gateway status` shows its state")
    })?;
    match reply.status {
        200 => Ok(Some(format!("Answered: {word}."))),
        404 => Ok(None),
        _ => {
            let read = serde_json::from_str::<serde_json::Value>(&reply.body).unwrap_or_default();
            let why = read.pointer("/error/message").and_then(|why| why.as_str());
            Err(CommandError::new(
                why.unwrap_or("the gateway refused the answer"),
            ))
        }
    }
}
