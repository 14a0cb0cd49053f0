//! What is kept, damaged in every way a disk or a person can: `chela doctor` finds it.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use chela_testkit::{EndpointScript, ScriptStep, find_part};
use serde_json::{Value, json};

use crate::home::{TestHome, text};
use crate::scene::ScriptedHome;

const SESSIONS: &str = "agents/main/sessions.sqlite";
const JOURNAL: &str = "agents/main/journal.sqlite";
const LEDGER: &str = "state/ledger.sqlite";
const MEMORY: &str = "state/memory/main.sqlite";
const TRUST: &str = "state/trust.json";
const APPROVALS: &str = "exec-approvals.json";
const DATABASES: [&str; 4] = [SESSIONS, JOURNAL, LEDGER, MEMORY];

/// One way to damage a file, and what it is called then.
type Damage = (&'static str, fn(&Path), &'static str);

const DATABASE_DAMAGES: [Damage; 9] = [
    ("cut in half", cut_in_half, "damaged"),
    ("last page gone", cut_a_page, "damaged"),
    ("a page overwritten", spoil_a_page, "damaged"),
    ("a text", become_a_text, "not-a-database"),
    ("a folder", become_a_folder, "folder-in-place"),
    ("no rights", |path| set_mode(path, 0o000), "wrong-rights"),
    (
        "not to be written",
        |path| set_mode(path, 0o400),
        "wrong-rights",
    ),
    ("a log that cannot be read", spoil_log, "side-file"),
    (
        "an index that cannot be written",
        spoil_shared_index,
        "side-file",
    ),
];

const DOCUMENT_DAMAGES: [Damage; 5] = [
    ("cut in half", cut_in_half, "damaged"),
    ("a text", become_a_text, "damaged"),
    ("a folder", become_a_folder, "folder-in-place"),
    ("empty", become_empty, "empty"),
    ("no rights", |path| set_mode(path, 0o000), "wrong-rights"),
];

