//! `chela chat`.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueHint};

use super::AgentArg;

#[derive(Debug, Default, Args)]
pub struct ChatArgs {
    /// Say this, print the answer and end
    #[arg(long, short, value_name = "TEXT", allow_hyphen_values = true)]
    pub message: Option<String>,

    #[command(flatten)]
    pub agent: AgentArg,

    /// Which conversation: a session key, its last part, or the id of a session
    #[arg(long, short, value_name = "KEY")]
    pub session: Option<String>,

    /// Which model, this time only: provider/model or an alias
    #[arg(long, value_name = "MODEL")]
    pub model: Option<String>,

    /// How long it thinks, this time only: off, minimal, low, medium, high, xhigh
    #[arg(long, value_name = "LEVEL")]
    pub thinking: Option<String>,

    /// Show it a picture (PNG, JPEG, GIF or WebP); may be repeated
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub image: Vec<PathBuf>,

    /// Offer it no tools
    #[arg(long)]
    pub no_tools: bool,

    /// Use the model that is found, without asking
    #[arg(long, short)]
    pub yes: bool,

    /// After the answer, wait at most this long for the sub-agents it started [default: 600]
    #[arg(long, value_name = "SECONDS")]
    pub wait: Option<u64>,

    /// Print one JSON object at the end, for scripts
    #[arg(long)]
    pub json: bool,
}

impl ChatArgs {
    /// How long sub-agents are waited for.
    pub fn wait(&self) -> Duration {
        Duration::from_secs(self.wait.unwrap_or(600))
    }
}

/// Examples and exit codes, under the options.
pub const AFTER_HELP: &str = "\
Examples:
  chela chat                                     talk
  chela chat -m 'what is on my list today?'      one answer
  git diff | chela chat -m 'review this'         what is piped in follows the message
  chela chat -m hi --json | jq -r .reply         for scripts
  chela chat --session agent:main:notes          another conversation

In the chat: Enter sends, Alt-Enter or a trailing \\ begins a new line, Esc stops, Tab completes
commands, what you type while it works is read before its next step. /help lists the commands.

Exit codes: 0 answered (or chose silence), 1 failed, 2 cannot be meant, 3 no model answers,
4 stopped or at a limit, 78 broken config.";
