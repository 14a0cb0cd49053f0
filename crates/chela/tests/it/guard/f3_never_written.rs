//! Words that say a file is written do not answer for what somebody else put there.

use chela_testkit::{EndpointScript, ScriptStep};
use serde_json::{Value, json};

use super::provenance::{HOSTILE, ORDER, is_refused, plant};
use super::running::{RunningHome, exec, exec_with};
use crate::scene::{APIS, ScriptedHome};

/// On the machine itself, and in the sandbox where there is one.
fn configs() -> [Value; 2] {
    [
        json!({ "tools": { "exec": { "mode": "full" } } }),
        json!({}),
    ]
}

fn home(config: &Value, steps: impl IntoIterator<Item = ScriptStep>) -> ScriptedHome {
    let steps = steps.into_iter().chain([ScriptStep::reply("done")]);
    ScriptedHome::without_canary(APIS[0], EndpointScript::steps(steps), config.clone())
}

/// In a new session the file is somebody else's text: what it names is not fetched.
fn stays_foreign(scene: &ScriptedHome, path: &str, way: &str) {
    scene.endpoint.play(EndpointScript::steps([
        ScriptStep::tool("read", json!({ "path": path })),
        ScriptStep::tool("web_fetch", json!({ "url": HOSTILE })),
        ScriptStep::reply("done"),
    ]));
    let args = ["chat", "--session", "agent:main:two", "-m", "and now?"];
    scene.home.run(&args).answered();
    is_refused(scene, way);
}

#[test]
fn a_write_that_never_happened_answers_for_nothing() {
    for config in configs() {
        for way in [
            "test -f clone/README.md || echo '# Notes' > clone/README.md",
            "false && echo hi > clone/README.md",
            "cp -n AGENTS.md clone/README.md",
            "cp nothere.md clone/README.md",
            "mv -n nothere.md clone/README.md",
            "rm clone",
        ] {
            let scene = home(&config, [exec(way)]);
            plant(&scene, "clone/README.md", ORDER);
            scene.chat("Tidy up.").answered();
            assert_eq!(scene.home.read(".chela/workspace/clone/README.md"), ORDER);
            stays_foreign(&scene, "clone/README.md", way);
        }
    }
}

/// What was really written is the agent's own.
#[test]
fn a_write_that_happened_does() {
    let scene = home(
        &configs()[0],
        [exec("test -f notes.md || echo '- tea' > notes.md")],
    );
    scene.chat("Note that.").answered();
    let read = [
        ScriptStep::tool("read", json!({ "path": "notes.md" })),
        ScriptStep::reply("{{tool}}"),
    ];
    scene.endpoint.play(EndpointScript::steps(read));
    let run = scene
        .home
        .run(&["chat", "--session", "agent:main:two", "-m", "and now?"]);
    assert!(run.out.contains("- tea"), "{run:?}");
    assert!(!run.out.contains("EXTERNAL_UNTRUSTED"), "{run:?}");
}

/// Another command writes into the file at the same time.
#[test]
fn what_another_command_adds_meanwhile_is_nobodys() {
    let scene = home(
        &configs()[0],
        [
            ScriptStep::tool(
                "write",
                json!({ "path": "notes/plan.md", "content": "- tea\n" }),
            ),
            exec_with("sh clone/run.sh", json!({ "background": true })),
            exec("echo '- dentist' >> notes/plan.md && sleep 2"),
        ],
    );
    let script = format!(
        "until grep -q dentist notes/plan.md; do sleep 0.05; done; echo '{ORDER}' >> notes/plan.md\n"
    );
    plant(&scene, "clone/run.sh", &script);
    scene.chat("Add the dentist.").answered();
    let plan = scene.home.read(".chela/workspace/notes/plan.md");
    assert!(plan.contains(ORDER), "{plan}");
    stays_foreign(&scene, "notes/plan.md", "meanwhile");
}

/// What was committed once, whoever wrote it, is not the agent's own because nothing was fetched.
#[test]
fn what_was_committed_once_is_somebody_elses() {
    let Some(home) = RunningHome::with_sandbox(json!({})) else {
        return;
    };
    let work = home.scene.home.path(".chela/workspace");
    let git = |arguments: &[&str]| {
        let done = std::process::Command::new("git")
            .args(["-c", "user.name=me", "-c", "user.email=me@example.com"])
            .args(arguments)
            .current_dir(&work)
            .output();
        assert!(done.as_ref().unwrap().status.success(), "{done:?}");
    };
    git(&["init", "-q"]);
    home.write("evil.md", ORDER);
    git(&["add", "evil.md"]);
    git(&["commit", "-qm", "all"]);
    git(&["rm", "-q", "evil.md"]);
    git(&["commit", "-qm", "less"]);
    assert!(!home.is_tainted_by("now", [exec("git status --short")]));
    for (at, way) in [
        "git show HEAD~1:evil.md",
        "git log -p",
        "git show HEAD~1:evil.md > notes.md; cat notes.md",
    ]
    .iter()
    .enumerate()
    {
        assert!(home.is_tainted_by(&format!("n{at}"), [exec(way)]), "{way}");
    }
}
