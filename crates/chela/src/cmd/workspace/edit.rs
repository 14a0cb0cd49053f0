//! `chela workspace edit`: the owner's own hand, known as such.

use std::path::{Component, Path};
use std::process::Command;

use chela_agent::trust::custody_of;
use chela_core::{ContentHash, Host, ok_or_warn};
use chela_workspace::trust::Writer;
use chela_workspace::{Author, CoreFile, History};

use crate::cli::AgentArg;
use crate::cmd::{Outcome, Setup, owner, trust};
use crate::fail::{Exit, Fail};
use crate::screen::Screen;

pub fn run(setup: &Setup, screen: &mut Screen, agent: &AgentArg, file: &str) -> Outcome {
    owner::only(&setup.host, "files are edited here")?;
    let agent = setup.agent(agent.agent.as_deref())?;
    let name = file_name(file)?;
    let custody = custody_of(&setup.host, &setup.loaded, &setup.view(&agent)?);
    let path = custody.resolved(&custody.root().join(&name));
    if !custody.root().is_dir() {
        return Err(Fail::new(format!(
            "there is no workspace at {}",
            setup.host.compact(custody.root())
        ))
        .hint("chela init"));
    }
    let before = custody.look(&path).map(|(judged, _)| judged);
    screen.flush()?;
    open(&setup.host, &path)?;
    let after = custody.look(&path).map(|(judged, _)| judged.hash);
    if after == before.as_ref().map(|judged| judged.hash) {
        screen.line(format!("{name} is as it was."))?;
        return Ok(Exit::Fine);
    }
    if before.is_some_and(|judged| judged.judgement.waits()) {
        // One edit does not vouch for what somebody else wrote around it.
        screen.line(format!(
            "{name} is changed. Someone else had changed it before: chela trust diff {name} shows all of it."
        ))?;
        return Ok(Exit::Fine);
    }
    trust::owner_wrote(setup, &agent, &[&name], "chela workspace edit");
    if let Ok(past) = History::open(&setup.host, custody.root()) {
        let kept = past.snapshot(&Author::Owner, &format!("Edit {name}"));
        ok_or_warn!(kept, "an edit is not in the history of the workspace");
    }
    let hash = after.map(|hash: ContentHash| hash.short());
    match hash {
        Some(hash) => screen.line(format!("{name} is changed, and yours ({hash})."))?,
        None => {
            custody
                .record_gone(&path, &Writer::Owner, "chela workspace edit")
                .map_err(Fail::new)?;
            screen.line(format!(
                "{name} is gone. chela trust restore {name} brings it back."
            ))?;
        }
    }
    Ok(Exit::Fine)
}

/// A core file by its name, a note or a hook.
fn file_name(typed: &str) -> Result<String, Fail> {
    let typed = typed.trim().trim_start_matches("./");
    if let Some(core) = CoreFile::ALL
        .into_iter()
        .find(|core| core.name().eq_ignore_ascii_case(typed))
    {
        return Ok(core.name().to_owned());
    }
    let is_note = typed
        .strip_prefix("memory/")
        .is_some_and(|name| name.ends_with(".md") && !name.contains(['/', '\\']));
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    let is_hook = typed.starts_with("hooks/") && Path::new(typed).components().all(is_plain);
    match is_note || is_hook {
        true => Ok(typed.to_owned()),
        false => {
            let names: Vec<&str> = CoreFile::ALL.iter().map(|core| core.name()).collect();
            Err(
                Fail::usage(format!("`{typed}` is not a core file")).hint(format!(
                    "{}, memory/NAME.md or hooks/NAME",
                    names.join(", ")
                )),
            )
        }
    }
}

/// Opens the owner's editor and waits for it.
fn open(host: &Host, path: &Path) -> Result<(), Fail> {
    let editor = host.var("VISUAL").or(host.var("EDITOR")).unwrap_or("vi");
    let mut words = editor.split_whitespace();
    let program = words.next().unwrap_or("vi");
    let status = Command::new(program)
        .args(words)
        .arg(path)
        .status()
        .map_err(|error| {
            Fail::new(format!("cannot start {program}: {error}"))
                .hint("set EDITOR to the editor you use")
        })?;
    match status.success() {
        true => Ok(()),
        false => Err(Fail::new(format!("{program} ended with {status}"))),
    }
}
