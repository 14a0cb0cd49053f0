//! `chela gateway …`, as typed.

use clap::{Args, Subcommand, ValueEnum};

use super::logs::LogsArgs;

pub const AFTER_HELP: &str = "\
Examples:
  chela gateway run                in this terminal, until Ctrl-C
  chela gateway install            as a service that starts with your session
  chela gateway status
  curl -H \"Authorization: Bearer $(chela gateway token)\" http://127.0.0.1:18790/v1/models

The gateway listens on this machine alone unless `gateway.bind` says otherwise.";

#[derive(Debug, Subcommand)]
pub enum GatewayCommand {
    /// Run it here, until Ctrl-C or `chela gateway stop`
    Run(GatewayRunArgs),
    /// Whether it runs, where, and what it is doing
    Status {
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// End it; turns that run may come to their end first
    Stop,
    /// End it and start it again; what waits is answered afterwards
    Restart,
    /// Make it a service of your user: systemd or launchd
    Install(GatewayInstallArgs),
    /// Take the service away again
    Uninstall(GatewayInstallArgs),
    /// What it did: the log
    Logs(LogsArgs),
    /// Print the token that callers show
    Token {
        #[command(subcommand)]
        command: Option<GatewayTokenCommand>,
    },
}

#[derive(Debug, Args)]
pub struct GatewayRunArgs {
    /// Listen on this port (default: gateway.port); 0 takes a free one
    #[arg(long, value_name = "PORT")]
    pub port: Option<u16>,
}

#[derive(Debug, Args)]
pub struct GatewayInstallArgs {
    /// Write or remove the file, and leave starting and stopping to you
    #[arg(long)]
    pub file_only: bool,
    /// For which service manager (default: the one of this system)
    #[arg(long, value_enum, value_name = "NAME")]
    pub manager: Option<ServiceManagerName>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ServiceManagerName {
    Systemd,
    Launchd,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Subcommand)]
pub enum GatewayTokenCommand {
    /// Make a new one; the old one counts no more
    Rotate,
}
