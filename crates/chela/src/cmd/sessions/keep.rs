//! `chela sessions rename`, `rm` and `cleanup`.

use chela_config::model::MaintenanceMode;
use chela_session::{CleanupPlan, CleanupReason, MaintenanceRules};
use chela_store::block_on;
use serde_json::json;

use super::{SessionOwner, explained, plain, short};
use crate::cmd::{CommandOutcome, CommandSetup, change_records};
use crate::fail::CommandExit;
use crate::screen::{Screen, count_noun};

pub fn rename(
    owner: &SessionOwner<'_>,
    screen: &mut Screen,
    given: &str,
    name: Option<&str>,
) -> CommandOutcome {
    let (sessions, session) = owner.find(given)?;
    let name = name
        .map(|name| plain(name.trim()))
        .filter(|name| !name.is_empty());
    block_on(sessions.rename(&session, name.as_deref())).map_err(explained)?;
    let id = short(session.id.as_str());
    screen.line(match name {
        Some(name) => format!("{id} is now \"{name}\"."),
        None => format!("{id} has no name now."),
    })?;
    Ok(CommandExit::Fine)
}

pub fn remove(
    owner: &SessionOwner<'_>,
    screen: &mut Screen,
    given: &[String],
    yes: bool,
    as_json: bool,
) -> CommandOutcome {
    let mut found = Vec::new();
    for given in given {
        // All are looked up before any goes: a mistyped one removes nothing.
        found.push(owner.find(given)?);
    }
    let mut removed = Vec::new();
    for (sessions, session) in &found {
        removed.push(block_on(sessions.info(session)).map_err(explained)?);
        if yes {
            block_on(sessions.remove(session)).map_err(explained)?;
        }
    }
    if yes {
        change_records::forget(
            owner.host,
            removed.iter().map(|info| info.session_id.as_str()),
        );
    }
    if as_json {
        screen.json(&json!({ "sessions": removed, "removed": yes }))?;
        return Ok(CommandExit::Fine);
    }
    for info in &removed {
        let entries = usize::try_from(info.entries).unwrap_or(usize::MAX);
        screen.line(format!(
            "{} {} {}: {}",
            if yes { "Deleted" } else { "Would delete" },
            short(info.session_id.as_str()),
            info.key,
            count_noun(entries, "message or step")
                .replace("message or steps", "messages and steps"),
        ))?;
    }
    if !yes {
        screen.line(
            "Nothing was deleted; add --yes to delete. `chela sessions export` saves a \
            copy.",
        )?;
    }
    Ok(CommandExit::Fine)
}

/// Whether a cleanup acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CleanupMode {
    AsConfigured,
    DryRun,
    Enforce,
}

pub fn cleanup(
    setup: &CommandSetup,
    owner: &SessionOwner<'_>,
    screen: &mut Screen,
    how: CleanupMode,
    as_json: bool,
) -> CommandOutcome {
    let rules = MaintenanceRules::of(&setup.loaded);
    let acts = match how {
        CleanupMode::DryRun => false,
        CleanupMode::Enforce => true,
        CleanupMode::AsConfigured => rules.mode == MaintenanceMode::Enforce,
    };
    let Some(sessions) = owner.existing()? else {
        if as_json {
            screen.json(&json!({ "sessions": [], "archives": [], "done": false }))?;
        } else {
            screen.line("Nothing to clean up.")?;
        }
        return Ok(CommandExit::Fine);
    };
    let plan = block_on(sessions.plan_cleanup(&rules)).map_err(explained)?;
    let cleaned = if acts {
        let cleaned = block_on(sessions.cleanup(&plan)).map_err(explained)?;
        change_records::forget(
            owner.host,
            plan.sessions
                .iter()
                .map(|doomed| doomed.session_id.as_str()),
        );
        Some(cleaned)
    } else {
        None
    };
    if as_json {
        let mut report = serde_json::to_value(&plan)?;
        report["done"] = json!(acts);
        report["cleaned"] = json!(cleaned);
        screen.json(&report)?;
        return Ok(CommandExit::Fine);
    }
    say(screen, &plan, acts)?;
    if let Some(cleaned) = cleaned
        && cleaned.sessions > 0
    {
        screen.line(format!(
            "Copies are in {}.",
            owner.host.compact(&sessions.archive_dir())
        ))?;
    }
    Ok(CommandExit::Fine)
}

fn say(screen: &mut Screen, plan: &CleanupPlan, acts: bool) -> std::io::Result<()> {
    if plan.sessions.is_empty() && plan.archives.is_empty() {
        return screen.line("Nothing to clean up.");
    }
    let verb = if acts { "Removed" } else { "Would remove" };
    for doomed in &plan.sessions {
        let why = match doomed.why {
            CleanupReason::Old => "unused for longer than pruneAfter",
            CleanupReason::TooMany => "more sessions than maxEntries",
            CleanupReason::TooLarge => "more disk space than maxDiskBytes",
        };
        screen.line(format!(
            "{verb} {} {}: {why}",
            short(doomed.session_id.as_str()),
            doomed.key
        ))?;
    }
    if !plan.archives.is_empty() {
        screen.line(format!(
            "{verb} {}",
            count_noun(plan.archives.len(), "old archive")
        ))?;
    }
    screen.line(format!("{} kept.", count_noun(plan.kept, "session")))
}
