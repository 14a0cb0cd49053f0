//! `chela workspace edit`: the owner's own hand, known as such.

use std::path::{Component, Path};

use chela_agent::trust::custody_of;
use chela_core::{ContentHash, Host, ok_or_warn};
use chela_workspace::trust::VersionWriter;
use chela_workspace::{CommitAuthor, CoreFile, WorkspaceHistory};

use crate::cli::AgentArg;
use crate::cmd::{CommandOutcome, CommandSetup, owner, trust};
use crate::fail::{CommandError, CommandExit};
use crate::owner_editor::OwnerEditor;
use crate::screen::Screen;

pub fn run(
    setup: &CommandSetup,
    screen: &mut Screen,
    agent: &AgentArg,
    file: &str,
) -> CommandOutcome {
    owner::require_owner(&setup.host, "files are edited here")?;
    let agent = setup.agent(agent.agent.as_deref())?;
    let name = file_name(file)?;
    let custody = custody_of(&setup.host, &setup.loaded, &setup.view(&agent)?);
    let path = custody.resolved(&custody.root().join(&name));
    if !custody.root().is_dir() {
        return Err(CommandError::new(format!(
            "there is no workspace at {}",
            setup.host.compact(custody.root())
        ))
        .hint("chela init"));
    }
    owner::take_owner_edits(&setup.host, &setup.loaded);
    let before = custody.look(&path).map(|(judged, _)| judged);
    screen.flush()?;
    open(&setup.host, &path)?;
    let after = custody.look(&path).map(|(judged, _)| judged.hash);
    if after == before.as_ref().map(|judged| judged.hash) {
        screen.line(format!("{name} is unchanged."))?;
        return Ok(CommandExit::Fine);
    }
    if before.is_some_and(|judged| judged.judgement.waits()) {
        // One edit does not vouch for what somebody else wrote around it.
        screen.line(format!(
            "Changed {name}. Someone else had changed it before: `chela trust diff {name}` shows \
                everything."
        ))?;
        return Ok(CommandExit::Fine);
    }
    trust::owner_wrote(setup, &agent, &[&name], "chela workspace edit");
    if let Ok(past) = WorkspaceHistory::open(&setup.host, custody.root()) {
        let kept = past.snapshot(&CommitAuthor::Owner, &format!("Edit {name}"));
        ok_or_warn!(kept, "an edit is not in the workspace history");
    }
    let hash = after.map(|hash: ContentHash| hash.short());
    match hash {
        Some(hash) => screen.line(format!("Changed {name}, recorded as yours ({hash})."))?,
        None => {
            custody
                .record_gone(&path, &VersionWriter::Owner, "chela workspace edit")
                .map_err(CommandError::new)?;
            screen.line(format!(
                "{name} was deleted. `chela trust restore {name}` restores it."
            ))?;
        }
    }
    Ok(CommandExit::Fine)
}

/// A core file by its name, a note or a hook.
fn file_name(typed: &str) -> Result<String, CommandError> {
    let typed = typed.trim().trim_start_matches("./");
    if let Some(core) = CoreFile::ALL.into_iter().find(|core| {
        let name = core.name();
        let stem = name.trim_end_matches(".md");
        name.eq_ignore_ascii_case(typed) || stem.eq_ignore_ascii_case(typed)
    }) {
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
                CommandError::usage(format!("`{typed}` is not a core file")).hint(format!(
                    "{}, memory/NAME.md or hooks/NAME",
                    names.join(", ")
                )),
            )
        }
    }
}

/// Opens the owner's editor and waits for it.
fn open(host: &Host, path: &Path) -> Result<(), CommandError> {
    let editor = OwnerEditor::of(host);
    editor.check(editor.command(path).status())
}
