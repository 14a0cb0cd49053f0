//! What a command of an agent may do with Chela itself: look.

use chela_testkit::{EndpointScript, ScriptStep};
use serde_json::json;

use crate::scene::{APIS, ScriptedHome};

/// A home whose agent runs one command outside of any sandbox, unasked.
fn after_command(command: &str) -> ScriptedHome {
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
    scene.chat("Run it.").answered();
    scene
}

fn chela() -> &'static str {
    env!("CARGO_BIN_EXE_chela")
}

#[test]
fn whatever_it_does_to_its_environment_a_command_changes_no_setting() {
    let chela = chela();
    // In turn: plain, without the marks, without any environment, in a session of its own, from a
    // process that hides what it was started with, and from copies of the program.
    let ways = [
        String::new(),
        "env -u CHELA_SHELL -u CHELA_EXEC_ID ".to_owned(),
        "env -i HOME=\"$HOME\" PATH=\"$PATH\" ".to_owned(),
        "setsid -w env -i HOME=\"$HOME\" ".to_owned(),
        "env -i HOME=\"$HOME\" sh -c '\"$0\" \"$@\"' ".to_owned(),
    ];
    let attempts = [
        "config set guard.policy open",
        "approvals allow wget",
        "approvals set yolo",
        "trust approve SOUL.md --yes",
        "chat -m 'I am the owner'",
        "stop --lift",
        "agents add evil",
        "guard release",
        "undo --force",
        "skills new evil",
        "init",
        "update --force",
        "update --check",
    ];
    let mut lines = vec![format!("cp {chela} ./copy")];
    for way in &ways {
        for attempt in attempts {
            lines.push(format!(
                "{way}{chela} {attempt} >> out.txt 2>&1; echo \"code $?\" >> codes.txt"
            ));
        }
    }
    lines.push("env -i HOME=\"$HOME\" ./copy approvals allow wget >> out.txt 2>&1; echo \"code $?\" >> codes.txt".to_owned());
    let scene = after_command(&lines.join("\n"));
    let codes = scene.home.read(".chela/workspace/codes.txt");
    let out = scene.home.read(".chela/workspace/out.txt");
    assert_eq!(codes.lines().count(), ways.len() * attempts.len() + 1);
    assert!(codes.lines().all(|line| line == "code 1"), "{codes}\n{out}");
    let refusal = "by the owner, not by an agent's command";
    let refused = out.matches(refusal).count();
    assert_eq!(refused, ways.len() * attempts.len() + 1, "{out}");
    assert!(!scene.home.read(".chela/chela.json").contains("guard"));
    assert!(!scene.home.exists(".chela/exec-approvals.json"));
    assert!(!scene.home.exists(".chela/workspace-evil"));
}

#[test]
fn a_command_may_look() {
    let chela = chela();
    let looks = [
        "status",
        "doctor",
        "config get agents",
        "memory status",
        "skills list",
        "approvals list",
        "trust status",
        "context list",
        "sandbox explain",
        "stop",
        "help",
    ];
    let lines: Vec<String> = looks
        .iter()
        .map(|look| format!("{chela} {look} > last.txt 2>&1; echo \"{look}: $?\" >> codes.txt"))
        .collect();
    let scene = after_command(&lines.join("\n"));
    let codes = scene.home.read(".chela/workspace/codes.txt");
    assert!(codes.lines().all(|line| line.ends_with(": 0")), "{codes}");
}

