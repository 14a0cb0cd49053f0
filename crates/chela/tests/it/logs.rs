//! The log: what goes where, what never does, and how it is read again.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Stdio;

use chela_testkit::{EndpointScript, ScriptStep, bait};
use serde_json::{Value, json};

use crate::home::TestHome;
use crate::scene::{APIS, KEY, ScriptedHome, after_tool};

const LOG: &str = ".chela/logs/chela.log";

fn lines(home: &TestHome) -> Vec<Value> {
    home.read(LOG)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Asks for a tool, and answers then.
fn reading() -> EndpointScript {
    EndpointScript {
        otherwise: Some(ScriptStep::reply("Hello.")),
        ..EndpointScript::steps([
            ScriptStep::tool("read", json!({ "path": "AGENTS.md" })),
            after_tool(ScriptStep::reply("Read.")),
        ])
    }
}

#[test]
fn a_turn_leaves_lines_with_the_ids_of_the_ledger() {
    let scene = ScriptedHome::new(reading());
    scene.chat("read it").ok();
    let lines = lines(&scene.home);
    let records = scene.home.run(&["turn", "list", "--json"]).json();
    let turn = records[0]["turn"].as_str().unwrap().to_owned();
    let of = |message: &str| {
        let found = lines.iter().find(|line| line["message"] == message);
        found.unwrap_or_else(|| panic!("no `{message}` in {lines:#?}"))
    };
    for message in [
        "a turn starts",
        "the call runs",
        "the call ended",
        "the turn ended",
    ] {
        assert_eq!(of(message)["ids"]["turn"], turn.as_str(), "{message}");
        assert_eq!(of(message)["level"], "info");
    }
    let call = of("the call runs");
    assert_eq!(call["spans"], json!(["turn", "step", "call"]));
    assert_eq!(
        (&call["ids"]["step"], &call["ids"]["tool"]),
        (&json!(1), &json!("read"))
    );
    let audit = scene.home.run(&["audit", "show", "--json"]).ok();
    let id = call["ids"]["call"].as_str().unwrap();
    assert!(
        audit.contains(&format!("\\\"call\\\":\\\"{id}\\\"")),
        "{id} is not in {audit}"
    );
    assert!(call["time"].as_str().unwrap().ends_with('Z') && call["pid"].is_u64());
    assert_eq!(call["target"], "chela_agent::turn::act");
    assert_eq!(mode(&scene.home.path(LOG)), 0o600);
    assert_eq!(mode(&scene.home.path(".chela/logs")), 0o700);

    // Another turn, and only one of them is asked for.
    scene.chat("once more").ok();
    let shown = scene.home.run(&["logs", "--turn", &turn[..8]]);
    let shown = shown.ok();
    assert!(
        shown.contains("a turn starts") && shown.contains(&turn),
        "{shown}"
    );
    assert_eq!(shown.matches("a turn starts").count(), 1, "{shown}");
    assert!(!shown.contains('\u{1b}'), "{shown}");
}

#[test]
fn commands_that_only_look_leave_no_log() {
    let home = TestHome::ready();
    // Setting up is on record.
    std::fs::remove_dir_all(home.path(".chela/logs")).unwrap();
    for args in [
        &["status"][..],
        &["prompt"],
        &["context", "list"],
        &["--version"],
        &["logs"],
    ] {
        home.run(args).ok();
    }
    assert!(!home.exists(".chela/logs"), "a log without a reason");
}

#[test]
fn what_is_asked_for_is_shown_on_standard_error() {
    let scene = ScriptedHome::new(reading());
    let quiet = scene.chat("read it");
    assert_eq!(quiet.err, "");
    let run = scene.home.run(&["chat", "-m", "hi", "--log", "info"]);
    assert!(
        run.err
            .contains(" info  agent::turn: a turn starts agent=main"),
        "{}",
        run.err
    );
    assert!(!run.out.contains("a turn starts"), "{}", run.out);
    assert!(!run.err.contains(" debug "), "{}", run.err);
    let run = scene
        .home
        .run(&["--log", "off,agent::turn::guard=debug", "chat", "-m", "hi"]);
    assert!(!run.err.contains("a turn starts"), "{}", run.err);

    let told = scene.home.run(&["--log", "loud", "status"]).fails(2);
    assert!(told.contains("--log: `loud` is not a log level"), "{told}");
    let told = scene.home.run(&["--log", "debgu", "status"]).fails(2);
    assert!(told.contains("did you mean `debug`?"), "{told}");
}

#[test]
fn the_environment_asks_too_and_the_command_line_wins() {
    let scene = ScriptedHome::new(reading());
    let with = |value: &str, args: &[&str]| {
        let output = scene
            .home
            .command()
            .env("CHELA_LOG", value)
            .args(args)
            .output()
            .unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let err = with("debug", &["chat", "-m", "read it"]);
    assert!(
        err.contains(" debug agent::turn::guard: the guard decided"),
        "{err}"
    );
    // What is looked at closely is in the file, too.
    let kept = scene.home.run(&["logs", "--json"]).ok();
    assert!(kept.contains("the guard decided"), "{kept}");
    let err = with("debug", &["chat", "-m", "hi", "--log", "error"]);
    assert_eq!(err, "");
    let err = with("loud", &["status"]);
    assert!(
        err.starts_with("warning: CHELA_LOG: `loud` is not a log level"),
        "{err}"
    );
}

#[test]
fn the_config_says_how_much_and_where() {
    let scene = ScriptedHome::with(
        APIS[0],
        reading(),
        json!({ "logging": {
            "level": "debug", "file": "elsewhere/my.log", "consoleLevel": "info", "consoleStyle": "compact",
        } }),
    );
    let run = scene.chat("read it");
    assert!(
        run.err.contains("info a turn starts agent=main"),
        "{}",
        run.err
    );
    assert!(!run.err.contains("the guard decided"), "{}", run.err);
    assert!(!scene.home.exists(".chela/logs"));
    let kept = scene.home.read(".chela/elsewhere/my.log");
    assert!(kept.contains("the guard decided"), "{kept}");
    let shown = scene.home.run(&["logs", "--level", "debug"]).ok();
    assert!(
        shown.contains("debug agent::turn::guard: the guard decided"),
        "{shown}"
    );

    let silent = ScriptedHome::with(
        APIS[0],
        reading(),
        json!({ "logging": { "level": "silent" } }),
    );
    silent.chat("read it").ok();
    silent.home.run(&["chat", "-m", "hi", "--log", "info"]).ok();
    assert!(!silent.home.exists(".chela/logs"));

    let json = ScriptedHome::with(
        APIS[0],
        reading(),
        json!({ "logging": { "consoleLevel": "info", "consoleStyle": "json" } }),
    );
    let run = json.chat("read it");
    let first: Value = serde_json::from_str(run.err.lines().next().unwrap()).unwrap();
    assert_eq!(first["message"], "a turn starts");
}

#[test]
fn the_file_stays_small_while_processes_write_side_by_side() {
    let script = EndpointScript::always(ScriptStep::reply("Hello."));
    let scene = ScriptedHome::with(
        APIS[0],
        script,
        json!({ "logging": { "maxFileBytes": 2_000 } }),
    );
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let scene = &scene;
            scope.spawn(move || {
                for _ in 0..3 {
                    let session = format!("agent:main:writer-{writer}");
                    scene
                        .home
                        .run(&["chat", "-m", "hi", "--session", &session])
                        .ok();
                }
            });
        }
    });
    let mut found = 0;
    for name in ["chela.log", "chela.log.1", "chela.log.2", "chela.log.3"] {
        let path = scene.home.path(&format!(".chela/logs/{name}"));
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(text.len() <= 4_000, "{name} has {} bytes", text.len());
        assert_eq!(mode(&path), 0o600);
        for line in text.lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            found += usize::from(line["message"] == "the turn ended");
        }
    }
    assert!(!scene.home.exists(".chela/logs/chela.log.4"));
    assert!(found > 4, "only {found} turns in all of them");
    // The newest lines come from more than one file.
    let shown = scene.home.run(&["logs", "-n", "1000", "--json"]).ok();
    assert_eq!(shown.matches("\"the turn ended\"").count(), found);
}

