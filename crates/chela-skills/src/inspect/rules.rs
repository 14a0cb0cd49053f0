//! The rules, one file per kind of harm. Each says in plain words what a line would do.

pub(super) mod hidden;
mod leak;
mod lure;
pub(super) mod name;
mod order;
mod pattern;
mod run;
mod stay;

use chela_config::Severity;

use super::decode::Inner;
use super::hosts::Known;
use super::page::{Line, Page};
use crate::finding::Finding;

/// Said of a line that warns of something or searches for it; such lines add up to nothing.
const SPOKEN_OF: &str = "it seems to be spoken of here, not done";

/// How bad a sign is by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Weight {
    /// Worth knowing; honest skills do it too.
    Note,
    /// Worth a look before it is trusted.
    Suspicious,
    /// Nothing honest looks like this.
    Dangerous,
}

/// What a rule saw in a line.
#[derive(Debug, Clone)]
struct Sign {
    code: &'static str,
    weight: Weight,
    what: &'static str,
}

impl Sign {
    fn new(code: &'static str, weight: Weight, what: &'static str) -> Self {
        Self { code, weight, what }
    }
}

/// Everything the rules say about one page.
pub(super) fn look(page: &Page, known: &Known, findings: &mut Vec<Finding>) {
    for (at, line) in page.lines.iter().enumerate() {
        if line.words.is_empty() {
            continue;
        }
        let mut signs = Vec::new();
        run::look(page, at, known, &mut signs);
        lure::look(page, at, known, &mut signs);
        leak::look(page, at, known, &mut signs);
        stay::look(page, at, &mut signs);
        order::look(page, at, &mut signs);
        findings.extend(signs.iter().map(|sign| finding(&page.path, line, sign)));
    }
    findings.extend(leak::flows(page, known));
    findings.extend(run::across(page, known));
}

/// What a decoded text would do: running or sending anything from in there is an attack.
pub(super) fn look_inside(inner: &Inner, known: &Known) -> Vec<Finding> {
    let mut found = Vec::new();
    look(&inner.page, known, &mut found);
    let command = inner.page.lines.iter().any(run::is_command);
    let worst = found.iter().map(|finding| finding.severity).max();
    if worst < Some(Severity::Warning) && !command {
        return Vec::new();
    }
    let shown = inner
        .page
        .lines
        .first()
        .map(|line| crate::skill::one_line(&line.raw, 120));
    let message = format!(
        "hides a command in an encoded text: {}",
        shown.unwrap_or_default()
    );
    let finding = if inner.about {
        Finding::warning("encoded-command", message)
    } else {
        Finding::error("encoded-command", message)
    };
    vec![
        finding
            .in_file(&inner.path)
            .at(inner.line)
            .excerpt(&inner.raw),
    ]
}

/// What only shows when several findings are seen together.
pub(super) fn together(findings: &mut [Finding]) {
    let has = |code: &str, findings: &[Finding]| {
        findings
            .iter()
            .any(|finding| finding.code == code && finding.severity >= Severity::Warning)
    };
    // Two different doubtful things in one package are no accident.
    let mut codes: Vec<&str> = findings
        .iter()
        .filter(|finding| {
            finding.severity == Severity::Warning
                && finding.code != "document"
                && finding.hint.as_deref() != Some(SPOKEN_OF)
        })
        .map(|finding| finding.code)
        .collect();
    codes.sort_unstable();
    codes.dedup();
    let fetched = has("pipe-to-shell", findings)
        || has("download-and-run", findings)
        || has("program-download", findings);
    let raised: &[&str] = if codes.len() >= 2 {
        &codes.clone()
    } else if fetched && has("quarantine-strip", findings) {
        &["quarantine-strip"]
    } else {
        &[]
    };
    for finding in findings.iter_mut().filter(|finding| {
        finding.severity == Severity::Warning
            && raised.contains(&finding.code)
            && finding.hint.as_deref() != Some(SPOKEN_OF)
    }) {
        finding.severity = Severity::Error;
    }
}

fn finding(path: &str, line: &Line, sign: &Sign) -> Finding {
    let weight = match sign.weight {
        Weight::Dangerous if line.about => Weight::Suspicious,
        Weight::Suspicious if line.about => Weight::Note,
        weight => weight,
    };
    let finding = match weight {
        Weight::Note => Finding::note(sign.code, sign.what),
        Weight::Suspicious => Finding::warning(sign.code, sign.what),
        Weight::Dangerous => Finding::error(sign.code, sign.what),
    };
    let finding = finding.in_file(path).at(line.number).excerpt(&line.raw);
    if weight < sign.weight {
        finding.hint(SPOKEN_OF)
    } else {
        finding
    }
}
