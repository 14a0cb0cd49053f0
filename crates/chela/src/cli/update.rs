//! `chela update`, as typed.

use clap::Args;

pub const AFTER_HELP: &str = "\
Examples:
  chela config set update.url https://example.org/chela/index.json
  chela config set update.key 'ssh-ed25519 AAAA… publisher'
  chela update --check               is there a newer version?
  chela update                       install it; the old one is kept beside it
  chela update --rollback            go back to the previous one

The index and every archive it names are checked before anything is replaced: the signature of the
index against update.key, the archive against the hash in the index, the new program by starting it.
If a package manager installed Chela, use that to update it.";

#[derive(Debug, Args)]
pub struct UpdateArgs {
    /// Only check whether there is a newer version
    #[arg(long, conflicts_with_all = ["rollback", "force"])]
    pub check: bool,
    /// Go back to the previous version; run it again to return to the newer one
    #[arg(long)]
    pub rollback: bool,
    /// Install what the index offers even if it is not newer
    #[arg(long, conflicts_with = "rollback")]
    pub force: bool,
    /// Follow this release channel (default: update.channel, else stable)
    #[arg(long, value_name = "NAME", conflicts_with = "rollback")]
    pub channel: Option<String>,
    /// Print JSON for scripts
    #[arg(long)]
    pub json: bool,
}
