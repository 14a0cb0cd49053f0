//! `chela security …`, as typed.

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub enum SecurityCommand {
    /// Look for risks: settings, permissions, exposure, and the text agents are made of
    #[command(after_help = "\
Examples:
  chela security audit                      worst first, each with what to do
  chela security audit --fix                fix permissions and remove dangerous settings
  chela security audit --min critical       exit 1 only when something critical is found
  chela security audit --json | jq '.findings[].id'

Reads persona, memory, skills, hooks and prompts in the config, not only settings. Nothing is executed.
Exits 1 when findings remain.")]
    Audit(AuditArgs),
}

#[derive(Debug, Args)]
pub struct AuditArgs {
    /// Fix what is safe to fix, and say what was done
    #[arg(long)]
    pub fix: bool,
    /// Leave out findings below this severity
    #[arg(long, value_enum, default_value_t = RiskName::Note, value_name = "SEVERITY")]
    pub min: RiskName,
    /// Print JSON for scripts
    #[arg(long)]
    pub json: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RiskName {
    Note,
    Warning,
    Critical,
}

impl From<RiskName> for chela_inspect::security::RiskSeverity {
    fn from(name: RiskName) -> Self {
        match name {
            RiskName::Note => Self::Note,
            RiskName::Warning => Self::Warning,
            RiskName::Critical => Self::Critical,
        }
    }
}
