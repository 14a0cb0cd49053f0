//! `chela memory …`: what is remembered, found and forgotten.

mod about;
mod bench;
mod cards;
mod consolidate;
mod index;
mod keep;
mod model;
mod search;
mod status;
mod vectors;

use std::sync::Arc;

use chela_agent::agent::Agents;
use chela_config::AgentView;
use chela_core::Host;
use chela_memory::status::IndexStatus;
use chela_memory::{AgentMemory, Memory};

use super::{CommandOutcome, CommandSetup};
use crate::cli::{AgentArg, MemoryCommand};
use crate::fail::{CommandError, explained};
use crate::screen::{Screen, count_noun, grouped};

pub fn run(host: &Host, screen: &mut Screen, command: MemoryCommand) -> CommandOutcome {
    let setup = CommandSetup::load(host);
    setup.warn_on_stderr(screen.paint);
    match command {
        MemoryCommand::Status { agent, json } => status::run(&setup, screen, &agent, json),
        MemoryCommand::Index {
            force,
            yes,
            agent,
            json,
        } => {
            let request = index::IndexRequest { force, yes, json };
            index::run(&setup, screen, &agent, request)
        }
        MemoryCommand::Search {
            query,
            since,
            until,
            on,
            place,
            max_results,
            max_chars,
            min_score,
            explain,
            no_sync,
            agent,
            json,
        } => {
            let request = search::SearchRequest {
                question: query.join(" "),
                since,
                until,
                on,
                place,
                max_results,
                max_chars,
                min_score,
                explain,
                no_sync,
                json,
            };
            search::run(&setup, screen, &agent, &request)
        }
        MemoryCommand::About { name, agent, json } => {
            about::run(&setup, screen, &agent, &name.join(" "), json)
        }
        MemoryCommand::Bench { folder, json } => bench::run(screen, &folder, json),
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
            let what = keep::parse_target(text, file, lines.as_deref())?;
            keep::forget(&setup, screen, &agent, &what, yes, json)
        }
        MemoryCommand::Lint { diff, agent, json } => keep::lint(&setup, screen, &agent, diff, json),
        MemoryCommand::Consolidate {
            yes,
            refuse,
            additions_only,
            agent,
            json,
        } => {
            let answer = match (yes, refuse) {
                (true, _) => consolidate::ProposalAnswer::Accept,
                (_, true) => consolidate::ProposalAnswer::Refuse,
                _ => consolidate::ProposalAnswer::Look,
            };
            let request = consolidate::ConsolidateRequest {
                answer,
                additions_only,
                json,
            };
            consolidate::run(&setup, screen, &agent, &request)
        }
        MemoryCommand::Model(command) => model::run(&setup, screen, command),
    }
}

/// An agent's memory as the config has it: the one its tools and its chat ask, too.
struct Opened {
    view: AgentView,
    shared: Arc<AgentMemory>,
}

impl Opened {
    fn memory(&self) -> Result<Memory<'_>, CommandError> {
        self.shared.open().map_err(explained)
    }

    /// Why a provider is not used, when one was asked for.
    fn provider_problem(&self) -> Option<String> {
        self.shared.parts().provider_problem.clone()
    }
}

fn open(setup: &CommandSetup, agent: &AgentArg) -> Result<Opened, CommandError> {
    let id = setup.agent(agent.agent.as_deref())?;
    let view = setup.view(&id)?;
    let agents = Agents::open(&setup.host, Arc::new(setup.loaded.clone()));
    let shared = agents.memory(&id).ok_or_else(|| {
        CommandError::new("memory search is turned off for this agent")
            .hint("chela config set agents.defaults.memorySearch.enabled true")
    })?;
    Ok(Opened { view, shared })
}

/// By which model how much of the index has vectors.
fn vectors_of(status: &IndexStatus) -> String {
    match &status.model {
        Some(model) => format!(
            "{model}: {} of {}",
            grouped(status.embedded),
            count_noun(status.chunks, "chunk")
        ),
        None => "off: words only".to_owned(),
    }
}
