//! Looking for skills in the roots: every folder with a SKILL.md, up to six levels deep.
//!
//! A scan remembers the stamps of everything it depended on. As long as those hold, nothing is
//! read again; when one does not, only the skills concerned are.

mod candidate;
mod walk;

pub(crate) use walk::skill_file_in;

use std::collections::HashMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use chela_core::Host;
use serde::Serialize;

use crate::finding::SkillFinding;
use crate::front_matter::FrontMatterError;
use crate::name;
use crate::roots::SkillRoot;
use crate::settings::SkillLimits;
use crate::skill::Skill;
use crate::source::SkillSource;
use crate::stamp::FolderStamps;
use crate::tree::TreeError;
use candidate::{CandidateOutcome, SkillCandidate};

/// A folder that holds a SKILL.md and is no skill all the same.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedFolder {
    pub path: PathBuf,
    pub source: SkillSource,
    /// The name it would have had, as far as that is known.
    pub name: String,
    pub reason: SkipReason,
}

/// Why something was skipped, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SkipReason {
    #[error(transparent)]
    FrontMatter(#[from] FrontMatterError),
    #[error("it has no description, so no one knows when to use it; add `description:`")]
    NoDescription,
    #[error(
        "SKILL.md has {bytes} bytes, more than skills.limits.maxSkillFileBytes ({limit}); move \
            parts of it to references/"
    )]
    TooLarge { bytes: u64, limit: u64 },
    #[error("SKILL.md links to {target}, outside its folder; put the file itself there")]
    FileOutside { target: String },
    #[error(
        "symlink-escape: it links to {target}, outside its root; add that folder to skills.load.allowSymlinkTargets if you trust it"
    )]
    LinkOutside { target: String },
    #[error(
        "its root has more than {limit} skills (skills.limits.maxCandidatesPerRoot); raise the \
            limit or move it to another root"
    )]
    OverLimit { limit: usize },
    #[error("it is nested more than {levels} folders deep; move it up")]
    TooDeep { levels: usize },
    #[error("{0}")]
    Unreadable(String),
}

impl From<TreeError> for SkipReason {
    fn from(error: TreeError) -> Self {
        Self::Unreadable(error.to_string())
    }
}

/// What became of one root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootReport {
    pub root: SkillRoot,
    pub state: RootState,
    /// Skill folders found, also those beyond the limit.
    pub candidates: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum RootState {
    Missing,
    Read,
    /// Why it could not be read.
    Unreadable(String),
}

/// All that the roots held at one time.
#[derive(Debug)]
pub struct RootScan {
    pub skills: Vec<Arc<Skill>>,
    pub skipped: Vec<SkippedFolder>,
    pub roots: Vec<RootReport>,
    /// Remarks that concern no single skill.
    pub findings: Vec<SkillFinding>,
    stamps: Vec<FolderStamps>,
    /// By folder: what was read there, for the next scan.
    read: HashMap<OsString, candidate::CandidateReading>,
}

/// What a scan needs to know.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ScanRequest<'a> {
    pub host: &'a Host,
    pub roots: &'a [SkillRoot],
    pub limits: &'a SkillLimits,
    pub allow_symlink_targets: &'a [String],
}

impl RootScan {
    /// Reads all roots; what `before` read and has not changed since is taken from there.
    pub(crate) fn run(request: &ScanRequest<'_>, before: Option<&Self>) -> Self {
        let now = request.host.clock.now();
        let mut scan = Self {
            skills: Vec::new(),
            skipped: Vec::new(),
            roots: Vec::with_capacity(request.roots.len()),
            findings: Vec::new(),
            stamps: Vec::with_capacity(request.roots.len()),
            read: HashMap::new(),
        };
        let targets = walk::allowed_targets(request, &mut scan.findings);
        let mut candidates = Vec::new();
        for root in request.roots {
            let mut walked = walk::walk(root, &targets, request, now);
            scan.skipped.append(&mut walked.skipped);
            scan.stamps.push(walked.stamps);
            scan.roots.push(RootReport {
                root: root.clone(),
                state: walked.state,
                candidates: walked.total,
            });
            candidates.append(&mut walked.candidates);
        }
        for (candidate, reading) in candidates
            .iter()
            .zip(read_all(&candidates, request, before))
        {
            scan.take(candidate, reading);
        }
        scan
    }

    /// Whether the disk still is as it was scanned. Asks for stamps and reads nothing.
    pub fn is_current(&self) -> bool {
        self.stamps.iter().all(FolderStamps::hold)
    }

    fn take(&mut self, candidate: &SkillCandidate<'_>, reading: candidate::CandidateReading) {
        let folder = candidate.folder.clone();
        if let Some(stamps) = self.stamps.get_mut(candidate.root.level) {
            stamps.absorb(&reading.stamps);
        }
        match &reading.outcome {
            CandidateOutcome::Skill(skill) => self.skills.push(Arc::clone(skill)),
            CandidateOutcome::Skipped(reason) => {
                tracing::debug!(path = %folder.display(), %reason, "a skill is left out");
                self.skipped.push(SkippedFolder {
                    name: name::of_folder(&folder).to_owned(),
                    path: folder.clone(),
                    source: candidate.root.source.clone(),
                    reason: reason.clone(),
                });
            }
        }
        self.read.insert(folder.into_os_string(), reading);
    }
}

/// Reads the candidates, on several threads when there are many of them.
fn read_all(
    candidates: &[SkillCandidate<'_>],
    request: &ScanRequest<'_>,
    before: Option<&RootScan>,
) -> Vec<candidate::CandidateReading> {
    /// Below this, starting threads costs more than it brings.
    const ALONE: usize = 500;
    let read_one = |candidate: &SkillCandidate<'_>| {
        let known = before.and_then(|scan| scan.read.get(candidate.folder.as_os_str()));
        match known.filter(|known| known.still_true(candidate)) {
            Some(known) => known.clone(),
            None => candidate.read(request.host, request.limits),
        }
    };
    let threads = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(4);
    if candidates.len() < ALONE || threads < 2 {
        return candidates.iter().map(read_one).collect();
    }
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(candidate) = candidates.get(at) else {
                return done;
            };
            done.push((at, read_one(candidate)));
        }
    };
    let mut readings = std::thread::scope(|scope| {
        let helpers: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let mut readings = work();
        for helper in helpers {
            match helper.join() {
                Ok(mut more) => readings.append(&mut more),
                Err(cause) => std::panic::resume_unwind(cause),
            }
        }
        readings
    });
    readings.sort_by_key(|(at, _)| *at);
    readings.into_iter().map(|(_, reading)| reading).collect()
}

#[cfg(test)]
mod tests;
