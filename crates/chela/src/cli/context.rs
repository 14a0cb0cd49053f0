//! `chela context …`, as typed.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use super::{AgentArg, PromptChoice, SeverityName};

#[derive(Debug, Subcommand)]
pub enum ContextCommand {
    /// Show what is in the context, with sizes in characters and tokens
    List(ContextArgs),
    /// The same, with each section, skill and tool
    Detail(ContextArgs),
    /// The same report as JSON
    Json(ContextArgs),
    /// Draw the context: coloured bars here, a treemap in a file
    #[command(after_help = "\
Examples:
  chela context map
  chela context map -o context.svg     also .png and .html")]
    Map {
        #[command(flatten)]
        choice: PromptChoice,
        /// Write a treemap to this .svg, .png or .html file
        #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
        output: Option<PathBuf>,
    },
    /// Explain why something is in the prompt, or is not
    #[command(after_help = "\
Examples:
  chela context why SOUL.md
  chela context why safety
  chela context why \"never share\"
  chela context why MEMORY.md --session agent:main:discord:group:42")]
    Why {
        /// A file, a section id or heading, a tool, a key, or words from the text
        what: String,
        #[command(flatten)]
        choice: PromptChoice,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Compare two prompts section by section, and say where the cached prefix breaks
    #[command(after_help = "\
Examples:
  chela context diff main research                        two agents
  chela context diff mode:full mode:minimal               two modes
  chela context diff channel:telegram channel:discord     two channels
  chela context diff before.json main                     a saved prompt and now
  chela context diff main agent:main:discord:group:42     two sessions")]
    Diff {
        /// An agent, mode:M, channel:C, a session key or a saved prompt
        a: String,
        /// The other one
        b: String,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Look for rules that are repeated, contradictory, hidden or never reach the model
    #[command(after_help = "\
Exit codes: 0 nothing at or above --fail-on, 1 findings, 78 invalid config.

Example for CI:
  chela context lint --fail-on warning")]
    Lint {
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
        /// Exit 1 at this severity or above
        #[arg(long, value_enum, default_value_t = SeverityName::Warning, value_name = "SEVERITY")]
        fail_on: SeverityName,
    },
}

#[derive(Debug, Args)]
pub struct ContextArgs {
    #[command(flatten)]
    pub choice: PromptChoice,
    /// Print JSON for scripts
    #[arg(long)]
    pub json: bool,
}
