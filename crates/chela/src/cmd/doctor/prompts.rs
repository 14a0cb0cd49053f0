//! What the doctor says of the prompts of all agents: each is assembled once, however many checks
//! look at it.

use std::cell::OnceCell;

use chela_agent::assemble::{AssembleError, AssembledPrompt, PromptRequest, assemble};
use chela_core::{AgentId, Severity};

use super::DoctorFinding;
use super::fix::DoctorFix;
use crate::cmd::{CommandSetup, context};

/// The prompts of the main sessions, made when a check first asks.
pub struct AgentPrompts<'a> {
    setup: &'a CommandSetup,
    prompts: OnceCell<Vec<AgentPrompt>>,
}

type AgentPrompt = (AgentId, Result<AssembledPrompt, AssembleError>);

impl<'a> AgentPrompts<'a> {
    pub fn of(setup: &'a CommandSetup) -> Self {
        Self {
            setup,
            prompts: OnceCell::new(),
        }
    }

    fn all(&self) -> &[AgentPrompt] {
        let setup = self.setup;
        self.prompts.get_or_init(|| {
            let agents = setup.loaded.agents().into_iter();
            agents
                .map(|agent| {
                    let ask = PromptRequest {
                        agent: Some(agent.clone()),
                        ..PromptRequest::default()
                    };
                    let assembled = assemble(&setup.host, &setup.loaded, &ask);
                    (agent, assembled)
                })
                .collect()
        })
    }

    /// What the model will not see, though one might think it does.
    pub fn file_findings(&self) -> Vec<DoctorFinding> {
        let setup = self.setup;
        let mut findings = Vec::new();
        for (id, assembled) in self.all() {
            let assembled = match assembled {
                Ok(assembled) => assembled,
                Err(error) => {
                    findings.push(DoctorFinding::new(
                        "files",
                        Severity::Error,
                        format!("agent {id}: its prompt cannot be built: {error}"),
                    ));
                    continue;
                }
            };
            findings.extend(assembled.notices.iter().map(|notice| {
                let told = format!("agent {id}: {}", notice.text);
                DoctorFinding::new("files", Severity::Warning, told)
            }));
            for file in assembled.files.iter().filter(|file| file.wants_attention()) {
                let place = setup.host.compact(&file.path);
                let missing = matches!(file.status, chela_workspace::FileStatus::Missing { .. });
                if file.status != chela_workspace::FileStatus::Injected {
                    let mut finding = DoctorFinding::new(
                        "files",
                        Severity::Warning,
                        format!("agent {id}: {place} {}", file.status),
                    )
                    .hint(format!(
                        "chela context why {} --agent {id}",
                        file.shown_path
                    ));
                    if missing {
                        finding = finding.remedy(DoctorFix::Seed { agent: id.clone() });
                    }
                    findings.push(finding);
                }
                findings.extend(file.remarks.iter().map(|remark| {
                    DoctorFinding::new(
                        "files",
                        Severity::Warning,
                        format!("agent {id}: {place} {remark}"),
                    )
                }));
            }
        }
        findings
    }

    /// The lint, in short.
    pub fn word_findings(&self) -> Vec<DoctorFinding> {
        let mut findings = Vec::new();
        for (id, assembled) in self.all() {
            let Ok(assembled) = assembled else {
                continue;
            };
            let found = context::lint_findings(assembled);
            // Cut and unseen text, and invisible characters, are told by `files`.
            let own = found
                .iter()
                .filter(|finding| !matches!(finding.code, "cut" | "unseen" | "invisible"));
            findings.extend(own.map(|finding| {
                DoctorFinding::new(
                    "words",
                    finding.severity,
                    format!(
                        "agent {id}: {}:{}: {}",
                        finding.file, finding.line, finding.message
                    ),
                )
                .hint(finding.suggestion.clone())
            }));
        }
        findings
    }
}
