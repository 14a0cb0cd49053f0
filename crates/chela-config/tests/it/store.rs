//! The config file under edits: many hands, bad disks, broken files.

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use chela_config::sources::gather;
use chela_config::store::{ConfigChanged, ConfigStore, EditOutcome, StoreError};
use chela_config::text::edit::{self, EditError};
use chela_config::{ConfigDiagnostic, KeyPath, Severity};
use chela_core::Host;
use serde_json::{Value, json};

struct Home {
    _folder: tempfile::TempDir,
    host: Host,
    store: ConfigStore,
}

impl Home {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let host = Host::fixed(folder.path().canonicalize().unwrap());
        let store = ConfigStore::new(&host);
        Self {
            _folder: folder,
            host,
            store,
        }
    }

    fn with_config(text: &str) -> Self {
        let home = Self::new();
        std::fs::create_dir_all(home.host.state_dir()).unwrap();
        std::fs::write(home.config(), text).unwrap();
        home
    }

    fn config(&self) -> PathBuf {
        self.host.config_file()
    }

    fn text(&self) -> String {
        std::fs::read_to_string(self.config()).unwrap()
    }

    fn set(&self, path: &str, value: Value) -> Result<EditOutcome, StoreError> {
        self.store.edit(setting(path, value), |_| Vec::new())
    }

    fn names(&self) -> Vec<String> {
        names(&self.host.state_dir())
    }

    fn without_home(&self, text: impl ToString) -> String {
        text.to_string()
            .replace(self.host.user_home.to_str().unwrap(), "~")
    }
}

fn setting(path: &str, value: Value) -> impl Fn(&str) -> Result<String, EditError> {
    let path = KeyPath::parse(path).unwrap();
    move |source| edit::set(source, &path, &value)
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().mode() & 0o777
}

fn error(message: &str) -> ConfigDiagnostic {
    ConfigDiagnostic {
        severity: Severity::Error,
        code: "test",
        path: KeyPath::root().key("a"),
        place: None,
        message: message.to_owned(),
        hint: None,
    }
}

#[test]
fn the_first_edit_makes_a_private_file() {
    let home = Home::new();
    let outcome = home.set("a.b", json!(1)).unwrap();
    assert_eq!(
        (outcome.changed, outcome.backup),
        (ConfigChanged::Yes, None)
    );
    assert_eq!(home.text(), "{\n  \"a\": {\n    \"b\": 1\n  }\n}\n");
    assert_eq!(mode(&home.config()), 0o600);
    assert_eq!(mode(&home.host.state_dir()), 0o700);
    assert_eq!(home.names(), ["chela.json", "chela.json.lock"]);
}

#[test]
fn an_edit_keeps_the_text_before_it_and_the_mode() {
    let home = Home::with_config("{ n: 0 } // mine\n");
    std::fs::set_permissions(home.config(), std::fs::Permissions::from_mode(0o640)).unwrap();
    for n in 1..=8 {
        let outcome = home.set("n", json!(n)).unwrap();
        let backup = outcome.backup.unwrap();
        assert_eq!(
            std::fs::read_to_string(&backup).unwrap(),
            format!("{{ n: {} }} // mine\n", n - 1)
        );
        assert_eq!((mode(&home.config()), mode(&backup)), (0o640, 0o640));
    }
    let backups: Vec<_> = (1..=5).map(|n| format!("chela.json.bak.{n}")).collect();
    assert_eq!(
        home.names()[..7],
        [
            ["chela.json", "chela.json.bak"]
                .map(String::from)
                .as_slice(),
            &backups
        ]
        .concat()
    );
    assert_eq!(
        std::fs::read_to_string(home.host.state_dir().join("chela.json.bak.5")).unwrap(),
        "{ n: 2 } // mine\n"
    );
    assert_eq!(home.set("n", json!(8)).unwrap().changed, ConfigChanged::No);
    assert_eq!(
        home.names().len(),
        8,
        "no temporary files stay: {:?}",
        home.names()
    );
}

