//! Attacks that a skill about attacks quotes: its reference pages are read to know them, and
//! whoever does that work knows what they read. Its SKILL.md and its programs are judged as
//! everybody's are.

use chela_config::Severity;

use super::SPOKEN_OF;
use crate::finding::SkillFinding;
use crate::inspect::scanned_file::{ScannedFile, ScannedKind};
use crate::inspect::tables::rule_lists;

rule_lists! { "quoted.txt": SECURITY_WORK, QUOTED }

/// Lines of SKILL.md that say what a skill is for.
const HEAD_LINES: u32 = 16;
/// One such word stands in many a description.
const FEWEST_WORDS: usize = 2;

/// Makes remarks of quotations.
pub(in crate::inspect) fn soften(pages: &[ScannedFile], findings: &mut [SkillFinding]) {
    if !is_about_attacks(pages) {
        return;
    }
    let references: Vec<&str> = pages
        .iter()
        .filter(|page| page.kind == ScannedKind::Prose && page.path.contains('/'))
        .map(|page| page.path.as_str())
        .collect();
    for finding in findings {
        let file = finding.file.as_str();
        let is_quoted = QUOTED.contains(&finding.code);
        if is_quoted && finding.severity > Severity::Note && references.contains(&file) {
            finding.severity = Severity::Warning.min(finding.severity);
            finding.hint = Some(SPOKEN_OF.to_owned());
        }
    }
}

fn is_about_attacks(pages: &[ScannedFile]) -> bool {
    let skill = pages.iter().find(|page| page.path == crate::SKILL_FILE);
    skill.is_some_and(|page| {
        let head = page
            .lines
            .iter()
            .take_while(|line| line.number <= HEAD_LINES);
        let head: Vec<&str> = head.map(|line| line.text.as_str()).collect();
        let named = SECURITY_WORK
            .iter()
            .filter(|word| head.iter().any(|line| line.contains(**word)));
        named.count() >= FEWEST_WORDS
    })
}
