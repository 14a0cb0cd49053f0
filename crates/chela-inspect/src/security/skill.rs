//! Skills: what the scanner says of them, and whether they are what was trusted.

use chela_skills::{FirstLook, ScanVerdict, SkillContents, SkillScanner, SkillSource, TrustState};

use super::{AuditInput, RiskFinding, RiskSeverity};

pub(super) fn skills(ground: &AuditInput<'_>) -> Vec<RiskFinding> {
    let mut findings: Vec<RiskFinding> = Vec::new();
    for agent in &ground.agents {
        for one in agent.skills.skills() {
            let skill = one.skill();
            // Ours are checked when they are built in.
            if skill.source == SkillSource::Bundled {
                continue;
            }
            let name = &skill.name;
            if one.entry.trust.state == TrustState::Changed {
                let message = format!("skill `{name}` changed since it was trusted");
                findings.push(
                    RiskFinding::new("skill.changed", RiskSeverity::Warning, message)
                        .in_file(&skill.file, None)
                        .fix(format!(
                            "chela skills diff {name}, then chela skills trust {name}"
                        )),
                );
            }
            let report = FirstLook.scan(&SkillContents::of(skill));
            for found in &report.findings {
                if found.severity == chela_core::Severity::Note {
                    continue;
                }
                let (id, severity) = match report.verdict {
                    ScanVerdict::Dangerous => ("skill.dangerous", RiskSeverity::Critical),
                    ScanVerdict::Suspicious | ScanVerdict::Clean => {
                        ("skill.suspicious", RiskSeverity::Warning)
                    }
                };
                let file = skill.folder.join(&found.file);
                findings.push(
                    RiskFinding::new(
                        id,
                        severity,
                        format!(
                            "skill `{name}`: {} {} ({})",
                            found.file, found.message, found.code
                        ),
                    )
                    .in_file(&file, found.line)
                    .fix(format!("read it; chela skills remove {name}")),
                );
            }
        }
    }
    findings
}