#[test]
fn every_damage_to_every_store_is_found() {
    let ground = DamageGround::new();
    ground.finds_nothing("at first");
    for file in DATABASES {
        for (how, damage, trouble) in DATABASE_DAMAGES {
            ground.expect(file, how, damage, Some(trouble));
        }
    }
    for file in [TRUST, APPROVALS] {
        for (how, damage, trouble) in DOCUMENT_DAMAGES {
            ground.expect(file, how, damage, Some(trouble));
        }
    }
    for file in [SESSIONS, JOURNAL, LEDGER] {
        ground.expect(file, "newer", become_newer, Some("newer-format"));
    }
    let newer = |path: &Path| fs::write(path, r#"{ "version": 99 }"#).unwrap();
    ground.expect(APPROVALS, "newer", newer, Some("newer-format"));
    // Of the index nothing is lost that cannot be made again.
    for (how, damage) in [
        ("newer", become_newer as fn(&Path)),
        ("empty", become_empty),
        ("gone", become_gone),
    ] {
        ground.expect(MEMORY, how, damage, None);
    }
    for (file, empty, gone) in [
        (SESSIONS, "empty", "gone"),
        (JOURNAL, "empty", "gone"),
        (LEDGER, "head-without-ledger", "head-without-ledger"),
    ] {
        ground.expect(file, "empty", become_empty, Some(empty));
        ground.expect(file, "gone", become_gone, Some(gone));
    }
    ground.expect(TRUST, "gone", become_gone, Some("gone"));
    // The way to begin anew.
    ground.expect(APPROVALS, "gone", become_gone, None);
    ground.finds_nothing("in the end");
}

#[test]
fn a_head_that_does_not_fit_its_ledger_is_found() {
    let ground = DamageGround::new();
    let head = ground.path("state/ledger.head");
    let line = fs::read_to_string(&head).unwrap();
    let (number, hash) = line.trim().split_once(' ').unwrap();
    let further: u64 = number.parse::<u64>().unwrap() + 7;
    for (how, text) in [
        (
            "another hash",
            format!("{number} {}\n", "0".repeat(hash.len())),
        ),
        ("entries that are gone", format!("{further:020} {hash}\n")),
        ("no head at all", "well".to_owned()),
    ] {
        fs::write(&head, text).unwrap();
        ground.told(how, Some(("head-mismatch", LEDGER)));
        ground.scene.home.run(&["audit", "verify"]).fails(1);
    }
    fs::remove_file(&head).unwrap();
    ground.told("gone", Some(("head-mismatch", LEDGER)));
    fs::write(&head, &line).unwrap();
    set_mode(&head, 0o000);
    ground.told("no rights", Some(("side-file", "state/ledger.head")));
    set_mode(&head, 0o600);
    ground.finds_nothing("in the end");
}

#[test]
fn rights_are_mended_and_chat_works_again() {
    let ground = DamageGround::new();
    let side = ground.path("agents/main/sessions.sqlite-shm");
    fs::write(&side, "").unwrap();
    set_mode(&side, 0o400);
    set_mode(&ground.path(JOURNAL), 0o000);
    let home = &ground.scene.home;
    let told = home.run(&["doctor", "--fix", "--only", "stores"]);
    assert!(told.flat().contains("Set the permissions of"), "{told:?}");
    assert_eq!(told.code, 0, "{told:?}");
    let mode = |path: &Path| fs::metadata(path).map(|file| file.permissions().mode() & 0o777);
    assert_eq!(mode(&ground.path(JOURNAL)).unwrap(), 0o600);
    // The look after mending uses the file beside it, and whoever is the last to do so takes it away.
    assert!(mode(&side).is_err(), "{}", side.display());
    ground.scene.chat("again").ok();
    ground.finds_nothing("in the end");
}

/// Whatever is left beside it, a ledger that was there is missed until a new one is begun.
#[test]
fn a_ledger_that_is_gone_is_missed() {
    for also_gone in [&[][..], &["ledger.head"], &["ledger.head", "ledger.lock"]] {
        let ground = DamageGround::new();
        let home = &ground.scene.home;
        fs::remove_file(ground.path(LEDGER)).unwrap();
        for file in also_gone {
            fs::remove_file(ground.path("state").join(file)).unwrap();
        }
        let verified = home.run(&["audit", "verify"]);
        assert_eq!(verified.code, 1, "{also_gone:?}: {verified:?}");
        assert!(
            verified.out.contains("ledger.sqlite is gone"),
            "{verified:?}"
        );
        let doctor = home.run(&["doctor", "--only", "stores"]);
        assert_eq!(doctor.code, 1, "{also_gone:?}: {doctor:?}");
        assert!(!doctor.out.contains("No problems found"), "{doctor:?}");
        let listed = home.run(&["turn", "list"]).fails(1);
        assert!(
            listed.contains("is gone although there was one"),
            "{listed}"
        );
        let told = ground.scene.chat("hi");
        assert_eq!(told.code, 0, "{told:?}");
        assert!(
            told.err.contains("warning: the ledger ~/.chela"),
            "{told:?}"
        );
        let again = ground.scene.chat("hi");
        assert!(!again.err.contains("warning"), "{again:?}");
        // With the head the gap in the chain stays visible, for both.
        let gap = i32::from(also_gone.is_empty());
        assert_eq!(home.run(&["audit", "verify"]).code, gap, "{also_gone:?}");
        let doctor = home.run(&["doctor", "--only", "stores"]);
        assert_eq!(doctor.code, gap, "{also_gone:?}: {doctor:?}");
    }
}

#[test]
fn a_damaged_ledger_does_not_send_people_in_a_circle() {
    let ground = DamageGround::new();
    cut_in_half(&ground.path(LEDGER));
    for command in [&["audit", "verify"][..], &["turn", "list"], &["doctor"]] {
        let told = ground.scene.home.run(command);
        assert_eq!(told.code, 1, "{told:?}");
        let said = format!("{} {}", told.flat(), told.err);
        assert!(!said.contains("`chela audit verify`"), "{said}");
    }
}

#[test]
fn a_journal_that_is_gone_is_missed() {
    let ground = DamageGround::new();
    let path = ground.path(JOURNAL);
    for (damage, told) in [
        (become_empty as fn(&Path), "is empty although there was one"),
        (become_gone, "is gone although there was one"),
        (become_a_folder_anew, "journal.sqlite"),
    ] {
        damage(&path);
        for command in [&["undo", "--list"][..], &["undo"]] {
            let said = ground.scene.home.run(command).fails(1);
            assert!(said.contains(told), "{said}");
            assert!(!said.contains("no file was changed"), "{said}");
        }
    }
}

fn become_a_folder_anew(path: &Path) {
    fs::create_dir(path).unwrap();
}

#[test]
fn an_empty_session_file_cannot_be_rescued() {
    let ground = DamageGround::new();
    let home = &ground.scene.home;
    become_empty(&ground.path(SESSIONS));
    let told = home.run(&["sessions", "rescue"]).fails(1);
    assert!(
        told.contains("is empty: nothing is left to recover"),
        "{told}"
    );
    // It changed nothing: the next who looks is told as well.
    assert_eq!(fs::metadata(ground.path(SESSIONS)).unwrap().len(), 0);
    let told = home.run(&["sessions", "list"]).fails(1);
    assert!(
        told.contains("is empty although there was one. The next chat starts a new one"),
        "{told}"
    );
}

#[test]
fn advice_about_a_session_file_leads_out() {
    let ground = DamageGround::new();
    let home = &ground.scene.home;
    become_a_text(&ground.path(SESSIONS));
    let told = ground.scene.chat("hi");
    assert!(!told.err.contains("sessions list"), "{told:?}");
    let doctor = home.run(&["doctor", "--only", "stores"]);
    assert!(
        doctor
            .flat()
            .contains("`chela sessions rescue --agent main`"),
        "{doctor:?}"
    );
    let rescued = home.run(&["sessions", "rescue"]);
    assert!(rescued.out.contains("Recovered 0 entries"), "{rescued:?}");
    ground.scene.chat("hi").ok();
}

/// What a chat that cannot begin says about `chela doctor` is true.
#[test]
fn what_keeps_a_chat_from_beginning_is_what_doctor_says() {
    let ground = DamageGround::new();
    let path = ground.path(SESSIONS);
    let whole = fs::read(&path).unwrap();
    for damage in [cut_in_half, become_a_text, become_newer] {
        damage(&path);
        let told = ground.scene.chat("hi");
        assert_ne!(told.code, 0, "{told:?}");
        assert!(
            told.err.contains("`chela doctor` shows what is wrong"),
            "{told:?}"
        );
        let doctor = ground.scene.home.run(&["doctor"]);
        assert_eq!(doctor.code, 1, "{doctor:?}");
        assert!(doctor.flat().contains("sessions.sqlite"), "{doctor:?}");
        fs::write(&path, &whole).unwrap();
    }
}

#[test]
fn a_disk_without_room_is_told() {
    let mounted = |size: &str| {
        let mount = format!(
            "mkdir -p \"$HOME/small\" && mount -t tmpfs -o size={size} none \"$HOME/small\" && \
             exec \"$@\""
        );
        TestHome::empty()
            .env("CHELA_HOME", "small")
            .through(&["unshare", "-rm", "sh", "-c", &mount, "sh"])
    };
    if find_part("namespaces", can_mount(&TestHome::empty())).is_none() {
        return;
    }
    let full = mounted("5m").run(&["doctor", "--only", "disk"]);
    assert_eq!(full.code, 1, "{full:?}");
    assert!(full.flat().contains("is full (5 MB left)"), "{full:?}");
    let low = mounted("100m").run(&["doctor", "--only", "disk"]);
    assert_eq!(low.code, 0, "{low:?}");
    assert!(low.flat().contains("has 104 MB left"), "{low:?}");
    assert!(low.out.contains("note"), "{low:?}");
    let roomy = mounted("300m").run(&["doctor", "--lint", "--only", "disk"]);
    assert_eq!(roomy.code, 0, "{roomy:?}");
}

/// A kill switch that a full disk keeps from working would be none.
#[test]
fn a_full_disk_does_not_keep_agents_from_being_stopped() {
    let fill = "mkdir -p \"$HOME/small\" && mount -t tmpfs -o size=1m none \"$HOME/small\" && \
                { cat /dev/zero > \"$HOME/small/filler\" 2>/dev/null; :; } && \
                \"$@\"; code=$?; cp \"$HOME/small/stopped.json\" \"$HOME/stopped-then\"; exit $code";
    let home = TestHome::empty()
        .env("CHELA_HOME", "small")
        .through(&["unshare", "-rm", "sh", "-c", fill, "sh"]);
    if find_part("namespaces", can_mount(&home)).is_none() {
        return;
    }
    let told = home.run(&["stop", "--all", "--reason", "odd mails"]);
    assert_eq!(told.code, 0, "{told:?}");
    assert!(
        told.flat().contains("Every agent is stopped since 20"),
        "{told:?}"
    );
    assert!(
        told.flat().contains("The reason could not be saved"),
        "{told:?}"
    );
    assert!(home.exists("stopped-then"));
}

fn can_mount(home: &TestHome) -> Result<(), String> {
    match home.command_of("unshare").args(["-rm", "true"]).status() {
        Ok(status) if status.success() => Ok(()),
        other => Err(format!("unshare: {other:?}")),
    }
}

/// A home with something in every store.
struct DamageGround {
    scene: ScriptedHome,
}

impl DamageGround {
    fn new() -> Self {
        let scene = ScriptedHome::new(EndpointScript::steps([
            ScriptStep::tool(
                "write",
                json!({ "path": "a.md", "content": "one\n".repeat(4000) }),
            ),
            ScriptStep::reply("Done. ".repeat(3000)),
            ScriptStep::reply("Again."),
        ]));
        let home = &scene.home;
        home.write(".chela/workspace/MEMORY.md", "The cat is called Mia.\n");
        scene.chat("write it").ok();
        home.run(&["memory", "index"]).ok();
        home.run(&["approvals", "allow", "git"]).ok();
        // The list of files that were ever made, as it stands beside the files.
        let list = home.path(".chela/agents/main/records.txt");
        let known = fs::read_to_string(&list).unwrap_or_default();
        if !known.contains("journal.sqlite") {
            fs::write(&list, format!("{known}journal.sqlite\n")).unwrap();
        }
        Self { scene }
    }

    fn path(&self, file: &str) -> PathBuf {
        self.scene.home.path(".chela").join(file)
    }

    /// Damages a file, looks, and puts it back.
    fn expect(&self, file: &str, how: &str, damage: fn(&Path), trouble: Option<&'static str>) {
        let path = self.path(file);
        let whole = fs::read(&path).unwrap();
        damage(&path);
        let damaged = fs::read(&path).ok();
        let about = match trouble {
            Some("side-file") => beside(&path, side_suffix(&path)),
            _ => path.clone(),
        };
        let about = about.strip_prefix(self.path("")).unwrap();
        let expected = trouble.map(|trouble| (trouble, text(about)));
        self.told(&format!("{file}, {how}"), expected);
        assert_eq!(fs::read(&path).ok(), damaged, "{file}, {how}: left alone");
        for suffix in ["-wal", "-shm"] {
            drop(fs::remove_file(beside(&path, suffix)));
        }
        drop(fs::remove_dir_all(&path));
        drop(fs::remove_file(&path));
        fs::write(&path, whole).unwrap();
        set_mode(&path, 0o600);
    }

    /// What doctor says of the stores: one thing about one file, or nothing.
    #[track_caller]
    fn told(&self, how: &str, expected: Option<(&str, &str)>) {
        let home = &self.scene.home;
        let report = home.run(&["doctor", "--json", "--only", "stores"]).json();
        let findings: Vec<&Value> = report["findings"].as_array().unwrap().iter().collect();
        let found: Vec<(&str, PathBuf)> = findings
            .iter()
            .map(|finding| {
                let path = finding["path"]
                    .as_str()
                    .unwrap()
                    .replace('~', text(&home.path("")));
                (finding["trouble"].as_str().unwrap(), PathBuf::from(path))
            })
            .collect();
        let expected: Vec<(&str, PathBuf)> = expected
            .map(|(trouble, file)| (trouble, self.path(file)))
            .into_iter()
            .collect();
        assert_eq!(found, expected, "{how}: {report:#}");
        for finding in findings {
            assert!(finding["message"].as_str().unwrap().len() > 20, "{finding}");
            assert!(finding["hint"].as_str().unwrap().len() > 10, "{finding}");
        }
        let code = home.run(&["doctor", "--lint", "--only", "stores"]).code;
        assert_eq!(code, i32::from(!expected.is_empty()), "{how}");
    }

    #[track_caller]
    fn finds_nothing(&self, when: &str) {
        self.told(when, None);
    }
}

fn cut_in_half(path: &Path) {
    cut(path, fs::metadata(path).unwrap().len() / 2);
}

fn cut_a_page(path: &Path) {
    cut(path, fs::metadata(path).unwrap().len() - 4096);
}

fn cut(path: &Path, length: u64) {
    let file = fs::OpenOptions::new().write(true).open(path).unwrap();
    file.set_len(length).unwrap();
}

fn spoil_a_page(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    bytes[4096..2 * 4096].fill(0xa5);
    fs::write(path, bytes).unwrap();
}

fn become_a_text(path: &Path) {
    fs::write(path, "something else altogether\n".repeat(400)).unwrap();
}

fn become_a_folder(path: &Path) {
    fs::remove_file(path).unwrap();
    fs::create_dir(path).unwrap();
}

fn become_empty(path: &Path) {
    fs::write(path, "").unwrap();
}

fn become_gone(path: &Path) {
    fs::remove_file(path).unwrap();
}

/// The version of the format stands in the header, behind 60 bytes.
fn become_newer(path: &Path) {
    let mut bytes = fs::read(path).unwrap();
    bytes[60..64].copy_from_slice(&99_u32.to_be_bytes());
    fs::write(path, bytes).unwrap();
}

fn spoil_log(path: &Path) {
    let log = beside(path, "-wal");
    fs::write(&log, "").unwrap();
    set_mode(&log, 0o000);
}

fn spoil_shared_index(path: &Path) {
    let index = beside(path, "-shm");
    fs::write(&index, "").unwrap();
    set_mode(&index, 0o400);
}

fn side_suffix(path: &Path) -> &'static str {
    match beside(path, "-wal").exists() {
        true => "-wal",
        false => "-shm",
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}
