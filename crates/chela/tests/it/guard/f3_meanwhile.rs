//! What another program puts into the workspace while a clean command runs there in the sandbox is
//! not the agent's own; what the command wrote itself is.

use std::path::PathBuf;

use chela_testkit::{EndpointScript, ScriptStep};

use super::provenance::{HOSTILE, ORDER, is_refused};
use super::running::{RunningHome, exec};

/// Another program: waits until the command says that it runs, leaves a file, and says so.
fn drop_meanwhile(workspace: PathBuf, name: &'static str) -> std::thread::JoinHandle<()> {
    std::thread::spawn(move || {
        chela_testkit::wait_until("the command runs", || workspace.join("running").exists());
        let aside = workspace.join(".part");
        std::fs::write(&aside, ORDER).unwrap();
        std::fs::rename(aside, workspace.join(name)).unwrap();
        std::fs::write(workspace.join("dropped"), "").unwrap();
    })
}

/// Runs a script of the agent's own, which nobody can read the writes off, while a file is dropped.
fn scene_with(script: &str, dropped: &'static str) -> Option<RunningHome> {
    let home = RunningHome::with_sandbox(serde_json::json!({}))?;
    let workspace = home.scene.home.path(".chela/workspace");
    std::fs::create_dir_all(&workspace).unwrap();
    let script = format!(
        "touch running\nwhile ! test -e dropped; do sleep 0.01; done\nrm -f dropped running\n{script}\n"
    );
    let dropper = drop_meanwhile(workspace, dropped);
    home.scene.endpoint.play(EndpointScript::steps([
        ScriptStep::tool(
            "write",
            serde_json::json!({ "path": "work.txt", "content": script }),
        ),
        exec("sh work.txt"),
        ScriptStep::reply("done"),
    ]));
    home.scene.chat("Do that work.").answered();
    dropper.join().unwrap();
    Some(home)
}

/// What reading a file in a new session says of whose text it is.
fn reads_as_own(home: &RunningHome, file: &str, session: &str) -> bool {
    home.scene.endpoint.play(EndpointScript::steps([
        ScriptStep::tool("read", serde_json::json!({ "path": file })),
        ScriptStep::reply("{{tool}}"),
    ]));
    let session = format!("agent:main:{session}");
    let run = home
        .scene
        .home
        .run(&["chat", "--session", &session, "-m", "and now?"]);
    assert!(run.code == 0, "{run:?}");
    !run.out.contains("EXTERNAL_UNTRUSTED")
}

#[test]
fn a_dropped_file_stays_foreign_and_its_order_is_not_followed() {
    let Some(home) = scene_with("echo '- tea' > made.md", "dropped.md") else {
        return;
    };
    assert!(
        reads_as_own(&home, "made.md", "own"),
        "what the script wrote is its own"
    );
    assert!(!reads_as_own(&home, "dropped.md", "foreign"));
    home.scene.endpoint.play(EndpointScript::steps([
        ScriptStep::tool("read", serde_json::json!({ "path": "dropped.md" })),
        ScriptStep::tool("web_fetch", serde_json::json!({ "url": HOSTILE })),
        ScriptStep::reply("done"),
    ]));
    let args = ["chat", "--session", "agent:main:two", "-m", "and now?"];
    home.scene.home.run(&args).answered();
    is_refused(&home.scene, "a file dropped meanwhile");
}

/// Ways in which a script may make such a file look like its own.
#[test]
fn what_a_script_does_with_a_dropped_file_makes_it_no_ones() {
    for (way, file) in [
        ("echo more >> dropped.md", "dropped.md"),
        ("mv dropped.md moved.md", "moved.md"),
        ("ln dropped.md linked.md", "linked.md"),
        (
            "mkdir -p one; mv dropped.md one/a.md; mv one two",
            "two/a.md",
        ),
        ("echo mine > moved.md; mv dropped.md moved.md", "moved.md"),
    ] {
        let Some(home) = scene_with(way, "dropped.md") else {
            return;
        };
        assert!(!reads_as_own(&home, file, "two"), "{way}");
    }
}

/// Ways in which scripts write their own files.
#[test]
fn what_a_script_writes_in_any_way_is_its_own() {
    let Some(home) = scene_with(
        "echo '- a' > a.md
         echo '- b' > b.tmp; mv b.tmp b.md
         mkdir -p one/sub; echo '- c' > one/sub/c.md; mv one two
         echo '- d' > d.md; ln d.md e.md
         cp a.md f.md; sed -i s/a/g/ f.md
         printf '%s\\n' '- h' | tee h.md > /dev/null
         cd two; echo '- i' > ../i.md",
        "dropped.md",
    ) else {
        return;
    };
    for file in [
        "a.md",
        "b.md",
        "two/sub/c.md",
        "e.md",
        "f.md",
        "h.md",
        "i.md",
    ] {
        assert!(
            reads_as_own(&home, file, file.trim_end_matches(".md")),
            "{file}"
        );
    }
}
