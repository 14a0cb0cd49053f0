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

/// Levels below a root that are searched.
const MAX_DEPTH: usize = 6;
/// Folders looked into per root: a root is no place for a whole disk.
const MAX_FOLDERS: usize = 200_000;

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
    let limit = request.limits.max_candidates_per_root.unwrap_or(usize::MAX);
    let mut walk = Walk {
        root,
        real,
        targets,
        limit,
        folders_left: MAX_FOLDERS,
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
            self.candidate(path, crate::SKILL_FILE.to_owned());
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
        if let Some(file) = skill_file_in(&listing) {
            self.candidate(path, file);
            return;
        }
        self.walked.stamps.note(path, listing.stamp, self.now);
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
            if !enter {
                continue;
            }
            if depth >= MAX_DEPTH {
                if is_file_or_link(&inner.join(crate::SKILL_FILE)) {
                    self.skip(&inner, SkipReason::TooDeep { levels: MAX_DEPTH });
                }
                continue;
            }
            match self.folders_left.checked_sub(1) {
                Some(left) => {
                    self.folders_left = left;
                    self.folder(&inner, depth + 1);
                }
                None if self.walked.state == RootState::Read => {
                    let why = format!(
                        "it has more than {MAX_FOLDERS} folders; the others were not searched"
                    );
                    self.walked.state = RootState::Unreadable(why);
                }
                None => return,
            }
        }
    }

    fn candidate(&mut self, folder: &Path, file: String) {
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
        let here = link
            .parent()
            .and_then(|folder| fs::canonicalize(folder).ok());
        if here.is_none_or(|here| here.starts_with(&end)) {
            // It leads back to where it was found.
            return false;
        }
        if let Ok(below) = end.strip_prefix(&self.real) {
            // What lies inside is found by itself, unless it is passed over there.
            let mut parts = below.iter().filter_map(|part| part.to_str());
            return parts.any(|part| part.starts_with('.') || GENERATED.contains(&part))
                && self.seen.insert(end);
        }
        let allowed = self.targets.iter().any(|target| end.starts_with(target));
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

/// SKILL.md as some write it: in other letters, or for several.
pub(crate) fn skill_file_in(listing: &FolderListing) -> Option<String> {
    let is_file = |kind: EntryKind| matches!(kind, EntryKind::File | EntryKind::Link);
    let named = |name: &str| {
        let mut entries = listing.entries.iter();
        entries.find(|entry| entry.name.eq_ignore_ascii_case(name) && is_file(entry.kind))
    };
    let entry = named(crate::SKILL_FILE).or_else(|| named("SKILLS.md"))?;
    Some(entry.name.clone())
}

fn is_file_or_link(path: &Path) -> bool {
    let kind = fs::symlink_metadata(path).map(|metadata| metadata.file_type());
    kind.is_ok_and(|kind| kind.is_file() || kind.is_symlink())
}
