//! `chela backup …`, as typed.

use std::path::PathBuf;

use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub enum BackupCommand {
    /// Copy everything Chela keeps into one archive, while it runs
    #[command(after_help = "\
Examples:
  chela backup create
  chela backup create ~/backups/monday.tar.gz
  chela backup create --with-secrets     keys and tokens as well: keep that archive safe

API keys, tokens and earlier versions of the config stay behind unless you ask for them. Logs and
the search index are left out: they can be made again. Workspaces outside of the home are not in it.")]
    Create {
        /// The archive (default: chela-backup-DATE-TIME.tar.gz in this folder)
        file: Option<PathBuf>,
        /// Include API keys, tokens and the installation's own key
        #[arg(long)]
        with_secrets: bool,
        /// Replace an archive of this name
        #[arg(long)]
        force: bool,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Check an archive to the last bit
    #[command(
        after_help = "Examples:\n  chela backup verify chela-backup-2026-11-18-081500.tar.gz"
    )]
    Verify {
        file: PathBuf,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
    /// Check an archive and make it the home
    #[command(after_help = "\
Examples:
  chela backup restore monday.tar.gz
  chela backup restore monday.tar.gz --to ~/restored
  chela backup restore monday.tar.gz --force     a home that is there is moved aside, not deleted")]
    Restore {
        file: PathBuf,
        /// Restore into this folder (default: the home of this installation)
        #[arg(long, value_name = "FOLDER")]
        to: Option<PathBuf>,
        /// Move what is there aside
        #[arg(long)]
        force: bool,
        /// It is yours, although this installation cannot tell that it made it: its key is on another
        /// machine, or gone. Config, approvals, jobs and waiting messages in it count
        #[arg(long)]
        mine: bool,
        /// Print JSON for scripts
        #[arg(long)]
        json: bool,
    },
}
