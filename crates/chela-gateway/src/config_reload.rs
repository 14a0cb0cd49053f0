//! The config of a running gateway: its files are watched, and a change that is valid counts from
//! the next turn on.
//!
//! Whatever reads the config anew for each request or turn hears of a change by that; what was
//! decided when the process started (`STARTS_WITH`) applies after a restart, and that is said. A
//! config with errors changes nothing.

mod differences;
mod file_watch;

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use chela_agent::prelude::{Host, LoadedConfig};
use chela_config::model::ReloadMode;
use chela_config::{ConfigDiagnostic, ConfigSource, KeyPath, Severity};
use chela_core::{lock, ok_or_warn};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::config_standing::{ConfigStanding, config_stamp, standing_of};
use crate::gateway_state::GatewayState;
use crate::known_names::KnownNames;
use crate::listen_address::listen_address;
use crate::restart_desk::RestartAsk;
use crate::tls::ServerCertificate;
use differences::{changed_keys, is_below};
use file_watch::FileWatch;

/// What the process was started with and does not change while it runs.
const STARTS_WITH: [&str; 11] = [
    "gateway.port",
    "gateway.bind",
    "gateway.customBindHost",
    "gateway.tls",
    "hooks.enabled",
    "hooks.path",
    "hooks.token",
    "hooks.secret",
    "diagnostics.enabled",
    "diagnostics.otel",
    "store",
];
/// Several saves of an editor are one change.
const DEBOUNCE: Duration = Duration::from_millis(300);
/// So often it is looked all the same: not every file system tells of changes.
const LOOK_EVERY: Duration = Duration::from_secs(5);
const IDLE_LOOK: Duration = Duration::from_millis(200);

/// What came of a look at the files.
#[derive(Debug, Clone, PartialEq, Eq)]
enum ReloadOutcome {
    Unchanged,
    Rejected(Vec<ConfigDiagnostic>),
    Applied {
        changed: Vec<String>,
        needs_restart: Vec<String>,
    },
}

/// Looks after the config until the process ends.
pub(crate) async fn watch_config(state: Arc<GatewayState>, mut stopping: watch::Receiver<bool>) {
    let mut watch = FileWatch::over(files_of(&state));
    let asked = state.reload.ask();
    let mut seen = watch.stamp();
    // It may have changed between being read and being watched.
    let host = state.lanes.host().clone();
    let now = tokio::task::spawn_blocking(move || config_stamp(&chela_config::load(&host))).await;
    if now.is_ok_and(|now| state.reload.standing().stamp != Some(now)) {
        asked.notify_one();
    }
    loop {
        let is_asked = tokio::select! {
            () = asked.notified() => true,
            () = watch.until_changed() => {
                tokio::time::sleep(DEBOUNCE).await;
                false
            }
            () = tokio::time::sleep(LOOK_EVERY) => false,
            _ = stopping.changed() => return,
        };
        let now = watch.stamp();
        if now == seen && !is_asked {
            continue;
        }
        let mode = state.lanes.agents().loaded().config.gateway.reload.mode;
        if mode == ReloadMode::Off && !is_asked {
            continue;
        }
        seen = now;
        let outcome = reload(&state).await;
        tell(&state, &outcome);
        if matches!(outcome, ReloadOutcome::Applied { .. }) {
            restart_if_wanted(&state, &outcome);
            // An include may have come or gone.
            watch = FileWatch::over(files_of(&state));
            seen = watch.stamp();
        }
    }
}

/// Every file that takes part, or would if it were there.
fn files_of(state: &GatewayState) -> Vec<PathBuf> {
    let agents = state.lanes.agents();
    let loaded = agents.loaded();
    let mut files: Vec<PathBuf> = loaded.files().map(PathBuf::from).collect();
    files.push(loaded.file());
    files.push(state.lanes.host().state_dir().join(".env"));
    files.extend(state.certificate.iter().flat_map(ServerCertificate::files));
    files.sort();
    files.dedup();
    files
}

