//! `chela doctor`: everything a start checks and what a model will not see, with the way out.

mod checks;
mod fix;
mod gateway;
mod mcp;
mod models;
mod prompts;
mod skills;
mod stores;

use std::path::PathBuf;

use chela_core::{Host, Severity};
use serde::Serialize;

use prompts::AgentPrompts;

use super::{CommandOutcome, CommandSetup};
use crate::cli::DoctorArgs;
use crate::fail::{CommandError, CommandExit};
use crate::screen::{Screen, count_noun};

/// The checks, in the order they are run.
pub const CHECKS: [&str; 12] = [
    "home",
    "disk",
    "stores",
    "config",
    "agents",
    "workspace",
    "files",
    "skills",
    "mcp",
    "words",
    "history",
    "gateway",
];

/// One thing that is not as it should be.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct DoctorFinding {
    pub check: &'static str,
    pub severity: Severity,
    /// What kind of trouble it is, where a script may want to know.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<&'static str>,
    /// The file or folder it is about, where it is about one alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub path: Option<PathBuf>,
    pub message: String,
    pub hint: Option<String>,
    /// What `--fix` would do, or did.
    #[serde(skip)]
    pub remedy: Option<fix::DoctorFix>,
    pub fixable: bool,
    pub fixed: bool,
}

impl DoctorFinding {
    pub fn new(check: &'static str, severity: Severity, message: impl Into<String>) -> Self {
        Self {
            check,
            severity,
            trouble: None,
            path: None,
            message: message.into(),
            hint: None,
            remedy: None,
            fixable: false,
            fixed: false,
        }
    }

    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Whether this, found after mending, is what was found before. How much is left over of
    /// interrupted writes may differ.
    fn is_still(&self, before: &Self) -> bool {
        let same = self.check == before.check && self.remedy == before.remedy;
        same && (self.message == before.message || self.remedy == Some(fix::DoctorFix::Sweep))
    }

    pub fn remedy(mut self, remedy: fix::DoctorFix) -> Self {
        self.remedy = Some(remedy);
        self.fixable = true;
        self
    }
}

pub fn run(host: &Host, screen: &mut Screen, args: &DoctorArgs) -> CommandOutcome {
    for name in args.only.iter().chain(&args.skip) {
        if !CHECKS.contains(&name.as_str()) {
            return Err(
                CommandError::usage(format!("there is no check `{name}`")).hint(CHECKS.join(", "))
            );
        }
    }
    let setup = CommandSetup::look(host);
    let wanted = |check: &&str| {
        (args.only.is_empty() || args.only.iter().any(|only| only == check))
            && !args.skip.iter().any(|skip| skip == check)
    };
    let checks: Vec<&'static str> = CHECKS
        .iter()
        .copied()
        .filter(|check| wanted(check))
        .collect();
    let prompts = AgentPrompts::of(&setup);
    let mut findings: Vec<DoctorFinding> = checks
        .iter()
        .flat_map(|check| checks::run(&setup, &prompts, check))
        .collect();
    let least: Severity = args.severity_min.into();
    findings.retain(|finding| finding.severity >= least);
    let mut undo = Vec::new();
    if args.fix {
        undo = fix::apply(&setup, &mut findings);
        let setup = CommandSetup::look(host);
        let prompts = AgentPrompts::of(&setup);
        let left: Vec<DoctorFinding> = checks
            .iter()
            .flat_map(|check| checks::run(&setup, &prompts, check))
            .collect();
        for finding in &mut findings {
            finding.fixed &= !left.iter().any(|left| left.is_still(finding));
        }
    }
    if args.json {
        screen.json(
            &serde_json::json!({ "checks": checks, "findings": findings, "changes": undo }),
        )?;
        return Ok(CommandExit::Fine);
    }
    if args.lint {
        print_findings(screen, &findings)?;
    } else {
        print(screen, &checks, &findings, &undo)?;
    }
    let failed = match args.lint {
        true => !findings.is_empty(),
        false => findings
            .iter()
            .any(|finding| finding.severity == Severity::Error && !finding.fixed),
    };
    Ok(if failed {
        CommandExit::Findings
    } else {
        CommandExit::Fine
    })
}

fn print(
    screen: &mut Screen,
    checks: &[&'static str],
    findings: &[DoctorFinding],
    undo: &[String],
) -> std::io::Result<()> {
    let paint = screen.paint;
    for check in checks {
        let own: Vec<&DoctorFinding> = findings
            .iter()
            .filter(|finding| finding.check == *check)
            .collect();
        if own.is_empty() {
            screen.line(marked(&paint.good("ok"), check))?;
        }
        print_findings(screen, own)?;
    }
    screen.blank()?;
    for change in undo {
        screen.paragraph("", change)?;
    }
    let open: Vec<&DoctorFinding> = findings.iter().filter(|finding| !finding.fixed).collect();
    if open.is_empty() {
        return screen.line(paint.good("No problems found."));
    }
    let fixable = open.iter().filter(|finding| finding.fixable).count();
    let more = if fixable > 0 {
        format!("; `chela doctor --fix` fixes {fixable} of them")
    } else {
        String::new()
    };
    screen.line(format!("{}{more}", count_noun(open.len(), "finding")))
}

fn print_findings<'f>(
    screen: &mut Screen,
    findings: impl IntoIterator<Item = &'f DoctorFinding>,
) -> std::io::Result<()> {
    let paint = screen.paint;
    for finding in findings {
        let mark = match finding.fixed {
            true => paint.good("fixed"),
            false => paint.severity(finding.severity),
        };
        let room = screen.width.saturating_sub(8);
        let told = format!("{}: {}", finding.check, finding.message);
        let mut lines = crate::screen::wrap(&told, room).into_iter();
        screen.line(marked(&mark, &lines.next().unwrap_or_default()))?;
        for line in lines {
            screen.line(format!("        {line}"))?;
        }
        if let Some(hint) = finding.hint.as_ref().filter(|_| !finding.fixed) {
            screen.paragraph("        ", &format!("→ {hint}"))?;
        }
    }
    Ok(())
}

/// A line with its mark in a column of its own.
fn marked(mark: &str, text: &str) -> String {
    const COLUMN: usize = "warning ".len();
    let gap = COLUMN.saturating_sub(crate::screen::visible_len(mark));
    format!("{mark}{}{text}", " ".repeat(gap))
}
