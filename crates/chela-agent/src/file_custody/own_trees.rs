//! Whether somebody answers for everything in a tree, asked again and again.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use chela_core::{Trust, lock};
use chela_session::journal::look_at_tree;

use super::tree_watch::TreeWatch;
use crate::file_trust::FileTrust;

/// In a larger tree nobody looks who wrote what: it counts as foreign.
const MOST_ENTRIES: usize = 50_000;

/// Trees that commands run in, as they were last looked at.
#[derive(Debug, Default)]
pub(crate) struct OwnTrees(Mutex<HashMap<PathBuf, TreeState>>);

#[derive(Debug)]
enum TreeState {
    /// Somebody answers for all of it, but for what changed since.
    Own(TreeWatch),
    /// Nobody answers for this.
    Foreign(PathBuf),
}

impl OwnTrees {
    /// Whether somebody answers for everything in a tree now.
    pub(crate) fn is_own(&self, root: &Path, known: &FileTrust) -> bool {
        let mut trees = lock(&self.0);
        let is_own = |path: &Path| known.trust_of_file(path) >= Trust::Agent;
        match trees.get_mut(root) {
            Some(TreeState::Foreign(path)) if path.symlink_metadata().is_ok() && !is_own(path) => {
                return false;
            }
            Some(TreeState::Own(watch)) => {
                let changed = watch.take_changed();
                let is_there = |path: &&PathBuf| path.symlink_metadata().is_ok();
                if changed
                    .is_some_and(|changed| changed.iter().filter(is_there).all(|path| is_own(path)))
                {
                    return true;
                }
            }
            _ => {}
        }
        // Watched before it is looked at: what changes meanwhile is told.
        let watch = TreeWatch::begin(root);
        let tree = look_at_tree(root, MOST_ENTRIES);
        let foreign = known.foreign_in_tree(root, &tree);
        match (&foreign, watch) {
            (Some(path), _) => {
                drop(trees.insert(root.to_owned(), TreeState::Foreign(path.clone())))
            }
            (None, Some(watch)) => drop(trees.insert(root.to_owned(), TreeState::Own(watch))),
            (None, None) => drop(trees.remove(root)),
        }
        foreign.is_none()
    }

    /// What changed in a tree since it was last asked about. Nothing where that is not known: then
    /// nobody answers for it.
    pub(crate) fn take_changed(&self, root: &Path) -> Vec<PathBuf> {
        let mut trees = lock(&self.0);
        let Some(TreeState::Own(watch)) = trees.get_mut(root) else {
            return Vec::new();
        };
        match watch.take_changed() {
            Some(changed) => changed.into_iter().collect(),
            None => {
                trees.remove(root);
                Vec::new()
            }
        }
    }
}
