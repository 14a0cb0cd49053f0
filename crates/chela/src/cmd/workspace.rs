//! `chela workspace …`: the files of an agent, and how to undo a bad edit.

mod edit;

use chela_core::Host;
use chela_workspace::{
    CommitAuthor, CommitId, CoreFile, HistoryEntry, HistorySnapshot, WorkspaceHistory,
};
use serde_json::json;

use super::{CommandOutcome, CommandSetup};
use crate::chat::print_warning;
use crate::cli::{AgentArg, PromptChoice, WorkspaceCommand};
use crate::fail::{CommandError, CommandExit};
use crate::screen::{Screen, count_noun, grouped};

/// Enough to find a bad edit; git has the rest.
const MOST_VERSIONS: usize = 50;

pub fn run(host: &Host, screen: &mut Screen, command: WorkspaceCommand) -> CommandOutcome {
    let setup = CommandSetup::load(host);
    setup.warn_on_stderr(screen.paint);
    match command {
        WorkspaceCommand::Path { agent } => {
            screen.line(
                setup
                    .workspace_dir(&setup.agent(agent.agent.as_deref())?)
                    .display(),
            )?;
            Ok(CommandExit::Fine)
        }
        WorkspaceCommand::List { agent, json } => list(&setup, screen, agent, json),
        WorkspaceCommand::History { file, agent, json } => {
            history(&setup, screen, &agent, file.as_deref(), json)
        }
        WorkspaceCommand::Diff {
            file,
            from,
            to,
            agent,
        } => {
            let past = open(&setup, &agent)?;
            let from = from.as_deref().map(version_id).transpose()?;
            let to = to.as_deref().map(version_id).transpose()?;
            let diff = past
                .diff(&file, from.as_ref(), to.as_ref())
                .map_err(CommandError::new)?;
            if diff.is_empty() {
                screen.line(format!("{file} is unchanged."))?;
            }
            screen.raw(&diff)?;
            Ok(CommandExit::Fine)
        }
        WorkspaceCommand::Restore {
            file,
            version,
            agent,
        } => restore(&setup, screen, &agent, &file, version),
        WorkspaceCommand::Edit { file, agent } => edit::run(&setup, screen, &agent, &file),
        WorkspaceCommand::Snapshot { agent, message } => {
            let why = message.unwrap_or_else(|| "Recorded by hand".to_owned());
            let outcome = open(&setup, &agent)?
                .snapshot(&CommitAuthor::Owner, &why)
                .map_err(CommandError::new)?;
            let told = match outcome {
                HistorySnapshot::Unchanged => {
                    "Nothing has changed since the last record.".to_owned()
                }
                HistorySnapshot::Committed { id, files } => {
                    format!("Recorded {} as {id}.", files.join(", "))
                }
                HistorySnapshot::Paused(_) => {
                    return Err(CommandError::new(
                        "the repository is in the middle of something else",
                    )
                    .hint("finish the merge, rebase or other git command first"));
                }
            };
            screen.line(told)?;
            Ok(CommandExit::Fine)
        }
    }
}

fn open(setup: &CommandSetup, agent: &AgentArg) -> Result<WorkspaceHistory, CommandError> {
    let dir = setup.workspace_dir(&setup.agent(agent.agent.as_deref())?);
    if !dir.is_dir() {
        return Err(CommandError::new(format!(
            "there is no workspace at {}",
            setup.host.compact(&dir)
        ))
        .hint("chela init"));
    }
    WorkspaceHistory::open(&setup.host, &dir).map_err(CommandError::new)
}

fn list(setup: &CommandSetup, screen: &mut Screen, agent: AgentArg, json: bool) -> CommandOutcome {
    let choice = PromptChoice {
        agent: agent.agent,
        mode: None,
        channel: None,
        session: None,
        skill: None,
    };
    let assembled = super::prompt::assemble_prompt(setup, &choice)?;
    if json {
        screen.json(&json!({ "workspace": assembled.workspace, "files": assembled.files }))?;
        return Ok(CommandExit::Fine);
    }
    let paint = screen.paint;
    screen.line(paint.bold(setup.host.compact(&assembled.workspace)))?;
    let rows: Vec<Vec<String>> = assembled
        .files
        .iter()
        .map(|file| {
            let mark = if file.status.is_in_prompt() {
                paint.good("in")
            } else {
                paint.dim("out")
            };
            vec![
                mark,
                file.shown_path.clone(),
                format!("{:>7}", grouped(file.raw_chars)),
                file.status.to_string(),
            ]
        })
        .collect();
    screen.table("  ", &rows)?;
    Ok(CommandExit::Fine)
}

