//! `chela guard …`: what the guard sees and decides.

mod canary;
mod explain;
mod policy;
mod release;
mod why;

use chela_core::Host;

use super::CommandOutcome;
use crate::cli::guard::GuardCommand;
use crate::cli::turn::LAST_REQUEST;
use crate::screen::Screen;

pub fn run(host: &Host, screen: &mut Screen, command: GuardCommand) -> CommandOutcome {
    match command {
        GuardCommand::Canary(args) => canary::run(host, screen, &args),
        GuardCommand::Explain { turn, json } => {
            let turn = turn.filter(|turn| *turn != LAST_REQUEST);
            explain::run(host, screen, turn, json)
        }
        GuardCommand::Policy { agent, json } => policy::run(host, screen, &agent, json),
        GuardCommand::Why { path, agent, json } => why::run(host, screen, &path, &agent, json),
        GuardCommand::Withheld { json } => release::list_held_texts(host, screen, json),
        GuardCommand::Release {
            id: Some(id),
            session: _,
            agent: _,
        } => release::release_text(host, screen, &id),
        GuardCommand::Release {
            id: None,
            session,
            agent,
        } => release::release_session(host, screen, session.as_deref(), &agent),
    }
}
