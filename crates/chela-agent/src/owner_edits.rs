//! Edits of the owner's: files that shape the agent, changed in an editor.
//!
//! Nobody tells Chela who saved a file. But an edit that was made while no command of an agent ran,
//! by the owner's own user, in a folder that nobody else can write to, is the owner's, unless
//! something speaks against it. It is taken as such, put on record and told once.

mod git_moves;
mod private_folder;

use std::path::Path;
use std::sync::Arc;

use chela_config::LoadedConfig;
use chela_core::{ContentHash, Host, Trust, ok_or_warn};
use chela_files::FileFacts as _;
use chela_sandbox::commands_quiet_since;
use chela_session::journal::{FileJournal, JournalRetention};
use chela_workspace::custody::{Custody, WatchedFile, WatchedKind};
use chela_workspace::trust::{
    FolderGround, OnChange, SuspicionLevel, TrustAct, TrustStanding, VersionWriter, WrittenVersion,
};
use chela_workspace::{NoticeStore, OwnerNotice};
use serde_json::{Value, json};

use crate::file_trust::{FileAnswer, FileTrust, ForeignReason};
use crate::trust::custodies_of;

/// How such a version stands on record.
const HOW: &str = "edited outside of any turn";

/// An edit that was taken for the owner's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenEdit {
    /// Relative to the workspace where it lies in it.
    pub file: String,
    pub hash: ContentHash,
}

impl TakenEdit {
    /// As it stands in the audit chain.
    pub fn on_record(&self) -> Value {
        json!({ "change": "owner-edit", "file": self.file, "hash": self.hash })
    }
}

/// Takes what the owner edited for the owner's, for all agents. Not for a process that comes from a
/// command of an agent.
pub fn take_owner_edits(host: &Host, loaded: &LoadedConfig) -> Vec<TakenEdit> {
    let retention = JournalRetention::of(loaded);
    let journals = loaded.agents().into_iter();
    let files = FileTrust {
        journals: journals
            .map(|agent| Arc::new(FileJournal::of(host, &agent, retention)))
            .collect(),
        custodies: custodies_of(host, loaded),
    };
    let taken = files.custodies.iter();
    taken
        .flat_map(|custody| take_edits(custody, &files))
        .collect()
}

/// The same for the files of one agent.
pub(crate) fn take_edits(custody: &Custody, files: &FileTrust) -> Vec<TakenEdit> {
    let edited: Vec<WatchedFile> = custody
        .survey(&[])
        .into_iter()
        .filter(|file| may_be_owners(custody, file))
        .collect();
    // The look at processes is the dear part.
    if edited.is_empty() || custody.records().files().next().is_none() {
        return Vec::new();
    }
    let quiet_since = commands_quiet_since(custody.host());
    let is_owners = |file: &WatchedFile| {
        quiet_since.is_some_and(|quiet_since| is_owners(files, &file.path, quiet_since))
    };
    let (owners, others): (Vec<_>, Vec<_>) = edited.into_iter().partition(is_owners);
    for file in others {
        // What the owner writes into it later leaves the rest of it what it is.
        let doubted = custody.doubt(&file.path);
        ok_or_warn!(doubted, "someone's version of a file is not recorded");
    }
    let owners = owners.iter();
    owners.filter_map(|file| take(custody, file)).collect()
}

/// Whether it is only not known who wrote a version: nothing else is the matter with it.
fn may_be_owners(custody: &Custody, file: &WatchedFile) -> bool {
    let Some(judged) = &file.judged else {
        return false;
    };
    let is_plain = judged
        .found
        .as_ref()
        .is_none_or(|found| found.severity <= SuspicionLevel::Low);
    let is_doubted = file.entry.as_ref().is_some_and(|entry| entry.doubted);
    matches!(file.kind, WatchedKind::Bootstrap | WatchedKind::Note)
        && !is_doubted
        && matches!(
            judged.judgement.state,
            TrustStanding::Changed | TrustStanding::Unknown
        )
        && judged.judgement.act == TrustAct::Use
        && judged.ground == FolderGround::Own
        && custody.policies().own == OnChange::Warn
        && is_plain
}

/// Whether nothing speaks against an edit being the owner's.
fn is_owners(files: &FileTrust, path: &Path, quiet_since: i128) -> bool {
    let Ok(facts) = path.symlink_metadata() else {
        return false;
    };
    let stamp = facts.stamp();
    let is_tainted = matches!(
        files.answer_for(path),
        FileAnswer::Nobody(ForeignReason::WrittenTainted | ForeignReason::Unreadable)
    );
    facts.is_file()
        && facts.name_count() == 1
        && stamp.changed > quiet_since
        && stamp.was_saved_here()
        && !is_tainted
        && private_folder::is_private(path)
        && !git_moves::came_by_git(path, stamp.changed)
}

fn take(custody: &Custody, file: &WatchedFile) -> Option<TakenEdit> {
    let stamp = || {
        let facts = file.path.symlink_metadata().ok()?;
        Some(facts.stamp())
    };
    let before = stamp()?;
    let (judged, bytes) = custody.look(&file.path)?;
    // What was judged is what is recorded.
    let is_same = file.judged.as_ref().map(|judged| judged.hash) == Some(judged.hash);
    if !is_same || stamp() != Some(before) {
        return None;
    }
    let recorded = custody.record(&[WrittenVersion {
        path: &custody.resolved(&file.path),
        bytes: &bytes,
        writer: &VersionWriter::Owner,
        how: HOW,
        trust: Trust::Owner,
    }]);
    ok_or_warn!(recorded, "an edit of the owner's cannot be put on record")?;
    Some(TakenEdit {
        file: file.shown.clone(),
        hash: judged.hash,
    })
}

/// What the owner should hear, once, about the edits that were taken for theirs.
pub(crate) fn edit_notices(host: &Host, custody: &Custody) -> Vec<OwnerNotice> {
    let records = custody.records();
    let taken = records.files().filter_map(|(path, entry)| {
        let version = entry.trusted.as_ref()?;
        (version.how == HOW && path.starts_with(custody.root())).then_some((path, version.hash))
    });
    let seen = NoticeStore::of(host).seen();
    taken
        .map(|(path, hash)| {
            let shown = custody.shown(path);
            OwnerNotice {
                key: ContentHash::of(format!("{}\0{hash}\0{HOW}", path.display())),
                path: path.to_owned(),
                text: format!(
                    "{shown} was {HOW}, so it counts as your edit. If it was not you, run `chela \
                     trust restore {shown}` to restore the previous version."
                ),
            }
        })
        .filter(|notice| !seen.contains(&notice.key))
        .collect()
}
