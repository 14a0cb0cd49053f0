//! `chela doctor`, as typed.

use clap::{Args, ValueEnum};

#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// Fix what is safe to fix; everything changed is backed up first
    #[arg(long, conflicts_with = "lint")]
    pub fix: bool,

    /// Print JSON for scripts (always exits 0)
    #[arg(long)]
    pub json: bool,

    /// Print findings only, and exit 1 if there are any
    #[arg(long)]
    pub lint: bool,

    /// Leave out findings below this severity
    #[arg(long, value_enum, default_value_t = SeverityName::Note, value_name = "SEVERITY")]
    pub severity_min: SeverityName,

    /// Run only these checks (repeat or separate with commas)
    #[arg(long, value_delimiter = ',', value_name = "CHECK")]
    pub only: Vec<String>,

    /// Skip these checks
    #[arg(long, value_delimiter = ',', value_name = "CHECK")]
    pub skip: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SeverityName {
    Note,
    Warning,
    Error,
}

impl From<SeverityName> for chela_core::Severity {
    fn from(name: SeverityName) -> Self {
        match name {
            SeverityName::Note => Self::Note,
            SeverityName::Warning => Self::Warning,
            SeverityName::Error => Self::Error,
        }
    }
}
