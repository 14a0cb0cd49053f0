//! `chela agents …`: who there is, what each may do, and where that comes from.

mod matrix;

use chela_agent::prompt_knobs::PromptKnobs;
use chela_config::KeyPath;
use chela_config::text::edit;
use chela_core::{AgentId, Host};
use chela_model::Models;
use chela_workspace::SeedMode;
use serde_json::{Map, Value, json};

use super::{CommandOutcome, CommandSetup, config, init};
use crate::cli::AgentsCommand;
use crate::fail::{CommandError, CommandExit};
use crate::screen::{Screen, shorten};

pub fn run(host: &Host, screen: &mut Screen, command: AgentsCommand) -> CommandOutcome {
    let setup = CommandSetup::load(host);
    setup.warn_on_stderr(screen.paint);
    match command {
        AgentsCommand::List(args) => list(&setup, screen, args.json),
        AgentsCommand::Add {
            id,
            name,
            model,
            workspace,
        } => add(
            &setup,
            screen,
            &New {
                id,
                name,
                model,
                workspace,
            },
        ),
        AgentsCommand::Show { id, json } => show(&setup, screen, &id, json),
        AgentsCommand::Remove { id } => remove(&setup, screen, &id),
        AgentsCommand::Matrix(args) => matrix::run(&setup, screen, args.json),
    }
}

/// The name with what stands beside it.
fn shown_name(knobs: &PromptKnobs) -> String {
    let parts = [knobs.emoji.as_deref(), knobs.name.as_deref()];
    parts.into_iter().flatten().collect::<Vec<_>>().join(" ")
}

fn list(setup: &CommandSetup, screen: &mut Screen, json: bool) -> CommandOutcome {
    let default = setup.loaded.default_agent();
    let agents = setup.agents();
    if json {
        let rows: Vec<Value> = agents
            .iter()
            .map(|knobs| {
                let id = &knobs.agent;
                json!({
                    "id": id, "default": *id == default, "name": knobs.name, "emoji": knobs.emoji, "model": knobs.model,
                    "workspace": knobs.workspace, "exists": knobs.workspace.is_dir(),
                })
            })
            .collect();
        screen.json(&rows)?;
        return Ok(CommandExit::Fine);
    }
    let paint = screen.paint;
    let rows: Vec<Vec<String>> = agents
        .iter()
        .map(|knobs| {
            let id = &knobs.agent;
            vec![
                paint.bold(id),
                shown_name(knobs),
                knobs.model.clone().unwrap_or_else(|| paint.dim("no model")),
                setup.host.compact(&knobs.workspace),
                if *id == default {
                    paint.dim("default")
                } else {
                    String::new()
                },
            ]
        })
        .collect();
    screen.table("", &rows)?;
    Ok(CommandExit::Fine)
}

struct New {
    id: String,
    name: Option<String>,
    model: Option<String>,
    workspace: Option<String>,
}

fn add(setup: &CommandSetup, screen: &mut Screen, new: &New) -> CommandOutcome {
    let id = AgentId::parse(&new.id).map_err(CommandError::usage)?;
    if setup.loaded.agents().contains(&id) {
        return Err(CommandError::new(format!("agent `{id}` already exists"))
            .hint(format!("chela agents show {id}")));
    }
    if let Some(model) = &new.model {
        Models::of(&setup.host, &setup.loaded).resolve(model)?;
    }
    let mut entry = Map::new();
    entry.insert("id".into(), json!(id));
    for (key, value) in [
        ("name", &new.name),
        ("model", &new.model),
        ("workspace", &new.workspace),
    ] {
        if let Some(value) = value {
            entry.insert(key.into(), json!(value));
        }
    }
    let outcome = config::change(&setup.host, |source| {
        with_agent(source, &setup.loaded.default_agent(), &entry)
    })?;
    screen.line(format!(
        "Added agent {id} to {}.",
        setup.host.compact(&outcome.path)
    ))?;
    let setup = CommandSetup::load(&setup.host);
    let report = init::seed_agent(&setup, Some(id.as_str()), SeedMode::Fill)?;
    screen.line(format!(
        "Its workspace is {}.",
        setup.host.compact(&report.dir)
    ))?;
    screen.line(screen.paint.dim(format!(
        "`chela agents show {id}` shows its settings, `chela prompt --agent {id}` its prompt."
    )))?;
    Ok(CommandExit::Fine)
}