#[test]
fn a_text_that_would_not_validate_is_not_written() {
    let home = Home::with_config("{ a: 1 }");
    let refused = home.store.edit(setting("a", json!(2)), |text| {
        assert_eq!(text, "{ a: 2 }");
        let warning = ConfigDiagnostic {
            severity: Severity::Warning,
            ..error("meh")
        };
        vec![warning, error("is too even"), error("is not odd")]
    });
    let message = home.without_home(refused.unwrap_err());
    insta::assert_snapshot!(message, @r"
    ~/.chela/chela.json would not be valid after this change, so it was not written:
      a: is too even
      a: is not odd
    ");
    assert_eq!(home.text(), "{ a: 1 }");
    assert_eq!(home.names(), ["chela.json", "chela.json.lock"]);

    let outcome = home.store.edit(setting("a", json!(3)), |_| {
        vec![ConfigDiagnostic {
            severity: Severity::Warning,
            ..error("meh")
        }]
    });
    assert_eq!(
        outcome.unwrap().diagnostics.len(),
        1,
        "warnings are passed on"
    );
}

#[test]
fn files_that_cannot_be_edited_stay_and_say_why() {
    let mut report = Vec::new();
    let mut check = |config: &dyn Fn(&Path)| {
        let home = Home::new();
        std::fs::create_dir_all(home.host.state_dir()).unwrap();
        config(&home.config());
        let before = std::fs::read(home.config()).ok();
        report.push(home.without_home(home.set("a", json!(1)).unwrap_err()));
        assert_eq!(std::fs::read(home.config()).ok(), before);
    };
    check(&|file| std::fs::create_dir(file).unwrap());
    check(&|file| std::fs::write(file, b"{ a: '\xff' }").unwrap());
    check(&|file| std::fs::write(file, "{ a: ").unwrap());
    check(&|file| symlink("chela.json", file).unwrap());
    check(&|file| {
        std::fs::write(file, "{}").unwrap();
        std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o444)).unwrap();
    });
    check(&|file| {
        std::fs::remove_dir(file.parent().unwrap()).unwrap();
        std::fs::write(file.parent().unwrap(), "a file").unwrap();
    });
    insta::assert_snapshot!(report.join("\n"), @r"
    ~/.chela/chela.json is a folder (a file is needed here: move the folder away, or correct the path)
    ~/.chela/chela.json is not UTF-8 text (line 1, column 7) (save the file as UTF-8)
    the config has an error on line 1, column 6: the file ends where the value of `a` should be; correct that first
    ~/.chela/chela.json is a symlink that leads back to itself (correct the link)
    ~/.chela/chela.json is write-protected; make it writable with `chmod u+w`, or edit the file it is generated from
    cannot create the folder ~/.chela: File exists (os error 17) (a file has that name; move it away)
    ");
}

#[test]
fn a_symlink_is_followed_and_stays() {
    let home = Home::new();
    std::fs::create_dir_all(home.host.state_dir()).unwrap();
    let real = home.host.user_home.join("dotfiles/chela.json5");
    symlink("../dotfiles/chela.json5", home.config()).unwrap();
    // Nothing there yet: the target is made, not a file in place of the link.
    home.set("a", json!(1)).unwrap();
    let outcome = home.set("b", json!(2)).unwrap();
    assert!(
        std::fs::symlink_metadata(home.config())
            .unwrap()
            .is_symlink()
    );
    assert_eq!(outcome.path.canonicalize().unwrap(), real);
    assert_eq!(
        std::fs::read_to_string(&real).unwrap(),
        "{\n  \"a\": 1,\n  \"b\": 2\n}\n"
    );
    assert_eq!(
        names(real.parent().unwrap()),
        ["chela.json5", "chela.json5.bak", "chela.json5.lock"]
    );
}

#[test]
fn an_edit_starts_over_when_the_file_changes_under_it() {
    let home = Home::with_config("{ n: 1 }");
    let config = home.config();
    let times = std::cell::Cell::new(0);
    let interfering = |source: &str| {
        times.set(times.get() + 1);
        if times.get() == 1 {
            std::fs::write(&config, "{ n: 1, by: 'hand' }").unwrap();
        }
        edit::set(source, &KeyPath::root().key("n"), &json!(2))
    };
    home.store.edit(interfering, |_| Vec::new()).unwrap();
    assert_eq!(home.text(), "{ n: 2, by: 'hand' }");
    let stubborn = |source: &str| {
        times.set(times.get() + 1);
        std::fs::write(&config, format!("{{ t: {} }}", times.get())).unwrap();
        edit::set(source, &KeyPath::root().key("n"), &json!(3))
    };
    let error = home.store.edit(stubborn, |_| Vec::new()).unwrap_err();
    assert!(matches!(error, StoreError::KeepsChanging { .. }));
    assert!(home.text().starts_with("{ t: "));
}

#[test]
fn a_lock_that_is_held_is_reported() {
    let home = Home::with_config("{}");
    let impatient = home.store.clone().with_lock_wait(Duration::ZERO);
    let nested = home.store.edit(
        |source| {
            let error = impatient
                .edit(|text| Ok(text.to_owned()), |_| Vec::new())
                .unwrap_err();
            assert!(matches!(error, StoreError::Busy { .. }));
            assert!(error.to_string().contains("chela.json.lock"), "{error}");
            Ok(source.to_owned())
        },
        |_| Vec::new(),
    );
    assert_eq!(nested.unwrap().changed, ConfigChanged::No);
    impatient
        .edit(setting("a", json!(1)), |_| Vec::new())
        .unwrap();
}

#[test]
fn a_rejected_text_is_kept() {
    let home = Home::with_config("{}");
    let first = home.store.save_rejected("{ broken").unwrap();
    let second = home.store.save_rejected("{ broken too").unwrap();
    assert_eq!(first.file_name().unwrap(), "chela.json.rejected.1700000000");
    assert_eq!(
        second.file_name().unwrap(),
        "chela.json.rejected.1700000000-1"
    );
    assert_eq!(
        (std::fs::read_to_string(first).unwrap(), home.text()),
        ("{ broken".into(), "{}".into())
    );
    assert_eq!(mode(&second), 0o600);
}

