//! Out of quarantine, and out of the house.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use chela_core::Host;

use super::copy;
use crate::disk;
use crate::library::SkillLibrary;
use crate::name;
use crate::roots::managed_dir;
use crate::skill::Skill;
use crate::source::SkillSource;
use crate::trust::LockError;

/// Why a skill was not moved.
#[derive(Debug, thiserror::Error)]
pub enum MoveError {
    #[error("skill `{name}` changed while you reviewed it; review it again")]
    JustChanged { name: String },
    #[error("skill `{name}` is {place}, which `skills remove` does not touch; {instead}")]
    NotOurs {
        name: String,
        place: String,
        instead: String,
    },
    #[error("cannot move {}: {source}", path.display())]
    Move { path: PathBuf, source: io::Error },
    #[error(transparent)]
    Lock(#[from] LockError),
}

/// Trusts a skill in the very version that was looked at. A fetched one moves to the managed
/// skills; what stood there under its name goes to the trash. Returns where the skill now lies.
pub fn accept(
    library: &mut SkillLibrary,
    skill: &Skill,
    granted: &[String],
    host: &Host,
) -> Result<PathBuf, MoveError> {
    let just_changed = || MoveError::JustChanged {
        name: skill.name.clone(),
    };
    library.refresh();
    let entries = library.catalog().entries().iter().map(|entry| &entry.skill);
    let shadowed = library
        .catalog()
        .shadowed
        .iter()
        .map(|shadowed| &shadowed.skill);
    let now = entries
        .chain(shadowed)
        .find(|known| known.folder == skill.folder)
        .cloned();
    let now = now
        .filter(|known| known.tree == skill.tree)
        .ok_or_else(just_changed)?;
    if now.source != SkillSource::Downloaded {
        library.change_lock(|lock| lock.trust(&now, granted, host))?;
        return Ok(now.folder.clone());
    }
    let state_dir = library.places().state_dir.clone();
    let managed = managed_dir(&state_dir);
    let target = managed.join(name::of_folder(&now.folder));
    disk::create_dir(&managed).map_err(|source| MoveError::Move {
        path: managed.clone(),
        source,
    })?;
    if fs::symlink_metadata(&target).is_ok() {
        trash(&target, &state_dir, host)?;
    }
    fs::rename(&now.folder, &target).map_err(|source| MoveError::Move {
        path: now.folder.clone(),
        source,
    })?;
    let mut moved = Skill::clone(&now);
    moved.folder.clone_from(&target);
    moved.file = target.join(now.file.file_name().unwrap_or_default());
    library.change_lock(|lock| {
        lock.forget(&target);
        lock.move_entry(&now.folder, &target);
        lock.trust(&moved, granted, host);
    })?;
    library.refresh();
    Ok(target)
}

/// What was removed, and where it can be found if that was a mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovedSkill {
    pub name: String,
    pub from: PathBuf,
    pub trash: PathBuf,
}

/// Moves a skill of the owner's own folders to the trash and forgets its lock.
pub fn remove(
    library: &mut SkillLibrary,
    skill: &Skill,
    host: &Host,
) -> Result<RemovedSkill, MoveError> {
    let ours = matches!(
        skill.source,
        SkillSource::Managed
            | SkillSource::Downloaded
            | SkillSource::Workspace
            | SkillSource::WorkspaceAgents
    );
    if !ours {
        let instead = match &skill.source {
            SkillSource::Bundled => format!("turn it off: chela skills disable {}", skill.name),
            _ => format!("delete {} yourself if it is yours", skill.folder.display()),
        };
        let place = format!("{} ({})", skill.source, skill.root.display());
        return Err(MoveError::NotOurs {
            name: skill.name.clone(),
            place,
            instead,
        });
    }
    let trash = trash(&skill.folder, &library.places().state_dir.clone(), host)?;
    library.change_lock(|lock| lock.forget(&skill.folder))?;
    library.refresh();
    Ok(RemovedSkill {
        name: skill.name.clone(),
        from: skill.folder.clone(),
        trash,
    })
}

pub(super) fn trash(folder: &Path, state_dir: &Path, host: &Host) -> Result<PathBuf, MoveError> {
    let failed = |source| MoveError::Move {
        path: folder.to_owned(),
        source,
    };
    let trash = state_dir.join("trash").join("skills");
    disk::create_dir(&trash).map_err(failed)?;
    let mut target = trash.join(format!("{}-{}", name::of_folder(folder), host.unix_time()));
    while target.exists() {
        target = trash.join(format!(
            "{}-{}",
            name::of_folder(folder),
            host.random_hex(4)
        ));
    }
    match fs::rename(folder, &target) {
        Ok(()) => Ok(target),
        // The workspace may lie on another disk.
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            copy::copy_tree(folder, &target).map_err(failed)?;
            fs::remove_dir_all(folder).map_err(failed)?;
            Ok(target)
        }
        Err(error) => Err(failed(error)),
    }
}