/// Reads the files and works with them from here on, if they are valid.
async fn reload(state: &Arc<GatewayState>) -> ReloadOutcome {
    let _one = state.reload.busy.lock().await;
    read_certificate_again(state);
    let host = state.lanes.host().clone();
    let had_file = state.lanes.agents().loaded().source == ConfigSource::File;
    let read = tokio::task::spawn_blocking(move || read_strictly(&host, had_file)).await;
    let read = read.unwrap_or_else(|error| {
        tracing::error!(%error, "the config was not read");
        Err(Vec::new())
    });
    let new = match read {
        Ok(new) => Arc::new(new),
        Err(problems) => {
            let told = problems.iter().map(ToString::to_string).collect();
            lock(&state.reload.now).problems = told;
            return ReloadOutcome::Rejected(problems);
        }
    };
    let old = Arc::clone(state.lanes.agents().loaded());
    let changed = changed_keys(&old.tree.to_json(), &new.tree.to_json());
    let since_start = changed_keys(&state.reload.first.tree.to_json(), &new.tree.to_json());
    let needs_restart: Vec<String> = since_start
        .into_iter()
        .filter(|key| STARTS_WITH.iter().any(|part| is_below(key, part)))
        .collect();
    let had_problems = {
        let mut standing = lock(&state.reload.now);
        let had = !standing.problems.is_empty();
        *standing = ConfigStanding {
            needs_restart: needs_restart.clone(),
            ..standing_of(&new, state.lanes.host().unix_millis())
        };
        had
    };
    let is_env = old.env() != new.env();
    if changed.is_empty() && !is_env && !had_problems {
        return ReloadOutcome::Unchanged;
    }
    let host = state.lanes.host();
    if changed.iter().any(|key| is_below(key, "gateway.auth")) || is_env {
        let access = state.access.reload(host, &new).await;
        ok_or_warn!(access, "the former secret of gateway.auth stays in use");
    }
    *state.names.write().unwrap_or_else(PoisonError::into_inner) = KnownNames::of(&new);
    let opened = state.reload.opened;
    state
        .lanes
        .use_config(new, |agents| {
            if let Some(opened) = opened {
                opened(agents);
            }
        })
        .await;
    ReloadOutcome::Applied {
        changed,
        needs_restart,
    }
}

/// A renewed certificate is shown to whoever connects from now on.
fn read_certificate_again(state: &GatewayState) {
    let Some(certificate) = &state.certificate else {
        return;
    };
    let read = certificate.read_again();
    if let Some(true) = ok_or_warn!(read, "the former certificate stays in use") {
        tracing::info!("the certificate of the gateway has changed and is in use");
        write_down(state);
    }
}

/// Tells other processes of the home how things stand.
fn write_down(state: &GatewayState) {
    let mut running = state.running.clone();
    running.config = state.reload.standing();
    if let Some(certificate) = &state.certificate {
        running.certificate = certificate.fingerprint();
    }
    ok_or_warn!(
        running.write_down(state.lanes.host()),
        "other processes do not see how things stand"
    );
}

/// The config, unless something in it is wrong.
fn read_strictly(host: &Host, had_file: bool) -> Result<LoadedConfig, Vec<ConfigDiagnostic>> {
    if had_file && !host.config_file().exists() {
        return Err(vec![ConfigDiagnostic {
            severity: Severity::Error,
            code: "missing",
            path: KeyPath::root(),
            place: None,
            message: format!("{} is gone", host.compact(&host.config_file())),
            hint: Some("put it back, or restart the gateway to use the defaults".to_owned()),
        }]);
    }
    let mut problems = chela_config::validate(host);
    problems.retain(|problem| problem.severity >= Severity::Error);
    if !problems.is_empty() {
        return Err(problems);
    }
    let loaded = chela_config::load(host);
    // What could be read a moment ago may be half written now.
    let broken = |problem: &&ConfigDiagnostic| problem.severity >= Severity::Error;
    let problems: Vec<ConfigDiagnostic> =
        loaded.diagnostics.iter().filter(broken).cloned().collect();
    match problems.is_empty() {
        true => {
            if let Some(problem) = chela_config::remember(&loaded) {
                tracing::warn!(%problem, "the config is not kept as the last good one");
            }
            Ok(loaded)
        }
        false => Err(problems),
    }
}

