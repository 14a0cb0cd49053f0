//! `chela memory …`: what is remembered, found and forgotten.

mod bench;
mod index;
mod keep;
mod model;
mod search;
mod status;
mod vectors;

use std::sync::OnceLock;

use chela_agent::vectors::vectors_of;
use chela_config::AgentView;
use chela_core::Host;
use chela_core::secret::Redactor;
use chela_memory::embed::provider::Chosen;
use chela_memory::settings::configured_index_file;
use chela_memory::source::Places;
use chela_memory::{Memory, MemorySettings, OpenMemory, index_file};

use super::{Outcome, Setup};
use crate::cli::{AgentArg, MemoryCommand};
use crate::fail::Fail;
use crate::screen::Screen;

pub fn run(host: &Host, screen: &mut Screen, command: MemoryCommand) -> Outcome {
    if let MemoryCommand::Bench { dir, mode, json } = command {
        return bench::run(screen, &dir, mode, json);
    }
    let setup = Setup::load(host);
    setup.warn_on_stderr(screen.paint);
    match command {
        MemoryCommand::Status { agent, json } => status::run(&setup, screen, &agent, json),
        MemoryCommand::Index {
            force,
            yes,
            agent,
            json,
        } => {
            let wish = index::Wish { force, yes, json };
            index::run(&setup, screen, &agent, wish)
        }
        MemoryCommand::Search {
            query,
            max_results,
            min_score,
            explain,
            no_sync,
            agent,
            json,
        } => {
            let wish = search::Wish {
                question: query.join(" "),
                max_results,
                min_score,
                explain,
                no_sync,
                json,
            };
            search::run(&setup, screen, &agent, &wish)
        }
        MemoryCommand::Get {
            path,
            from,
            lines,
            agent,
            json,
        } => search::get(&setup, screen, &agent, &path, (from, lines), json),
        MemoryCommand::Forget {
            text,
            file,
            lines,
            yes,
            agent,
            json,
        } => {
            let what = keep::what(text, file, lines.as_deref())?;
            keep::forget(&setup, screen, &agent, &what, yes, json)
        }
        MemoryCommand::Lint { diff, agent, json } => keep::lint(&setup, screen, &agent, diff, json),
        MemoryCommand::Model(command) => model::run(&setup, screen, command),
        MemoryCommand::Bench { dir, mode, json } => bench::run(screen, &dir, mode, json),
    }
}

/// An agent's memory as the config has it.
struct Opened<'a> {
    view: AgentView,
    memory: Memory<'a>,
    /// Why a provider is not used, when one was asked for.
    provider_problem: Option<String>,
}

fn open<'a>(setup: &'a Setup, agent: &AgentArg) -> Result<Opened<'a>, Fail> {
    let id = setup.agent(agent.agent.as_deref())?;
    let view = setup
        .loaded
        .agent(&id)
        .ok_or_else(|| Fail::new(format!("there is no agent `{}`", id.as_str())))?;
    let host = &setup.host;
    // A command opens one memory, and its provider lives as long.
    static CHOSEN: OnceLock<Chosen> = OnceLock::new();
    let chosen =
        CHOSEN.get_or_init(|| vectors_of(host, &setup.loaded, &view, &Redactor::default()));
    let provider_problem = chosen.problem.clone();
    let memory = Memory::open(OpenMemory {
        host,
        index_file: configured_index_file(host, &view).unwrap_or_else(|| index_file(host, &id)),
        places: Places {
            workspace: setup.workspace_dir(&id),
            sessions: Some(view.agent_dir.value.join("sessions")),
            ceiling: setup.file_trust().for_memory(),
        },
        settings: MemorySettings::of(&view),
        embedder: chosen.embedder.as_deref(),
    })
    .map_err(explained)?;
    if !memory.settings().enabled {
        return Err(Fail::new("memory search is switched off for this agent")
            .hint("chela config set agents.defaults.memorySearch.enabled true"));
    }
    Ok(Opened {
        view,
        memory,
        provider_problem,
    })
}

/// The message of an error and of what is behind it.
fn explained(error: impl std::error::Error) -> Fail {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text.push_str(&format!(": {inner}"));
        source = inner.source();
    }
    Fail::new(text)
}
