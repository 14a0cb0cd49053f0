//! Adding a skill from elsewhere: into quarantine, as a whole or not at all.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use chela_core::{Host, ok_or_warn};

use super::copy;
use super::fetch::{AddSource, FetchError};
use crate::disk;
use crate::name::{is_valid_name, suggested};
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

/// Fetches skills into quarantine. Either all of them are there afterwards, or none is.
pub fn add(request: &AddRequest<'_>) -> Result<Vec<AddedSkill>, AddError> {
    let quarantine = quarantine_dir(request.state_dir);
    let staging = quarantine.join(format!(".incoming-{}", request.host.random_hex(6)));
    let failed = |source| AddError::Write {
        path: staging.clone(),
        source,
    };
    disk::create_dir(&staging.join("fetched")).map_err(failed)?;
    let outcome = stage_and_move(request, &quarantine, &staging);
    ok_or_warn!(fs::remove_dir_all(&staging), "what was fetched stays behind", path = %staging.display());
    outcome
}

fn stage_and_move(
    request: &AddRequest<'_>,
    quarantine: &Path,
    staging: &Path,
) -> Result<Vec<AddedSkill>, AddError> {
    let origin = request.source.origin();
    let found_in = request
        .source
        .fetch(&staging.join("fetched"), request.host)?;
    let skills = find(&found_in, request, &origin)?;
    let mut ready: Vec<(String, AddedSkill)> = Vec::new();
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source| AddError::Write { path, source }
    };
    for skill in &skills {
        let name = folder_for(skill);
        let staged = staging.join("ready").join(&name);
        let copied = copy::copy_tree(&skill.folder, &staged).map_err(failed(&staged))?;
        let added = AddedSkill {
            name: skill.name.clone(),
            folder: quarantine.join(&name),
            files: copied.files,
            report: request.scanner.scan(&SkillContents::of(skill)),
            left_behind: copied.left_behind,
        };
        ready.push((name, added));
    }
    let mut lock = TrustLock::open(request.state_dir);
    for (name, added) in &ready {
        let target = quarantine.join(name);
        if target.exists() {
            let old = staging.join("old");
            disk::create_dir(&old).map_err(failed(&old))?;
            fs::rename(&target, old.join(name)).map_err(failed(&target))?;
        }
        fs::rename(staging.join("ready").join(name), &target).map_err(failed(&target))?;
        lock.fetched(&target, waiting(&added.name, &origin, request.host));
    }
    lock.save()?;
    Ok(ready.into_iter().map(|(_, added)| added).collect())
}

/// What the lock says of a skill nobody has trusted yet.
fn waiting(name: &str, origin: &str, host: &Host) -> LockEntry {
    let origin = crate::one_line::one_line(origin, 300);
    LockEntry {
        name: name.to_owned(),
        tree: chela_core::ContentHash::of(""),
        files: BTreeMap::new(),
        since: host.unix_time(),
        by: TrustedBy::Owner,
        quarantined: Some(format!(
            "it was fetched from {origin} and you have not trusted it"
        )),
        origin: Some(origin),
        turn: None,
        question: None,
        told: None,
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
