//! `chela prompt …`, as typed.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

/// Which prompt is meant: whose, in which mode, for which conversation.
#[derive(Debug, Clone, Args)]
pub struct PromptChoice {
    /// Which agent (default: the default agent)
    #[arg(long, short = 'a', value_name = "ID")]
    pub agent: Option<String>,
    /// Render in this mode instead of the session's own
    #[arg(long, value_enum, value_name = "MODE")]
    pub mode: Option<ModeName>,
    /// Render as for this channel, such as telegram or webchat
    #[arg(long, value_name = "CHANNEL")]
    pub channel: Option<String>,
    /// Render for this session key (default: the agent's main session)
    #[arg(long, value_name = "KEY")]
    pub session: Option<String>,
    /// List only this skill
    #[arg(long, value_name = "NAME")]
    pub skill: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ModeName {
    Full,
    Minimal,
    None,
}

#[derive(Debug, Args)]
pub struct PromptArgs {
    #[command(flatten)]
    pub choice: PromptChoice,
    /// Render from a JSON file of facts instead (`-` for standard input)
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath,
          conflicts_with_all = ["agent", "mode", "channel", "session", "skill"])]
    pub facts: Option<PathBuf>,
    /// Print text, boundary and sections as JSON
    #[arg(long)]
    pub json: bool,
    #[command(subcommand)]
    pub command: Option<PromptCommand>,
}

#[derive(Debug, Subcommand)]
pub enum PromptCommand {
    /// Write golden prompts of all agents and kinds of session into a folder
    Snapshot {
        /// The folder to write to; created if missing
        #[arg(value_hint = ValueHint::DirPath)]
        dir: PathBuf,
    },
    /// Compare with the golden prompts in a folder; exit 1 when one differs
    Check {
        /// The folder written by `chela prompt snapshot`
        #[arg(value_hint = ValueHint::DirPath)]
        dir: PathBuf,
    },
}
