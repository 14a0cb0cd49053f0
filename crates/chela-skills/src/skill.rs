//! One skill as it lies on the disk.

use std::path::PathBuf;

use chela_core::ContentHash;

use crate::finding::SkillFinding;
use crate::front_matter::FrontMatter;
use crate::shown_skill::ShownSkill;
use crate::signature::SkillSignature;
use crate::source::{PluginState, SkillSource};
use crate::tree::SkillFile;

/// A skill that was found and could be read.
#[derive(Debug, Clone, PartialEq)]
pub struct Skill {
    pub name: String,
    /// One clean line, at most [`MAX_DESCRIPTION_CHARS`] long.
    pub description: String,
    pub folder: PathBuf,
    /// Its SKILL.md.
    pub file: PathBuf,
    pub root: PathBuf,
    pub source: SkillSource,
    /// Precedence of its root: the higher wins.
    pub level: usize,
    pub plugin: Option<PluginState>,
    pub front: FrontMatter,
    /// Of SKILL.md alone: what a model has read.
    pub version: ContentHash,
    /// Of every file: what the owner trusts.
    pub tree: ContentHash,
    pub files: Vec<SkillFile>,
    /// Headings of the body, for finding it again.
    pub headings: Vec<String>,
    pub body_chars: usize,
    /// Seconds since 1970 of the last change to SKILL.md.
    pub modified: u64,
    pub findings: Vec<SkillFinding>,
    /// What the publisher's signature over all files says.
    pub signature: SkillSignature,
    pub(crate) shown: ShownSkill,
}

/// The longest description that is listed, as the Agent Skills format allows.
pub const MAX_DESCRIPTION_CHARS: usize = 1024;

impl Skill {
    /// The key under which `skills.entries` knows it.
    pub fn key(&self) -> &str {
        self.front.gating.skill_key.as_deref().unwrap_or(&self.name)
    }

    /// `sha256:` and the first digits of the hash of SKILL.md.
    pub fn version_label(&self) -> String {
        format!("sha256:{}", self.version.short())
    }

    /// The same in a prompt: six digits after a `v`.
    pub fn short_version(&self) -> String {
        format!("v{}", self.shown.version)
    }

    pub fn homepage(&self) -> Option<&str> {
        self.front.homepage.as_deref()
    }
}
