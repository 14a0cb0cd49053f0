//! What each command does.

mod agents;
mod approvals;
mod audit;
mod cache;
mod chat;
mod compared;
mod config;
mod context;
mod doctor;
mod explain;
mod guard;
mod init;
mod input;
mod ledger;
mod logs;
mod memory;
mod models;
mod noted;
mod notices;
mod owner;
mod prompt;
mod reference;
mod sandbox;
mod security;
mod sessions;
mod setup;
mod skills;
mod status;
mod stop;
mod testkit;
mod time;
mod trust;
mod turn;
mod undo;
mod usage;
mod workspace;

use chela_core::Host;

use crate::cli::Command;
use crate::fail::{Exit, Fail};
use crate::screen::Screen;

pub use setup::Setup;

/// A command either ends or says why it could not.
pub type Outcome = Result<Exit, Fail>;

pub fn run(host: &Host, screen: &mut Screen, command: Option<Command>) -> Outcome {
    match command {
        None => init::home(host, screen),
        Some(Command::Init(args)) => init::run(host, screen, &args),
        Some(Command::Chat(args)) => chat::run(host, screen, &args),
        Some(Command::Status(args)) => status::run(host, screen, args.json),
        Some(Command::Doctor(args)) => doctor::run(host, screen, &args),
        Some(Command::Config(command)) => config::run(host, screen, command),
        Some(Command::Workspace(command)) => workspace::run(host, screen, command),
        Some(Command::Memory(command)) => memory::run(host, screen, command),
        Some(Command::Models(command)) => models::run(host, screen, command),
        Some(Command::Sessions(command)) => sessions::run(host, screen, command),
        Some(Command::Turn(command)) => turn::run(host, screen, command),
        Some(Command::Undo(args)) => undo::run(host, screen, &args),
        Some(Command::Audit(command)) => audit::run(host, screen, command),
        Some(Command::Cache(command)) => cache::run(host, screen, command),
        Some(Command::Usage(args)) => usage::run(host, screen, &args),
        Some(Command::Logs(args)) => logs::run(host, screen, &args),
        Some(Command::Agents(command)) => agents::run(host, screen, command),
        Some(Command::Skills(command)) => skills::run(host, screen, command),
        Some(Command::Guard(command)) => guard::run(host, screen, command),
        Some(Command::Trust(command)) => trust::run(host, screen, command),
        Some(Command::Security(command)) => security::run(host, screen, command),
        Some(Command::Approvals(command)) => approvals::run(host, screen, command),
        Some(Command::Stop(args)) => stop::run(host, screen, args),
        Some(Command::Sandbox(command)) => sandbox::run(host, screen, command),
        Some(Command::Prompt(args)) => prompt::run(host, screen, args),
        Some(Command::Context(command)) => context::run(host, screen, command),
        Some(Command::Testkit(command)) => testkit::run(screen, command),
        Some(Command::Completion { shell }) => reference::completion(screen, shell),
        Some(Command::Man) => reference::man(screen),
        Some(Command::Docs { dir }) => reference::write_pages(&dir),
    }
}
