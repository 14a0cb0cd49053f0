//! The seam for looking into a skill before it is trusted.
//!
//! [`FirstLook`] runs the rules of [`inspect`](crate::inspect()); a scanner that asks somebody
//! else implements [`SkillScanner`] and is passed in its place.

use std::io;

use serde::Serialize;

use crate::finding::Finding;
use crate::inspect::{Package, Sight, inspect};
use crate::skill::Skill;
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
    sight: Sight,
}

impl<'a> SkillContents<'a> {
    /// A skill nobody has looked into yet: all that lies in its folder came with it.
    pub fn of(skill: &'a Skill) -> Self {
        Self {
            skill,
            sight: Sight::First,
        }
    }

    /// A skill that has been in use: tools may have left something behind in its folder.
    pub fn in_use(skill: &'a Skill) -> Self {
        Self {
            skill,
            sight: Sight::Again,
        }
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
    /// Worst first.
    pub findings: Vec<Finding>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ScanVerdict {
    Clean,
    /// Worth a look before it is trusted.
    Suspicious,
    /// Not to be used before the owner has looked, not even in the owner's own folders.
    Dangerous,
}

impl ScanVerdict {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Clean => "clean",
            Self::Suspicious => "suspicious",
            Self::Dangerous => "dangerous",
        }
    }
}

impl ScanReport {
    /// One line for a report: the worst of it.
    pub fn summary(&self) -> String {
        let more = self
            .findings
            .iter()
            .skip(1)
            .filter(|finding| finding.severity > chela_config::Severity::Note)
            .count();
        match (self.findings.first(), more) {
            (None, _) => format!("{} blocked it", self.scanner),
            (Some(first), 0) => format!("{}: {first}", self.scanner),
            (Some(first), more) => format!("{}: {first} (and {more} more)", self.scanner),
        }
    }
}

/// The rules that come with this build, over all files of a skill.
#[derive(Debug, Clone, Copy, Default)]
pub struct FirstLook;

impl SkillScanner for FirstLook {
    fn scan(&self, contents: &SkillContents<'_>) -> ScanReport {
        inspect(&Package::of(contents.skill, contents.sight))
    }
}
