//! `chela config …`, as typed.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

#[derive(Debug, Subcommand)]
pub enum ConfigCommand {
    /// Print a value (secrets are hidden)
    #[command(after_help = "\
Examples:
  chela config get                            everything that is set
  chela config get agents.defaults.model
  chela config get 'agents.list[0]' --json")]
    Get {
        /// Path of the key; the whole config without it
        path: Option<String>,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Set one value; comments and key order are kept
    #[command(after_help = "\
Examples:
  chela config set agents.defaults.userTimezone Europe/Berlin
  chela config set agents.defaults.model anthropic/claude-opus-4-5
  chela config set agents.defaults.skills '[\"deploy\", \"review\"]'
  chela config set --text agents.defaults.additionalSystemPrompt 12345

A value that parses as JSON5 is used as such, anything else as text (--text forces text).")]
    Set {
        /// Path of the key, such as agents.defaults.model
        path: String,
        /// The value: JSON5, or plain text
        #[arg(allow_hyphen_values = true)]
        value: String,
        /// Treat the value as text even if it looks like a number, list or object
        #[arg(long)]
        text: bool,
    },
    /// Remove one value, so that the default applies again
    Unset {
        /// Path of the key
        path: String,
    },
    /// Merge a JSON5 document into the config; null removes a key
    #[command(after_help = "\
Examples:
  chela config patch '{agents: {defaults: {model: \"anthropic/claude-opus-4-5\"}}}'
  chela config patch --file changes.json5
  echo '{memory: null}' | chela config patch -")]
    Patch(PatchArgs),
    /// Replace the whole config with a JSON5 document, if it is valid
    Apply(PatchArgs),
    /// Print the JSON Schema of the config, or of one part of it
    #[command(after_help = "Example:\n  chela config schema agents.defaults.sandbox")]
    Schema {
        /// Path of the key
        path: Option<String>,
    },
    /// Check the config strictly: every problem with line, column and a suggestion (exit code 78)
    Validate {
        /// Check this file instead
        #[arg(value_hint = ValueHint::FilePath)]
        file: Option<PathBuf>,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Explain a key: its value, source, default, meaning and overrides
    Explain {
        /// Path of the key
        path: String,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Print the path of the config file
    File {
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub struct PatchArgs {
    /// The document itself, or `-` for standard input
    #[arg(required_unless_present = "file", conflicts_with = "file")]
    pub document: Option<String>,
    /// Read the document from this file
    #[arg(long, short, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub file: Option<PathBuf>,
    /// Show what would change without writing it
    #[arg(long)]
    pub dry_run: bool,
}
