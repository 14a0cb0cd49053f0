//! What is wrong with the words themselves: rules that repeat, contradict, hide, leak, or never
//! reach the model.

mod contradict;
mod repeat;
mod secrets;
mod statement;
mod tool_text;

use std::ops::RangeInclusive;

use chela_core::{Severity, sanitize};
use serde::Serialize;

use statement::{FileStatement, statements};

pub(crate) use secrets::in_words as secret_in_words;
pub use tool_text::lint_tools;

/// One finding, with the place and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LintFinding {
    pub severity: Severity,
    pub code: &'static str,
    pub file: String,
    /// From 1; 0 when the file as a whole is meant.
    pub line: u32,
    pub message: String,
    pub suggestion: String,
}

/// A file as it is on the disk, with what becomes of it on the way to the model.
#[derive(Debug, Clone)]
pub struct LintFile {
    pub name: String,
    pub text: String,
    pub fate: FileFate,
}

/// What becomes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileFate {
    /// All of it reaches the model; `limit` is the most characters it may have.
    Whole { limit: Option<usize> },
    /// These lines are left out.
    Cut {
        dropped: Vec<RangeInclusive<u32>>,
        limit: String,
    },
    /// None of it does, and why.
    Unseen { why: String, expected: bool },
}

/// From this share of its limit on, a file is about to be cut.
const NEAR_LIMIT: f64 = 0.9;

pub fn lint(files: &[LintFile]) -> Vec<LintFinding> {
    let mut findings: Vec<LintFinding> = files.iter().flat_map(lint_one).collect();
    let all: Vec<FileStatement<'_>> = files
        .iter()
        .filter(|file| !matches!(file.fate, FileFate::Unseen { .. }))
        .flat_map(|file| statements(&file.name, &file.text))
        // Findings quote what they are about; a secret is never quoted.
        .filter(|statement| secrets::what_secret(&statement.text).is_none())
        .collect();
    findings.extend(repeat::repeats(&all));
    findings.extend(contradict::contradictions(&all));
    let rank = |name: &str| files.iter().position(|file| file.name == name);
    findings.sort_by(|a, b| {
        b.severity
            .cmp(&a.severity)
            .then_with(|| rank(&a.file).cmp(&rank(&b.file)))
            .then_with(|| (a.line, a.code).cmp(&(b.line, b.code)))
    });
    findings
}

fn lint_one(file: &LintFile) -> Vec<LintFinding> {
    let mut findings = reach(file);
    findings.extend(invisible(file));
    findings.extend(secrets::secrets(&file.name, &file.text));
    findings.extend(markers(file));
    findings.extend(borrowed(file));
    findings
}

/// Headings that read like sections of the prompt itself.
fn borrowed(file: &LintFile) -> Vec<LintFinding> {
    let found = chela_prompt::borrowed_headings(&file.text).into_iter();
    found
        .map(|found| LintFinding {
            severity: Severity::Warning,
            code: "section-heading",
            file: file.name.clone(),
            line: found.line,
            message: format!(
                "`{}` looks like a section of the prompt itself: what follows may be mistaken \
                    for its rules",
                found.heading
            ),
            suggestion: "choose another title, or a deeper heading".to_owned(),
        })
        .collect()
}

/// Text that never reaches the model, or is about to be cut.
fn reach(file: &LintFile) -> Vec<LintFinding> {
    let finding = |severity, code, line, message, suggestion: &str| LintFinding {
        severity,
        code,
        file: file.name.clone(),
        line,
        message,
        suggestion: suggestion.to_owned(),
    };
    match &file.fate {
        FileFate::Whole { limit: Some(limit) } => {
            let chars = file.text.chars().count();
            let share = chars as f64 / (*limit).max(1) as f64;
            if share < NEAR_LIMIT {
                return Vec::new();
            }
            let message = format!("{chars} of {limit} characters used; soon it will be cut");
            let advice = "shorten it, move details to memory/ or a skill, or raise agents.defaults.bootstrapMaxChars";
            vec![finding(Severity::Note, "near-limit", 0, message, advice)]
        }
        FileFate::Cut { dropped, limit } => dropped
            .iter()
            .map(|lines| {
                let message = format!(
                    "lines {}-{} never reach the model: the file is over its limit ({limit})",
                    lines.start(),
                    lines.end()
                );
                let advice = "shorten the file, put what must stay between <!-- keep --> and <!-- /keep -->, or raise the limit";
                finding(Severity::Warning, "cut", *lines.start(), message, advice)
            })
            .collect(),
        FileFate::Unseen { why, expected: false } if !file.text.trim().is_empty() => {
            let message = format!("this file never reaches the model: {why}");
            vec![finding(Severity::Warning, "unseen", 0, message, "`chela context why` explains \
                why")]
        }
        FileFate::Whole { limit: None } | FileFate::Unseen { .. } => Vec::new(),
    }
}

/// Characters nobody sees, which can hide instructions.
fn invisible(file: &LintFile) -> Option<LintFinding> {
    let (_, removed) = sanitize::content(&file.text);
    if removed.total() == 0 {
        return None;
    }
    Some(LintFinding {
        severity: Severity::Warning,
        code: "invisible",
        file: file.name.clone(),
        line: removed.first_lines.first().copied().unwrap_or(0),
        message: format!(
            "{} invisible characters that could hide instructions; they are removed before the \
                model reads it",
            removed.total()
        ),
        suggestion: "retype the line; if you did not put them there, find out who did (`chela workspace history`)".to_owned(),
    })
}

/// `keep` markers and code fences that do not pair up.
fn markers(file: &LintFile) -> Vec<LintFinding> {
    let mut findings = Vec::new();
    let mut fence: Option<(u32, String)> = None;
    let mut keep: Option<u32> = None;
    for (number, line) in (1..).zip(file.text.lines()) {
        let trimmed = line.trim_start();
        if let Some(mark) = statement::fence_mark(trimmed) {
            match &fence {
                None => fence = Some((number, mark.to_owned())),
                Some((_, open)) if mark.starts_with(open.as_str()) => fence = None,
                Some(_) => {}
            }
        } else if fence.is_none() {
            if trimmed.starts_with("<!-- keep -->") {
                keep = Some(number);
            } else if trimmed.starts_with("<!-- /keep -->") {
                keep = None;
            }
        }
    }
    let open = [
        (
            fence.map(|(line, _)| line),
            "unclosed-fence",
            "code fence",
            "close it with the same marks",
        ),
        (
            keep,
            "unclosed-keep",
            "<!-- keep -->",
            "close it with <!-- /keep -->",
        ),
    ];
    for (line, code, what, suggestion) in open {
        if let Some(line) = line {
            findings.push(LintFinding {
                severity: Severity::Warning,
                code,
                file: file.name.clone(),
                line,
                message: format!("this {what} is never closed"),
                suggestion: suggestion.to_owned(),
            });
        }
    }
    findings
}

#[cfg(test)]
mod tests;