fn history(
    setup: &CommandSetup,
    screen: &mut Screen,
    agent: &AgentArg,
    file: Option<&str>,
    json: bool,
) -> CommandOutcome {
    let past = open(setup, agent)?;
    // A change nobody recorded yet belongs to the history too. Where it cannot be recorded, what
    // was before is read all the same.
    if let Err(error) = past.snapshot(&CommitAuthor::Runtime, super::init::OUTSIDE_CHANGE) {
        print_warning(
            screen.paint,
            &format!("what changed since the last record is left out: {error}"),
        );
    }
    let names: Vec<String> = match file {
        Some(file) => vec![file.to_owned()],
        None => CoreFile::ALL
            .iter()
            .map(|file| file.name().to_owned())
            .collect(),
    };
    let mut all = Vec::new();
    for name in names {
        let entries = past
            .entries(&name, MOST_VERSIONS)
            .map_err(CommandError::new)?;
        all.push((name, entries));
    }
    all.retain(|(_, entries)| file.is_some() || !entries.is_empty());
    if json {
        let files: Vec<_> = all
            .iter()
            .map(|(file, versions)| json!({ "file": file, "versions": versions }))
            .collect();
        screen.json(&files)?;
        return Ok(CommandExit::Fine);
    }
    for (at, (name, entries)) in all.iter().enumerate() {
        if at > 0 {
            screen.blank()?;
        }
        print_entries(screen, name, entries)?;
    }
    Ok(CommandExit::Fine)
}

fn print_entries(screen: &mut Screen, name: &str, entries: &[HistoryEntry]) -> std::io::Result<()> {
    let paint = screen.paint;
    screen.line(format!(
        "{}  {}",
        paint.bold(name),
        paint.dim(count_noun(entries.len(), "version"))
    ))?;
    let rows: Vec<Vec<String>> = entries
        .iter()
        .map(|entry| {
            vec![
                paint.accent(entry.id.short()),
                crate::cmd::time::utc(entry.when),
                format!(
                    "{}{}",
                    paint.good(format!("+{}", entry.added)),
                    paint.bad(format!(" -{}", entry.removed))
                ),
                entry.who.to_string(),
                entry.why.clone(),
            ]
        })
        .collect();
    screen.table("  ", &rows)
}

fn restore(
    setup: &CommandSetup,
    screen: &mut Screen,
    agent: &AgentArg,
    file: &str,
    version: Option<String>,
) -> CommandOutcome {
    let past = open(setup, agent)?;
    let id = match version {
        Some(id) => version_id(&id)?,
        None => previous(&past, file)?,
    };
    let report = past.restore(file, &id).map_err(CommandError::new)?;
    let how = format!("chela workspace restore {}", report.restored.short());
    super::trust::owner_wrote(
        setup,
        &setup.agent(agent.agent.as_deref())?,
        &[&report.file],
        &how,
    );
    if report.commit.is_none() {
        screen.line(format!(
            "{file} is already at version {}.",
            report.restored.short()
        ))?;
        return Ok(CommandExit::Fine);
    }
    screen.line(format!(
        "Restored {file} to version {}.",
        report.restored.short()
    ))?;
    if let Some(before) = &report.before {
        screen.line(format!(
            "Undo this with: chela workspace restore {file} {}",
            before.short()
        ))?;
    }
    Ok(CommandExit::Fine)
}

fn version_id(text: &str) -> Result<CommitId, CommandError> {
    CommitId::parse(text).ok_or_else(|| {
        CommandError::usage(format!("`{text}` is not a version"))
            .hint("`chela workspace history FILE` lists them")
    })
}

/// The version before the latest change, recorded or not.
fn previous(past: &WorkspaceHistory, file: &str) -> Result<CommitId, CommandError> {
    past.snapshot(&CommitAuthor::Runtime, super::init::OUTSIDE_CHANGE)
        .map_err(CommandError::new)?;
    let entries = past.entries(file, 2).map_err(CommandError::new)?;
    entries.get(1).map(|entry| entry.id.clone()).ok_or_else(|| {
        CommandError::new(format!("{file} has no earlier version"))
            .hint(format!("chela workspace history {file}"))
    })
}
