//! Whether the models an agent is to be answered by can be asked at all. Nobody is asked.

use chela_core::{AgentId, Severity};
use chela_model::{ModelSelection, ModelTarget, Models, ResolveError};

use super::DoctorFinding;
use crate::cmd::CommandSetup;

/// What keeps the configured model of an agent, or a fallback, from answering.
pub fn model_findings(setup: &CommandSetup, models: &Models, id: &AgentId) -> Vec<DoctorFinding> {
    let Some(view) = setup.loaded.agent(id) else {
        return Vec::new();
    };
    let chain = match models.chain(&view, ModelSelection::Configured) {
        Ok(chain) => chain,
        Err(error) => {
            let told = format!("agent {id} cannot be answered: {error}");
            let finding = DoctorFinding::new("agents", Severity::Error, told);
            return vec![finding.hint(way_out(&error))];
        }
    };
    let skipped = chain.skipped().iter().map(|error| {
        let told = format!("a fallback of agent {id} is never used: {error}");
        DoctorFinding::new("agents", Severity::Warning, told).hint(way_out(error))
    });
    let keyless = chain.targets().filter(|target| needs_key(target));
    let keyless = keyless.map(|target| {
        let told = format!("{} of agent {id} has no API key", target.reference());
        let provider = target.info().provider.as_str();
        DoctorFinding::new("agents", Severity::Warning, told)
            .hint(format!("chela setup --provider {provider}"))
    });
    skipped.chain(keyless).collect()
}

fn needs_key(target: &ModelTarget) -> bool {
    !target.is_local() && target.key_from().is_none()
}

fn way_out(error: &ResolveError) -> &'static str {
    match error {
        ResolveError::NotAllowed { .. } => "chela config explain agents.defaults.modelPolicy.allow",
        ResolveError::NoAddress { .. } | ResolveError::UnknownApi { .. } => {
            "chela config explain models.providers"
        }
        _ => "`chela setup` chooses and tests one; `chela models list` shows those that are known",
    }
}
