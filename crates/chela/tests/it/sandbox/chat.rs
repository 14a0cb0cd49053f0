//! The whole way: a model asks for a command, and it runs inside.

use chela_testkit::{EndpointScript, ScriptStep, StepRule};
use serde_json::{Value, json};

use super::{BACKENDS, SECRET, is_here, with_bwrap};
use crate::scene::{APIS, ScriptedHome, after_tool};

/// The answer of a model that calls one tool and repeats what it got.
fn told(settings: &Value, more: &Value, tool: &str, arguments: Value) -> String {
    let script = EndpointScript::steps([
        ScriptStep::tool(tool, arguments),
        after_tool(ScriptStep::reply("It says: {{tool}}")),
    ]);
    let mut config = json!({
        "agents": { "defaults": { "sandbox": settings } },
        "tools": { "exec": { "mode": "full" } },
    });
    super::merge(&mut config, more);
    let mut scene = ScriptedHome::with(APIS[0], script, config);
    scene.home = with_bwrap(scene.home);
    scene.home.write(".ssh/id_ed25519", SECRET);
    scene
        .home
        .write(".chela/workspace/notes.md", "notes of the agent");
    let told = scene.chat_json("please");
    told["reply"].as_str().unwrap().to_owned()
}

/// A step for this call of the model.
fn nth(call: u64, step: ScriptStep) -> ScriptStep {
    step.when(StepRule {
        nth: Some(call),
        ..StepRule::default()
    })
}

fn backends() -> impl Iterator<Item = &'static str> {
    BACKENDS
        .into_iter()
        .filter(|backend| is_here(backend).is_some())
}

#[test]
fn a_command_of_the_model_runs_inside() {
    for backend in backends() {
        let settings = json!({ "mode": "all", "backend": backend, "workspaceAccess": "rw" });
        let command = "cat ~/.ssh/id_ed25519 ../../.ssh/id_ed25519; cat notes.md; \
                       cat ../chela.json; echo; echo $HOME";
        let reply = told(&settings, &json!({}), "exec", json!({ "command": command }));
        assert!(reply.contains("notes of the agent"), "{backend}: {reply}");
        assert!(
            reply.contains("sandboxes/agent-main/home"),
            "{backend}: {reply}"
        );
        assert!(
            !reply.contains(SECRET) && !reply.contains("apiKey"),
            "{backend}: {reply}"
        );
    }
}

#[test]
fn a_terminal_and_the_background_work_inside() {
    for backend in backends() {
        let settings = json!({ "mode": "all", "backend": backend, "workspaceAccess": "rw" });
        let terminal =
            json!({ "command": "test -t 0 && echo a terminal; cat notes.md", "pty": true });
        let reply = told(&settings, &json!({}), "exec", terminal);
        assert!(reply.contains("a terminal"), "{backend}: {reply}");
        assert!(reply.contains("notes of the agent"), "{backend}: {reply}");
        let outside = json!({ "command": "pwd", "workdir": "/etc" });
        let reply = told(&settings, &json!({}), "exec", outside);
        assert!(
            reply.contains("not inside the sandbox"),
            "{backend}: {reply}"
        );
    }
}

#[test]
fn file_tools_follow_workspace_access() {
    for backend in backends().take(1) {
        let settings =
            |access: &str| json!({ "mode": "all", "backend": backend, "workspaceAccess": access });
        // Nothing but what is granted, even where the rest of the disk is open otherwise.
        let open = json!({ "tools": { "fs": { "workspaceOnly": false } } });
        for access in ["rw", "ro", "none"] {
            let home = json!({ "path": "~/.ssh/id_ed25519" });
            let reply = told(&settings(access), &open, "read", home);
            assert!(!reply.contains(SECRET), "{access}: {reply}");
        }
        let write = json!({ "path": "~/.chela/workspace/notes.md", "content": "changed" });
        let written = told(&settings("rw"), &json!({}), "write", write.clone());
        assert!(
            !written.contains("only be read") && !written.contains("outside"),
            "{written}"
        );
        let refused = told(&settings("ro"), &json!({}), "write", write.clone());
        assert!(refused.contains("read"), "{refused}");
        let read = json!({ "path": "~/.chela/workspace/notes.md" });
        let shown = told(&settings("ro"), &json!({}), "read", read.clone());
        assert!(shown.contains("notes of the agent"), "{shown}");
        for (tool, arguments) in [("write", write), ("read", read)] {
            let hidden = told(&settings("none"), &json!({}), tool, arguments);
            assert!(!hidden.contains("notes of the agent"), "{tool}: {hidden}");
            assert!(
                hidden.contains("outside") || hidden.contains("closed"),
                "{tool}: {hidden}"
            );
        }
    }
}

