//! The seam for looking into a skill before it is trusted.
//!
//! [`FirstLook`] runs the rules of [`inspect`](crate::inspect()); a scanner that asks somebody
//! else implements [`SkillScanner`] and is passed in its place.

use std::io;

use crate::inspect::{PackageSight, SkillPackage, inspect};
use crate::scan_report::ScanReport;
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
    sight: PackageSight,
}

impl<'a> SkillContents<'a> {
    /// A skill nobody has looked into yet: all that lies in its folder came with it.
    pub fn of(skill: &'a Skill) -> Self {
        Self {
            skill,
            sight: PackageSight::First,
        }
    }

    /// A skill that has been in use: tools may have left something behind in its folder.
    pub fn in_use(skill: &'a Skill) -> Self {
        Self {
            skill,
            sight: PackageSight::Again,
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

/// The rules that come with this build, over all files of a skill.
#[derive(Debug, Clone, Copy, Default)]
pub struct FirstLook;

impl SkillScanner for FirstLook {
    fn scan(&self, contents: &SkillContents<'_>) -> ScanReport {
        inspect(&SkillPackage::of(contents.skill, contents.sight))
    }
}
