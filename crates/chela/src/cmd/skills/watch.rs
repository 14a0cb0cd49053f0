//! `chela skills watch`: skills as they come, change and go.

use std::collections::BTreeMap;
use std::sync::mpsc;

use chela_core::ContentHash;
use chela_skills::{AgentSkills, RefreshOutcome, SkillPresence, WatchSetting, watch};

use super::InstalledSkills;
use crate::cmd::{CommandOutcome, CommandSetup};
use crate::fail::{CommandError, CommandExit};
use crate::screen::{Screen, count_noun};

pub fn run(
    setup: &CommandSetup,
    mut installed: InstalledSkills,
    screen: &mut Screen,
) -> CommandOutcome {
    let load = &installed.shelf.settings().load;
    if load.watch == WatchSetting::Off {
        return Err(CommandError::new("skills.load.watch is off")
            .hint("chela config set skills.load.watch true"));
    }
    let debounce = load.watch_debounce;
    let folders = installed.shelf.watched_folders();
    let (changed, changes) = mpsc::channel();
    let mut watching = watch(&folders, debounce, move || {
        // When nobody listens any more, the command is ending.
        let _ = changed.send(());
    })
    .map_err(CommandError::new)?;
    let mut known = picture(&installed.skills);
    screen.line(format!(
        "Watching {}; {} now. Ctrl-C to stop.",
        count_noun(folders.len(), "folder"),
        count_noun(known.len(), "skill")
    ))?;
    screen.flush()?;
    while changes.recv().is_ok() {
        // First watch what is new, then look: what changes in between is told next time.
        watching.rearm(&installed.shelf.watched_folders());
        if installed.shelf.refresh() == RefreshOutcome::Unchanged {
            continue;
        }
        let now = picture(&installed.skills_now(setup));
        tell(screen, &known, &now)?;
        screen.flush()?;
        known = now;
    }
    Ok(CommandExit::Fine)
}

/// What there is, by name: where it stands and which text it has.
type Picture = BTreeMap<String, (SkillPresence, ContentHash)>;

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
