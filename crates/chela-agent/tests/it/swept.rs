//! A home folder with bait in it, looked through when it goes.

#![expect(
    clippy::expect_used,
    reason = "a test that cannot be set up fails here"
)]

use std::path::Path;
use std::sync::Mutex;

use chela_core::Host;
use chela_ledger::{AuditFilter, Ledger, RecordFilter};
use chela_store::WaitHere as _;
use chela_testkit::bait::{self, BaitSweep};
use chela_testkit::{RequestLog, ScriptedEndpoint};
use tempfile::TempDir;

/// A home folder. Values nobody may see again lie in its environment; when it goes, its files, its
/// ledger and the requests of its endpoint are looked through for them.
pub(crate) struct Swept {
    dir: TempDir,
    asked: Mutex<Vec<RequestLog>>,
}

impl Swept {
    pub(crate) fn new() -> Self {
        Self {
            dir: TempDir::new().expect("a folder"),
            asked: Mutex::default(),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        self.dir.path()
    }

    /// Its host, with bait in the environment.
    pub(crate) fn host(&self) -> Host {
        let mut host = Host::fixed(self.path());
        for (name, value) in bait::environment() {
            host.env.insert(name.to_owned(), value);
        }
        host
    }

    /// What this endpoint is asked is looked through, too.
    pub(crate) fn asks(&self, endpoint: &ScriptedEndpoint) {
        self.asked
            .lock()
            .expect("no test panics here")
            .push(endpoint.log());
    }

    fn leaks(&self) -> Vec<String> {
        let sweep = BaitSweep::default();
        let mut leaks = sweep.below(self.path());
        let mut look = |place: &str, text: &str| {
            leaks.extend(sweep.in_text(text).map(|how| format!("{place} ({how})")));
        };
        for log in &*self.asked.lock().expect("no test panics here") {
            for request in log.requests() {
                look("a request", &request.body);
                look("the address of a request", &request.path);
            }
        }
        if let Ok(Some(ledger)) = Ledger::open_existing(&Host::fixed(self.path())) {
            for record in ledger
                .list(&RecordFilter::default())
                .wait()
                .unwrap_or_default()
            {
                let raw = ledger.raw(record.id).wait().unwrap_or_default();
                look("a request in the ledger", &String::from_utf8_lossy(&raw));
                let shown = ledger
                    .show(record.id)
                    .wait()
                    .map(|record| format!("{record:?}"));
                look("a record of the ledger", &shown.unwrap_or_default());
            }
            for entry in ledger
                .audit(&AuditFilter::default())
                .wait()
                .unwrap_or_default()
            {
                look("the audit chain", &entry.json().to_string());
            }
        }
        leaks
    }
}

impl Drop for Swept {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let leaks = self.leaks();
            assert!(leaks.is_empty(), "bait got out: {leaks:#?}");
        }
    }
}

#[test]
fn the_sweep_finds_what_gets_out() {
    let home = Swept::new();
    assert!(home.leaks().is_empty());
    let file = home.path().join("x.log");
    std::fs::write(&file, bait::MARK).expect("a file");
    assert_eq!(home.leaks().len(), 1);
    std::fs::remove_file(&file).expect("a file");
    // What is packed in the ledger is found as well.
    let host = home.host();
    let ledger = Ledger::open(&host).expect("a ledger");
    let body = serde_json::json!({ "leaked": bait::MARK });
    ledger
        .append(chela_ledger::AuditKind::Secret, &body)
        .wait()
        .expect("an entry");
    let leaks = home.leaks();
    assert!(
        leaks.iter().any(|leak| leak.starts_with("the audit chain")),
        "{leaks:?}"
    );
    drop(ledger);
    std::fs::remove_dir_all(host.state_dir()).expect("a folder");
}