/// The config with one agent more, in the shape the roster already has. A first list also names
/// the agent that was there without being written down, so that it stays.
fn with_agent(
    source: &str,
    existing: &AgentId,
    entry: &Map<String, Value>,
) -> Result<String, edit::EditError> {
    let agents = KeyPath::root().key("agents");
    let root = chela_config::text::parse(source, chela_config::FileId::default()).root;
    let roster = root.as_ref().and_then(|root| root.get("agents"));
    if roster.and_then(|agents| agents.get("entries")).is_some() {
        let mut rest = entry.clone();
        let id = rest
            .remove("id")
            .and_then(|id| id.as_str().map(str::to_owned))
            .unwrap_or_default();
        return edit::set(source, &agents.key("entries").key(id), &Value::Object(rest));
    }
    let list = agents.key("list");
    match roster.and_then(|agents| agents.get("list")) {
        Some(present) => edit::set(
            source,
            &list.index(present.items().len()),
            &Value::Object(entry.clone()),
        ),
        None => edit::set(
            source,
            &list,
            &json!([{ "id": existing, "default": true }, entry]),
        ),
    }
}

fn remove(setup: &CommandSetup, screen: &mut Screen, id: &str) -> CommandOutcome {
    let id = setup.agent(Some(id))?;
    let Some(path) = setup.agent_path(&id) else {
        return Err(CommandError::new(format!(
            "agent `{id}` is not in the config, so there is nothing to remove"
        ))
        .hint("it is the built-in agent used when none is configured"));
    };
    let dir = setup.host.compact(&setup.workspace_dir(&id));
    let outcome = config::change(&setup.host, |source| {
        edit::unset(source, &path).map(|(text, _)| text)
    })?;
    screen.line(format!(
        "Removed agent {id} from {}.",
        setup.host.compact(&outcome.path)
    ))?;
    screen.line(format!("Its files stay in {dir}."))?;
    Ok(CommandExit::Fine)
}

/// Writes the workspace of an agent into the config.
pub fn set_workspace(
    setup: &CommandSetup,
    agent: &AgentId,
    folder: &str,
) -> Result<(), CommandError> {
    let absolute = setup.host.expand(folder);
    let value = Value::String(setup.host.compact(&absolute));
    let key = match setup.agent_path(agent) {
        Some(own) => own.key("workspace"),
        None => KeyPath::root()
            .key("agents")
            .key("defaults")
            .key("workspace"),
    };
    config::change(&setup.host, |source| edit::set(source, &key, &value)).map(|_| ())
}

fn show(setup: &CommandSetup, screen: &mut Screen, id: &str, json: bool) -> CommandOutcome {
    let id = setup.agent(Some(id))?;
    let view = setup.view(&id)?;
    let entries = view.entries();
    if json {
        let settings: Map<String, Value> = entries
            .iter()
            .map(|entry| {
                (
                    entry.name.clone(),
                    json!({ "value": entry.value, "from": entry.from.to_string() }),
                )
            })
            .collect();
        screen.json(&json!({ "id": id, "settings": settings }))?;
        return Ok(CommandExit::Fine);
    }
    let paint = screen.paint;
    screen.line(paint.bold(format!("Agent {id}")))?;
    let room = screen.width.saturating_sub(60).max(24);
    let rows: Vec<Vec<String>> = entries
        .iter()
        .map(|entry| {
            let value = match &entry.value {
                Value::String(text) => text.clone(),
                Value::Null => paint.dim("-"),
                value => value.to_string(),
            };
            vec![
                entry.name.to_owned(),
                shorten(&value, room),
                paint.dim(&entry.from),
            ]
        })
        .collect();
    screen.table("  ", &rows)?;
    Ok(CommandExit::Fine)
}
