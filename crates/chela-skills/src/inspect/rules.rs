//! The rules, one file per kind of harm. Each says in plain words what a line would do.

mod autorun;
pub(super) mod brief;
mod carried;
mod destroy;
mod foreign_key;
mod gather;
pub(super) mod hidden;
mod leak;
mod lure;
pub(super) mod name;
mod order;
mod pattern;
pub(super) mod quoted;
mod run;
mod say;
mod stay;
mod theft;

use chela_config::Severity;

use super::about::LineStance;
use super::decode::DecodedText;
use super::hosts::{AddressPlace, KnownSites, links};
use super::scanned_file::{LineZone, ScannedFile, ScannedLine};
use super::words::WordKinds;
use crate::finding::SkillFinding;

/// Said of a line that warns of something or searches for it; such lines add up to nothing.
const SPOKEN_OF: &str = "seems to be described here, not done";

/// How bad a sign is by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum SignWeight {
    /// Worth knowing; honest skills do it too.
    Note,
    /// Worth a look before it is trusted.
    Suspicious,
    /// Nothing honest looks like this.
    Dangerous,
}

/// What a rule saw in a line.
#[derive(Debug, Clone)]
struct LineSign {
    code: &'static str,
    weight: SignWeight,
    what: &'static str,
    heeds: Heeds,
}

/// What makes a line one that only speaks of a thing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Heeds {
    /// A warning, or words about attacks.
    Warnings,
    /// Only words about attacks: "do not" is part of the order itself.
    Topics,
}

impl LineSign {
    fn new(code: &'static str, weight: SignWeight, what: &'static str) -> Self {
        let heeds = Heeds::Warnings;
        Self {
            code,
            weight,
            what,
            heeds,
        }
    }

    /// A sign of an order to the agent.
    fn order(code: &'static str, weight: SignWeight, what: &'static str) -> Self {
        Self {
            heeds: Heeds::Topics,
            ..Self::new(code, weight, what)
        }
    }
}

/// Everything the rules say about one page.
pub(super) fn look(page: &ScannedFile, known: &KnownSites, findings: &mut Vec<SkillFinding>) {
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
        say::look(page, at, known, &mut signs);
        destroy::look(page, at, &mut signs);
        foreign_key::look(page, at, &mut signs);
        autorun::look(page, at, known, &mut signs);
        posing(page, at, &mut signs);
        findings.extend(signs.iter().map(|sign| finding(&page.path, line, sign)));
    }
    findings.extend(leak::flows(page, known));
    findings.extend(run::across(page, known));
    findings.extend(carried::across(page, known));
    findings.extend(destroy::across(page));
    findings.extend(autorun::across(page));
    findings.extend(say::hoard(page));
    findings.extend(stay::loosens(page));
}

/// What only the package as a whole shows.
pub(super) fn look_at_all(pages: &[ScannedFile], known: &KnownSites) -> Vec<SkillFinding> {
    let sinks = gather::all_sinks(pages);
    let mut found = gather::look(pages, &sinks, known);
    found.extend(theft::look(pages, &sinks, known));
    found
}

/// A command word in letters of two scripts.
fn posing(page: &ScannedFile, at: usize, signs: &mut Vec<LineSign>) {
    let Some(line) = page.lines.get(at) else {
        return;
    };
    if line.posing
        && line
            .words
            .have_any(WordKinds::FETCH | WordKinds::SHELL | WordKinds::RUN | WordKinds::ORDER)
    {
        let what = "writes a word in letters of two scripts, so that searches pass it by";
        signs.push(LineSign::new(
            "posing-letters",
            SignWeight::Suspicious,
            what,
        ));
    }
}

/// What a decoded text would do: running or sending anything from in there is an attack.
pub(super) fn look_inside(inner: &DecodedText, known: &KnownSites) -> Vec<SkillFinding> {
    let mut found = Vec::new();
    look(&inner.page, known, &mut found);
    let command = inner.page.lines.iter().any(|line| {
        run::is_command(line) || order::drops_rules(&line.text) || order::hides(&line.text)
    });
    let worst = found.iter().map(|finding| finding.severity).max();
    let address = is_hidden_address(inner);
    if worst < Some(Severity::Warning) && !command && !address {
        return Vec::new();
    }
    let shown = inner
        .page
        .lines
        .first()
        .map(|line| crate::one_line::one_line(&line.raw, 120));
    let message = format!(
        "hides a command in an encoded text: {}",
        shown.unwrap_or_default()
    );
    let finding = if inner.about == LineStance::Speaks {
        SkillFinding::warning("encoded-command", message)
    } else {
        SkillFinding::error("encoded-command", message)
    };
    vec![
        finding
            .in_file(&inner.path)
            .at(inner.line)
            .excerpt(&inner.raw),
    ]
}

/// An address that was encoded so that nobody sees where a program goes.
fn is_hidden_address(inner: &DecodedText) -> bool {
    let [line] = inner.page.lines.as_slice() else {
        return false;
    };
    let text = line.text.trim();
    inner.zone == LineZone::Code
        && (text.starts_with("http://") || text.starts_with("https://"))
        && !text.contains(char::is_whitespace)
        && links(text)
            .iter()
            .any(|link| !matches!(link.place, AddressPlace::Near | AddressPlace::Installer))
}

/// What only shows when several findings are seen together.
pub(super) fn together(findings: &mut [SkillFinding]) {
    let has = |code: &str, findings: &[SkillFinding]| {
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

fn finding(path: &str, line: &ScannedLine, sign: &LineSign) -> SkillFinding {
    let spoken_of = match sign.heeds {
        Heeds::Warnings => line.about != LineStance::Nothing,
        Heeds::Topics => line.about == LineStance::Speaks,
    };
    let weight = match sign.weight {
        SignWeight::Dangerous if spoken_of => SignWeight::Suspicious,
        SignWeight::Suspicious if spoken_of => SignWeight::Note,
        weight => weight,
    };
    let finding = match weight {
        SignWeight::Note => SkillFinding::note(sign.code, sign.what),
        SignWeight::Suspicious => SkillFinding::warning(sign.code, sign.what),
        SignWeight::Dangerous => SkillFinding::error(sign.code, sign.what),
    };
    let finding = finding.in_file(path).at(line.number).excerpt(&line.raw);
    if spoken_of {
        finding.hint(SPOKEN_OF)
    } else {
        finding
    }
}
