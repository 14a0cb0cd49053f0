//! `chela trust refuse`: the owner's no. The former text stands.

use chela_agent::turn::put_back;
use chela_core::ok_or_warn;
use chela_workspace::trust::State;
use chela_workspace::{Author, History};
use serde_json::json;

use super::Desk;
use crate::cmd::Outcome;
use crate::fail::{Exit, Fail};
use crate::screen::Screen;

pub(super) fn run(desk: &Desk<'_>, screen: &mut Screen, typed: &str, json: bool) -> Outcome {
    desk.mend()?;
    let file = desk.watched(typed)?;
    let path = desk.custody.resolved(&file.path);
    let judged = file.judged.as_ref().map(|judged| judged.judgement.state);
    let state = judged.or(file.absent.map(|absent| absent.judgement.state));
    let proposed = desk.custody.drop_proposal(&path).map_err(Fail::new)?;
    let held = state == Some(State::Held);
    if !held && proposed.is_none() {
        return Err(
            Fail::new(format!("nothing of the agent's waits in {}", file.shown)).hint(format!(
                "chela trust restore {} puts the last trusted version back",
                file.shown
            )),
        );
    }
    if held {
        // Whatever is replaced can be had back, where the workspace has a history.
        if let Ok(past) = History::open(desk.host(), desk.custody.root()) {
            let why = format!("Keep {} before refusing it", file.shown);
            let kept = past.snapshot(&Author::Runtime, &why);
            ok_or_warn!(kept, "a change is not in the history of the workspace");
        }
        put_back(&desk.custody, &path).map_err(Fail::new)?;
        desk.vouch(&path)?;
    }
    let waiting = file.entry.as_ref().and_then(|entry| entry.held.as_ref());
    let hash = proposed.as_ref().or(waiting).and_then(|held| held.hash);
    desk.note("refuse", &[&path], json!({ "hash": hash }));
    if json {
        screen.json(&json!({ "refused": file.shown, "hash": hash }))?;
        return Ok(Exit::Fine);
    }
    screen.line(match (held, path.exists()) {
        (true, true) => format!("Refused: {} is as it was trusted.", file.shown),
        (true, false) => format!("Refused: {} is not there any more.", file.shown),
        (false, _) => format!("Refused: {} stays as it is.", file.shown),
    })?;
    Ok(Exit::Fine)
}
