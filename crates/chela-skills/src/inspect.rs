//! Looking into a skill: what its files would do, said line by line.
//!
//! Every file of the package is read, as what it is: prose, code inside prose, a script, an
//! archive. Single signs mean little, since honest skills fetch, run and send too; a finding is
//! mostly two signs in one place, or one sign and where it points. What cannot be read is never
//! waved through: an oversized, binary, compiled or locked file is a finding of the worst kind.
//!
//! Not found by any scanner: polite prose that asks for something harmful in the wrong place.
//! That is what trust, `allowed-tools` and the policy of the tools are for.

mod about;
mod bytes;
mod decode;
mod hosts;
mod package;
mod plain;
mod rules;
mod scanned_file;
mod tables;
mod words;

use chela_config::Severity;

use crate::finding::SkillFinding;
use crate::scan_report::{ScanReport, ScanVerdict};
use hosts::KnownSites;
pub(crate) use package::PackageSight;
pub use package::SkillPackage;
use scanned_file::ScannedFile;

/// Counts up when the rules would judge a package differently: what was looked into before is looked
/// into once more.
pub(crate) const RULES_VERSION: u32 = 4;

/// More findings than these are counted, not listed.
const MAX_FINDINGS: usize = 60;
/// Findings of one kind in one file.
const MAX_ALIKE: usize = 4;

/// Judges a package by all of its files.
pub fn inspect(package: &SkillPackage) -> ScanReport {
    let mut findings = package.findings.clone();
    let mut pages: Vec<ScannedFile> = Vec::with_capacity(package.texts.len());
    for (path, text) in &package.texts {
        findings.extend(rules::hidden::look(path, text));
        pages.push(ScannedFile::read(path, text));
    }
    let known = KnownSites::of(&pages);
    for page in &pages {
        rules::look(page, &known, &mut findings);
        let decoded = decode::pages(page);
        for inner in &decoded {
            findings.extend(rules::look_inside(inner, &known));
        }
    }
    findings.extend(rules::look_at_all(&pages, &known));
    rules::quoted::soften(&pages, &mut findings);
    rules::together(&mut findings);
    rules::brief::look(&pages, &mut findings);
    rules::quoted::soften(&pages, &mut findings);
    findings.extend(rules::name::look(&package.name));
    report(findings)
}

fn report(mut findings: Vec<SkillFinding>) -> ScanReport {
    findings.sort_by(|a, b| {
        let place = |finding: &SkillFinding| (finding.file.clone(), finding.line, finding.code);
        b.severity
            .cmp(&a.severity)
            .then_with(|| place(a).cmp(&place(b)))
    });
    findings.dedup_by(|a, b| a.code == b.code && a.file == b.file && a.line == b.line);
    let mut kept: Vec<SkillFinding> = Vec::new();
    for finding in findings {
        let alike = kept
            .iter()
            .filter(|other| other.code == finding.code && other.file == finding.file)
            .count();
        if alike < MAX_ALIKE && kept.len() < MAX_FINDINGS {
            kept.push(finding);
        }
    }
    let verdict = match kept.iter().map(|finding| finding.severity).max() {
        Some(Severity::Error) => ScanVerdict::Dangerous,
        Some(Severity::Warning) => ScanVerdict::Suspicious,
        _ => ScanVerdict::Clean,
    };
    ScanReport {
        scanner: "scan".to_owned(),
        verdict,
        findings: kept,
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod closed_tests;
