//! The JSON documents: who trusted what, and which commands run without asking.

use std::path::Path;

use chela_core::{Host, Severity};
use chela_skills::TrustLock;
use chela_tools::approvals::{ApprovalsDocument, DocumentError};
use chela_workspace::trust::TrustRecords;

use super::rights::RightsTrouble;
use super::{StoreFinding, StoreKind, StorePlace, StoreTrouble};

/// `state/trust.json`, which the files that shape an agent and the skills share.
pub fn check_trust(host: &Host) -> Option<StoreFinding> {
    let path = TrustRecords::path(host);
    let place = StorePlace {
        host,
        kind: StoreKind::TrustRecord,
        path: &path,
    };
    match check_file(place) {
        DocumentState::Absent => lost_trust(place),
        DocumentState::Unusable(finding) => Some(*finding),
        DocumentState::Readable => {
            let why = TrustRecords::read(host)
                .broken
                .or_else(|| TrustLock::open(&host.state_dir()).broken)?;
            let what = format!(
                "cannot be read ({why}): every file counts as changed by someone else until you \
                 approve it"
            );
            let next = "`chela trust approve --all` moves it aside and starts a new one";
            Some(place.finding(StoreTrouble::Damaged, &what, next))
        }
    }
}

/// `exec-approvals.json`.
pub fn check_approvals(host: &Host) -> Option<StoreFinding> {
    let path = ApprovalsDocument::path(host);
    let place = StorePlace {
        host,
        kind: StoreKind::ExecApprovals,
        path: &path,
    };
    match check_file(place) {
        // Removing it is a way to begin anew.
        DocumentState::Absent => None,
        DocumentState::Unusable(finding) => Some(*finding),
        DocumentState::Readable => ApprovalsDocument::load(&path)
            .err()
            .map(|error| unread_approvals(place, &error)),
    }
}

fn unread_approvals(place: StorePlace<'_>, error: &DocumentError) -> StoreFinding {
    let mend = "fix it, or move it away to start a new one";
    match error {
        DocumentError::Version { version, .. } => {
            let what = format!(
                "has version {version}, which this Chela does not know: no command runs with it"
            );
            place.finding(StoreTrouble::NewerFormat, &what, "update Chela to use it")
        }
        DocumentError::Broken { error, .. } => {
            let what = format!("is broken: {error}. No command runs until it is fixed");
            place.finding(StoreTrouble::Damaged, &what, mend)
        }
        DocumentError::TooLarge { .. } => {
            let what = "is larger than 4 MB: no command runs with it";
            place.finding(StoreTrouble::Damaged, what, mend)
        }
        DocumentError::Read { error, .. } | DocumentError::Write { error, .. } => {
            let what = format!("cannot be read: {error}. No command runs until it can");
            place.finding(
                StoreTrouble::Unusable,
                &what,
                "check its owner and permissions",
            )
        }
    }
}

enum DocumentState {
    Absent,
    Readable,
    Unusable(Box<StoreFinding>),
}

fn check_file(place: StorePlace<'_>) -> DocumentState {
    let unusable = |finding| DocumentState::Unusable(Box::new(finding));
    let file = match std::fs::metadata(place.path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return DocumentState::Absent;
        }
        Err(error) => {
            let what = format!("cannot be checked: {error}");
            let next = "check the owner and permissions of its folder";
            return unusable(place.finding(StoreTrouble::WrongRights, &what, next));
        }
    };
    if file.is_dir() {
        return unusable(place.folder_in_place());
    }
    if let Some(trouble) = RightsTrouble::of(place.path, &file) {
        let next = trouble.next(&place.host.compact(place.path));
        let finding = place.finding(StoreTrouble::WrongRights, &trouble.words(), next);
        return unusable(StoreFinding {
            mode: trouble.mended(),
            ..finding
        });
    }
    if file.len() == 0 {
        let next = match place.kind {
            StoreKind::TrustRecord => {
                "restore a copy, or run `chela trust approve --all`: it moves the empty file \
                 aside and starts a new one"
            }
            _ => "restore a copy, or delete the empty file: no command runs until then",
        };
        return unusable(place.finding(StoreTrouble::Empty, "is empty", next));
    }
    DocumentState::Readable
}

/// Copies of what was trusted are kept by the record alone.
fn lost_trust(place: StorePlace<'_>) -> Option<StoreFinding> {
    let copies = place.path.with_file_name("file-versions");
    has_files(&copies).then(|| StoreFinding {
        severity: Severity::Warning,
        ..place.finding(
            StoreTrouble::Gone,
            "is missing: who wrote the files that shape the agents is no longer known",
            "if you have a copy, restore it; `chela trust status` shows the state of the files",
        )
    })
}

fn has_files(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|mut files| files.next().is_some())
}
