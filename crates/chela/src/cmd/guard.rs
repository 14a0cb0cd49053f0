//! `chela guard …`: what the guard sees and decides.

mod canary;
mod explain;
mod policy;
mod release;

use chela_core::Host;

use super::Outcome;
use crate::cli::guard::GuardCommand;
use crate::screen::Screen;

pub fn run(host: &Host, screen: &mut Screen, command: GuardCommand) -> Outcome {
    match command {
        GuardCommand::Canary(args) => canary::run(host, screen, &args),
        GuardCommand::Explain { turn, json } => explain::run(host, screen, turn, json),
        GuardCommand::Policy { agent, json } => policy::run(host, screen, &agent, json),
        GuardCommand::Withheld { json } => release::list(host, screen, json),
        GuardCommand::Release {
            id: Some(id),
            session: _,
            agent: _,
        } => release::text(host, screen, &id),
        GuardCommand::Release {
            id: None,
            session,
            agent,
        } => release::session(host, screen, session.as_deref(), &agent),
    }
}
