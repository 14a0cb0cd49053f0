//! A home in which something is not what it should be: every command ends, and says what is wrong.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

use chela_testkit::{EndpointScript, ScriptStep};

use crate::home::{CommandRun, TestHome};
use crate::scene::ScriptedHome;

/// Ends with 124 what takes longer.
const LIMIT: [&str; 2] = ["timeout", "20"];

const COMMANDS: [&[&str]; 4] = [&["status"], &["doctor"], &["sessions", "list"], &["logs"]];

#[track_caller]
fn ends(run: &CommandRun, args: &[&str]) {
    assert!(run.code != 124 && run.code >= 0, "{args:?} hangs: {run:?}");
}

#[test]
fn several_mistakes_in_the_config_are_told_by_every_command() {
    for config in ["{ a: , b: } }", "{\n\"agents\": [,\n}} ]"] {
        let home = TestHome::empty().through(&LIMIT);
        home.write(".chela/chela.json", config);
        // What cannot be read is one more thing to say.
        std::fs::create_dir(home.path(".chela/.env")).unwrap();
        for args in COMMANDS {
            ends(&home.run(args), args);
        }
        let told = home.run(&["doctor"]);
        assert!(told.out.contains("chela.json"), "{told:?}");
    }
}

#[test]
fn a_home_that_may_not_be_read_stops_no_command() {
    use std::os::unix::fs::PermissionsExt;
    let home = TestHome::ready();
    let folder = home.path(".chela");
    let lock = |mode| {
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    lock(0o000);
    // Nothing is closed to the superuser: then it is run as somebody else.
    let nobody = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
    ];
    let is_open = std::fs::read_dir(&folder).is_ok();
    let words: Vec<&str> = match is_open {
        true => LIMIT.into_iter().chain(nobody).collect(),
        false => LIMIT.to_vec(),
    };
    let home = home.through(&words);
    for args in COMMANDS {
        ends(&home.run(args), args);
    }
    lock(0o700);
}

/// What may lie where a file of ours belongs.
fn put(home: &TestHome, file: &str, what: &str) {
    let path = home.path(file);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    // It may not have been there.
    let _ = std::fs::remove_file(&path);
    match what {
        "a pipe" => {
            let made = home.command_of("mkfifo").arg(&path).status().unwrap();
            assert!(made.success());
        }
        "a link" => std::os::unix::fs::symlink("/dev/zero", &path).unwrap(),
        "too much" => std::fs::File::create(&path)
            .unwrap()
            .set_len(20 << 30)
            .unwrap(),
        _ => unreachable!(),
    }
}

#[test]
fn what_lies_in_place_of_a_file_is_not_waited_for() {
    let kinds = ["a pipe", "a link", "too much"];
    let cases: [(&str, &[&[&str]]); 3] = [
        (
            ".chela/agents/main/sessions.sqlite",
            &[&["doctor"], &["sessions", "list"], &["sessions", "rescue"]],
        ),
        (
            ".chela/state/ledger.head",
            &[&["doctor"], &["audit", "verify"], &["chat", "-m", "hi"]],
        ),
        (
            ".chela/logs/chela.log",
            &[&["logs"], &["doctor"], &["chat", "-m", "hi"]],
        ),
    ];
    for (file, commands) in cases {
        for kind in kinds {
            let scene = ScriptedHome::new(EndpointScript::always(ScriptStep::reply("Hello.")));
            scene.chat("hi").ok();
            // What is planted is not looked through at the end: it has none.
            let home = scene.home.through(&LIMIT).lets_bait_out();
            put(&home, file, kind);
            for args in commands {
                let run = home.run(args);
                ends(&run, args);
                if file.ends_with("head") && args[0] == "doctor" {
                    assert!(run.out.contains("ledger.head"), "{kind}: {run:?}");
                }
                if file.ends_with("log") && args[0] == "logs" && kind != "too much" {
                    assert!(run.err.contains(kind), "{kind}: {run:?}");
                }
            }
        }
    }
}
