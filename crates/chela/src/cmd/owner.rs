//! Whether it is the owner who runs a command, or an agent; and what is left to the owner.

use chela_config::LoadedConfig;
use chela_core::Host;
use chela_ledger::AuditKind;
use chela_sandbox::command_origin;

use super::change_records;

use crate::cli::approvals::ApprovalsCommand;
use crate::cli::auth::AuthCommand;
use crate::cli::backup::BackupCommand;
use crate::cli::cron::CronCommand;
use crate::cli::gateway::GatewayCommand;
use crate::cli::guard::GuardCommand;
use crate::cli::heartbeat::HeartbeatCommand;
use crate::cli::mcp::{McpCommand, TokenCommand};
use crate::cli::plugins::PluginsCommand;
use crate::cli::sandbox::SandboxCommand;
use crate::cli::security::SecurityCommand;
use crate::cli::skills::SkillsCommand;
use crate::cli::trust::TrustCommand;
use crate::cli::turn::TurnCommand;
use crate::cli::{
    AgentsCommand, CliCommand, ConfigCommand, FoldersCommand, MemoryCommand, MemoryModelCommand,
    ModelsCommand, PromptCommand, SessionsCommand, WorkspaceCommand,
};
use crate::fail::CommandError;

/// Refuses what only the owner may do, when a command of an agent asks for it.
pub fn require_owner(host: &Host, what: &str) -> Result<(), CommandError> {
    match is_agent(host) {
        false => Ok(()),
        true => Err(
            CommandError::new(format!("{what} by the owner, not by an agent's command"))
                .hint("the owner runs it in their own terminal"),
        ),
    }
}

/// Whether this runs as a command of an agent, or was started by one. What a command does to its
/// environment does not help.
pub fn is_agent(host: &Host) -> bool {
    command_origin(host).is_some()
}

/// What the owner edited since is theirs, where it is the owner who looks.
pub fn take_owner_edits(host: &Host, loaded: &LoadedConfig) {
    if is_agent(host) {
        return;
    }
    for taken in chela_agent::owner_edits::take_owner_edits(host, loaded) {
        change_records::record_change(host, AuditKind::TrustChange, &taken.on_record());
    }
}

/// A command of an agent may look and nothing else.
pub fn require_owner_for(host: &Host, command: Option<&CliCommand>) -> Result<(), CommandError> {
    match only_looks(command) {
        true => Ok(()),
        false => require_owner(host, "this command of Chela is run"),
    }
}

/// Whether a command changes nothing an agent works with: no setting, no trust, no approval, no
/// file, no session, and speaks to nobody. What is not listed here does.
fn only_looks(command: Option<&CliCommand>) -> bool {
    let Some(command) = command else {
        return false;
    };
    match command {
        CliCommand::Status(_)
        | CliCommand::Audit(_)
        | CliCommand::Cache(_)
        | CliCommand::Usage(_)
        | CliCommand::Logs(_)
        | CliCommand::Context(_)
        | CliCommand::Testkit(_)
        | CliCommand::Completion { .. }
        | CliCommand::Man => true,
        CliCommand::Docs(args) => args.write.is_none(),
        CliCommand::Doctor(args) => !args.fix,
        CliCommand::Undo(args) => args.list || args.dry_run,
        // Stopping only ever narrows.
        CliCommand::Stop(args) => !args.lift,
        CliCommand::Prompt(args) => {
            matches!(args.command, None | Some(PromptCommand::Check { .. }))
        }
        CliCommand::Config(command) => matches!(
            command,
            ConfigCommand::Get { .. }
                | ConfigCommand::Schema { .. }
                | ConfigCommand::Validate { .. }
                | ConfigCommand::Explain { .. }
                | ConfigCommand::File { .. }
        ),
        CliCommand::Workspace(command) => matches!(
            command,
            WorkspaceCommand::Path { .. }
                | WorkspaceCommand::List { .. }
                | WorkspaceCommand::History { .. }
                | WorkspaceCommand::Diff { .. }
        ),
        CliCommand::Memory(command) => matches!(
            command,
            MemoryCommand::Status { .. }
                | MemoryCommand::Search { .. }
                | MemoryCommand::Get { .. }
                | MemoryCommand::Lint { .. }
                | MemoryCommand::Model(MemoryModelCommand::Status { .. })
        ),
        CliCommand::Models(command) => matches!(command, ModelsCommand::List { .. }),
        CliCommand::Sessions(command) => matches!(
            command,
            SessionsCommand::List { .. }
                | SessionsCommand::Show { .. }
                | SessionsCommand::Export { .. }
        ),
        CliCommand::Turn(command) => matches!(
            command,
            TurnCommand::List { .. } | TurnCommand::Show { .. } | TurnCommand::Diff { .. }
        ),
        CliCommand::Agents(command) => matches!(
            command,
            AgentsCommand::List(_) | AgentsCommand::Show { .. } | AgentsCommand::Matrix(_)
        ),
        CliCommand::Skills(command) => matches!(
            command,
            SkillsCommand::List { .. }
                | SkillsCommand::Info { .. }
                | SkillsCommand::Check { .. }
                | SkillsCommand::Scan { .. }
                | SkillsCommand::Verify { .. }
                | SkillsCommand::Why { .. }
                | SkillsCommand::Diff { .. }
        ),
        CliCommand::Plugins(command) => matches!(
            command,
            PluginsCommand::List(_)
                | PluginsCommand::Info { .. }
                | PluginsCommand::Doctor { .. }
                | PluginsCommand::Logs { .. }
                | PluginsCommand::Hooks(_)
        ),
        CliCommand::Mcp(command) => matches!(
            command,
            McpCommand::List(_)
                | McpCommand::Tools { .. }
                | McpCommand::Diff { .. }
                | McpCommand::Token(TokenCommand::List(_))
        ),
        CliCommand::Guard(command) => match command {
            GuardCommand::Canary(args) => !args.plant && !args.remove,
            GuardCommand::Explain { .. }
            | GuardCommand::Policy { .. }
            | GuardCommand::Withheld { .. } => true,
            _ => false,
        },
        CliCommand::Trust(command) => {
            matches!(
                command,
                TrustCommand::Status { .. } | TrustCommand::Diff { .. }
            )
        }
        CliCommand::Security(SecurityCommand::Audit(args)) => !args.fix,
        CliCommand::Approvals(command) => matches!(
            command,
            ApprovalsCommand::List { .. }
                | ApprovalsCommand::Show { .. }
                | ApprovalsCommand::Get { .. }
        ),
        CliCommand::Auth(command) => matches!(command, AuthCommand::List(_)),
        CliCommand::Folders(command) => matches!(command, FoldersCommand::List(_)),
        CliCommand::Sandbox(command) => matches!(command, SandboxCommand::Explain { .. }),
        CliCommand::Heartbeat(command) => !matches!(command, HeartbeatCommand::Run { .. }),
        CliCommand::Backup(command) => matches!(command, BackupCommand::Verify { .. }),
        CliCommand::Cron(command) => matches!(
            command,
            CronCommand::List { .. } | CronCommand::Show { .. } | CronCommand::Runs { .. }
        ),
        CliCommand::Gateway(command) => matches!(
            command,
            GatewayCommand::Status { .. } | GatewayCommand::Logs(_)
        ),
        CliCommand::Init(_)
        | CliCommand::Setup(_)
        | CliCommand::Chat(_)
        | CliCommand::Resume(_)
        | CliCommand::Update(_) => false,
    }
}
