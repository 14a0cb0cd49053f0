//! An installation as the security audit looks at it.

use chela_config::Loaded;
use chela_core::Host;
use chela_inspect::security::{AuditGround, AuditedAgent};

use crate::knobs::Knobs;
use crate::secrets::redactor_for_prompts;
use crate::skills::skills_of;
use crate::trust::custody_of;

/// Gathers what the audit judges: every agent with its skills and the files that shape it.
pub fn audit_ground<'a>(host: &'a Host, loaded: &'a Loaded) -> AuditGround<'a> {
    let agents = loaded.agents().into_iter().filter_map(|id| {
        let view = loaded.agent(&id)?;
        let extra = Knobs::of(loaded, &view).bootstrap.extra_files;
        Some(AuditedAgent {
            skills: skills_of(host, loaded, &view),
            watched: custody_of(host, loaded, &view).survey(&extra),
            id,
        })
    });
    AuditGround {
        agents: agents.collect(),
        redactor: redactor_for_prompts(host, loaded),
        host,
        loaded,
    }
}
