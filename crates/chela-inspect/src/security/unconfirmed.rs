//! Files that shape an agent and are not as anybody known left them.

use chela_workspace::custody::{WatchedFile, WatchedKind};
use chela_workspace::trust::TrustStanding;

use super::{AuditInput, RiskFinding, RiskSeverity};

pub(super) fn unconfirmed(ground: &AuditInput<'_>) -> Vec<RiskFinding> {
    let mut findings: Vec<RiskFinding> = Vec::new();
    for agent in &ground.agents {
        for file in &agent.watched {
            let allowed = file.judged.as_ref().is_some_and(|judged| judged.is_allowed)
                || file.absent.is_some_and(|absent| absent.is_allowed);
            // Hooks that hold for every agent are found with each of them.
            let known = |finding: &RiskFinding| {
                let evidence = finding.evidence.as_ref();
                evidence.is_some_and(|evidence| evidence.file == file.path)
            };
            if file.waits() && !allowed && !findings.iter().any(known) {
                findings.push(finding(file));
            }
        }
    }
    findings
}

fn finding(file: &WatchedFile) -> RiskFinding {
    let judged = file.judged.as_ref().map(|judged| judged.judgement.state);
    let state = judged.or(file.absent.map(|absent| absent.judgement.state));
    let what = match state {
        Some(TrustStanding::Unknown) => "was written by someone else",
        Some(TrustStanding::Changed) => "was changed by someone else",
        Some(TrustStanding::Held) => {
            "was changed without your approval, by a command or with untrusted content in context"
        }
        Some(TrustStanding::Revoked) => "is no longer trusted",
        Some(TrustStanding::Gone) => "was deleted by someone else",
        Some(TrustStanding::Trusted | TrustStanding::Deleted) | None => {
            "has a change proposed by the agent"
        }
    };
    let (id, note) = match file.kind {
        WatchedKind::Hook => (
            "files.hook-unconfirmed",
            " (hooks are watched; nothing runs them yet)",
        ),
        _ => ("files.unconfirmed", ""),
    };
    let name = &file.shown;
    RiskFinding::new(id, RiskSeverity::Warning, format!("{name} {what}{note}"))
        .in_file(&file.path, None)
        .fix(format!(
            "chela trust diff {name}, then chela trust approve {name} or chela trust restore {name}"
        ))
}
