//! The seam for looking into a skill before it is trusted.
//!
//! [`FirstLook`] finds what stands out at once and never blocks; a scanner that judges content,
//! checks signatures or asks a policy implements [`SkillScanner`] and is passed in its place.

use std::io;

use chela_core::sanitize;
use serde::Serialize;

use crate::finding::Finding;
use crate::skill::{FileKind, Skill};
use crate::tree;

/// Looks into skills.
pub trait SkillScanner: Send + Sync {
    /// Never fails: what cannot be read or understood is a finding.
    fn scan(&self, contents: &SkillContents<'_>) -> ScanReport;
}

/// A skill with its files at hand.
#[derive(Debug, Clone, Copy)]
pub struct SkillContents<'a> {
    pub skill: &'a Skill,
}

impl<'a> SkillContents<'a> {
    pub fn of(skill: &'a Skill) -> Self {
        Self { skill }
    }

    /// The bytes of one of the skill's files, if they are still those that were hashed.
    pub fn read(&self, path: &str) -> io::Result<Vec<u8>> {
        let file = self.skill.files.iter().find(|file| file.path == path);
        let file = file
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "not a file of this skill"))?;
        let content = tree::read_file(&self.skill.folder.join(path), file.bytes)?;
        if chela_core::ContentHash::of(&content.bytes) == file.hash {
            Ok(content.bytes)
        } else {
            Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "the file changed while it was read",
            ))
        }
    }
}

/// What a scanner found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ScanReport {
    pub scanner: String,
    pub verdict: ScanVerdict,
    pub findings: Vec<Finding>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ScanVerdict {
    Clean,
    /// Worth a look before it is trusted.
    Suspicious,
    /// Not to be used on first sight, not even in the owner's own folders.
    Blocked,
}

impl ScanReport {
    /// One line for a report.
    pub fn summary(&self) -> String {
        match self.findings.first() {
            None => format!("{} blocked it", self.scanner),
            Some(first) => format!("{}: {first}", self.scanner),
        }
    }
}

/// What stands out without judging: hidden characters, commands piped into a shell, programs,
/// files nobody can read.
#[derive(Debug, Clone, Copy, Default)]
pub struct FirstLook;

impl SkillScanner for FirstLook {
    fn scan(&self, contents: &SkillContents<'_>) -> ScanReport {
        let mut findings = Vec::new();
        for file in &contents.skill.files {
            match file.kind {
                FileKind::Link => continue,
                FileKind::Executable => {
                    let finding = Finding::note("executable", "is a program that can be run");
                    findings.push(finding.in_file(&file.path));
                }
                FileKind::Plain => {}
            }
            match contents.read(&file.path) {
                Ok(bytes) => look(&file.path, &bytes, &mut findings),
                Err(error) => {
                    let finding =
                        Finding::warning("unread", format!("could not be looked into: {error}"));
                    findings.push(finding.in_file(&file.path));
                }
            }
        }
        findings.extend(
            contents
                .skill
                .findings
                .iter()
                .filter(|finding| is_risky(finding.code))
                .cloned(),
        );
        let suspicious = findings
            .iter()
            .any(|finding| finding.severity > chela_config::Severity::Note);
        let verdict = if suspicious {
            ScanVerdict::Suspicious
        } else {
            ScanVerdict::Clean
        };
        ScanReport {
            scanner: "first look".to_owned(),
            verdict,
            findings,
        }
    }
}

fn is_risky(code: &str) -> bool {
    matches!(code, "outside-reference" | "link-outside" | "special-file")
}

fn look(path: &str, bytes: &[u8], findings: &mut Vec<Finding>) {
    let Ok(text) = std::str::from_utf8(bytes) else {
        findings.push(
            Finding::warning("binary", "is not text, so nobody can see what it does").in_file(path),
        );
        return;
    };
    let (_, removed) = sanitize::content(text);
    if removed.total() > 0 {
        let finding = Finding::warning(
            "hidden-characters",
            format!(
                "holds {} invisible characters that a model would read",
                removed.total()
            ),
        );
        findings.push(
            finding
                .in_file(path)
                .at(removed.first_lines.first().copied()),
        );
    }
    for (at, line) in text.lines().enumerate() {
        if let Some((code, message)) = alarming(line) {
            let line = u32::try_from(at + 1).unwrap_or(u32::MAX);
            findings.push(Finding::warning(code, message).in_file(path).at(line));
        }
    }
}

/// Lines that no harmless skill needs.
fn alarming(line: &str) -> Option<(&'static str, &'static str)> {
    let lower = line.to_ascii_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| lower.contains(word));
    let fetches = has(&["curl ", "wget ", "invoke-webrequest", "iwr "]);
    let decodes = has(&[
        "base64 -d",
        "base64 --decode",
        "base64 -D",
        "frombase64string",
    ]);
    let squeezed: String = lower.chars().filter(|c| !c.is_whitespace()).collect();
    let into_shell = ["|sh", "|bash", "|zsh", "|sudo", "|python", "|node", "|iex"]
        .iter()
        .any(|pipe| squeezed.contains(pipe));
    if into_shell && (fetches || decodes) {
        return Some((
            "pipe-to-shell",
            "runs something it has just fetched or decoded",
        ));
    }
    let secrets = [
        ".ssh/id_",
        ".aws/credentials",
        "/.env",
        "keychain",
        "login.keychain",
        "wallet.dat",
    ];
    if has(&secrets) && (fetches || has(&["http://", "https://", "nc "])) {
        return Some((
            "secrets-out",
            "names a file of secrets and a place to send it to",
        ));
    }
    if has(&["password-protected", "password protected"]) && has(&["zip", "archive", "rar"]) {
        return Some((
            "locked-archive",
            "asks to open a locked archive, which no scanner can look into",
        ));
    }
    None
}
