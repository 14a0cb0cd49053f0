//! Walking one root: which folders hold a skill.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use chela_core::ok_or_debug;

use super::candidate::SkillCandidate;
use super::{RootState, ScanRequest, SkipReason, SkippedFolder};
use chela_files::FileStamp;

use crate::finding::SkillFinding;
use crate::name;
use crate::roots::SkillRoot;
use crate::stamp::FolderStamps;
use crate::tree::{EntryKind, FolderListing, GENERATED};

/// As some write it.
const LOWER_CASE_FILE: &str = "skill.md";
/// Levels below a root that are searched.
const MAX_DEPTH: usize = 6;
/// Folders looked into per root, for every skill that may be found: a root is no place for a
/// whole disk.
const FOLDERS_PER_CANDIDATE: usize = 10;

pub(super) struct WalkedFolder<'a> {
    pub candidates: Vec<SkillCandidate<'a>>,
    pub skipped: Vec<SkippedFolder>,
    pub state: RootState,
    pub total: usize,
    pub stamps: FolderStamps,
}

/// Real folders outside the roots that links may lead to. Ones as wide as the home folder are
/// refused: they would allow everything.
pub(super) fn allowed_targets(
    request: &ScanRequest<'_>,
    findings: &mut Vec<SkillFinding>,
) -> Vec<PathBuf> {
    let home = &request.host.user_home;
    let mut targets = Vec::new();
    for written in request.allow_symlink_targets {
        let target = fs::canonicalize(request.host.expand(written));
        let Some(target) = ok_or_debug!(target, "links may not point there", folder = written)
        else {
            continue;
        };
        if target.parent().is_none() || home.starts_with(&target) {
            let message =
                format!("skills.load.allowSymlinkTargets: `{written}` is too broad and is ignored");
            findings.push(
                SkillFinding::warning("wide-link-target", message)
                    .hint("use the folder that contains the skills"),
            );
        } else {
            targets.push(target);
        }
    }
    targets
}

pub(super) fn walk<'a>(
    root: &'a SkillRoot,
    targets: &[PathBuf],
    request: &ScanRequest<'_>,
    now: SystemTime,
) -> WalkedFolder<'a> {
    let walked = WalkedFolder {
        candidates: Vec::new(),
        skipped: Vec::new(),
        state: RootState::Missing,
        total: 0,
        stamps: FolderStamps::new(&root.dir),
    };
    let real = match fs::canonicalize(&root.dir) {
        Ok(real) => real,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return walked,
        Err(error) => {
            return WalkedFolder {
                state: RootState::Unreadable(error.to_string()),
                ..walked
            };
        }
    };
    let limit = request.limits.max_candidates_per_root;
    let mut walk = Walk {
        root,
        real,
        targets,
        limit,
        folders_left: limit.saturating_mul(FOLDERS_PER_CANDIDATE).max(2_000),
        seen: HashSet::new(),
        now,
        walked,
    };
    walk.walked.state = RootState::Read;
    walk.folder(&root.dir, 0);
    walk.walked
}

struct Walk<'a, 'b> {
    root: &'a SkillRoot,
    /// The root with all links resolved.
    real: PathBuf,
    targets: &'b [PathBuf],
    limit: usize,
    folders_left: usize,
    /// Real folders reached through links, so that a circle ends.
    seen: HashSet<PathBuf>,
    now: SystemTime,
    walked: WalkedFolder<'a>,
}

impl Walk<'_, '_> {
    fn folder(&mut self, path: &Path, depth: usize) {
        // Asking for the one file is cheaper than looking through the folder, and most folders
        // here hold it; the others are looked through.
        if is_file_or_link(&path.join(crate::SKILL_FILE)) {
            self.candidate(path, crate::SKILL_FILE);
            return;
        }
        let listing = match FolderListing::read(path.to_owned()) {
            Ok(listing) => listing,
            Err(error) if depth == 0 => {
                self.walked.state = RootState::Unreadable(error.to_string());
                return;
            }
            Err(error) => {
                let reason = SkipReason::Unreadable(format!("cannot read it: {error}"));
                self.skip(path, reason);
                return;
            }
        };
        let lower_case = listing.find(LOWER_CASE_FILE).map(|entry| entry.kind);
        if matches!(lower_case, Some(EntryKind::File | EntryKind::Link)) {
            self.candidate(path, LOWER_CASE_FILE);
            return;
        }
        self.walked.stamps.note(path, listing.stamp, self.now);
        if depth >= MAX_DEPTH {
            return;
        }
        for entry in &listing.entries {
            if entry.name.starts_with('.') || GENERATED.contains(&entry.name.as_str()) {
                continue;
            }
            let inner = path.join(&entry.name);
            let enter = match entry.kind {
                EntryKind::Dir => true,
                EntryKind::Link => self.may_follow(&inner),
                EntryKind::File | EntryKind::Special => false,
            };
            if enter && self.folders_left > 0 {
                self.folders_left -= 1;
                self.folder(&inner, depth + 1);
            }
        }
    }

    fn candidate(&mut self, folder: &Path, file: &'static str) {
        self.walked.total += 1;
        if self.walked.candidates.len() < self.limit {
            self.walked.candidates.push(SkillCandidate {
                root: self.root,
                folder: folder.to_owned(),
                file,
            });
            return;
        }
        // Its folder is still watched: it may become one of the first.
        if let Ok(metadata) = fs::metadata(folder) {
            self.walked
                .stamps
                .note(folder, FileStamp::of(&metadata), self.now);
        }
        self.skip(folder, SkipReason::OverLimit { limit: self.limit });
    }

    /// Whether a link leads to a folder that may be searched.
    fn may_follow(&mut self, link: &Path) -> bool {
        let Ok(end) = fs::canonicalize(link) else {
            return false;
        };
        if !end.is_dir() {
            return false;
        }
        let allowed = end.starts_with(&self.real)
            || self.targets.iter().any(|target| end.starts_with(target));
        if !allowed {
            self.skip(
                link,
                SkipReason::LinkOutside {
                    target: end.display().to_string(),
                },
            );
            return false;
        }
        self.seen.insert(end)
    }

    fn skip(&mut self, path: &Path, reason: SkipReason) {
        tracing::debug!(path = %path.display(), %reason, "a folder is passed over");
        self.walked.skipped.push(SkippedFolder {
            path: path.to_owned(),
            source: self.root.source.clone(),
            name: name::of_folder(path).to_owned(),
            reason,
        });
    }
}

fn is_file_or_link(path: &Path) -> bool {
    let kind = fs::symlink_metadata(path).map(|metadata| metadata.file_type());
    kind.is_ok_and(|kind| kind.is_file() || kind.is_symlink())
}
