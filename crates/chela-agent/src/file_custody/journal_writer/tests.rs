use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chela_core::{AgentId, Host, SessionKey};
use chela_guard::flow::SessionTaint;
use chela_session::journal::{FileJournal, JournalRetention, ListAsk};
use chela_tools::{ChangeJournal as _, FileChange};
use tempfile::TempDir;

use super::JournalWriter;
use crate::file_trust::FileTrust;
use crate::guarding::ProvenanceTracker;

/// A folder, and the journal of whoever changes it.
struct Desk {
    _home: TempDir,
    folder: PathBuf,
    journal: Arc<FileJournal>,
}

impl Desk {
    fn new() -> Self {
        let home = TempDir::new().unwrap();
        let folder = home.path().canonicalize().unwrap().join("workspace");
        std::fs::create_dir(&folder).unwrap();
        let retention = JournalRetention {
            age: Duration::from_secs(86_400),
            bytes: 1 << 20,
        };
        let journal = FileJournal::of(&Host::fixed(home.path()), &AgentId::main(), retention);
        Self {
            folder,
            journal: Arc::new(journal),
            _home: home,
        }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }
}

#[test]
fn what_was_not_done_changes_nothing() {
    let desk = Desk::new();
    let path = desk.path("a.md");
    std::fs::write(&path, "a text of some length\n").unwrap();
    let journal = Arc::clone(&desk.journal);
    let seen = Arc::new(ProvenanceTracker::default());
    seen.with(|seen| seen.taint_with(SessionTaint::Tainted));
    let pen = JournalWriter::new(
        journal,
        &SessionKey::main(&AgentId::main()),
        seen,
        FileTrust::default(),
    );
    let id = pen
        .before(&FileChange {
            path: &path,
            before: Some(b"a text of some length\n"),
            after: Some(b"something else altogether\n"),
            keeps: None,
            tool: "write",
            call: "c1",
        })
        .unwrap();
    assert!(
        desk.journal.is_foreign(&path).unwrap(),
        "marked before it is written"
    );
    pen.not_made(id);
    assert!(!desk.journal.is_foreign(&path).unwrap());
    assert!(
        desk.journal
            .list(ListAsk { limit: 100 })
            .unwrap()
            .is_empty()
    );
}

#[test]
fn a_journal_that_cannot_be_read_trusts_nobody_and_lets_nothing_through() {
    let desk = Desk::new();
    std::fs::create_dir_all(desk.journal.path().parent().unwrap()).unwrap();
    std::fs::write(
        desk.journal.path(),
        "this is no database, but long enough to be one",
    )
    .unwrap();
    let trust = FileTrust {
        journals: vec![Arc::clone(&desk.journal)],
        custodies: Vec::new(),
    };
    assert_eq!(
        trust.trust_of_file(&desk.path("a.md")),
        chela_core::Trust::External
    );
    let pen = JournalWriter::new(
        Arc::clone(&desk.journal),
        &SessionKey::main(&AgentId::main()),
        Arc::new(ProvenanceTracker::default()),
        FileTrust::default(),
    );
    let path = desk.path("a.md");
    let change = FileChange {
        path: &path,
        before: None,
        after: Some(b"x"),
        keeps: None,
        tool: "write",
        call: "c1",
    };
    let told = pen.before(&change).unwrap_err();
    assert!(told.contains("is damaged: "), "{told}");
    assert!(told.contains("move it aside"), "{told}");
}
