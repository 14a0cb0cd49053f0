//! `chela models …`, as typed.

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub enum ModelsCommand {
    /// List configured models with context windows, prices and where their keys come from
    List {
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Ask models for one word: do the URL, the key and the name work?
    #[command(after_help = "\
Examples:
  chela models probe                        the configured model and its fallbacks
  chela models probe ollama/qwen3:8b opus   these

With nothing configured, it lists what it finds on this machine and asks no model.
Exit codes: 0 all answered, 1 one did not, 3 there is no model.")]
    Probe {
        /// Models, as provider/model or by alias
        #[arg(value_name = "MODEL")]
        models: Vec<String>,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
}
