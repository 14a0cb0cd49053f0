//! The sandbox buys freedom: everyday work asks rarely.

use chela_testkit::ScriptStep;
use chela_testkit::tally::TallyRow;
use serde_json::{Value, json};

use super::running::{RunningHome, exec, exec_with, was_asked};

/// A coding session of 25 commands, as data.
#[derive(serde::Deserialize)]
struct CodingSession {
    /// These stay in the sandbox.
    inside: Vec<Value>,
    /// These leave it.
    outside: Vec<Value>,
}

fn session() -> Vec<ScriptStep> {
    let text = include_str!("everyday/coding.json");
    let session: CodingSession = serde_json::from_str(text).unwrap();
    assert_eq!((session.inside.len(), session.outside.len()), (21, 4));
    let calls = session.inside.into_iter().chain(session.outside);
    calls
        .map(|arguments| ScriptStep::tool("exec", arguments))
        .collect()
}

/// Says how often was asked in such a session.
fn note_questions(name: &str, results: &[String]) -> usize {
    let questions = results.iter().filter(|result| was_asked(result)).count();
    let row = TallyRow {
        tasks: 1,
        done: 1,
        questions,
        ..TallyRow::new(name, "a session")
    };
    row.note().unwrap();
    questions
}

fn repository(home: &RunningHome) {
    for arguments in [
        &["init", "-q", "-b", "main"][..],
        &["config", "user.name", "me"],
        &["config", "user.email", "me@example.org"],
        &[
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "commit",
            "-q",
            "--allow-empty",
            "-m",
            "begin",
        ],
    ] {
        let done = std::process::Command::new("git")
            .args(arguments)
            .current_dir(home.scene.home.path(".chela/workspace"))
            .status();
        assert!(done.unwrap().success());
    }
}

#[test]
fn a_coding_session_of_25_commands_asks_twice() {
    let Some(home) = RunningHome::with_sandbox(json!({})) else {
        return;
    };
    repository(&home);
    let results = home.plays("clean", session());
    assert_eq!(results.len(), 25);
    note_questions("25 commands of coding", &results);
    let (inside, outside) = results.split_at(21);
    for result in inside {
        assert!(!was_asked(result), "{result}");
        assert!(!result.contains("exit code 1"), "{result}");
    }
    let asked: Vec<bool> = outside.iter().map(|result| was_asked(result)).collect();
    assert_eq!(asked, [false, false, true, true], "{outside:?}");
    let log = std::process::Command::new("git")
        .args(["log", "--format=%s", "-1"])
        .current_dir(home.scene.home.path(".chela/workspace"))
        .output();
    assert_eq!(log.unwrap().stdout, b"greet\n");
    assert!(results[10].contains("passed"), "{}", results[10]);
}

#[test]
fn what_stays_inside_asks_no_more_after_a_page() {
    let Some(home) = RunningHome::with_sandbox(json!({})) else {
        return;
    };
    repository(&home);
    let steps = std::iter::once(home.page()).chain(session());
    let results = home.plays("tainted", steps);
    let asked = note_questions("25 commands after a web page", &results);
    assert_eq!(asked, 4, "{results:?}");
}

/// There is nothing to leave then: a model does not see the options that do.
#[test]
fn without_a_sandbox_the_same_session_only_asks_more_often() {
    let home = RunningHome::without_sandbox(json!({}));
    repository(&home);
    let steps = session().into_iter().map(|mut step| {
        let arguments = step.tool_calls[0].arguments.as_object_mut().unwrap();
        arguments.retain(|name, _| name == "command");
        step
    });
    let results = home.plays("bare", steps);
    let asked = note_questions("25 commands without a sandbox", &results);
    assert!(asked > 4, "{results:?}");
    assert!(
        results[21..].iter().all(|result| was_asked(result)),
        "{results:?}"
    );
    assert!(!was_asked(&results[0]), "{results:?}");
}

