//! A newer version in place of the one that is there.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use chela_core::Host;

use super::accept::{MoveError, trash};
use super::add::{StagedSkill, StagedSkills};
use crate::library::SkillLibrary;
use crate::skill::Skill;
use crate::tree::{FileKind, SkillFile};

/// How a file differs between two versions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDifference {
    pub path: String,
    /// What it held; `None` where it is new. Text only where both versions are text.
    pub before: Option<Option<String>>,
    pub after: Option<Option<String>>,
}

/// What a fetched version changes of the one that lies here.
pub fn differences(
    here: &Skill,
    staged: &StagedSkills,
    newer: &StagedSkill,
) -> Vec<FileDifference> {
    let by_path = |files: &[SkillFile]| -> BTreeMap<String, SkillFile> {
        let plain = files.iter().filter(|file| file.kind != FileKind::Link);
        plain
            .map(|file| (file.path.clone(), file.clone()))
            .collect()
    };
    let (old, new) = (by_path(&here.files), by_path(&newer.skill.files));
    let folder = staged.folder_of(newer);
    let mut paths: Vec<&String> = old.keys().chain(new.keys()).collect();
    paths.sort();
    paths.dedup();
    let differs = |path: &&String| match (old.get(*path), new.get(*path)) {
        (Some(before), Some(after)) => before.hash != after.hash || before.kind != after.kind,
        _ => true,
    };
    paths
        .into_iter()
        .filter(differs)
        .map(|path| FileDifference {
            before: old.get(path).map(|_| text_of(&here.folder, path)),
            after: new.get(path).map(|_| text_of(&folder, path)),
            path: path.clone(),
        })
        .collect()
}

fn text_of(folder: &Path, path: &str) -> Option<String> {
    const MOST_BYTES: u64 = 1024 * 1024;
    let content = crate::tree::read_file(&folder.join(path), MOST_BYTES).ok()?;
    String::from_utf8(content.bytes).ok()
}

/// Puts a fetched version in the place of the one that lies here, and trusts it: the owner has seen
/// what it changes. What was there goes to the trash; what was granted to it goes with it.
pub fn replace(
    library: &mut SkillLibrary,
    here: &Skill,
    (staged, newer): (&StagedSkills, &StagedSkill),
    host: &Host,
) -> Result<PathBuf, MoveError> {
    let state_dir = library.places().state_dir.clone();
    let target = here.folder.clone();
    let failed = |source| MoveError::Move {
        path: target.clone(),
        source,
    };
    library.refresh();
    let now = library.skill_in(&target).map(|skill| skill.tree);
    if now != Some(here.tree) {
        return Err(MoveError::JustChanged {
            name: here.name.clone(),
        });
    }
    trash(&target, &state_dir, host)?;
    fs::rename(staged.folder_of(newer), &target).map_err(failed)?;
    library.refresh();
    let placed = library
        .skill_in(&target)
        .ok_or_else(|| MoveError::JustChanged {
            name: here.name.clone(),
        })?;
    let waiting = staged.waiting(&placed, host);
    library.change_lock(|lock| {
        lock.note_fetched(&target, waiting);
        lock.trust(&placed, &[], host);
    })?;
    Ok(target)
}