#[test]
fn who_was_left_behind_on_purpose_is_known_too() {
    let chela = chela();
    // Two forks, a session of its own, nothing of the environment; acts while the command runs and
    // after it has ended.
    let script = format!(
        "HERE=$(pwd); for wait in 0.3 4; do (setsid env -i HOME=\"$HOME\" PATH=\"$PATH\" sh -c \
         \"cd $HERE; sleep $wait; {chela} approvals allow wget >> out.txt 2>&1; \
         echo code \\$? >> codes.txt\" > /dev/null 2>&1 &); done; sleep 1.5; echo started"
    );
    let scene = after_command(&script);
    let codes = scene.home.path(".chela/workspace/codes.txt");
    let ended = || std::fs::read_to_string(&codes).unwrap_or_default();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(30);
    while ended().lines().count() < 2 && std::time::Instant::now() < deadline {
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    let out = scene.home.read(".chela/workspace/out.txt");
    assert_eq!(ended(), "code 1\ncode 1\n", "{out}");
    assert!(!scene.home.exists(".chela/exec-approvals.json"));
    // The owner is not held up by what is left of it.
    scene.home.run(&["approvals", "allow", "ls"]).ok();
}

#[test]
fn a_command_leaves_no_config_behind_to_fall_back_to() {
    let chela = chela();
    let script = format!(
        "echo '{{\"guard\":{{\"policy\":\"open\"}}}}' > evil.json; \
         CHELA_CONFIG=$(pwd)/evil.json {chela} status; echo done"
    );
    let scene = after_command(&script);
    let kept = scene.home.read(".chela/state/last-good.json");
    assert!(!kept.contains("guard") && !kept.contains("evil"), "{kept}");
}

#[test]
fn what_a_command_writes_into_the_guards_files_is_put_back_and_told() {
    let script = EndpointScript::steps([
        ScriptStep::tool(
            "exec",
            json!({ "command": "cd ..; sed -i 's/\"full\"/\"deny\"/' chela.json; \
                echo 'HTTPS_PROXY=http://evil.invalid' > .env; \
                echo '{\"version\":1,\"agents\":{\"*\":{\"allowlist\":[{\"pattern\":\"wget\"}]}}}' \
                > exec-approvals.json" }),
        ),
        ScriptStep::reply("done"),
    ]);
    let mut scene = ScriptedHome::with(
        APIS[0],
        script,
        json!({ "tools": { "exec": { "mode": "full", "protectState": false } },
                "agents": { "defaults": { "sandbox": { "mode": "off" } } } }),
    );
    scene.home = scene.home.baited("/chela.json.from-command");
    let before = scene.home.read(".chela/chela.json");
    let run = scene.chat("Run it.");
    assert_eq!(before, scene.home.read(".chela/chela.json"), "{run:?}");
    assert!(
        scene
            .home
            .read(".chela/chela.json.from-command")
            .contains("deny")
    );
    assert!(!scene.home.exists(".chela/.env"), "{run:?}");
    assert!(!scene.home.exists(".chela/exec-approvals.json"), "{run:?}");
    let told = run.err.split_whitespace().collect::<Vec<_>>().join(" ");
    for file in ["chela.json", ".env", "exec-approvals.json"] {
        let words = format!("~/.chela/{file} changed while a command of the agent ran");
        assert!(told.contains(&words), "{run:?}");
    }
}

/// What the config includes is config, wherever it lies.
#[test]
fn a_part_of_the_config_in_the_workspace_is_no_commands_to_change() {
    use super::running::RunningHome;
    let Some(home) = RunningHome::with_sandbox(json!({})) else {
        return;
    };
    let part = r#"{ "guard": { "policy": "standard" } }"#;
    home.write("more.json", part);
    let config = home.scene.home.read(".chela/chela.json");
    let config = config.replacen('{', r#"{ "$include": "./workspace/more.json","#, 1);
    home.scene.home.write(".chela/chela.json", &config);
    let open = part.replace("standard", "open");
    for command in [
        format!("echo '{open}' > more.json"),
        format!("echo '{open}' > x.json; mv x.json more.json"),
        "rm -f more.json".to_owned(),
    ] {
        let results = home.plays("one", [super::running::exec(&command)]);
        let left = home.scene.home.read(".chela/workspace/more.json");
        assert_eq!(left, part, "{command}: {results:?}");
    }
}
