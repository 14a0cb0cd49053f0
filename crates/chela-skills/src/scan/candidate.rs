//! Reading one folder that may be a skill.

use std::fs;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use chela_core::{ContentHash, Host};

use super::SkipReason;
use crate::body;
use crate::finding::SkillFinding;
use crate::front_matter;
use crate::name;
use crate::one_line::one_line;
use crate::roots::SkillRoot;
use crate::settings::SkillLimits;
use crate::shown_skill::{ShownParts, ShownSkill};
use crate::signature;
use crate::skill::{MAX_DESCRIPTION_CHARS, Skill};
use crate::stamp::FolderStamps;
use crate::tree::{self, EntryKind, FolderListing, KnownFile};

#[derive(Debug)]
pub(super) struct SkillCandidate<'a> {
    pub root: &'a SkillRoot,
    pub folder: PathBuf,
    /// `SKILL.md`, or what some write for it.
    pub file: String,
}

/// What a candidate turned out to be, and what that rests on.
#[derive(Debug, Clone)]
pub(super) struct CandidateReading {
    pub outcome: CandidateOutcome,
    pub stamps: FolderStamps,
}

#[derive(Debug, Clone)]
pub(super) enum CandidateOutcome {
    Skill(Arc<Skill>),
    Skipped(SkipReason),
}

impl CandidateReading {
    /// Whether reading the candidate again would give the same.
    pub(super) fn still_true(&self, candidate: &SkillCandidate<'_>) -> bool {
        let same_place = match &self.outcome {
            CandidateOutcome::Skill(skill) => {
                skill.level == candidate.root.level
                    && skill.source == candidate.root.source
                    && skill.plugin == candidate.root.plugin
            }
            CandidateOutcome::Skipped(_) => false,
        };
        same_place && self.stamps.hold()
    }
}

impl SkillCandidate<'_> {
    pub(super) fn read(&self, host: &Host, limits: &SkillLimits) -> CandidateReading {
        let mut stamps = FolderStamps::new(&self.folder);
        match self.skill(host, limits, &mut stamps) {
            Ok(skill) => CandidateReading {
                outcome: CandidateOutcome::Skill(Arc::new(skill)),
                stamps,
            },
            Err(reason) => CandidateReading {
                outcome: CandidateOutcome::Skipped(reason),
                stamps,
            },
        }
    }

    fn skill(
        &self,
        host: &Host,
        limits: &SkillLimits,
        stamps: &mut FolderStamps,
    ) -> Result<Skill, SkipReason> {
        let now = host.clock.now();
        let listing = FolderListing::read(self.folder.clone())
            .map_err(|error| SkipReason::Unreadable(format!("cannot read it: {error}")))?;
        stamps.note(&self.folder, listing.stamp, now);
        let path = self.skill_file(&listing)?;
        let content = tree::read_file(&path, limits.max_skill_file_bytes).map_err(|error| {
            if error.kind() == io::ErrorKind::FileTooLarge {
                let bytes = error.to_string().parse().unwrap_or(u64::MAX);
                return SkipReason::TooLarge {
                    bytes,
                    limit: limits.max_skill_file_bytes,
                };
            }
            SkipReason::Unreadable(format!("cannot read {}: {error}", path.display()))
        })?;
        stamps.note(&path, content.stamp, now);
        let text = front_matter::read(&content.bytes)?;
        let description = text
            .front
            .description
            .as_deref()
            .ok_or(SkipReason::NoDescription)?;
        let raw_chars = description.chars().count();
        let description = one_line(description, MAX_DESCRIPTION_CHARS);
        if description.is_empty() {
            return Err(SkipReason::NoDescription);
        }
        let version = ContentHash::of(&content.bytes);
        let known = KnownFile {
            name: &self.file,
            hash: version,
            stamp: content.stamp,
            mode: content.mode,
        };
        let tree = tree::read(&listing, &known, FolderStamps::new(&self.folder), now)?;
        *stamps = tree.stamps;
        let folder = name::of_folder(&self.folder);
        let (name, mut findings) = name::settle(text.front.name.as_deref(), folder);
        findings.extend(text.findings);
        if raw_chars > MAX_DESCRIPTION_CHARS {
            findings.push(SkillFinding::warning(
                "long-description",
                format!(
                    "the description has {raw_chars} characters; {MAX_DESCRIPTION_CHARS} are listed"
                ),
            ));
        }
        let body = body::read(text.body, text.body_line);
        findings.extend(body.outside);
        findings.extend(tree.findings);
        if self.file != crate::SKILL_FILE {
            let message = format!(
                "its file is called {}, where the format has SKILL.md",
                self.file
            );
            findings.push(SkillFinding::note("file-name", message).in_file(self.file.clone()));
        }
        let file = self.folder.join(&self.file);
        let parts = ShownParts {
            name: &name,
            description: &description,
            file: &file,
            root: &self.root.dir,
            version,
        };
        let signature = signature::read(&self.folder, &name, &tree.files);
        Ok(Skill {
            signature,
            shown: ShownSkill::new(&parts, host),
            name,
            description,
            folder: self.folder.clone(),
            file,
            root: self.root.dir.clone(),
            source: self.root.source.clone(),
            level: self.root.level,
            plugin: self.root.plugin,
            version,
            tree: tree.hash,
            files: tree.files,
            headings: body.headings,
            body_chars: text.body.chars().count(),
            modified: content.stamp.modified_seconds(),
            findings,
            front: text.front,
        })
    }

    /// Where SKILL.md really lies: in this folder, also when it is a link.
    fn skill_file(&self, listing: &FolderListing) -> Result<PathBuf, SkipReason> {
        let path = self.folder.join(&self.file);
        if listing
            .find(&self.file)
            .is_none_or(|entry| entry.kind != EntryKind::Link)
        {
            return Ok(path);
        }
        let failed = |error: io::Error| {
            SkipReason::Unreadable(format!("cannot read {}: {error}", path.display()))
        };
        let end = fs::canonicalize(&path).map_err(failed)?;
        let folder = fs::canonicalize(&self.folder).map_err(failed)?;
        if end.starts_with(folder) {
            Ok(end)
        } else {
            Err(SkipReason::FileOutside {
                target: end.display().to_string(),
            })
        }
    }
}
