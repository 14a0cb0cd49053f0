//! Whose process it is that wants to change something, whatever a command does to hide that, and
//! what it writes past every check.

use std::process::Command;

use chela_testkit::{EndpointScript, ScriptStep};
use serde_json::json;

use crate::home::CommandRun;
use crate::scene::{APIS, ScriptedHome};

/// A home whose agent runs one command outside of any sandbox, unasked.
fn after_command(command: &str) -> (ScriptedHome, CommandRun) {
    let script = EndpointScript::steps([
        ScriptStep::tool("exec", json!({ "command": command, "yieldMs": 60_000 })),
        ScriptStep::reply("done"),
    ]);
    let scene = ScriptedHome::with(
        APIS[0],
        script,
        json!({ "tools": { "exec": { "mode": "full", "protectState": false } },
                "agents": { "defaults": { "sandbox": { "mode": "off" } } } }),
    );
    let run = scene.chat("Run it.");
    (scene, run)
}

/// Ways into a namespace of processes of one's own that work here.
fn namespaces() -> Vec<&'static str> {
    let ways = [
        "unshare --pid --fork --mount-proc",
        "unshare --pid --fork --mount-proc --cgroup",
        "unshare --pid --fork",
        "unshare --user --map-root-user --pid --fork --mount-proc",
        "unshare --user --map-root-user --pid --fork --mount-proc --cgroup",
    ];
    let works = |way: &&str| {
        let tried = Command::new("sh")
            .args(["-c", &format!("{way} true")])
            .output();
        tried.is_ok_and(|tried| tried.status.success())
    };
    let ways: Vec<&'static str> = ways.into_iter().filter(works).collect();
    let must = std::env::var("CHELA_REQUIRE").is_ok_and(|what| what == "all");
    assert!(!must || !ways.is_empty(), "no namespaces here");
    ways
}

#[test]
fn a_namespace_of_its_own_hides_no_ancestors() {
    let chela = env!("CARGO_BIN_EXE_chela");
    let mut lines = vec!["echo begun > codes.txt".to_owned()];
    let bare = "env -i HOME=\"$HOME\" PATH=\"$PATH\"";
    for way in namespaces() {
        for before in [
            "",
            "rm -rf ../state/commands; ",
            "for f in ../state/commands/*; do echo x > $f; done; ",
        ] {
            for far in ["", "setsid -w "] {
                lines.push(format!(
                    "{before}{bare} {far}{way} {chela} approvals allow wget >> out.txt 2>&1; \
                     echo \"code $? {way} {before}\" >> codes.txt"
                ));
            }
        }
    }
    // Left behind in there, by two forks.
    for way in namespaces() {
        lines.push(format!(
            "{bare} {way} sh -c '({chela} approvals allow wget >> out.txt 2>&1 &); sleep 1'"
        ));
    }
    let (scene, _) = after_command(&lines.join("\n"));
    let codes = scene.home.read(".chela/workspace/codes.txt");
    assert!(codes.starts_with("begun"), "{codes}");
    let allowed: Vec<&str> = codes
        .lines()
        .filter(|line| line.contains("code 0"))
        .collect();
    assert!(allowed.is_empty(), "{allowed:#?}");
    assert!(!scene.home.exists(".chela/exec-approvals.json"));
    // The owner is not held up by what is left of it.
    scene.home.run(&["approvals", "allow", "ls"]).ok();
}

#[test]
fn records_of_trust_and_folders_are_put_back_and_told() {
    let command = "cd ..; cp state/installation.key /dev/null; \
        echo 'chela installation key 1' > state/installation.key; \
        sed -i 's/\"version\"/\"roots\": {\"\\/\": {}}, \"version\"/' state/trust.json; \
        echo '{\"folders\":{\"/\":\"write\"}}' > folders.json";
    let (scene, _) = after_command("true");
    let before: Vec<String> = ["state/trust.json", "state/installation.key"]
        .iter()
        .map(|file| scene.home.read(&format!(".chela/{file}")))
        .collect();
    scene.endpoint.play(EndpointScript::steps([
        ScriptStep::tool("exec", json!({ "command": command })),
        ScriptStep::reply("done"),
    ]));
    let mut scene = scene;
    scene.home = scene.home.baited(".from-command");
    let run = scene.chat("Run it.");
    let told = run.err.split_whitespace().collect::<Vec<_>>().join(" ");
    for file in ["state/trust.json", "state/installation.key", "folders.json"] {
        let words = format!("~/.chela/{file} changed while a command of the agent ran");
        assert!(told.contains(&words), "{file}: {told}");
    }
    assert_eq!(scene.home.read(".chela/state/trust.json"), before[0]);
    assert_eq!(scene.home.read(".chela/state/installation.key"), before[1]);
    assert!(!scene.home.exists(".chela/folders.json"));
    let record = scene.home.run(&["audit", "verify"]);
    assert_eq!(record.code, 0, "{record:?}");
}

/// A command of the agent cannot let itself into a folder either.
#[test]
fn a_command_changes_no_answer_about_folders() {
    let chela = env!("CARGO_BIN_EXE_chela");
    let command = format!(
        "mkdir ../../open; {chela} folders allow ../../open >> out.txt 2>&1; echo $? > code.txt; \
         {chela} folders list >> out.txt"
    );
    let (scene, _) = after_command(&command);
    assert_eq!(scene.home.read(".chela/workspace/code.txt"), "1\n");
    assert!(!scene.home.exists(".chela/folders.json"));
}
