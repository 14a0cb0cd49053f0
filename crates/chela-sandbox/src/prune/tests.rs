use std::path::PathBuf;
use std::sync::Arc;

use chela_config::load;
use chela_core::{Clock, Host};

use super::super::folder::SandboxFolder;
use super::{StaleSandbox, WorkFate, remove, stale};

const HOUR: u64 = 3_600_000;

#[derive(Debug)]
struct At(u64);

impl Clock for At {
    fn now(&self) -> std::time::SystemTime {
        std::time::UNIX_EPOCH + std::time::Duration::from_millis(self.0)
    }
}

struct Desk {
    home: tempfile::TempDir,
    host: Host,
}

impl Desk {
    fn new(config: &str, hours: u64) -> Self {
        let home = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(home.path().join(".chela")).unwrap();
        std::fs::write(home.path().join(".chela/chela.json"), config).unwrap();
        let mut host = Host::fixed(home.path());
        host.clock = Arc::new(At(hours * HOUR));
        Self { home, host }
    }

    fn folder(&self, name: &str, made: u64, used: u64) -> SandboxFolder {
        let folder = SandboxFolder {
            root: self.path(name),
        };
        folder.make().unwrap();
        folder.note_use(made * HOUR, "agent:main:main");
        folder.note_use(used * HOUR, "agent:main:main");
        std::fs::write(folder.home().join("cache"), "x").unwrap();
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.home.path().join(".chela/sandboxes").join(name)
    }

    fn stale(&self) -> Vec<StaleSandbox> {
        stale(&self.host, &load(&self.host))
    }

    fn names(&self) -> Vec<String> {
        let names = self.stale().into_iter();
        names
            .map(|stale| {
                stale
                    .folder
                    .file_name()
                    .unwrap()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect()
    }
}

#[test]
fn idle_and_old_ones_go_and_the_shared_one_stays() {
    let desk = Desk::new("{}", 1_000);
    desk.folder("agent-main", 999, 999);
    desk.folder("agent-idle", 970, 970);
    desk.folder("session-old", 800, 998);
    desk.folder("session-busy", 999, 1_000);
    desk.folder("shared", 1, 1);
    desk.folder("something", 1, 1);
    assert_eq!(desk.names(), ["agent-idle", "session-old"]);
}

#[test]
fn the_limits_of_the_agent_count_and_zero_means_never() {
    let config = r#"{ agents: {
        defaults: { sandbox: { prune: { idleHours: 2, maxAgeDays: 0 } } },
        list: [ { id: "main" }, { id: "keep", sandbox: { prune: { idleHours: 0 } } } ] } }"#;
    let desk = Desk::new(config, 1_000);
    desk.folder("agent-main", 1, 997);
    desk.folder("agent-keep", 1, 2);
    assert_eq!(desk.names(), ["agent-main"]);
}

#[test]
fn a_command_that_may_still_run_keeps_its_sandbox() {
    let config = r#"{ tools: { exec: { timeoutSeconds: 7200 } },
        agents: { defaults: { sandbox: { prune: { idleHours: 1 } } } } }"#;
    let desk = Desk::new(config, 1_000);
    desk.folder("agent-main", 999, 999);
    assert!(desk.stale().is_empty());
}

#[test]
fn work_stays_until_it_is_said_and_links_lead_nowhere() {
    let desk = Desk::new("{}", 1_000);
    let outside = desk.home.path().join("precious");
    std::fs::write(&outside, "mine").unwrap();
    let empty = desk.folder("agent-empty", 1, 1);
    let full = desk.folder("agent-full", 1, 1);
    std::fs::write(full.work().join("report.md"), "work").unwrap();
    std::os::unix::fs::symlink(desk.home.path(), full.home().join("away")).unwrap();
    for stale in desk.stale() {
        remove(&stale, WorkFate::Stays).unwrap();
    }
    assert!(!empty.root.exists());
    assert!(!full.home().exists());
    assert_eq!(
        std::fs::read_to_string(full.work().join("report.md")).unwrap(),
        "work"
    );
    assert_eq!(std::fs::read_to_string(&outside).unwrap(), "mine");
    for stale in desk.stale() {
        assert!(stale.has_work);
        remove(&stale, WorkFate::Goes).unwrap();
    }
    assert!(!full.root.exists());
    assert!(desk.stale().is_empty());
    assert!(outside.exists());
}

#[test]
fn a_note_is_replaced_and_never_written_through() {
    let desk = Desk::new("{}", 1_000);
    let folder = desk.folder("agent-main", 1, 1);
    let (note, elsewhere) = (folder.note(), desk.path("elsewhere"));
    std::fs::rename(&note, &elsewhere).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &note).unwrap();
    let before = std::fs::read(&elsewhere).unwrap();
    folder.note_use(5 * HOUR, "agent:main:main");
    assert_eq!(std::fs::read(&elsewhere).unwrap(), before);
    assert!(!note.is_symlink());
}
