//! `chela agents …`, as typed.

use clap::{Subcommand, ValueHint};

use super::JsonArgs;

#[derive(Debug, Subcommand)]
pub enum AgentsCommand {
    /// List the agents
    List(JsonArgs),
    /// Add an agent to the config and create its workspace
    #[command(after_help = "\
Examples:
  chela agents add research
  chela agents add home --name Home --model ollama/qwen3 --workspace ~/home-agent")]
    Add {
        /// Its id: a-z, 0-9, `-`, `_`
        id: String,
        /// Its display name
        #[arg(long)]
        name: Option<String>,
        /// The model, as provider/model
        #[arg(long)]
        model: Option<String>,
        /// Its workspace folder
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
        workspace: Option<String>,
    },
    /// Show every setting of an agent and where it comes from
    Show {
        /// Its id
        id: String,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Remove an agent from the config; its files stay
    Remove {
        /// Its id
        id: String,
    },
    /// Compare agents side by side, with the config key behind each setting
    Matrix(JsonArgs),
}
