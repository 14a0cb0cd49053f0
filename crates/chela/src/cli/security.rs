//! `chela security …`, as typed.

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Subcommand)]
pub enum SecurityCommand {
    /// Look for what is risky: settings, permissions, exposure, and the text agents are made of
    #[command(after_help = "\
Examples:
  chela security audit                      the worst first, each with what to do
  chela security audit --fix                mend permissions and take out dangerous switches
  chela security audit --min critical       exit 1 only when something critical is found
  chela security audit --json | jq '.findings[].id'

Reads persona, memory, skills, hooks and prompts in the config, not only settings. Nothing is run.
Ends with exit code 1 when something is left.")]
    Audit(AuditArgs),
}

#[derive(Debug, Args)]
pub struct AuditArgs {
    /// Mend what is safe to mend, and say what was done
    #[arg(long)]
    pub fix: bool,
    /// Leave out what is less severe
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
