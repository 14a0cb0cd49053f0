//! Tool servers: which cannot be used, which wait for their owner, which have no walls.

use chela_core::Severity;
use chela_inspect::mcp_report::{ServerRow, server_rows};

use super::DoctorFinding;
use crate::cmd::CommandSetup;

const CHECK: &str = "mcp";

pub fn mcp_findings(setup: &CommandSetup) -> Vec<DoctorFinding> {
    let rows = server_rows(&setup.host, &setup.loaded);
    rows.iter()
        .filter(|row| row.is_enabled)
        .flat_map(findings_of)
        .collect()
}

fn findings_of(row: &ServerRow) -> Vec<DoctorFinding> {
    let told = |severity, what: String| {
        let hint = format!(
            "`chela mcp list` has them all; `chela mcp test {}` tries it",
            row.name
        );
        DoctorFinding::new(CHECK, severity, what).hint(hint)
    };
    if let Some(fault) = &row.fault {
        return vec![told(Severity::Error, fault.clone())];
    }
    let mut findings: Vec<DoctorFinding> = row
        .notes
        .iter()
        .map(|note| {
            told(
                Severity::Warning,
                format!("MCP server {}: {note}", row.name),
            )
        })
        .collect();
    if row.is_unwalled {
        findings.push(
            DoctorFinding::new(
                CHECK,
                Severity::Warning,
                format!("the MCP server {} runs outside the sandbox", row.name),
            )
            .hint(format!(
                "chela config unset mcp.servers.{}.sandbox, and list what it needs in folders and hosts",
                row.name
            )),
        );
    }
    findings
}
