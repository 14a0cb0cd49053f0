use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

use chela_core::Trust;
use chela_files::{DraftPlacement, ExpectedContent};
use proptest::prelude::*;
use tempfile::TempDir;

use super::{EntryKind, FilePlaces, FileReach, PlaceAccess, PlaceError, PlaceRoot, PlacesSettings};

/// A machine: a workspace inside the state folder, a skill folder, secrets around them.
///
/// ```text
/// home/.chela/chela.json           secret
/// home/.chela/workspace/…          the workspace
/// home/.chela/spool/…              may be read
/// home/skills/…                    may be read
/// home/secret.txt                  outside
/// ```
pub(super) struct TestMachine {
    pub(super) home: TempDir,
}

pub(super) const SECRET: &str = "the secret";

impl TestMachine {
    pub(super) fn new() -> Self {
        let machine = Self {
            home: tempfile::tempdir().unwrap(),
        };
        for folder in [".chela/workspace/sub/deep", ".chela/spool", "skills/one"] {
            fs::create_dir_all(machine.at(folder)).unwrap();
        }
        for secret in [".chela/chela.json", "secret.txt"] {
            fs::write(machine.at(secret), SECRET).unwrap();
        }
        for (file, text) in [
            (".chela/workspace/a.md", "a"),
            (".chela/workspace/sub/b.md", "b"),
            (".chela/spool/x.external.txt", "x"),
            ("skills/one/SKILL.md", "skill"),
        ] {
            fs::write(machine.at(file), text).unwrap();
        }
        machine
    }

    pub(super) fn at(&self, path: &str) -> std::path::PathBuf {
        self.home.path().join(path)
    }

    pub(super) fn workspace(&self, path: &str) -> std::path::PathBuf {
        self.at(".chela/workspace").join(path)
    }

    pub(super) fn places(&self, reach: FileReach) -> FilePlaces {
        self.places_in(".chela/workspace", reach)
    }

    fn places_in(&self, workspace: &str, reach: FileReach) -> FilePlaces {
        FilePlaces::new(PlacesSettings {
            started_in: None,
            workspace: PlaceRoot::new(self.at(workspace), PlaceAccess::Write, Trust::Agent),
            granted: vec![
                PlaceRoot::new(self.at("skills"), PlaceAccess::Read, Trust::Plugin),
                PlaceRoot {
                    path: self.at(".chela/spool"),
                    access: PlaceAccess::Read,
                    trust: std::sync::Arc::new(|path, _| crate::bound::spool_trust(path)),
                },
                PlaceRoot::new(self.at("not-there"), PlaceAccess::Write, Trust::Agent),
            ],
            reach,
            protected: vec![self.at(".chela"), self.at(".chela/chela.json")],
            user_home: self.home.path().to_owned(),
        })
    }

    fn path(&self, path: &str) -> String {
        self.at(path).display().to_string()
    }
}

fn read(places: &FilePlaces, path: &str) -> Result<String, PlaceError> {
    let bytes = places.locate(path, PlaceAccess::Read)?.read(1 << 20)?;
    Ok(String::from_utf8(bytes.unwrap()).unwrap())
}

#[test]
fn what_is_granted_is_found_under_every_name() {
    let machine = TestMachine::new();
    let places = machine.places(FileReach::Granted);
    for path in [
        "a.md",
        "./a.md",
        "sub/../a.md",
        "sub/deep/../../a.md",
        "~/.chela/workspace/a.md",
        &machine.path(".chela/workspace/a.md"),
        &machine.path(".chela/workspace//./a.md"),
        " a.md ",
    ] {
        assert_eq!(read(&places, path).unwrap(), "a", "{path}");
        let spot = places.locate(path, PlaceAccess::Read).unwrap();
        assert_eq!(spot.shown(), "a.md");
        assert_eq!(spot.trust(), Trust::Agent);
    }
    let skill = places
        .locate("~/skills/one/SKILL.md", PlaceAccess::Read)
        .unwrap();
    assert_eq!(skill.trust(), Trust::Plugin);
    assert_eq!(skill.shown(), machine.path("skills/one/SKILL.md"));
    let folder = places.locate("sub/", PlaceAccess::Read).unwrap();
    assert_eq!((folder.kind(), folder.shown()), (EntryKind::Folder, "sub"));
    let here = places.locate(".", PlaceAccess::Read).unwrap();
    assert_eq!((here.kind(), here.shown()), (EntryKind::Folder, "."));
    assert_eq!(here.entries(10).unwrap().1, 2);
}

