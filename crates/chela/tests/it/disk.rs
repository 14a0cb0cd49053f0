//! A home on a disk that is mounted read-only, or without a byte left: what was written down can be
//! read, what cannot be written says why, and a disk with room again is used as before.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

use std::process::Stdio;

use chela_testkit::{AnswerFault, EndpointScript, ScriptStep, StepRule, find_part, wait_until};
use serde_json::json;

use crate::home::{CommandRun, TestHome};
use crate::scene::{ScriptedHome, after_tool};

/// Everything that only looks, and a word of what it finds.
const READING: [(&[&str], &str); 17] = [
    (&["sessions", "list"], "agent:main:main"),
    (&["sessions", "show", "agent:main:main"], "cobalt-question"),
    (
        &["sessions", "export", "agent:main:main"],
        "cobalt-question",
    ),
    (&["turn", "list"], "agent:main:main"),
    (&["turn", "show", "1"], "request"),
    (&["turn", "replay", "1"], "matches what was sent"),
    (&["audit", "verify"], "Intact: "),
    (&["audit", "show"], "prompt-build"),
    (&["usage"], "requests"),
    (&["undo", "--list"], "a.md"),
    (&["status"], "kit/scripted"),
    (&["memory", "search", "ultramarine"], "MEMORY.md"),
    (&["prompt"], "## Safety"),
    (&["context", "list"], "AGENTS.md"),
    (&["workspace", "history", "SOUL.md"], "SOUL.md"),
    (&["workspace", "diff", "MEMORY.md"], "ultramarine"),
    (&["models", "list"], "kit/scripted"),
];

/// A home with something in every store.
fn scene() -> ScriptedHome {
    let stalls = ScriptStep::reply("never")
        .fault(AnswerFault::Stall(0))
        .when(StepRule {
            contains: Some("never-answered".into()),
            ..StepRule::default()
        });
    let scene = ScriptedHome::new(EndpointScript {
        otherwise: Some(ScriptStep::tool(
            "write",
            json!({ "path": "a.md", "content": "{{user}}\n" }),
        )),
        ..EndpointScript::steps([stalls, after_tool(ScriptStep::reply("Done."))])
    });
    scene.chat("cobalt-question").ok();
    scene
        .home
        .write(".chela/workspace/MEMORY.md", "The safe is ultramarine.\n");
    scene.home.run(&["memory", "index"]).ok();
    scene
}

/// A turn that is killed while it waits: what it wrote down is beside the files, not in them.
fn kill_a_turn(scene: &ScriptedHome) {
    let before = scene.endpoint.calls().len();
    let mut child = scene
        .home
        .command()
        .args(["chat", "-m", "never-answered"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    wait_until("the question is sent", || {
        scene.endpoint.calls().len() > before
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let log = scene.home.path(".chela/state/ledger.sqlite-wal");
    assert!(std::fs::metadata(log).unwrap().len() > 0);
}

/// The same home, where every command finds it prepared by a script: `$0` is its folder.
fn prepared(home: TestHome, script: &str) -> Option<TestHome> {
    let can_mount = match home.command_of("unshare").args(["-rm", "true"]).status() {
        Ok(status) if status.success() => Ok(()),
        other => Err(format!("unshare: {other:?}")),
    };
    find_part("namespaces", can_mount)?;
    let folder = home.path(".chela").display().to_string();
    Some(home.through(&["unshare", "-rm", "sh", "-c", script, &folder]))
}

const READ_ONLY: &str =
    "mount --bind \"$0\" \"$0\" && mount -o remount,bind,ro \"$0\" && exec \"$@\"";
/// A disk of its own with a copy of the home on it, and the rest of it filled.
const FULL: &str = "mkdir -p \"$0/../small\" && mount -t tmpfs -o size=24m none \"$0/../small\" && \
     cp -a \"$0/.\" \"$0/../small/\" && mount --move \"$0/../small\" \"$0\" && \
     { cat /dev/zero > \"$0/filler\" 2>/dev/null; :; } && exec \"$@\"";

#[track_caller]
fn reads_all(home: &TestHome) {
    for (command, word) in READING {
        let run = home.run(command);
        assert_eq!(run.code, 0, "{command:?}: {run:?}");
        assert!(run.out.contains(word), "{command:?}: {run:?}");
    }
}

/// What cannot be written says why: the disk, and nobody's permissions.
#[track_caller]
fn names(run: CommandRun, why: &str) {
    let said = format!("{} {}", run.flat(), run.err);
    assert_eq!(run.code, 1, "{said}");
    assert!(said.contains(why), "{why}: {said}");
    assert!(!said.contains("owner and permissions"), "{said}");
}

const WRITING: [&[&str]; 4] = [
    &["chat", "-m", "one more"],
    &["undo"],
    &["memory", "index", "--force"],
    &["doctor"],
];

#[test]
fn a_home_that_is_mounted_read_only_is_read() {
    let ScriptedHome { home, endpoint } = scene();
    let Some(home) = prepared(home, READ_ONLY) else {
        return;
    };
    reads_all(&home);
    for command in WRITING {
        names(home.run(command), "mounted read-only");
    }
    drop(endpoint);
}

#[test]
fn a_full_disk_is_read() {
    let ScriptedHome { home, endpoint } = scene();
    let Some(home) = prepared(home, FULL) else {
        return;
    };
    reads_all(&home);
    for command in WRITING {
        names(home.run(command), "full");
    }
    drop(endpoint);
}

#[test]
fn what_a_killed_process_left_beside_its_files_is_read_as_well() {
    for script in [READ_ONLY, FULL] {
        let scene = scene();
        kill_a_turn(&scene);
        let ScriptedHome { home, endpoint } = scene;
        let Some(home) = prepared(home, script) else {
            return;
        };
        reads_all(&home);
        let shown = home.run(&["sessions", "export", "agent:main:main"]).ok();
        assert!(shown.contains("never-answered"), "{shown}");
        let list = home.run(&["turn", "list"]).ok();
        assert_eq!(list.lines().count(), 3, "{list}");
        drop(endpoint);
    }
}

#[test]
fn a_disk_with_room_again_is_used_as_before() {
    let ScriptedHome { home, endpoint } = scene();
    // The turn that fails, what comes after it, and what is then on record.
    let script = FULL.replace(
        "exec \"$@\"",
        "chela=$1 && { ! \"$@\"; } && \"$chela\" audit verify && rm \"$0/filler\" && \
         \"$@\" && \"$chela\" audit verify && \"$chela\" undo --list && \"$chela\" doctor --only home,stores",
    );
    let Some(home) = prepared(home, &script) else {
        return;
    };
    let run = home.run(&["chat", "-m", "one more"]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.err.contains("the disk is full"), "{run:?}");
    assert!(run.out.contains("Done."), "{run:?}");
    assert_eq!(run.out.matches("Intact: ").count(), 2, "{run:?}");
    assert_eq!(endpoint.calls().len(), 4, "nothing was asked in between");
}
