//! Adding a skill from elsewhere: into quarantine, as a whole or not at all.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use chela_core::{Host, ok_or_warn};

use super::copy;
use super::source::{AddSource, FetchError};
use crate::disk;
use crate::name::{is_valid_name, suggested};
use crate::origin::SkillOrigin;
use crate::roots::{SkillRoot, quarantine_dir};
use crate::scan::{RootScan, ScanRequest, SkippedFolder};
use crate::settings::SkillLimits;
use crate::skill::Skill;
use crate::source::SkillSource;
use crate::trust::{LockEntry, ScanReport, SkillContents, SkillScanner, TrustLock, TrustedBy};

/// What is added, and how it is looked at.
#[derive(Clone, Copy)]
pub struct AddRequest<'a> {
    pub source: &'a AddSource,
    /// Only the skill of this name, when the source holds several.
    pub only: Option<&'a str>,
    pub state_dir: &'a Path,
    pub host: &'a Host,
    pub scanner: &'a dyn SkillScanner,
}

impl std::fmt::Debug for AddRequest<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AddRequest")
            .field("source", &self.source)
            .field("only", &self.only)
            .finish_non_exhaustive()
    }
}

/// A skill that now waits in quarantine.
#[derive(Debug, Clone)]
pub struct AddedSkill {
    pub name: String,
    pub folder: PathBuf,
    pub files: usize,
    pub report: ScanReport,
    /// Links and generated files that were not taken over.
    pub left_behind: Vec<String>,
}

