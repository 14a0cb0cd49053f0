//! A config that does not say what it was meant to say.
//!
//! What it was to keep out is not kept out, so an audit of the rest would be a false comfort.

use chela_config::{ConfigDiagnostic, ConfigSource, Severity as Bad, WhyDefaults};

use super::{AuditGround, Evidence, Finding, Severity};

const FIX: &str = "see `chela config validate`, and correct the file";

pub(super) fn config(ground: &AuditGround<'_>) -> Vec<Finding> {
    match broken(ground) {
        Some(finding) => vec![finding],
        None => errors(ground)
            .map(|diagnostic| unused(ground, diagnostic))
            .collect(),
    }
}

fn errors<'a>(ground: &'a AuditGround<'_>) -> impl Iterator<Item = &'a ConfigDiagnostic> {
    let found = ground.loaded.diagnostics.iter();
    found.filter(|diagnostic| diagnostic.severity == Bad::Error)
}

/// The file as a whole is not in use.
fn broken(ground: &AuditGround<'_>) -> Option<Finding> {
    let instead = match ground.loaded.source {
        ConfigSource::LastGood { .. } => "the last one that could be read is in use",
        ConfigSource::Defaults(WhyDefaults::Unusable) => "nothing but defaults is in use",
        ConfigSource::File | ConfigSource::Defaults(WhyDefaults::Missing) => return None,
    };
    let message = format!("the config cannot be used; {instead}");
    let line = errors(ground).find_map(|diagnostic| Some(diagnostic.place.as_ref()?.line));
    Some(
        Finding::new("config.broken", Severity::Critical, message)
            .in_file(&ground.loaded.file(), line)
            .fix(FIX),
    )
}

/// One setting is not in use.
fn unused(ground: &AuditGround<'_>, diagnostic: &ConfigDiagnostic) -> Finding {
    let place = diagnostic.place.as_ref();
    let key = diagnostic.path.to_string();
    let evidence = Evidence {
        file: place.map_or_else(|| ground.loaded.file(), |place| place.file.clone()),
        line: place.map(|place| place.line),
        key: Some(key).filter(|key| !key.is_empty()),
    };
    let message = ground.redactor.redact(&diagnostic.message).into_owned();
    let finding = Finding::new("config.unused", Severity::Warning, message);
    Finding {
        evidence: Some(evidence),
        ..finding.fix(FIX)
    }
}
