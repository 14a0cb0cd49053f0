//! What weighs more in a short package.
//!
//! Honest skills that run to pages mention keys, commands and addresses on the way. In a package
//! of a screenful, a line of that kind is most of what it is for: of a thousand honest ones that
//! short hardly one has any, so signs that mean nothing elsewhere are counted here.

mod hints;
mod passage;

use chela_config::Severity;

use super::{LineSign, SPOKEN_OF, SignWeight, order};
use crate::finding::SkillFinding;
use crate::inspect::scanned_file::ScannedFile;
use crate::inspect::words::WordKinds;
use hints::{BriefHint, HINTS, HintStrength};
use passage::{BriefPassage, passages};

/// Lines that hold something, in all files together.
const FEW_LINES: usize = 60;
/// A note, rather than a page.
const HARDLY_ANY: usize = 20;

/// How many points a package of so many lines may have.
fn enough(lines: usize) -> u32 {
    let enough = if lines <= HARDLY_ANY {
        HintStrength::Little
    } else {
        HintStrength::Enough
    };
    enough as u32
}

/// Notes of other rules that honest packages of this size do not earn.
const TELLING: [&str; 12] = [
    "agent-override",
    "destroys",
    "escape",
    "hidden-characters",
    "moves-money",
    "persistence",
    "posing-turn",
    "prompt-leak",
    "raw-ip",
    "reports-home",
    "secrets-out",
    "wipes-traces",
];

/// What a short package is told beyond the rules for all.
pub(in crate::inspect) fn look(pages: &[ScannedFile], findings: &mut Vec<SkillFinding>) {
    let lines: usize = pages.iter().map(|page| page.lines.len()).sum();
    if lines > FEW_LINES {
        return crowded(pages, findings);
    }
    let about_jobs = is_about_jobs(pages);
    // To change what the agent lives by is many a longer skill's business.
    let changes_agent = findings.iter().any(|finding| finding.code == "agent-file");
    let mut points = u32::from(changes_agent);
    let telling = |finding: &SkillFinding| {
        is_telling(finding) && !(about_jobs && finding.code == "persistence")
    };
    for finding in findings.iter_mut().filter(|finding| telling(finding)) {
        finding.severity = Severity::Error;
        points = enough(lines);
    }
    let passages: Vec<BriefPassage<'_>> = pages.iter().flat_map(passages).collect();
    let mut found: Vec<SkillFinding> = Vec::new();
    let counted = |hint: &&BriefHint| !(about_jobs && hint.is_stay());
    for hint in HINTS.iter().filter(counted) {
        let shown = passages
            .iter()
            .find_map(|passage| Some((passage.page, passage.shows(hint)?)));
        let Some((page, line)) = shown else {
            continue;
        };
        let sign = LineSign::order("short-and-doubtful", SignWeight::Note, hint.what);
        let finding = super::finding(&page.path, line, &sign);
        let same = |other: &&SkillFinding| other.file == finding.file && other.line == finding.line;
        // A rule that looks at where something comes from has judged it already.
        let judged = findings.iter().filter(same).any(|other| {
            matches!(other.code, "pipe-to-shell" | "download-and-run")
                && (other.severity == Severity::Error || line.words.have(WordKinds::LINK))
        });
        if !judged {
            points += hint.says as u32;
            found.push(finding);
        }
    }
    if points >= enough(lines) {
        let noted = findings
            .iter_mut()
            .filter(|finding| finding.code == "agent-file");
        for finding in found.iter_mut().chain(noted) {
            finding.severity = Severity::Error;
        }
    }
    findings.extend(found);
}

/// Whether a skill says in its head that making things run by themselves is what it is for.
fn is_about_jobs(pages: &[ScannedFile]) -> bool {
    const HEAD: usize = 8;
    const JOBS: [&str; 6] = [
        "cron",
        "launchd",
        "systemd",
        "schedul",
        "timer",
        "recurring",
    ];
    let skill = pages.iter().find(|page| page.path == crate::SKILL_FILE);
    skill.is_some_and(|page| {
        let head = page.lines.iter().take(HEAD);
        let mut head = head
            .filter(|line| line.text.starts_with("name:") || line.text.starts_with("description:"));
        head.any(|line| JOBS.iter().any(|word| line.text.contains(word)))
    })
}

/// Lines of a longer text that belong together.
const NEIGHBOURS: u32 = 8;

/// Several doubtful lines in one place of a longer text: honest ones are scattered, and an attack
/// that was padded is still one.
fn crowded(pages: &[ScannedFile], findings: &mut Vec<SkillFinding>) {
    let Some(page) = pages.iter().find(|page| page.path == crate::SKILL_FILE) else {
        return;
    };
    let mut found: Vec<SkillFinding> = Vec::new();
    for passage in passages(page)
        .iter()
        .filter(|passage| passage.is_worth_a_look())
    {
        for hint in HINTS
            .iter()
            .filter(|hint| hint.says == HintStrength::Enough)
        {
            if let Some(line) = passage.shows(hint) {
                let sign = LineSign::order("crowded-and-doubtful", SignWeight::Note, hint.what);
                found.push(super::finding(&page.path, line, &sign));
            }
        }
    }
    // By line, so that each is compared with its neighbours alone, however many there are.
    found.sort_by_key(|finding| finding.line);
    let mut in_crowd = vec![false; found.len()];
    for (at, one) in found.iter().enumerate() {
        let near = |other: &&SkillFinding| other.line <= one.line.map(|line| line + NEIGHBOURS);
        for (ahead, other) in found
            .iter()
            .enumerate()
            .skip(at + 1)
            .take_while(|(_, other)| near(other))
        {
            if other.message != one.message {
                for place in [at, ahead] {
                    if let Some(is_in) = in_crowd.get_mut(place) {
                        *is_in = true;
                    }
                }
            }
        }
    }
    let crowd = found.into_iter().zip(in_crowd).filter(|(_, is_in)| *is_in);
    findings.extend(crowd.map(|(finding, _)| SkillFinding {
        severity: Severity::Error,
        ..finding
    }));
}

/// Whether a page says enough by itself, wherever it stands.
pub(in crate::inspect) fn is_doubtful(page: &ScannedFile) -> bool {
    let passages = passages(page);
    let shown = HINTS
        .iter()
        .filter(|hint| passages.iter().any(|passage| passage.shows(hint).is_some()));
    shown.map(|hint| hint.says as u32).sum::<u32>() >= HintStrength::Enough as u32
}

/// What is doubtful anywhere is too much here; of what is only worth knowing, some kinds are.
fn is_telling(finding: &SkillFinding) -> bool {
    let counts = match finding.severity {
        Severity::Warning => finding.code != "document",
        Severity::Note => {
            let quoted = finding.excerpt.as_deref().is_some_and(|line| {
                let line = line.to_lowercase();
                order::is_quoted(&line)
            });
            TELLING.contains(&finding.code) && !quoted
        }
        _ => false,
    };
    counts && finding.hint.as_deref() != Some(SPOKEN_OF)
}
