//! What each command does.

mod agents;
mod approvals;
mod audit;
mod auth;
mod backup;
mod cache;
mod change_records;
mod chat;
mod config;
mod context;
mod cron;
mod docs;
mod doctor;
mod explain;
mod folders;
mod gateway;
mod guard;
mod heartbeat;
mod init;
mod input;
mod ledger;
mod logs;
mod mcp;
mod memory;
mod models;
mod notices;
mod owner;
mod plugins;
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
mod text_diff;
mod time;
mod trust;
mod turn;
mod undo;
mod update;
mod usage;
mod wizard;
mod workspace;

use chela_core::Host;

use crate::cli::CliCommand;
use crate::fail::{CommandError, CommandExit};
use crate::screen::Screen;

pub use setup::CommandSetup;

/// A command either ends or says why it could not.
pub type CommandOutcome = Result<CommandExit, CommandError>;

pub fn run(host: &Host, screen: &mut Screen, command: Option<CliCommand>) -> CommandOutcome {
    owner::require_owner_for(host, command.as_ref())?;
    match command {
        None => init::init_home(host, screen),
        Some(CliCommand::Init(args)) => init::run(host, screen, &args),
        Some(CliCommand::Auth(command)) => auth::run(host, screen, command),
        Some(CliCommand::Setup(args)) => wizard::run(host, screen, &args),
        Some(CliCommand::Chat(args)) => chat::talk(host, screen, *args),
        Some(CliCommand::Resume(args)) => chat::resume(host, screen, *args),
        Some(CliCommand::Status(args)) => status::run(host, screen, args.json),
        Some(CliCommand::Doctor(args)) => doctor::run(host, screen, &args),
        Some(CliCommand::Config(command)) => config::run(host, screen, command),
        Some(CliCommand::Workspace(command)) => workspace::run(host, screen, command),
        Some(CliCommand::Memory(command)) => memory::run(host, screen, command),
        Some(CliCommand::Models(command)) => models::run(host, screen, command),
        Some(CliCommand::Sessions(command)) => sessions::run(host, screen, command),
        Some(CliCommand::Turn(command)) => turn::run(host, screen, command),
        Some(CliCommand::Undo(args)) => undo::run(host, screen, &args),
        Some(CliCommand::Audit(command)) => audit::run(host, screen, command),
        Some(CliCommand::Cache(command)) => cache::run(host, screen, command),
        Some(CliCommand::Gateway(command)) => gateway::run(host, screen, command),
        Some(CliCommand::Cron(command)) => cron::run(host, screen, command),
        Some(CliCommand::Heartbeat(command)) => heartbeat::run(host, screen, command),
        Some(CliCommand::Backup(command)) => backup::run(host, screen, command),
        Some(CliCommand::Usage(args)) => usage::run(host, screen, &args),
        Some(CliCommand::Logs(args)) => logs::run(host, screen, &args),
        Some(CliCommand::Agents(command)) => agents::run(host, screen, command),
        Some(CliCommand::Skills(command)) => skills::run(host, screen, command),
        Some(CliCommand::Mcp(command)) => mcp::run(host, screen, command),
        Some(CliCommand::Plugins(command)) => plugins::run(host, screen, command),
        Some(CliCommand::Guard(command)) => guard::run(host, screen, command),
        Some(CliCommand::Trust(command)) => trust::run(host, screen, command),
        Some(CliCommand::Security(command)) => security::run(host, screen, command),
        Some(CliCommand::Approvals(command)) => approvals::run(host, screen, command),
        Some(CliCommand::Folders(command)) => folders::run(host, screen, command),
        Some(CliCommand::Stop(args)) => stop::run(host, screen, args),
        Some(CliCommand::Sandbox(command)) => sandbox::run(host, screen, command),
        Some(CliCommand::Prompt(args)) => prompt::run(host, screen, args),
        Some(CliCommand::Context(command)) => context::run(host, screen, command),
        Some(CliCommand::Testkit(command)) => testkit::run(screen, command),
        Some(CliCommand::Update(args)) => update::run(host, screen, &args),
        Some(CliCommand::Completion { shell }) => reference::completion(screen, shell),
        Some(CliCommand::Man) => reference::man(screen),
        Some(CliCommand::Docs(args)) => docs::run(screen, &args),
    }
}