#[test]
fn a_sandboxed_session_starts_nobody_outside() {
    for backend in backends().take(1) {
        let settings = json!({ "mode": "all", "backend": backend });
        let more = json!({ "agents": {
            "defaults": { "subagents": { "allowAgents": ["*"] } },
            "list": [{ "id": "main" }, { "id": "free", "sandbox": { "mode": "off" } }],
        } });
        let spawn = json!({ "task": "look around", "agentId": "free" });
        let reply = told(&settings, &more, "sessions_spawn", spawn);
        assert!(
            reply.contains("is not sandboxed and this session is"),
            "{reply}"
        );
    }
}

#[test]
fn without_a_backend_exec_is_refused() {
    for (backend, why) in [
        (
            "docker",
            "`docker` is not supported; use `bwrap` or `landlock`",
        ),
        (
            "podman",
            "`podman` is not supported; use `bwrap` or `landlock`",
        ),
    ] {
        let settings = json!({ "mode": "all", "backend": backend });
        let reply = told(
            &settings,
            &json!({}),
            "exec",
            json!({ "command": "echo ran" }),
        );
        assert!(reply.contains("exec is refused"), "{reply}");
        assert!(reply.contains(why), "{reply}");
        assert!(!reply.contains("\nran"), "{reply}");
    }
}

#[test]
fn w24_a_default_of_full_does_not_leave_the_sandbox() {
    for backend in backends() {
        let settings = json!({ "mode": "all", "backend": backend, "workspaceAccess": "rw" });
        let leave = json!({ "command": "cat ~/.ssh/id_ed25519", "elevated": true });
        for (elevated, leaves) in [
            (json!({}), false),
            (json!({ "enabled": false }), false),
            // Switched on, and the owner asks at the terminal.
            (json!({ "enabled": true }), true),
        ] {
            let more = json!({
                "agents": { "defaults": { "elevatedDefault": "full" } },
                "tools": { "elevated": elevated },
            });
            let reply = told(&settings, &more, "exec", leave.clone());
            assert_eq!(
                reply.contains(SECRET),
                leaves,
                "{backend} {elevated}: {reply}"
            );
        }
    }
}

#[test]
fn w24_foreign_text_in_the_conversation_closes_the_way_out() {
    for backend in backends().take(1) {
        let script = EndpointScript::steps([
            // Output of a fetcher is foreign.
            nth(
                1,
                ScriptStep::tool("exec", json!({ "command": "echo see curl; true" })),
            ),
            nth(
                2,
                ScriptStep::tool(
                    "exec",
                    json!({ "command": "cat ~/.ssh/id_ed25519", "elevated": true }),
                ),
            ),
            nth(3, ScriptStep::reply("It says: {{tool}}")),
        ]);
        let more = json!({
            "agents": { "defaults": {
                "elevatedDefault": "full",
                "sandbox": { "mode": "all", "backend": backend, "workspaceAccess": "rw" },
            } },
            "tools": { "elevated": { "enabled": true }, "exec": { "mode": "full" } },
        });
        let mut scene = ScriptedHome::with(APIS[0], script, more);
        scene.home = with_bwrap(scene.home);
        scene.home.write(".ssh/id_ed25519", SECRET);
        let told = scene.chat_json("please");
        let reply = told["reply"].as_str().unwrap();
        assert!(!reply.contains(SECRET), "{reply}");
        // The guard may have said no before the sandbox had to.
        let refused = ["text from elsewhere", "Not done"].map(|words| reply.contains(words));
        assert!(refused.contains(&true), "{reply}");
    }
}
