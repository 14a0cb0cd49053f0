//! What came of looking into a skill.

use serde::Serialize;

use crate::finding::SkillFinding;

/// What a scanner found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ScanReport {
    pub scanner: String,
    pub verdict: ScanVerdict,
    /// Worst first.
    pub findings: Vec<SkillFinding>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ScanVerdict {
    Clean,
    /// Worth a look before it is trusted.
    Suspicious,
    /// Not to be used before the owner has looked, not even in the owner's own folders.
    Dangerous,
}

impl ScanVerdict {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Suspicious => "suspicious",
            Self::Dangerous => "dangerous",
        }
    }
}

impl ScanReport {
    /// One line for a report: the worst of it.
    pub fn summary(&self) -> String {
        let more = self
            .findings
            .iter()
            .skip(1)
            .filter(|finding| finding.severity > chela_config::Severity::Note)
            .count();
        match (self.findings.first(), more) {
            (None, _) => format!("{} blocked it", self.scanner),
            (Some(first), 0) => format!("{}: {first}", self.scanner),
            (Some(first), more) => format!("{}: {first} (and {more} more)", self.scanner),
        }
    }
}