#[test]
fn the_last_good_config_makes_up_for_a_broken_one() {
    let mut home = Home::with_config("{ a: '${SECRET}', b: { $include: 'b.json5' } }");
    std::fs::write(home.host.state_dir().join("b.json5"), "{ c: [1] }").unwrap();
    home.host.env.insert("SECRET".into(), "s3cr3t".into());
    assert_eq!(home.store.last_good(), None);
    let good = gather(&home.host);
    assert_eq!(home.store.remember_good(&good), None);
    let kept = std::fs::read_to_string(home.store.last_good_path()).unwrap();
    assert!(!kept.contains("s3cr3t"), "{kept}");
    assert_eq!(mode(&home.store.last_good_path()), 0o600);

    std::fs::write(home.config(), "{ a: ").unwrap();
    let broken = gather(&home.host);
    assert_eq!(
        home.store.remember_good(&broken),
        None,
        "a broken config is not remembered"
    );
    let last = home.store.last_good().unwrap();
    assert_eq!(last.saved_at, 1_700_000_000);
    let again = last.gather(&home.host);
    assert_eq!(
        again.root.to_json(),
        json!({ "a": "s3cr3t", "b": { "c": [1] } })
    );
    assert!(!again.has_errors());
    let place = again.place(again.root.get("b").unwrap().at).unwrap();
    assert!(place.file.ends_with("state/last-good.json") && place.line > 1);
    assert_eq!(
        home.text(),
        "{ a: ",
        "the broken file stays for its owner to repair"
    );
}

#[test]
fn a_last_good_config_is_written_once_and_never_trusted_blindly() {
    let home = Home::with_config("{ a: 1, awkward: [0.1234567890123456789e-7, -0, 1e300] }");
    let good = gather(&home.host);
    let kept = home.store.last_good_path();
    home.store.remember_good(&good);
    let before = std::fs::metadata(&kept).unwrap().ino();
    home.store.remember_good(&good);
    assert_eq!(
        std::fs::metadata(&kept).unwrap().ino(),
        before,
        "unchanged, so not written again"
    );

    let tampered = std::fs::read_to_string(&kept)
        .unwrap()
        .replace("\"a\": 1", "\"a\": 2");
    std::fs::write(&kept, tampered).unwrap();
    assert_eq!(home.store.last_good(), None);
    home.store.remember_good(&good);
    assert!(
        home.store.last_good().is_some(),
        "a damaged copy is replaced"
    );
    std::fs::write(&kept, "garbage").unwrap();
    assert_eq!(home.store.last_good(), None);
    std::fs::remove_file(&kept).unwrap();
    std::fs::create_dir(&kept).unwrap();
    let warning = home.store.remember_good(&good).unwrap();
    assert_eq!(warning.severity, Severity::Warning);
    assert!(
        warning.message.contains("last-good.json"),
        "{}",
        warning.message
    );
}

const HANDS: usize = 4;
const EDITS: usize = 50;

fn edit_many(store: &ConfigStore, hand: usize) {
    for n in 0..EDITS {
        store
            .edit(setting(&format!("hand{hand}.key{n}"), json!(n)), |_| {
                Vec::new()
            })
            .unwrap();
    }
}

fn assert_all_edits_are_there(home: &Home) {
    let value: Value = serde_json::from_str(&home.text()).unwrap();
    for hand in 0..HANDS {
        assert_eq!(
            value[format!("hand{hand}")].as_object().unwrap().len(),
            EDITS
        );
    }
}

#[test]
fn threads_that_edit_at_once_lose_nothing() {
    let home = Home::new();
    let store = home.store.clone().with_lock_wait(Duration::from_secs(60));
    std::thread::scope(|scope| {
        for hand in 0..HANDS {
            let store = &store;
            scope.spawn(move || edit_many(store, hand));
        }
    });
    assert_all_edits_are_there(&home);
}

/// The work of the processes the test below starts; without their variables it has none to do.
#[test]
fn one_of_several_processes() {
    let Some(home) = std::env::var_os("TEST_HOME") else {
        return;
    };
    let hand = std::env::var("TEST_HAND").unwrap().parse().unwrap();
    let store = ConfigStore::new(&Host::fixed(home)).with_lock_wait(Duration::from_secs(60));
    edit_many(&store, hand);
}

#[test]
fn processes_that_edit_at_once_lose_nothing() {
    let home = Home::new();
    let this = std::env::current_exe().unwrap();
    let start = |hand: usize| {
        std::process::Command::new(&this)
            .args(["--exact", "store::one_of_several_processes"])
            .env("TEST_HOME", &home.host.user_home)
            .env("TEST_HAND", hand.to_string())
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap()
    };
    let children: Vec<_> = (0..HANDS).map(start).collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_all_edits_are_there(&home);
}
