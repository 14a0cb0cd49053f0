//! `chela context lint`.

use std::io::Read;
use std::path::Path;

use chela_agent::assemble::AssembledPrompt;
use chela_core::Severity;
use chela_core::cut::CutLimit;
use chela_inspect::lint::{FileFate, LintFile, LintFinding, lint, lint_tools};
use chela_inspect::saved::SavedPrompt;
use chela_workspace::{FileReport, FileStatus};

use crate::cli::{PromptChoice, SeverityName};
use crate::cmd::prompt::assemble_prompt;
use crate::cmd::{CommandOutcome, CommandSetup};
use crate::fail::CommandExit;
use crate::screen::{Screen, count_noun};

pub struct LintRequest {
    pub agent: Option<String>,
    pub json: bool,
    pub fail_on: SeverityName,
}

/// Of a file only so much is read for its words: the model never sees more of it.
const MOST_WORDS: u64 = 2 << 20;

/// Larger files are not read at all.
const MOST_BYTES: u64 = 64 << 20;

pub fn run(setup: &CommandSetup, screen: &mut Screen, request: &LintRequest) -> CommandOutcome {
    let choice = PromptChoice {
        agent: request.agent.clone(),
        mode: None,
        channel: None,
        session: None,
        skill: None,
    };
    let findings = lint_findings(&assemble_prompt(setup, &choice)?);
    if request.json {
        screen.json(&findings)?;
    } else {
        print(screen, &findings)?;
    }
    let threshold: Severity = request.fail_on.into();
    let failed = findings.iter().any(|finding| finding.severity >= threshold);
    Ok(if failed {
        CommandExit::Findings
    } else {
        CommandExit::Fine
    })
}

/// What the lint says about an agent's files and tools, as its main session reads them.
pub fn lint_findings(assembled: &AssembledPrompt) -> Vec<LintFinding> {
    let limit = match assembled.bootstrap.per_file {
        CutLimit::Chars(chars) => Some(chars),
        CutLimit::Tokens(_) => None,
    };
    let files: Vec<LintFile> = assembled
        .files
        .iter()
        .filter_map(|file| {
            let text = text_of(&file.path, MOST_WORDS).unwrap_or_default();
            let fate = fate(file, limit)?;
            Some(LintFile {
                name: file.shown_path.clone(),
                text,
                fate,
            })
        })
        .collect();
    let mut findings = lint(&files);
    let tools = SavedPrompt::from(assembled).tools;
    findings.extend(lint_tools(&tools.unwrap_or_default()));
    findings
}

/// `None` for files there is nothing to say about.
fn fate(file: &FileReport, limit: Option<usize>) -> Option<FileFate> {
    match &file.status {
        FileStatus::Injected => Some(FileFate::Whole { limit }),
        FileStatus::Truncated { dropped, limit, .. } => Some(FileFate::Cut {
            dropped: dropped
                .iter()
                .map(|part| part.first_line..=part.last_line)
                .collect(),
            limit: chela_workspace::limit_in_words(*limit),
        }),
        FileStatus::Missing { .. } | FileStatus::Blank | FileStatus::SameFile { .. } => None,
        // The main session lacks these by design or by the operator's own word.
        FileStatus::NotBrandNew
        | FileStatus::DisabledByConfig { .. }
        | FileStatus::HeartbeatsOff
        | FileStatus::FilteredBySession => Some(FileFate::Unseen {
            why: file.status.to_string(),
            expected: true,
        }),
        status => Some(FileFate::Unseen {
            why: status.to_string(),
            expected: false,
        }),
    }
}

/// The text of a regular file of bearable size.
pub fn raw_text(path: &Path) -> Option<String> {
    text_of(path, MOST_BYTES)
}

fn text_of(path: &Path, most: u64) -> Option<String> {
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).ok()?;
    file.take(most).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn print(screen: &mut Screen, findings: &[LintFinding]) -> std::io::Result<()> {
    let paint = screen.paint;
    for finding in findings {
        let severity = paint.severity(finding.severity);
        let place = match finding.line {
            0 => finding.file.clone(),
            line => format!("{}:{line}", finding.file),
        };
        screen.line(format!(
            "{} {severity} {}",
            paint.bold(format!("{place}:")),
            paint.dim(format!("[{}]", finding.code))
        ))?;
        screen.paragraph("  ", &finding.message)?;
        screen.paragraph("  ", &format!("→ {}", finding.suggestion))?;
    }
    if findings.is_empty() {
        return screen.line(paint.good("No problems found."));
    }
    let count = |severity| {
        findings
            .iter()
            .filter(|finding| finding.severity == severity)
            .count()
    };
    screen.blank()?;
    screen.line(format!(
        "{}, {}, {}",
        count_noun(count(Severity::Error), "error"),
        count_noun(count(Severity::Warning), "warning"),
        count_noun(count(Severity::Note), "note")
    ))
}