#[test]
fn links_inside_work_and_links_out_do_not() {
    let machine = TestMachine::new();
    let places = machine.places(FileReach::Granted);
    let link = |target: &Path, name: &str| symlink(target, machine.workspace(name)).unwrap();
    link(Path::new("sub/b.md"), "inside");
    link(&machine.workspace("a.md"), "inside-absolute");
    link(Path::new("sub"), "folder");
    link(Path::new("../../secret.txt"), "out");
    link(&machine.at("secret.txt"), "out-absolute");
    link(&machine.at(""), "home");
    link(Path::new("chain2"), "chain1");
    link(Path::new("out"), "chain2");
    link(Path::new("loop"), "loop");
    link(Path::new("/proc/self/root"), "magic");
    link(&machine.at("skills/one/SKILL.md"), "skill");
    assert_eq!(read(&places, "inside").unwrap(), "b");
    assert_eq!(read(&places, "inside-absolute").unwrap(), "a");
    assert_eq!(read(&places, "folder/b.md").unwrap(), "b");
    assert_eq!(read(&places, "folder/../a.md").unwrap(), "a");
    assert_eq!(read(&places, "skill").unwrap(), "skill");
    for out in [
        "out",
        "out-absolute",
        "home/secret.txt",
        "chain1",
        "magic/etc/passwd",
        "../chela.json",
        "sub/../../chela.json",
    ] {
        let error = read(&places, out).unwrap_err();
        assert!(
            matches!(error, PlaceError::Escapes { .. }),
            "{out}: {error}"
        );
        assert!(places.locate_new(out).is_err());
    }
    assert!(matches!(
        read(&places, "loop").unwrap_err(),
        PlaceError::TooManyLinks { .. }
    ));
    // Through a link into a folder that may only be read nothing is written.
    assert!(matches!(
        places.locate("skill", PlaceAccess::Write).unwrap_err(),
        PlaceError::ReadOnly { .. }
    ));
    // A link to a file that does not exist yet, outside, makes none there.
    link(&machine.at("new.txt"), "dangling");
    assert!(places.locate_new("dangling").is_err());
    assert!(!machine.at("new.txt").exists());
}

#[test]
fn the_state_folder_is_closed_however_far_tools_reach() {
    let machine = TestMachine::new();
    let everything = machine.places(FileReach::Everything);
    symlink(machine.at(".chela"), machine.workspace("state")).unwrap();
    for path in [
        "../chela.json",
        "state/chela.json",
        "~/.chela/chela.json",
        &machine.path(".chela/chela.json"),
        &machine.path("skills/../.chela/chela.json"),
        "~/.chela",
        "~/.chela/sessions.sqlite",
    ] {
        for access in [PlaceAccess::Read, PlaceAccess::Write] {
            let error = everything.locate(path, access).unwrap_err();
            assert!(
                matches!(error, PlaceError::Protected { .. }),
                "{path}: {error}"
            );
        }
        assert!(everything.locate_new(path).is_err());
    }
    // The rest of the file system is open, and foreign.
    let outside = everything
        .locate("~/secret.txt", PlaceAccess::Write)
        .unwrap();
    assert_eq!(outside.trust(), Trust::External);
    assert_eq!(
        read(&everything, "/../../etc/passwd").is_ok(),
        Path::new("/etc/passwd").exists()
    );
    // What lies inside the state folder and was granted stays granted.
    let mine = everything.locate("a.md", PlaceAccess::Write).unwrap();
    assert_eq!((mine.shown(), mine.trust()), ("a.md", Trust::Agent));
    let spool = everything.locate("~/.chela/spool/x.external.txt", PlaceAccess::Read);
    assert_eq!(spool.unwrap().trust(), Trust::External);
    assert!(matches!(
        everything
            .locate("~/.chela/spool/y", PlaceAccess::Write)
            .unwrap_err(),
        PlaceError::ReadOnly { .. }
    ));
}