#[test]
fn the_walls_are_named_where_they_are_met_and_leaving_them_asks() {
    let Some(home) = RunningHome::with_sandbox(json!({})) else {
        return;
    };
    home.scene.home.write("private.txt", "my diary");
    let out = home.scene.home.path("private.txt");
    let results = home.plays(
        "one",
        [
            exec(&format!("cat {}", out.display())),
            exec_with(
                &format!("cat {}", out.display()),
                json!({ "outside": true }),
            ),
            exec("git init -q sub && git -C sub add . ; touch /usr/x"),
        ],
    );
    assert!(!results[0].contains("my diary"), "{results:?}");
    assert!(results[0].contains("outside: true"), "{results:?}");
    assert!(was_asked(&results[1]), "{results:?}");
    assert!(
        results[1].contains("leave") || results[1].contains("not pre-approved"),
        "{results:?}"
    );
    assert!(results[2].contains("outside: true"), "{results:?}");
    let explained = home.scene.home.run(&["sandbox", "explain"]).ok();
    assert!(
        explained.contains("runs in the sandbox without asking"),
        "{explained}"
    );
}

#[test]
fn an_explicit_mode_stays_what_it_says() {
    let config = json!({ "tools": { "exec": { "mode": "ask" } } });
    let home = RunningHome::new(config);
    let results = home.plays("one", [exec("ls"), exec("touch made")]);
    assert!(
        results.iter().all(|result| was_asked(result)),
        "{results:?}"
    );
    assert!(!home.exists("made"));
}

#[test]
fn without_a_sandbox_looking_is_free_and_all_else_asks() {
    let home = RunningHome::without_sandbox(json!({}));
    repository(&home);
    let results = home.plays(
        "one",
        [
            home.page(),
            exec("ls -la"),
            exec("git status"),
            exec("cat AGENTS.md | wc -l"),
            exec("touch made"),
            exec("cat /etc/passwd"),
        ],
    );
    let asked: Vec<bool> = results.iter().map(|result| was_asked(result)).collect();
    assert_eq!(
        asked,
        [false, false, false, false, true, true],
        "{results:?}"
    );
    assert!(!home.exists("made"));
}

#[test]
fn a_listed_command_is_told_why_its_approval_does_not_count() {
    let home = RunningHome::without_sandbox(json!({}));
    home.write("run.sh", "touch ran\n");
    home.allows("/bin/sh", &["run.sh"], "");
    let results = home.plays("tainted", [home.page(), exec("sh run.sh"), exec("touch x")]);
    assert!(
        results[1].contains("standing approval does not apply here"),
        "{results:?}"
    );
    assert!(!results[1].contains("not pre-approved"), "{results:?}");
    assert!(
        results[2].contains("the command is not pre-approved"),
        "{results:?}"
    );
    assert!(!home.exists("ran"));
}

#[test]
fn the_note_of_an_ended_session_voids_no_standing_yes() {
    let home = RunningHome::without_sandbox(json!({}));
    home.write("run.sh", "touch ran\n");
    home.allows("/bin/sh", &["run.sh"], "");
    home.plays("main", [home.page()]);
    let anew = home
        .scene
        .home
        .run(&["chat", "-m", "/new", "--session", "main"]);
    assert_eq!(anew.code, 0, "{anew:?}");
    let notes = home.scene.home.path(".chela/workspace/memory");
    let notes = std::fs::read_dir(notes).unwrap().flatten();
    let dated = notes.filter(|note| note.file_name().to_string_lossy().starts_with("20"));
    assert_eq!(dated.count(), 1);
    let later = home.plays("later", [exec("sh run.sh")]);
    assert!(home.exists("ran"), "{later:?}");
}

/// Runs `git add` and `git commit` outside in a session of its own; says whether that was asked
/// about.
fn commits(home: &RunningHome, session: &str) -> bool {
    let line = "git add -A && git commit -qm more";
    let results = home.plays(session, [exec_with(line, json!({ "outside": true }))]);
    was_asked(&results[0])
}