#[test]
fn following_shows_what_comes_also_from_a_new_file() {
    let script = EndpointScript::always(ScriptStep::reply("Hello."));
    let scene = ScriptedHome::with(
        APIS[0],
        script,
        json!({ "logging": { "maxFileBytes": 1_500 } }),
    );
    scene.chat("before").ok();
    let mut child = scene
        .home
        .command()
        .args(["logs", "-f", "-n", "0", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut turns: Vec<String> = Vec::new();
    // The first turns may come before it listens; the last ones are heard, whole and in order.
    while turns.len() < 6 {
        scene.chat("again").ok();
        let newest = scene
            .home
            .run(&["turn", "list", "-n", "1", "--json"])
            .json();
        let newest = newest[0]["turn"].as_str().unwrap().to_owned();
        loop {
            let line: Value = serde_json::from_str(&out.next().unwrap().unwrap()).unwrap();
            if line["message"] == "the turn ended" {
                let turn = line["ids"]["turn"].as_str().unwrap().to_owned();
                turns.push(turn.clone());
                if turn == newest {
                    break;
                }
            }
        }
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(scene.home.exists(".chela/logs/chela.log.1"));
}

#[test]
fn lines_can_be_picked_by_level_and_age() {
    let home = TestHome::ready();
    let line = |time: &str, level: &str, message: &str| {
        json!({ "time": time, "level": level, "target": "chela_model::chain", "pid": 1,
            "message": message, "fields": { "why": "a b" } })
        .to_string()
    };
    let now = chela_session::iso(
        u64::try_from(
            std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH)
                .unwrap()
                .as_millis(),
        )
        .unwrap(),
    );
    let text = [
        line("2020-01-01T00:00:00.000Z", "warn", "long ago"),
        line(&now, "info", "just now"),
        "half a li".to_owned(),
        line(&now, "error", "bad \u{1b}[31mnews"),
    ]
    .join("\n");
    home.write(LOG, &(text + "\n"));
    let all = home.run(&["logs"]).ok();
    assert_eq!(all.lines().count(), 3, "{all}");
    assert!(
        all.starts_with("2020-01-01 00:00:00.000Z warn  model::chain: long ago why=\"a b\""),
        "{all}"
    );
    assert!(!all.contains('\u{1b}'), "{all}");
    let bad = home.run(&["logs", "--level", "warn", "--since", "1h"]).ok();
    assert!(
        bad.contains("bad [31mnews") && bad.lines().count() == 1,
        "{bad}"
    );
    let last = home.run(&["logs", "-n", "1"]).ok();
    assert!(last.contains("bad") && last.lines().count() == 1, "{last}");
    let coloured = home.run(&["--color", "always", "logs", "-n", "1"]).ok();
    assert!(
        coloured.contains("\u{1b}[1m\u{1b}[31merror"),
        "{coloured:?}"
    );
    let told = home.run(&["logs", "--since", "yesterday"]).fails(2);
    assert!(told.contains("write 30s, 10m, 2h or 3d"), "{told}");
}

#[test]
fn no_secret_reaches_the_log_also_not_in_an_error() {
    // The endpoint throws the key it was called with back, and another one it cannot know.
    let other = &bait::environment()[0].1;
    let body = json!({ "error": { "message": format!("bad key {KEY}, not {other}") } });
    let scene = ScriptedHome::new(EndpointScript::always(ScriptStep::page(
        401,
        "application/json",
        body.to_string(),
    )));
    let run = scene.home.run(&["chat", "-m", "hi", "--log", "trace"]);
    assert_ne!(run.code, 0);
    let kept = scene.home.read(LOG);
    assert!(
        kept.contains("a model did not answer") && kept.contains("[secret:"),
        "{kept}"
    );
    for text in [&kept, &run.err, &run.out] {
        assert!(!text.contains(KEY) && !text.contains(bait::MARK), "{text}");
    }
}

#[test]
fn a_panic_ends_one_turn_and_leaves_a_report_without_secrets() {
    let scene = ScriptedHome::new(EndpointScript::always(ScriptStep::reply("Hello.")));
    let bait = &bait::environment()[0].1;
    let output = scene
        .home
        .command()
        .env("CHELA_TEST_PANIC", format!("calling {bait} and {KEY}"))
        .args(["chat", "-m", "hi"])
        .output()
        .unwrap();
    let told = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(
        told.starts_with("error: a bug in Chela ended this turn: told to break: calling"),
        "{told}"
    );
    assert!(
        told.contains("relay.rs:") && told.contains("send your message again"),
        "{told}"
    );
    let folder = scene.home.path(".chela/logs");
    let report = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.to_string_lossy().contains("/panic-"))
        .unwrap();
    assert!(told.contains(report.to_str().unwrap()), "{told}");
    assert_eq!(mode(&report), 0o600);
    let report = std::fs::read_to_string(report).unwrap();
    for part in [
        env!("CARGO_PKG_VERSION"),
        "thread   main",
        "relay.rs:",
        "turn > step",
        "break_if_told",
    ] {
        assert!(report.contains(part), "{part} is not in {report}");
    }
    let logged = scene.home.run(&["logs", "--level", "error"]).ok();
    assert!(
        logged.contains("panic: told to break") && logged.contains("panic-"),
        "{logged}"
    );
    for text in [&told, &report, &logged, &scene.home.read(LOG)] {
        assert!(
            !text.contains(bait.as_str()) && !text.contains(KEY),
            "{text}"
        );
    }
    // The session goes on, and what happened stands in it.
    assert_eq!(scene.chat("still there?").ok().trim(), "Hello.");
    let audit = scene.home.run(&["audit", "verify"]).ok();
    assert!(audit.contains("Intact:"), "{audit}");
}

#[test]
fn a_log_without_lines_says_so_and_a_reader_may_go_away() {
    let scene = ScriptedHome::new(reading());
    // Setting up is on record; what comes after it is what is looked at.
    std::fs::remove_dir_all(scene.home.path(".chela/logs")).unwrap();
    let told = scene.home.run(&["logs"]);
    assert_eq!((told.code, told.out.as_str()), (0, ""));
    assert!(
        told.err.starts_with("Nothing is logged yet (~"),
        "{}",
        told.err
    );
    scene.chat("read it").ok();
    let told = scene.home.run(&["logs", "--turn", "zzz"]);
    assert_eq!(
        (told.code, told.out.as_str()),
        (1, ""),
        "there is no such turn"
    );
    assert!(
        told.err.starts_with("No lines for turn zzz"),
        "{}",
        told.err
    );
    let told = scene.home.run(&["logs", "--level", "error"]);
    assert!(told.err.starts_with("No matching lines"), "{}", told.err);
    let shown = scene.home.run(&["logs"]).ok();
    assert!(shown.contains("Z info "), "{shown}");
    assert!(shown.contains("the call ended outcome=done"), "{shown}");

    let chela = env!("CARGO_BIN_EXE_chela");
    let piped = format!("set -o pipefail; {chela} logs -n 2000 | head -c 1");
    let mut bash = scene.home.command_of("bash");
    // More than a pipe holds.
    let line = scene.home.read(LOG).lines().next().unwrap().to_owned() + "\n";
    scene.home.write(LOG, &line.repeat(2_000));
    assert!(bash.args(["-c", &piped]).status().unwrap().success());
}

#[test]
fn what_a_model_is_asked_is_shown_when_somebody_looks_closely() {
    let scene = ScriptedHome::new(reading());
    let filter = "info,model=debug";
    let run = scene.home.run(&["chat", "-m", "hi", "--log", filter]);
    for part in [
        "a model is asked method=POST host=127.0.0.1 model=kit/scripted bytes=",
        "the endpoint answers status=200",
        "stop=",
    ] {
        assert!(run.err.contains(part), "no `{part}` in {}", run.err);
    }
    let run = scene.home.run(&["chat", "-m", "hi", "--log", "info"]);
    assert!(!run.err.contains("a model is asked"), "{}", run.err);
}