/// Why nothing was added.
#[derive(Debug, thiserror::Error)]
pub enum AddError {
    #[error(transparent)]
    Fetch(#[from] FetchError),
    #[error("there is no skill in {origin}: no folder with a SKILL.md")]
    Nothing { origin: String },
    #[error("there is no skill `{name}` in {origin}; it has {}", known.join(", "))]
    NotThere {
        name: String,
        origin: String,
        known: Vec<String>,
    },
    #[error("{} is not a usable skill: {}", skipped.path.display(), skipped.reason)]
    Unusable { skipped: Box<SkippedFolder> },
    #[error("cannot write {}: {source}", path.display())]
    Write { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Lock(#[from] crate::trust::LockError),
}

/// Skills that were fetched into a folder of ours and are nowhere in use. What is not taken from there
/// goes when this does.
#[derive(Debug)]
pub struct StagedSkills {
    staging: PathBuf,
    origin: SkillOrigin,
    skills: Vec<StagedSkill>,
}

/// One of them.
#[derive(Debug, Clone)]
pub struct StagedSkill {
    pub skill: Skill,
    /// The name of its folder.
    pub folder_name: String,
    pub files: usize,
    pub report: ScanReport,
    pub left_behind: Vec<String>,
}

impl Drop for StagedSkills {
    fn drop(&mut self) {
        ok_or_warn!(fs::remove_dir_all(&self.staging), "what was fetched stays behind", path = %self.staging.display());
    }
}

/// Fetches skills into quarantine. Either all of them are there afterwards, or none is.
pub fn add(request: &AddRequest<'_>) -> Result<Vec<AddedSkill>, AddError> {
    stage(request)?.quarantine(request.state_dir, request.host)
}

/// Fetches skills, and looks into them.
pub fn stage(request: &AddRequest<'_>) -> Result<StagedSkills, AddError> {
    let quarantine = quarantine_dir(request.state_dir);
    let staging = quarantine.join(format!(".incoming-{}", request.host.random_hex(6)));
    let failed = |source| AddError::Write {
        path: staging.clone(),
        source,
    };
    disk::create_dir(&staging.join("fetched")).map_err(failed)?;
    // Whatever happens from here on, the folder goes.
    let mut staged = StagedSkills {
        staging: staging.clone(),
        origin: SkillOrigin::Path {
            path: staging.clone(),
        },
        skills: Vec::new(),
    };
    let fetched = request
        .source
        .fetch(&staging.join("fetched"), request.host)?;
    staged.origin = fetched.origin;
    let shown = staged.origin.to_string();
    for skill in find(&fetched.folder, request, &shown)? {
        let folder_name = folder_for(&skill);
        let folder = staging.join("ready").join(&folder_name);
        let copied = copy::copy_tree(&skill.folder, &folder).map_err(|source| AddError::Write {
            path: folder.clone(),
            source,
        })?;
        staged.skills.push(StagedSkill {
            files: copied.files,
            report: request.scanner.scan(&SkillContents::of(&skill)),
            left_behind: copied.left_behind,
            folder_name,
            skill,
        });
    }
    Ok(staged)
}

impl StagedSkills {
    pub fn skills(&self) -> &[StagedSkill] {
        &self.skills
    }

    pub fn origin(&self) -> &SkillOrigin {
        &self.origin
    }

    /// Where the files of one of them lie.
    pub fn folder_of(&self, skill: &StagedSkill) -> PathBuf {
        self.staging.join("ready").join(&skill.folder_name)
    }

    /// Puts all of them into quarantine.
    pub fn quarantine(self, state_dir: &Path, host: &Host) -> Result<Vec<AddedSkill>, AddError> {
        let quarantine = quarantine_dir(state_dir);
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| AddError::Write { path, source }
        };
        let mut lock = TrustLock::open(state_dir);
        let mut added = Vec::new();
        for staged in &self.skills {
            let target = quarantine.join(&staged.folder_name);
            if target.exists() {
                let old = self.staging.join("old");
                disk::create_dir(&old).map_err(failed(&old))?;
                fs::rename(&target, old.join(&staged.folder_name)).map_err(failed(&target))?;
            }
            fs::rename(self.folder_of(staged), &target).map_err(failed(&target))?;
            lock.note_fetched(&target, self.waiting(&staged.skill, host));
            added.push(AddedSkill {
                name: staged.skill.name.clone(),
                folder: target,
                files: staged.files,
                report: staged.report.clone(),
                left_behind: staged.left_behind.clone(),
            });
        }
        lock.save()?;
        Ok(added)
    }

    /// What the lock says of a skill nobody has trusted yet.
    pub(super) fn waiting(&self, skill: &Skill, host: &Host) -> LockEntry {
        let origin = crate::one_line::one_line(&self.origin.to_string(), 300);
        LockEntry {
            name: skill.name.clone(),
            tree: chela_core::ContentHash::of(""),
            files: BTreeMap::new(),
            since: host.unix_time(),
            by: TrustedBy::Owner,
            quarantined: Some(format!(
                "it was fetched from {origin} and you have not trusted it"
            )),
            origin: Some(origin),
            from: Some(self.origin.clone()),
            turn: None,
            question: None,
            told: None,
            looked: None,
            granted: Vec::new(),
            version: match &self.origin {
                SkillOrigin::Registry { version, .. } => Some(version.clone()),
                _ => skill.front.version.clone(),
            },
        }
    }
}

/// The skills below a fetched folder.
fn find(folder: &Path, request: &AddRequest<'_>, origin: &str) -> Result<Vec<Skill>, AddError> {
    let root = SkillRoot {
        dir: folder.to_owned(),
        source: SkillSource::Downloaded,
        level: 0,
        plugin: None,
    };
    let scan = RootScan::run(
        &ScanRequest {
            host: request.host,
            roots: &[root],
            limits: &SkillLimits::default(),
            allow_symlink_targets: &[],
        },
        None,
    );
    let known: Vec<String> = scan.skills.iter().map(|skill| skill.name.clone()).collect();
    let mut skills: Vec<Skill> = scan
        .skills
        .iter()
        .map(|skill| skill.as_ref().clone())
        .collect();
    if let Some(only) = request.only {
        skills.retain(|skill| skill.name == only);
        if skills.is_empty() && !known.is_empty() {
            return Err(AddError::NotThere {
                name: only.to_owned(),
                origin: origin.to_owned(),
                known,
            });
        }
    }
    if skills.is_empty() {
        return Err(match scan.skipped.into_iter().next() {
            Some(skipped) => AddError::Unusable {
                skipped: Box::new(skipped),
            },
            None => AddError::Nothing {
                origin: origin.to_owned(),
            },
        });
    }
    // A folder name can be taken once.
    let mut taken = std::collections::HashSet::new();
    skills.retain(|skill| taken.insert(folder_for(skill)));
    Ok(skills)
}

/// A folder name that is safe whatever the skill calls itself.
fn folder_for(skill: &Skill) -> String {
    if is_valid_name(&skill.name) {
        return skill.name.clone();
    }
    let name = suggested(&skill.name);
    if name.is_empty() {
        format!("skill-{}", skill.version.short())
    } else {
        name
    }
}