/// Says what came of it: in the log, to clients, and where other processes look.
fn tell(state: &GatewayState, outcome: &ReloadOutcome) {
    let (event, data) = match outcome {
        ReloadOutcome::Unchanged => {
            tracing::debug!("the config files were looked at: nothing has changed");
            return;
        }
        ReloadOutcome::Rejected(problems) => {
            for problem in problems {
                tracing::error!(%problem, "the changed config is not used: what was loaded stays");
            }
            (
                "config.rejected",
                json!({ "problems": told_problems(problems) }),
            )
        }
        ReloadOutcome::Applied {
            changed,
            needs_restart,
        } => {
            tracing::info!(
                changed = changed.join(", "),
                "the config has changed: it applies from the next turn"
            );
            if !needs_restart.is_empty() {
                tracing::warn!(
                    keys = needs_restart.join(", "),
                    "these settings apply after a restart: `chela gateway restart`"
                );
            }
            (
                "config.changed",
                json!({ "changed": changed, "needsRestart": needs_restart }),
            )
        }
    };
    write_down(state);
    state.tell(event, data);
}

fn told_problems(problems: &[ConfigDiagnostic]) -> Vec<Value> {
    let told = problems.iter().map(|problem| {
        let place = problem.place.as_ref();
        json!({
            "key": problem.path.to_string(),
            "file": place.map(|place| place.file.display().to_string()),
            "line": place.map(|place| place.line),
            "column": place.map(|place| place.column),
            "message": problem.message,
            "hint": problem.hint,
        })
    });
    told.collect()
}

/// Starts over by itself where `gateway.reload.mode` says so.
fn restart_if_wanted(state: &Arc<GatewayState>, outcome: &ReloadOutcome) {
    let ReloadOutcome::Applied {
        changed,
        needs_restart,
    } = outcome
    else {
        return;
    };
    let agents = state.lanes.agents();
    let is_wanted = match agents.loaded().config.gateway.reload.mode {
        ReloadMode::Hybrid => !needs_restart.is_empty(),
        ReloadMode::Restart => !changed.is_empty(),
        ReloadMode::Hot | ReloadMode::Off => false,
    };
    if is_wanted {
        tokio::spawn(restart_when_idle(Arc::clone(state)));
    }
}

/// Waits until no turn runs, and looks whether the process could start with the config first: a
/// port that is taken must not end a gateway that works.
async fn restart_when_idle(state: Arc<GatewayState>) {
    while state.lanes.counts().running.load(Ordering::SeqCst) > 0 {
        tokio::time::sleep(IDLE_LOOK).await;
    }
    let agents = state.lanes.agents();
    let loaded = agents.loaded();
    let now = (state.running.address.clone(), state.running.port);
    let tls = ServerCertificate::of(state.lanes.host(), loaded).map_err(|error| error.to_string());
    let checked = match listen_address(loaded, None) {
        _ if tls.is_err() => tls.map(drop),
        Ok(address) if (address.ip().to_string(), address.port()) == now => Ok(()),
        // The port that was named on the command line stays, and so does what it is bound to.
        Ok(address) => match TcpListener::bind(address).await {
            Ok(_) => Ok(()),
            Err(error) => Err(format!("{address}: {error}")),
        },
        Err(error) => Err(error.to_string()),
    };
    match checked {
        Ok(()) => state.restart.ask(RestartAsk {
            why: "the config has changed".to_owned(),
            session: None,
        }),
        Err(why) => tracing::error!(
            why,
            "the gateway does not restart by itself: it could not listen there"
        ),
    }
}
