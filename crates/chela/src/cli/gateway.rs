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
    /// Answers on their way to where they were to go, and those that did not arrive
    #[command(after_help = "\
Examples:
  chela gateway deliveries              what waits or failed
  chela gateway deliveries --all
  chela gateway deliveries retry 3f2a
  chela gateway deliveries drop 3f2a")]
    Deliveries(DeliveriesArgs),
    /// Print the token that callers show
    Token {
        #[command(subcommand)]
        command: Option<GatewayTokenCommand>,
    },
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct DeliveriesArgs {
    #[command(subcommand)]
    pub command: Option<DeliveriesCommand>,
    /// Also those that arrived or were dropped
    #[arg(long)]
    pub all: bool,
    /// Most of them, the newest first
    #[arg(long, short = 'n', value_name = "N", default_value_t = 50)]
    pub limit: usize,
    /// Print JSON for scripts
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Subcommand)]
pub enum DeliveriesCommand {
    /// Try again, now and for another day
    Retry {
        /// Its number in the list
        id: String,
    },
    /// Do not deliver it
    Drop {
        /// Its number in the list
        id: String,
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