#[test]
fn the_state_folder_is_closed_inside_a_workspace_too() {
    let machine = TestMachine::new();
    let places = machine.places_in("", FileReach::Granted);
    assert_eq!(read(&places, "secret.txt").unwrap(), SECRET);
    for path in [".chela/chela.json", ".chela", "skills/../.chela/new/file"] {
        let error = places.locate_new(path).unwrap_err();
        assert!(
            matches!(error, PlaceError::Protected { .. }),
            "{path}: {error}"
        );
    }
    assert!(!machine.at(".chela/new").exists());
    // A folder to be read, inside one to be written, may be written.
    assert!(
        places
            .locate("skills/one/SKILL.md", PlaceAccess::Write)
            .is_ok()
    );
}

#[test]
fn writing_keeps_rights_and_makes_folders() {
    let machine = TestMachine::new();
    let places = machine.places(FileReach::Granted);
    let script = machine.workspace("run.sh");
    fs::write(&script, "old").unwrap();
    fs::set_permissions(&script, fs::Permissions::from_mode(0o750)).unwrap();
    let spot = places.locate("run.sh", PlaceAccess::Write).unwrap();
    let placed = spot.replace(b"new", ExpectedContent::Anything).unwrap();
    assert_eq!(placed, DraftPlacement::Placed);
    assert_eq!(fs::read_to_string(&script).unwrap(), "new");
    let mode = fs::metadata(&script).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o750);
    let new = places.locate_new("x/y/z.md").unwrap();
    assert_eq!(new.kind(), EntryKind::Absent);
    let placed = new.replace(b"z", ExpectedContent::Absent).unwrap();
    assert_eq!(placed, DraftPlacement::Placed);
    assert_eq!(
        fs::read_to_string(machine.workspace("x/y/z.md")).unwrap(),
        "z"
    );
    let left: Vec<_> = fs::read_dir(machine.workspace("x/y")).unwrap().collect();
    assert_eq!(left.len(), 1, "no temporary file stays");
    assert!(matches!(
        places
            .locate("no/such/file", PlaceAccess::Write)
            .unwrap_err(),
        PlaceError::Missing { .. }
    ));
    let folder = places.locate("sub", PlaceAccess::Write).unwrap();
    assert!(folder.replace(b"", ExpectedContent::Anything).is_err());
    assert!(folder.remove().is_err());
}

#[test]
fn what_git_runs_is_not_written() {
    let machine = TestMachine::new();
    fs::create_dir_all(machine.workspace("repo/.git/hooks")).unwrap();
    fs::write(machine.workspace("repo/.git/config"), "[core]").unwrap();
    symlink("repo/.git", machine.workspace("link")).unwrap();
    for reach in [FileReach::Granted, FileReach::Everything] {
        let places = machine.places(reach);
        assert_eq!(read(&places, "repo/.git/config").unwrap(), "[core]");
        for path in [
            "repo/.git/hooks/pre-commit",
            "repo/.git/config",
            "repo/.GIT/config",
            "link/hooks/post-commit",
            "new/.git/hooks/x",
            ".git",
        ] {
            let error = places.locate_new(path).unwrap_err();
            assert!(matches!(error, PlaceError::Git { .. }), "{path}: {error}");
        }
    }
    assert!(!machine.workspace("new/.git").exists());
    assert!(
        machine
            .places(FileReach::Granted)
            .locate_new(".gitignore")
            .is_ok()
    );
}

