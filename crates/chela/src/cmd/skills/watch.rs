//! `chela skills watch`: skills as they come, change and go.

use std::collections::BTreeMap;
use std::sync::mpsc;

use chela_core::ContentHash;
use chela_skills::{AgentSkills, Presence, Refreshed, Watch, config_is_on, watch};

use super::Desk;
use crate::cmd::{Outcome, Setup};
use crate::fail::{Exit, Fail};
use crate::screen::{Screen, counted};

pub fn run(setup: &Setup, mut desk: Desk, screen: &mut Screen) -> Outcome {
    let load = &desk.shelf.settings().load;
    if load.watch == Watch::Off {
        return Err(
            Fail::new("skills.load.watch is off").hint("chela config set skills.load.watch true")
        );
    }
    let debounce = load.watch_debounce;
    let folders = desk.shelf.watched_folders();
    let (changed, changes) = mpsc::channel();
    let mut watching = watch(&folders, debounce, move || {
        // When nobody listens any more, the command is ending.
        let _ = changed.send(());
    })
    .map_err(Fail::new)?;
    let mut known = picture(&desk.skills);
    screen.line(format!(
        "Watching {}; {} now. Ctrl-C ends it.",
        counted(folders.len(), "folder"),
        counted(known.len(), "skill")
    ))?;
    screen.flush()?;
    while changes.recv().is_ok() {
        // First watch what is new, then look: what changes in between is told next time.
        watching.rearm(&desk.shelf.watched_folders());
        if desk.shelf.refresh() == Refreshed::Unchanged {
            continue;
        }
        let config = |path: &str| config_is_on(&setup.loaded, path);
        let now = picture(&desk.shelf.for_agent(&config));
        tell(screen, &known, &now)?;
        screen.flush()?;
        known = now;
    }
    Ok(Exit::Fine)
}

/// What there is, by name: where it stands and which text it has.
type Picture = BTreeMap<String, (Presence, ContentHash)>;

fn picture(skills: &AgentSkills) -> Picture {
    let entries = skills.skills().iter();
    entries
        .map(|skill| {
            (
                skill.skill().name.clone(),
                (skill.presence(), skill.skill().tree),
            )
        })
        .collect()
}

fn tell(screen: &mut Screen, before: &Picture, now: &Picture) -> std::io::Result<()> {
    let paint = screen.paint;
    for (name, (presence, hash)) in now {
        let word = super::mark(*presence, paint);
        match before.get(name) {
            None => screen.line(format!("{} {name}  {word}", paint.good("+")))?,
            Some((was, old)) if was != presence || old != hash => {
                screen.line(format!("{} {name}  {word}", paint.warn("~")))?;
            }
            Some(_) => {}
        }
    }
    for name in before.keys().filter(|name| !now.contains_key(*name)) {
        screen.line(format!("{} {name}", paint.bad("-")))?;
    }
    Ok(())
}
