//! `chela workspace …`: the files of an agent, and how to undo a bad edit.

mod edit;

use chela_core::Host;
use chela_workspace::{Author, CommitId, CoreFile, History, HistoryEntry, Snapshot};
use serde_json::json;

use super::{Outcome, Setup};
use crate::cli::{AgentArg, PromptChoice, WorkspaceCommand};
use crate::fail::{Exit, Fail};
use crate::screen::{Screen, counted, grouped};

/// Enough to find a bad edit; git has the rest.
const MOST_VERSIONS: usize = 50;

pub fn run(host: &Host, screen: &mut Screen, command: WorkspaceCommand) -> Outcome {
    let setup = Setup::load(host);
    setup.warn_on_stderr(screen.paint);
    match command {
        WorkspaceCommand::Path { agent } => {
            screen.line(
                setup
                    .workspace_dir(&setup.agent(agent.agent.as_deref())?)
                    .display(),
            )?;
            Ok(Exit::Fine)
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
                .map_err(Fail::new)?;
            if diff.is_empty() {
                screen.line(format!("{file} is as it was."))?;
            }
            screen.raw(&diff)?;
            Ok(Exit::Fine)
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
                .snapshot(&Author::Owner, &why)
                .map_err(Fail::new)?;
            let told = match outcome {
                Snapshot::Unchanged => "Nothing has changed since the last record.".to_owned(),
                Snapshot::Committed { id, files } => {
                    format!("Recorded {} as {id}.", files.join(", "))
                }
                Snapshot::Paused(_) => {
                    return Err(
                        Fail::new("the repository is in the middle of something else")
                            .hint("finish the merge, rebase or other git command first"),
                    );
                }
            };
            screen.line(told)?;
            Ok(Exit::Fine)
        }
    }
}

fn open(setup: &Setup, agent: &AgentArg) -> Result<History, Fail> {
    let dir = setup.workspace_dir(&setup.agent(agent.agent.as_deref())?);
    if !dir.is_dir() {
        return Err(Fail::new(format!(
            "there is no workspace at {}",
            setup.host.compact(&dir)
        ))
        .hint("chela init"));
    }
    History::open(&setup.host, &dir).map_err(Fail::new)
}

fn list(setup: &Setup, screen: &mut Screen, agent: AgentArg, json: bool) -> Outcome {
    let choice = PromptChoice {
        agent: agent.agent,
        mode: None,
        channel: None,
        session: None,
    };
    let assembled = super::prompt::assembled(setup, &choice)?;
    if json {
        screen.json(&json!({ "workspace": assembled.workspace, "files": assembled.files }))?;
        return Ok(Exit::Fine);
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
    Ok(Exit::Fine)
}

fn history(
    setup: &Setup,
    screen: &mut Screen,
    agent: &AgentArg,
    file: Option<&str>,
    json: bool,
) -> Outcome {
    let past = open(setup, agent)?;
    // A change nobody recorded yet belongs to the history too.
    past.snapshot(&Author::Runtime, super::init::OUTSIDE_CHANGE)
        .map_err(Fail::new)?;
    let names: Vec<String> = match file {
        Some(file) => vec![file.to_owned()],
        None => CoreFile::ALL
            .iter()
            .map(|file| file.name().to_owned())
            .collect(),
    };
    let mut all = Vec::new();
    for name in names {
        let entries = past.entries(&name, MOST_VERSIONS).map_err(Fail::new)?;
        all.push((name, entries));
    }
    all.retain(|(_, entries)| file.is_some() || !entries.is_empty());
    if json {
        let files: Vec<_> = all
            .iter()
            .map(|(file, versions)| json!({ "file": file, "versions": versions }))
            .collect();
        screen.json(&files)?;
        return Ok(Exit::Fine);
    }
    for (at, (name, entries)) in all.iter().enumerate() {
        if at > 0 {
            screen.blank()?;
        }
        print_entries(screen, name, entries)?;
    }
    Ok(Exit::Fine)
}

fn print_entries(screen: &mut Screen, name: &str, entries: &[HistoryEntry]) -> std::io::Result<()> {
    let paint = screen.paint;
    screen.line(format!(
        "{}  {}",
        paint.bold(name),
        paint.dim(counted(entries.len(), "version"))
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
    setup: &Setup,
    screen: &mut Screen,
    agent: &AgentArg,
    file: &str,
    version: Option<String>,
) -> Outcome {
    let past = open(setup, agent)?;
    let id = match version {
        Some(id) => version_id(&id)?,
        None => previous(&past, file)?,
    };
    let report = past.restore(file, &id).map_err(Fail::new)?;
    let how = format!("chela workspace restore {}", report.restored.short());
    super::trust::owner_wrote(
        setup,
        &setup.agent(agent.agent.as_deref())?,
        &[&report.file],
        &how,
    );
    if report.commit.is_none() {
        screen.line(format!(
            "{file} already is as it was in {}.",
            report.restored.short()
        ))?;
        return Ok(Exit::Fine);
    }
    screen.line(format!(
        "{file} is back as it was in {}.",
        report.restored.short()
    ))?;
    if let Some(before) = &report.before {
        screen.line(format!(
            "Undo this with: chela workspace restore {file} {}",
            before.short()
        ))?;
    }
    Ok(Exit::Fine)
}

fn version_id(text: &str) -> Result<CommitId, Fail> {
    CommitId::parse(text).ok_or_else(|| {
        Fail::usage(format!("`{text}` is no version"))
            .hint("`chela workspace history FILE` lists them")
    })
}

/// The version before the latest change, recorded or not.
fn previous(past: &History, file: &str) -> Result<CommitId, Fail> {
    past.snapshot(&Author::Runtime, super::init::OUTSIDE_CHANGE)
        .map_err(Fail::new)?;
    let entries = past.entries(file, 2).map_err(Fail::new)?;
    entries.get(1).map(|entry| entry.id.clone()).ok_or_else(|| {
        Fail::new(format!("{file} has no earlier version"))
            .hint(format!("chela workspace history {file}"))
    })
}
