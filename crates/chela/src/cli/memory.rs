//! `chela memory …`, as typed.

use std::path::PathBuf;

use clap::{Subcommand, ValueHint};

use super::AgentArg;

#[derive(Debug, Subcommand)]
pub enum MemoryCommand {
    /// What is indexed, by what, how fresh, and what failed
    Status {
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Bring the index up to date with the notes
    #[command(after_help = "\
Examples:
  chela memory index             what is new or changed, by content
  chela memory index --force     make everything again; the old index answers meanwhile
  chela memory index --yes       make vectors that take long or cost money, too")]
    Index {
        /// Make everything again, file by file
        #[arg(long)]
        force: bool,
        /// Agree to the time and money the provider's vectors take
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Find what was noted
    #[command(after_help = "\
Examples:
  chela memory search when does the lease end
  chela memory search '\"blue bike\" repair' --explain
  chela memory search invoices --max-results 3 --json")]
    Search {
        /// The question, in any words
        #[arg(required = true, num_args = 1.., trailing_var_arg = false)]
        query: Vec<String>,
        /// Most results
        #[arg(long, short = 'n', value_name = "N")]
        max_results: Option<usize>,
        /// Leave out what is weaker than this share of the best (0 to 1)
        #[arg(long, value_name = "SCORE")]
        min_score: Option<f32>,
        /// Say where each score comes from
        #[arg(long)]
        explain: bool,
        /// Search what is indexed, without looking at the files first
        #[arg(long)]
        no_sync: bool,
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Print lines of a note
    #[command(
        after_help = "Example:\n  chela memory get memory/2026-03-04.md --from 10 --lines 20"
    )]
    Get {
        /// The note, as `search` names it
        path: String,
        /// First line
        #[arg(long, value_name = "LINE")]
        from: Option<u32>,
        /// How many lines
        #[arg(long, value_name = "N")]
        lines: Option<u32>,
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Remove a fact from the notes, the index and the cache
    #[command(after_help = "\
Examples:
  chela memory forget 'old address'              show what would go
  chela memory forget 'old address' --yes        remove it
  chela memory forget --file MEMORY.md --lines 12-14 --yes

A copy of each changed note is kept beside the index.")]
    Forget {
        /// Entries that contain these words
        #[arg(required_unless_present = "file")]
        text: Option<String>,
        /// Entries of this note instead
        #[arg(long, requires = "lines", conflicts_with = "text")]
        file: Option<String>,
        /// Lines of the note, such as 12 or 12-14
        #[arg(long, value_name = "LINES")]
        lines: Option<String>,
        /// Remove, instead of showing what would go
        #[arg(long)]
        yes: bool,
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Look for repeated, contradicting and outdated entries
    #[command(after_help = "\
Examples:
  chela memory lint              findings; exit 1 when there are any
  chela memory lint --diff       a move of entries to a daily note, as a diff
  chela memory lint --diff | patch -p0 -d ~/.chela/workspace")]
    Lint {
        /// Print the proposed move from MEMORY.md as a diff
        #[arg(long)]
        diff: bool,
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// A model that understands more than the built-in table
    #[command(subcommand)]
    Model(MemoryModelCommand),
}

#[derive(Debug, Subcommand)]
pub enum MemoryModelCommand {
    /// Try an ONNX file of all-MiniLM-L6-v2, keep a copy and search with it
    #[command(after_help = "\
Example:
  chela memory model install all-minilm-l6-v2.onnx

The built-in table answers until the model's vectors are complete. It needs a program built with
`--features minilm`.")]
    Install {
        /// The weights, in ONNX form
        #[arg(value_hint = ValueHint::FilePath)]
        path: PathBuf,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Which model makes the vectors, and how far it is
    Status {
        #[command(flatten)]
        agent: AgentArg,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
}
