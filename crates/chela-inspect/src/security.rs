//! What is risky about an installation.
//!
//! Settings, permissions and exposure, and the text its agents are made of: persona, skills,
//! hooks, prompts in the config. Nothing is run and nothing is changed; every finding says where
//! it was found and what to do.

mod combination;
mod config;
mod file;
mod rule;
mod skill;
mod text;
mod unconfirmed;

use std::path::{Path, PathBuf};

use chela_config::{KeyPath, LoadedConfig};
use chela_core::secret::Redactor;
use chela_core::{AgentId, Host};
use chela_skills::AgentSkills;
use chela_workspace::custody::WatchedFile;
use serde::Serialize;

pub use rule::RULES;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RiskSeverity {
    /// Worth knowing.
    Note,
    /// Opens a way that needs something else to be used.
    Warning,
    /// Can be used as it is.
    Critical,
}

/// One thing that is risky.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RiskFinding {
    /// A short stable name, such as `gateway.no-auth`.
    pub id: &'static str,
    pub severity: RiskSeverity,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub evidence: Option<RiskEvidence>,
    /// What to do about it.
    pub fix: String,
    #[serde(skip)]
    pub remedy: Option<SecurityRemedy>,
}

/// Where it was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RiskEvidence {
    pub file: PathBuf,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The key, where it is a setting.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
}

/// What can be done without a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecurityRemedy {
    Chmod {
        path: PathBuf,
        mode: u32,
    },
    /// Take a setting out, so that the default counts.
    Unset(KeyPath),
}

impl RiskFinding {
    fn new(id: &'static str, severity: RiskSeverity, message: impl Into<String>) -> Self {
        Self {
            id,
            severity,
            message: message.into(),
            evidence: None,
            fix: String::new(),
            remedy: None,
        }
    }

    fn fix(mut self, fix: impl Into<String>) -> Self {
        self.fix = fix.into();
        self
    }

    fn in_file(mut self, file: &Path, line: Option<u32>) -> Self {
        self.evidence = Some(RiskEvidence {
            file: file.to_owned(),
            line,
            key: None,
        });
        self
    }

    fn remedy(mut self, remedy: SecurityRemedy) -> Self {
        self.remedy = Some(remedy);
        self
    }
}

/// What is looked at: an installation, as whoever runs it sees it.
#[derive(Debug)]
pub struct AuditInput<'a> {
    pub host: &'a Host,
    pub loaded: &'a LoadedConfig,
    pub agents: Vec<AuditedAgent>,
    /// Knows the secrets of the installation.
    pub redactor: Redactor,
}

/// An agent with what shapes it.
#[derive(Debug)]
pub struct AuditedAgent {
    pub id: AgentId,
    pub skills: AgentSkills,
    /// The files under watch that shape it, and how they stand.
    pub watched: Vec<WatchedFile>,
}

impl AuditInput<'_> {
    /// A finding about a setting.
    fn at_key(&self, finding: RiskFinding, key: &KeyPath) -> RiskFinding {
        let node = self.loaded.get(key);
        let place = node.and_then(|node| self.loaded.place(node.at));
        let evidence = RiskEvidence {
            file: place
                .as_ref()
                .map_or_else(|| self.loaded.file(), |place| place.file.clone()),
            line: place.map(|place| place.line),
            key: Some(key.to_string()),
        };
        RiskFinding {
            evidence: Some(evidence),
            ..finding
        }
    }
}

/// Looks at everything. The worst comes first.
pub fn audit(ground: &AuditInput<'_>) -> Vec<RiskFinding> {
    let mut findings = config::config(ground);
    findings.extend(file::permissions(ground));
    findings.extend(rule::settings(ground));
    findings.extend(combination::combinations(ground));
    findings.extend(text::texts(ground));
    findings.extend(skill::skills(ground));
    findings.extend(unconfirmed::unconfirmed(ground));
    findings.sort_by(|a, b| b.severity.cmp(&a.severity).then_with(|| a.id.cmp(b.id)));
    findings.dedup();
    findings
}
