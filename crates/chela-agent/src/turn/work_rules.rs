//! The rules of work folders, around a command.
//!
//! A file tool asks before it writes one. A command writes what it likes: then nobody answers for
//! the new text, no conversation is shown it, and the owner hears of it.

use std::path::PathBuf;

use chela_core::sanitize::literal;
use chela_files::FileStamp;

use super::{RunningTurn, TurnEvent};
use crate::order_files::OrderLeave;
use crate::scope::ConversationScope;
use crate::work_folders::rule_places;

/// Such files as they were before a command.
pub(super) struct WorkRules(Vec<(PathBuf, Option<FileStamp>)>);

impl WorkRules {
    pub(super) fn look(scope: &ConversationScope) -> Self {
        let folders = scope.ask.folders.iter();
        let mut places: Vec<PathBuf> = folders
            .flat_map(|folder| rule_places(&folder.path))
            .collect();
        places.sort_unstable();
        places.dedup();
        let stamped = places.into_iter().map(|place| {
            let stamp = stamp_of(&place);
            (place, stamp)
        });
        Self(stamped.collect())
    }

    /// Those that are others now, and that the owner did not name.
    pub(super) fn changed(&self, scope: &ConversationScope, leave: &OrderLeave) -> Vec<PathBuf> {
        let root = scope.workspace_root();
        let changed = self.0.iter().filter(|(path, before)| {
            let now = stamp_of(path);
            now.is_some() && now != *before && !leave.covers_file(&root, path)
        });
        changed.map(|(path, _)| path.clone()).collect()
    }
}

fn stamp_of(path: &std::path::Path) -> Option<FileStamp> {
    path.symlink_metadata()
        .ok()
        .map(|facts| FileStamp::of(&facts))
}

impl RunningTurn<'_> {
    pub(super) fn tell_of_rules(&self, changed: Vec<PathBuf>) {
        for path in changed {
            let shown = self.parts.scope.agents.host.compact(&path);
            let shown = literal(&shown).into_owned();
            let words = format!(
                "{shown} changed while a command of the agent ran. No conversation follows it until \
                 you have read it: `chela trust approve {shown}`."
            );
            self.surface.event(TurnEvent::Notice(words));
        }
    }
}
