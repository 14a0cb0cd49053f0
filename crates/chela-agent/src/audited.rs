//! An installation as the security audit looks at it.

use chela_config::LoadedConfig;
use chela_core::Host;
use chela_inspect::security::{AuditInput, AuditedAgent};

use crate::prompt_knobs::PromptKnobs;
use crate::secrets::redactor_for_prompts;
use crate::skills::skills_of;
use crate::trust::custody_of;

/// Gathers what the audit judges: every agent with its skills and the files that shape it.
pub fn audit_ground<'a>(host: &'a Host, loaded: &'a LoadedConfig) -> AuditInput<'a> {
    let agents = loaded.agents().into_iter().filter_map(|id| {
        let view = loaded.agent(&id)?;
        let extra = PromptKnobs::of(loaded, &view).bootstrap.extra_files;
        Some(AuditedAgent {
            skills: skills_of(host, loaded, &view),
            watched: custody_of(host, loaded, &view).survey(&extra),
            id,
        })
    });
    AuditInput {
        agents: agents.collect(),
        redactor: redactor_for_prompts(host, loaded),
        host,
        loaded,
    }
}
