//! `chela guard …`: what the guard sees and decides.

mod canary;

use chela_core::Host;

use super::Outcome;
use crate::cli::guard::GuardCommand;
use crate::screen::Screen;

pub fn run(host: &Host, screen: &mut Screen, command: GuardCommand) -> Outcome {
    match command {
        GuardCommand::Canary(args) => canary::run(host, screen, &args),
    }
}