#[test]
fn pipes_and_sockets_are_not_opened() {
    let machine = TestMachine::new();
    let places = machine.places(FileReach::Granted);
    rustix::fs::mkfifoat(
        rustix::fs::CWD,
        machine.workspace("pipe"),
        rustix::fs::Mode::from_raw_mode(0o600),
    )
    .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(machine.workspace("socket")).unwrap();
    for path in ["pipe", "socket"] {
        let spot = places.locate(path, PlaceAccess::Read).unwrap();
        assert!(matches!(spot.open(), Err(PlaceError::NotFile { .. })));
    }
}

#[test]
fn errors_say_what_to_do() {
    let machine = TestMachine::new();
    let places = machine.places(FileReach::Granted);
    let said = |path: &str| {
        places
            .locate(path, PlaceAccess::Write)
            .unwrap_err()
            .to_string()
    };
    let long = "x".repeat(5_000);
    let all = [
        said(""),
        said("a\0b"),
        said(&long),
        said("/etc/passwd"),
        said("../x"),
        said("~/skills/one/SKILL.md"),
        said("nowhere/x"),
        said("a.md/x"),
    ];
    let home = machine.home.path().display().to_string();
    let all = all.join("\n").replace(&home, "HOME");
    insta::assert_snapshot!(all, @r#"
    The path is empty. Give a path such as `notes.md`, relative to the workspace.
    The path holds a NUL character. Give a plain path such as `notes.md`.
    The path is longer than 4096 bytes. Give a shorter one.
    /etc/passwd is outside the workspace and the folders that may be used (HOME/skills, HOME/.chela/spool). Use a path relative to the workspace.
    ../x leaves the workspace, through `..` or a link. Use a path inside it.
    ~/skills/one/SKILL.md can be read but not changed. Write inside the workspace.
    nowhere/x does not exist.
    a.md/x is not a folder.
    "#);
}

/// Paths as a hostile model might write them.
fn hostile() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        6 => Just("..".to_owned()),
        2 => Just(".".to_owned()),
        2 => Just(String::new()),
        2 => Just("~".to_owned()),
        3 => Just("sub".to_owned()),
        3 => Just("deep".to_owned()),
        2 => Just("up".to_owned()),
        2 => Just("root".to_owned()),
        2 => Just("chain".to_owned()),
        2 => Just("secret.txt".to_owned()),
        2 => Just("chela.json".to_owned()),
        1 => Just("workspace".to_owned()),
        1 => Just("HOME".to_owned()),
        1 => "\\PC{1,12}",
        1 => Just("\0".to_owned()),
        1 => Just("ｓ\u{202e}ub".to_owned()),
        1 => "[a-z]{200,300}",
    ];
    proptest::collection::vec(part, 0..12).prop_map(|parts| parts.join("/"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]
    #[test]
    fn no_path_leads_out(path in hostile()) {
        thread_local! {
            static MACHINE: TestMachine = {
                let machine = TestMachine::new();
                let link = |target: &str, name: &str| {
                    symlink(target, machine.workspace(name)).unwrap();
                };
                link("..", "up");
                link("../..", "sub/up");
                link("/", "root");
                link("../../../..", "sub/deep/up");
                link("up/up/up", "chain");
                machine
            };
        }
        MACHINE.with(|machine| {
            let home = machine.home.path().display().to_string();
            let path = path.replace("HOME", &home);
            let workspace = fs::canonicalize(machine.workspace("")).unwrap();
            for reach in [FileReach::Granted, FileReach::Everything] {
                let places = machine.places(reach);
                if let Ok(spot) = places.locate(&path, PlaceAccess::Write) {
                    let inside = spot.path().starts_with(&workspace);
                    let state = fs::canonicalize(machine.at(".chela")).unwrap();
                    let safe = match reach {
                        FileReach::Granted => inside,
                        FileReach::Everything => inside || !spot.path().starts_with(&state),
                    };
                    assert!(safe, "{path:?} led to {}", spot.path().display());
                    // What it says is where it is.
                    if spot.kind() != EntryKind::Absent {
                        assert_eq!(fs::canonicalize(spot.path()).unwrap(), spot.path());
                    }
                }
                if reach == FileReach::Granted
                    && let Ok(text) = read(&places, &path)
                {
                    assert_ne!(text, SECRET);
                }
            }
        });
    }
}