#[test]
fn commits_of_ones_own_ask_nothing_and_run_nothing() {
    let Some(home) = RunningHome::with_sandbox(json!({})) else {
        return;
    };
    repository(&home);
    // What the owner set up for all repositories does not run unasked either.
    let hooks = home.scene.home.path("hooks");
    home.scene
        .home
        .write("hooks/pre-commit", "#!/bin/sh\ntouch pwned\n");
    let run = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(hooks.join("pre-commit"), run).unwrap();
    let global = format!(
        "[core]\n hooksPath = {}\n fsmonitor = touch pwned\n",
        hooks.display()
    );
    home.scene.home.write(".gitconfig", &global);
    home.write("notes.txt", "one");
    assert!(!commits(&home, "one"));
    assert!(!home.exists("pwned"));
    // And the session is as clean as before.
    let later = home.plays("one", [super::running::write("Makefile", "all:\n")]);
    assert!(!was_asked(&later[1]), "{later:?}");
}

#[test]
fn what_commands_print_in_a_home_of_ones_own_taints_nothing() {
    let Some(home) = RunningHome::with_sandbox(json!({})) else {
        return;
    };
    let results = home.plays(
        "one",
        [
            exec("git log --oneline && ls"),
            exec("sh -c 'echo made > a.txt; cat a.txt; wc -l *.md'"),
            exec("git status"),
            super::running::write("Makefile", "all:\n"),
        ],
    );
    assert!(results[1].contains("made"), "{results:?}");
    assert!(
        results.iter().all(|result| !was_asked(result)),
        "{results:?}"
    );
    // What was fetched into the repository is somebody else's.
    home.write(".git/FETCH_HEAD", "");
    let later = home.plays(
        "two",
        [
            exec("git log --oneline"),
            super::running::write("Makefile", "some:\n"),
        ],
    );
    assert!(was_asked(&later[1]), "{later:?}");
}

#[test]
fn commits_where_something_could_run_ask_as_before() {
    let nested = |home: &RunningHome| {
        home.write("sub/.git/HEAD", "ref: refs/heads/main\n");
        home.write("sub/.git/config", "[core]\n fsmonitor = touch pwned\n");
    };
    let hooked = |home: &RunningHome| {
        home.write(".git/hooks/pre-commit", "touch pwned\n");
    };
    let filtered = |home: &RunningHome| home.write("deep/.gitattributes", "* filter=lfs\n");
    let told = |home: &RunningHome| home.write(".git/config", "[core]\n fsmonitor = touch pwned\n");
    let ways: [&dyn Fn(&RunningHome); 4] = [&nested, &hooked, &filtered, &told];
    for (at, way) in ways.into_iter().enumerate() {
        let Some(home) = RunningHome::with_sandbox(json!({})) else {
            return;
        };
        repository(&home);
        way(&home);
        assert!(commits(&home, "one"), "{at}");
        assert!(!home.exists("pwned"), "{at}");
    }
    let Some(home) = RunningHome::with_sandbox(json!({})) else {
        return;
    };
    repository(&home);
    for line in [
        "git commit",
        "git add -p",
        "git commit -m x --amend",
        "git commit -F /etc/passwd",
    ] {
        let results = home.plays("two", [exec_with(line, json!({ "outside": true }))]);
        assert!(was_asked(&results[0]), "{line}: {results:?}");
    }
}

#[test]
fn compilers_and_interpreters_of_the_owners_work_inside() {
    let Some(home) = RunningHome::with_sandbox(json!({})) else {
        return;
    };
    home.write(
        "tool/Cargo.toml",
        "[package]\nname = \"tool\"\nversion = \"0.1.0\"\nedition = \"2024\"\n",
    );
    home.write("tool/src/main.rs", "fn main() { println!(\"it runs\"); }\n");
    let results = home.plays(
        "one",
        [
            exec("cargo --version"),
            exec_with(
                "cargo build -q --offline && ./target/debug/tool",
                json!({ "workdir": "tool", "yieldMs": 400_000 }),
            ),
            exec("python3 -c 'print(6 * 7)'"),
            exec("touch ~/x && ls ~"),
        ],
    );
    assert!(
        results.iter().all(|result| !was_asked(result)),
        "{results:?}"
    );
    assert!(results[0].contains("cargo 1."), "{results:?}");
    assert!(results[1].contains("it runs"), "{results:?}");
    assert!(results[2].contains("42"), "{results:?}");
}
