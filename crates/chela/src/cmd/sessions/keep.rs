//! `chela sessions rename`, `rm` and `cleanup`.

use chela_config::model::MaintenanceMode;
use chela_session::{Cleanup, MaintenanceRules, WhyDoomed};
use chela_store::block_on;
use serde_json::json;

use super::{Place, explained, plain, short};
use crate::cmd::{Outcome, Setup, noted};
use crate::fail::Exit;
use crate::screen::{Screen, counted};

pub fn rename(place: &Place<'_>, screen: &mut Screen, given: &str, name: Option<&str>) -> Outcome {
    let (sessions, session) = place.find(given)?;
    let name = name
        .map(|name| plain(name.trim()))
        .filter(|name| !name.is_empty());
    block_on(sessions.rename(&session, name.as_deref())).map_err(explained)?;
    let id = short(session.id.as_str());
    screen.line(match name {
        Some(name) => format!("{id} is now \"{name}\"."),
        None => format!("{id} has no name now."),
    })?;
    Ok(Exit::Fine)
}

pub fn remove(
    place: &Place<'_>,
    screen: &mut Screen,
    given: &[String],
    yes: bool,
    as_json: bool,
) -> Outcome {
    let mut found = Vec::new();
    for given in given {
        // All are looked up before any goes: a mistyped one removes nothing.
        found.push(place.find(given)?);
    }
    let mut removed = Vec::new();
    for (sessions, session) in &found {
        removed.push(block_on(sessions.info(session)).map_err(explained)?);
        if yes {
            block_on(sessions.remove(session)).map_err(explained)?;
        }
    }
    if yes {
        noted::forget(
            place.host,
            removed.iter().map(|info| info.session_id.as_str()),
        );
    }
    if as_json {
        screen.json(&json!({ "sessions": removed, "removed": yes }))?;
        return Ok(Exit::Fine);
    }
    for info in &removed {
        let entries = usize::try_from(info.entries).unwrap_or(usize::MAX);
        screen.line(format!(
            "{} {} {}: {}",
            if yes { "Deleted" } else { "Would delete" },
            short(info.session_id.as_str()),
            info.key,
            counted(entries, "message or step").replace("message or steps", "messages and steps"),
        ))?;
    }
    if !yes {
        screen.line("Nothing was deleted; --yes deletes. `chela sessions export` keeps a copy.")?;
    }
    Ok(Exit::Fine)
}

/// Whether a cleanup acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    AsConfigured,
    DryRun,
    Enforce,
}

pub fn cleanup(
    setup: &Setup,
    place: &Place<'_>,
    screen: &mut Screen,
    how: How,
    as_json: bool,
) -> Outcome {
    let rules = MaintenanceRules::of(&setup.loaded);
    let acts = match how {
        How::DryRun => false,
        How::Enforce => true,
        How::AsConfigured => rules.mode == MaintenanceMode::Enforce,
    };
    let Some(sessions) = place.existing()? else {
        if as_json {
            screen.json(&json!({ "sessions": [], "archives": [], "done": false }))?;
        } else {
            screen.line("There is nothing to clean up.")?;
        }
        return Ok(Exit::Fine);
    };
    let plan = block_on(sessions.plan_cleanup(&rules)).map_err(explained)?;
    let cleaned = if acts {
        let cleaned = block_on(sessions.cleanup(&plan)).map_err(explained)?;
        noted::forget(
            place.host,
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
        return Ok(Exit::Fine);
    }
    say(screen, &plan, acts)?;
    if let Some(cleaned) = cleaned
        && cleaned.sessions > 0
    {
        screen.line(format!(
            "Copies are in {}.",
            place.host.compact(&sessions.archive_dir())
        ))?;
    }
    Ok(Exit::Fine)
}

fn say(screen: &mut Screen, plan: &Cleanup, acts: bool) -> std::io::Result<()> {
    if plan.sessions.is_empty() && plan.archives.is_empty() {
        return screen.line("There is nothing to clean up.");
    }
    let verb = if acts { "Removed" } else { "Would remove" };
    for doomed in &plan.sessions {
        let why = match doomed.why {
            WhyDoomed::Old => "unused for longer than pruneAfter",
            WhyDoomed::TooMany => "more sessions than maxEntries",
            WhyDoomed::TooLarge => "more disk space than maxDiskBytes",
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
            counted(plan.archives.len(), "old archive")
        ))?;
    }
    screen.line(format!("{} kept.", counted(plan.kept, "session")))
}
