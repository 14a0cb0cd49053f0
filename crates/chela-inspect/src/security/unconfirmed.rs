//! Files that shape an agent and are not as anybody known left them.

use chela_workspace::trust::{Kind, State, Watched};

use super::{AuditGround, Finding, Severity};

pub(super) fn unconfirmed(ground: &AuditGround<'_>) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for agent in &ground.agents {
        for file in &agent.watched {
            let allowed = file.judged.as_ref().is_some_and(|judged| judged.is_allowed)
                || file.absent.is_some_and(|absent| absent.is_allowed);
            // Hooks that hold for every agent are found with each of them.
            let known = |finding: &Finding| {
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

fn finding(file: &Watched) -> Finding {
    let judged = file.judged.as_ref().map(|judged| judged.judgement.state);
    let state = judged.or(file.absent.map(|absent| absent.judgement.state));
    let what = match state {
        Some(State::Unknown) => "was written by someone else",
        Some(State::Changed) => "was changed by someone else",
        Some(State::Held) => "was changed while foreign text was being read",
        Some(State::Revoked) => "has lost your trust",
        Some(State::Gone) => "was deleted by someone else",
        Some(State::Trusted | State::Deleted) | None => {
            "is to be changed by the agent, if you agree"
        }
    };
    let (id, note) = match file.kind {
        Kind::Hook => (
            "files.hook-unconfirmed",
            " (hooks are watched; nothing runs them yet)",
        ),
        _ => ("files.unconfirmed", ""),
    };
    let name = &file.shown;
    Finding::new(id, Severity::Warning, format!("{name} {what}{note}"))
        .in_file(&file.path, None)
        .fix(format!(
            "chela trust diff {name}, then chela trust approve {name} or chela trust restore {name}"
        ))
}
