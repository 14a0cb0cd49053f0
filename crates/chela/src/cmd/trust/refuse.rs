//! `chela trust refuse`: the owner's no. The former text stands.

use chela_agent::turn::put_back;
use chela_core::ok_or_warn;
use chela_workspace::trust::TrustStanding;
use chela_workspace::{CommitAuthor, WorkspaceHistory};
use serde_json::json;

use super::AgentFiles;
use crate::cmd::CommandOutcome;
use crate::fail::{CommandError, CommandExit};
use crate::screen::Screen;

pub(super) fn run(
    agent_files: &AgentFiles<'_>,
    screen: &mut Screen,
    typed: &str,
    json: bool,
) -> CommandOutcome {
    agent_files.mend()?;
    let file = agent_files.watched(typed)?;
    let path = agent_files.custody.resolved(&file.path);
    let judged = file.judged.as_ref().map(|judged| judged.judgement.state);
    let state = judged.or(file.absent.map(|absent| absent.judgement.state));
    let proposed = agent_files
        .custody
        .drop_proposal(&path)
        .map_err(CommandError::new)?;
    let held = state == Some(TrustStanding::Held);
    if !held && proposed.is_none() {
        return Err(CommandError::new(format!(
            "no change by the agent is waiting in {}",
            file.shown
        ))
        .hint(format!(
            "`chela trust restore {}` restores the last trusted version",
            file.shown
        )));
    }
    if held {
        // Whatever is replaced can be had back, where the workspace has a history.
        if let Ok(past) = WorkspaceHistory::open(agent_files.host(), agent_files.custody.root()) {
            let why = format!("Keep {} before refusing it", file.shown);
            let kept = past.snapshot(&CommitAuthor::Runtime, &why);
            ok_or_warn!(kept, "a change is not in the workspace history");
        }
        put_back(&agent_files.custody, &path).map_err(CommandError::new)?;
        agent_files.vouch(&path)?;
    }
    let waiting = file.entry.as_ref().and_then(|entry| entry.held.as_ref());
    let hash = proposed.as_ref().or(waiting).and_then(|held| held.hash);
    agent_files.note("refuse", &[&path], json!({ "hash": hash }));
    if json {
        screen.json(&json!({ "refused": file.shown, "hash": hash }))?;
        return Ok(CommandExit::Fine);
    }
    screen.line(match (held, path.exists()) {
        (true, true) => format!("Refused: {} is back to its trusted version.", file.shown),
        (true, false) => format!("Refused: {} was removed.", file.shown),
        (false, _) => format!("Refused: {} is unchanged.", file.shown),
    })?;
    Ok(CommandExit::Fine)
}
