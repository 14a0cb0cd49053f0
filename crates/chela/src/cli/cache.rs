//! `chela cache …`, as typed.

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub enum CacheCommand {
    /// How much each request could reuse of the previous one, and why not more
    #[command(after_help = "\
Examples:
  chela cache why                   the newest conversation
  chela cache why main
  chela cache why 3f2a --json")]
    Why {
        /// Its id, the start of it, or its key (default: the newest)
        session: Option<String>,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
}
