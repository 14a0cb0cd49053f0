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
        GuardCommand::Release { session, agent } => {
            release::run(host, screen, session.as_deref(), &agent)
        }
    }
}
