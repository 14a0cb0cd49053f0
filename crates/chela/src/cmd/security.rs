//! `chela security audit`: what is risky, where, and what to do about it.

use chela_config::text::edit;
use chela_core::Host;
use chela_files::{FileFacts as _, set_permission_bits};
use chela_inspect::security::{RiskFinding, RiskSeverity, SecurityRemedy, audit};
use chela_ledger::AuditKind;
use chela_tools::approvals::shown;
use serde_json::{Value, json};

use super::{CommandOutcome, CommandSetup, change_records, config, owner};
use crate::cli::security::{AuditArgs, SecurityCommand};
use crate::fail::{CommandError, CommandExit};
use crate::screen::{Screen, count_noun, wrap};

pub fn run(host: &Host, screen: &mut Screen, command: SecurityCommand) -> CommandOutcome {
    match command {
        SecurityCommand::Audit(args) => look(host, screen, &args),
    }
}

fn look(host: &Host, screen: &mut Screen, args: &AuditArgs) -> CommandOutcome {
    owner::take_owner_edits(host, &CommandSetup::look(host).loaded);
    let least = RiskSeverity::from(args.min);
    let found = |host: &Host| {
        let mut findings = audit(&chela_agent::audit_ground(
            host,
            &CommandSetup::look(host).loaded,
        ));
        findings.retain(|finding| finding.severity >= least);
        findings
    };
    let mut findings = found(host);
    let mut done = Vec::new();
    if args.fix {
        for finding in &findings {
            if let Some(remedy) = &finding.remedy {
                done.push((finding.id, mend(host, remedy)));
            }
        }
        // What is left is what a second look finds.
        findings = found(host);
    }
    let exit = match findings.is_empty() {
        true => CommandExit::Fine,
        false => CommandExit::Findings,
    };
    if args.json {
        let done: Vec<Value> = done
            .iter()
            .map(|(id, outcome)| match outcome {
                Ok(words) => json!({ "id": id, "done": words }),
                Err(fail) => json!({ "id": id, "failed": fail.message }),
            })
            .collect();
        screen.json(&json!({
            "findings": findings.iter().map(as_json).collect::<Vec<_>>(),
            "fixed": done,
        }))?;
        return Ok(exit);
    }
    let paint = screen.paint;
    for (id, outcome) in &done {
        match outcome {
            Ok(words) => screen.line(format!("{} {id}: {words}", paint.good("fixed   ")))?,
            Err(fail) => {
                screen.line(format!("{} {id}: {}", paint.bad("not done"), fail.message))?
            }
        }
    }
    if !done.is_empty() {
        screen.blank()?;
    }
    print(host, screen, &findings, args)?;
    Ok(exit)
}

fn as_json(finding: &RiskFinding) -> Value {
    let mut value = json!(finding);
    value["fixable"] = Value::Bool(finding.remedy.is_some());
    value
}

fn print(
    host: &Host,
    screen: &mut Screen,
    findings: &[RiskFinding],
    args: &AuditArgs,
) -> Result<(), CommandError> {
    let paint = screen.paint;
    for finding in findings {
        let mark = match finding.severity {
            RiskSeverity::Critical => paint.bad("critical"),
            RiskSeverity::Warning => paint.warn("warning "),
            RiskSeverity::Note => paint.dim("note    "),
        };
        let room = screen.width.saturating_sub(9);
        let text = format!("{}: {}", finding.id, shown(&finding.message));
        for (at, line) in wrap(&text, room).iter().enumerate() {
            match at {
                0 => screen.line(format!("{mark} {line}"))?,
                _ => screen.line(format!("         {line}"))?,
            }
        }
        if let Some(evidence) = &finding.evidence {
            let line = evidence
                .line
                .map(|line| format!(":{line}"))
                .unwrap_or_default();
            let key = evidence
                .key
                .as_ref()
                .map(|key| format!("  {key}"))
                .unwrap_or_default();
            let place = format!("{}{line}{key}", host.compact(&evidence.file));
            screen.line(paint.dim(format!("         {}", shown(&place))))?;
        }
        screen.paragraph("         ", &format!("→ {}", finding.fix))?;
    }
    if findings.is_empty() {
        screen.line(paint.good("No risks found."))?;
        return Ok(());
    }
    screen.blank()?;
    let count = |severity| {
        findings
            .iter()
            .filter(|one| one.severity == severity)
            .count()
    };
    let mendable = findings.iter().filter(|one| one.remedy.is_some()).count();
    let more = match (mendable, args.fix) {
        (0, _) | (_, true) => String::new(),
        (many, false) => format!("; `chela security audit --fix` fixes {many} of them"),
    };
    screen.line(format!(
        "{}: {} critical, {}, {}{more}",
        count_noun(findings.len(), "finding"),
        count(RiskSeverity::Critical),
        count_noun(count(RiskSeverity::Warning), "warning"),
        count_noun(count(RiskSeverity::Note), "note"),
    ))?;
    Ok(())
}

/// Does what can be done without a person; says what.
fn mend(host: &Host, remedy: &SecurityRemedy) -> Result<String, CommandError> {
    let done = match remedy {
        SecurityRemedy::Chmod { path, mode } => {
            // Another remedy may have taken more away by now.
            let now = std::fs::metadata(path).map_or(0o777, |meta| meta.permission_bits());
            let mode = &(*mode & now & 0o7777);
            set_permission_bits(path, *mode).map_err(|error| {
                CommandError::new(format!(
                    "cannot change the permissions of {}: {error}",
                    path.display()
                ))
            })?;
            format!("chmod {mode:o} {}", host.compact(path))
        }
        SecurityRemedy::Unset(key) => {
            config::change(host, |source| {
                edit::unset(source, key).map(|(text, _)| text)
            })?;
            format!("removed {key} from the config")
        }
    };
    change_records::record_change(
        host,
        AuditKind::ConfigChange,
        &json!({ "by": "security audit --fix", "done": done }),
    );
    Ok(done)
}
