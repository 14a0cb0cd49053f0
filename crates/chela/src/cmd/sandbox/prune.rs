//! `chela sandbox prune`: sandboxes nobody uses any more go.

use chela_sandbox::{StaleSandbox, WorkFate, remove, stale};
use serde_json::json;

use crate::cmd::{CommandOutcome, CommandSetup};
use crate::fail::{CommandError, CommandExit};
use crate::screen::{Screen, count_noun};

/// What was typed.
pub struct SandboxPruneRequest {
    pub dry_run: bool,
    /// Files of commands go too.
    pub work: bool,
    pub json: bool,
}

pub fn prune(
    setup: &CommandSetup,
    screen: &mut Screen,
    asked: &SandboxPruneRequest,
) -> CommandOutcome {
    let work = match asked.work {
        true => WorkFate::Goes,
        false => WorkFate::Stays,
    };
    let found = stale(&setup.host, &setup.loaded);
    let found: Vec<StaleSandbox> = found
        .into_iter()
        .filter(|stale| stale.has_rest || work == WorkFate::Goes)
        .collect();
    if !asked.dry_run {
        for stale in &found {
            remove(stale, work).map_err(|error| {
                let folder = setup.host.compact(&stale.folder);
                CommandError::new(format!("{folder} cannot be removed: {error}"))
                    .hint("check the owner of its files")
            })?;
        }
    }
    if asked.json {
        screen.json(&json!({ "sandboxes": found, "done": !asked.dry_run }))?;
        return Ok(CommandExit::Fine);
    }
    for stale in &found {
        let stays = stale.has_work && work == WorkFate::Stays;
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
        0 => "Nothing to prune.".to_owned(),
        number => format!("{}.", count_noun(number, "sandbox folder")),
    })?;
    Ok(CommandExit::Fine)
}
