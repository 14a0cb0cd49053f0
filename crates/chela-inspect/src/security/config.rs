//! A config that does not say what it was meant to say.
//!
//! What it was to keep out is not kept out, so an audit of the rest would be a false comfort.

use chela_config::{ConfigDiagnostic, ConfigSource, DefaultsReason, Severity as Bad};

use super::{AuditInput, RiskEvidence, RiskFinding, RiskSeverity};

const FIX: &str = "see `chela config validate`, and correct the file";

pub(super) fn config(ground: &AuditInput<'_>) -> Vec<RiskFinding> {
    match broken(ground) {
        Some(finding) => vec![finding],
        None => errors(ground)
            .map(|diagnostic| unused(ground, diagnostic))
            .collect(),
    }
}

fn errors<'a>(ground: &'a AuditInput<'_>) -> impl Iterator<Item = &'a ConfigDiagnostic> {
    let found = ground.loaded.diagnostics.iter();
    found.filter(|diagnostic| diagnostic.severity == Bad::Error)
}

/// The file as a whole is not in use.
fn broken(ground: &AuditInput<'_>) -> Option<RiskFinding> {
    let instead = match ground.loaded.source {
        ConfigSource::LastGood { .. } => "the last good one is in use",
        ConfigSource::Defaults(DefaultsReason::Unusable) => "the defaults are in use",
        ConfigSource::File | ConfigSource::Defaults(DefaultsReason::Missing) => return None,
    };
    let message = format!("the config cannot be used; {instead}");
    let line = errors(ground).find_map(|diagnostic| Some(diagnostic.place.as_ref()?.line));
    Some(
        RiskFinding::new("config.broken", RiskSeverity::Critical, message)
            .in_file(&ground.loaded.file(), line)
            .fix(FIX),
    )
}

/// One setting is not in use.
fn unused(ground: &AuditInput<'_>, diagnostic: &ConfigDiagnostic) -> RiskFinding {
    let place = diagnostic.place.as_ref();
    let key = diagnostic.path.to_string();
    let evidence = RiskEvidence {
        file: place.map_or_else(|| ground.loaded.file(), |place| place.file.clone()),
        line: place.map(|place| place.line),
        key: Some(key).filter(|key| !key.is_empty()),
    };
    let message = ground.redactor.redact(&diagnostic.message).into_owned();
    let finding = RiskFinding::new("config.unused", RiskSeverity::Warning, message);
    RiskFinding {
        evidence: Some(evidence),
        ..finding.fix(FIX)
    }
}
