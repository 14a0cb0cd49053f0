//! `chela sandbox prune`: sandboxes nobody uses any more go.

use chela_sandbox::{Stale, Work, remove, stale};
use serde_json::json;

use crate::cmd::{Outcome, Setup};
use crate::fail::{Exit, Fail};
use crate::screen::{Screen, counted};

/// What was typed.
pub struct Asked {
    pub dry_run: bool,
    /// Files of commands go too.
    pub work: bool,
    pub json: bool,
}

pub fn prune(setup: &Setup, screen: &mut Screen, asked: &Asked) -> Outcome {
    let work = match asked.work {
        true => Work::Goes,
        false => Work::Stays,
    };
    let found = stale(&setup.host, &setup.loaded);
    let found: Vec<Stale> = found
        .into_iter()
        .filter(|stale| stale.has_rest || work == Work::Goes)
        .collect();
    if !asked.dry_run {
        for stale in &found {
            remove(stale, work).map_err(|error| {
                let folder = setup.host.compact(&stale.folder);
                Fail::new(format!("{folder} cannot be removed: {error}"))
                    .hint("check who owns what is in it")
            })?;
        }
    }
    if asked.json {
        screen.json(&json!({ "sandboxes": found, "done": !asked.dry_run }))?;
        return Ok(Exit::Fine);
    }
    for stale in &found {
        let stays = stale.has_work && work == Work::Stays;
        screen.line(format!(
            "{} {}: unused for {} h, {} d old{}",
            if asked.dry_run {
                "Would remove"
            } else {
                "Removed"
            },
            setup.host.compact(&stale.folder),
            stale.idle_hours,
            stale.age_days,
            match stays {
                true => "; its work folder stays (--work removes it)",
                false => "",
            }
        ))?;
    }
    screen.line(match found.len() {
        0 => "No sandbox is to go.".to_owned(),
        number => format!("{}.", counted(number, "sandbox folder")),
    })?;
    Ok(Exit::Fine)
}
