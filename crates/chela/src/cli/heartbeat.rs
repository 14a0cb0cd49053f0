//! `chela heartbeat …`, as typed.

use clap::Subcommand;

use super::AgentArg;

#[derive(Debug, Subcommand)]
pub enum HeartbeatCommand {
    /// Which agents have heartbeats, when the next one is and what they cost at most
    #[command(after_help = "Examples:\n  chela heartbeat status\n  chela heartbeat status --json")]
    Status {
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Whether a model would be asked now, why or why not, and what came of the last ones
    #[command(
        after_help = "Examples:\n  chela heartbeat why\n  chela heartbeat why --agent research"
    )]
    Why {
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// One heartbeat now, after the same checks; the next one comes when it was planned
    #[command(after_help = "Examples:\n  chela heartbeat run\n  chela heartbeat run --force")]
    Run {
        #[command(flatten)]
        agent: AgentArg,
        /// Ask the model whatever the checks say
        #[arg(long)]
        force: bool,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
}
