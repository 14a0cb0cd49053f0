//! Whose doing it is what a command wrote: decided by what it could run and read, not by what it
//! printed or which names stood in it.

use chela_testkit::{EndpointScript, ScriptStep};
use serde_json::json;

use super::provenance::{ORDER, plant};
use super::running::exec;
use crate::scene::{APIS, ScriptedHome};

/// A home whose model makes these calls, in a session that has read nothing.
fn home(steps: impl IntoIterator<Item = ScriptStep>) -> ScriptedHome {
    let config = json!({ "tools": { "exec": { "mode": "full" } } });
    let steps = steps.into_iter().chain([ScriptStep::reply("done")]);
    ScriptedHome::without_canary(APIS[0], EndpointScript::steps(steps), config)
}

fn state(scene: &ScriptedHome, file: &str) -> String {
    let status = scene.home.run(&["trust", "status", "--json"]).json();
    let rows = status["files"].as_array().unwrap().clone();
    let row = rows.iter().find(|row| row["file"] == file);
    row.map_or("absent".to_owned(), |row| {
        row["state"].as_str().unwrap().to_owned()
    })
}

/// The next session reads nothing of what was planted.
fn is_not_believed(scene: &ScriptedHome, way: &str) {
    let prompt = scene.home.run(&["prompt"]).ok();
    assert!(!prompt.contains("evil.invalid"), "{way}");
    let files = [".chela/workspace/AGENTS.md", ".chela/workspace/USER.md"];
    let written = files
        .iter()
        .any(|file| scene.home.read(file).contains(ORDER));
    assert!(written, "{way}: the script has run");
}

/// Every way to run a script of somebody else's that prints nothing.
#[test]
fn a_silent_script_of_others_writes_nothing_the_agent_believes() {
    for way in [
        "sh vendor/lib/build.sh AGENTS.md USER.md",
        "sh vendor/lib/build.sh",
        "bash vendor/lib/build.sh",
        "vendor/lib/run",
        "env sh vendor/lib/build.sh",
        "find vendor/lib -name build.sh -exec sh {} AGENTS.md USER.md ';'",
        ". ./vendor/lib/build.sh",
        "echo AGENTS.md USER.md; sh vendor/lib/build.sh > /dev/null 2>&1",
        "cat vendor/lib/build.sh | sh",
        "xargs sh < vendor/lib/list",
        "sh -c 'sh vendor/lib/build.sh AGENTS.md'",
        "PATH=vendor/lib:$PATH run",
        "make -s -C vendor/lib WORK=../.. AGENTS.md",
        "make -s -f own.mk",
        "python3 vendor/lib/x.py AGENTS.md",
        "python3 own.py AGENTS.md",
        "tar xf vendor/lib/all.tar",
        "cp vendor/lib/AGENTS.md AGENTS.md",
        "sed -i '1r vendor/lib/AGENTS.md' AGENTS.md",
        "cat vendor/lib/AGENTS.md >> AGENTS.md",
        "git checkout -q -b other",
    ] {
        let scene = home([
            ScriptStep::tool(
                "write",
                json!({ "path": "own.mk", "content": "include vendor/lib/rules.mk\n" }),
            ),
            ScriptStep::tool(
                "write",
                json!({ "path": "own.py", "content": "import sys\nsys.path.insert(0, 'vendor/lib')\nimport helper\n" }),
            ),
            exec(way),
        ]);
        plant_library(&scene);
        scene.chat("Build the library.").ok();
        is_not_believed(&scene, way);
    }
}

/// A clone whose every file writes into the agent's own.
fn plant_library(scene: &ScriptedHome) {
    let script = format!("printf '%s\\n' '{ORDER}' >> AGENTS.md\n");
    plant(scene, "vendor/lib/build.sh", &script);
    plant(scene, "vendor/lib/run", &format!("#!/bin/sh\n{script}"));
    plant(scene, "vendor/lib/list", "vendor/lib/build.sh\n");
    plant(
        scene,
        "vendor/lib/Makefile",
        &format!(".PHONY: AGENTS.md\nAGENTS.md:\n\t@echo '{ORDER}' >> $(WORK)/AGENTS.md\n"),
    );
    plant(
        scene,
        "vendor/lib/rules.mk",
        &format!("all:\n\t@echo '{ORDER}' >> AGENTS.md\n"),
    );
    let python = format!("open('AGENTS.md', 'a').write('{ORDER}')\n");
    plant(scene, "vendor/lib/x.py", &python);
    plant(scene, "vendor/lib/helper.py", &python);
    plant(scene, "vendor/lib/AGENTS.md", &format!("{ORDER}\n"));
    let work = scene.home.path(".chela/workspace");
    let run = |program: &str, arguments: &[&str]| {
        let done = std::process::Command::new(program)
            .args(arguments)
            .current_dir(&work)
            .output();
        assert!(done.as_ref().unwrap().status.success(), "{done:?}");
    };
    run("chmod", &["+x", "vendor/lib/run"]);
    run(
        "tar",
        &["cf", "vendor/lib/all.tar", "-C", "vendor/lib", "AGENTS.md"],
    );
    run("git", &["init", "-q"]);
    let as_ann = ["-c", "user.name=ann", "-c", "user.email=ann@example.com"];
    let begin = ["commit", "-q", "--allow-empty", "-m", "begin"];
    run("git", &[&as_ann[..], &begin[..]].concat());
    plant(
        scene,
        ".git/hooks/post-checkout",
        &format!("#!/bin/sh\n{script}"),
    );
    run("chmod", &["+x", ".git/hooks/post-checkout"]);
}

/// Notes and skills, too.
#[test]
fn neither_a_note_nor_a_skill_nor_the_clock_is_won_over() {
    let scene = home([exec(
        "sh vendor/lib/all.sh HEARTBEAT.md memory/note.md greet",
    )]);
    plant(
        &scene,
        "vendor/lib/all.sh",
        &format!(
            "mkdir -p memory skills/greet\n\
             echo '{ORDER}' > HEARTBEAT.md\n\
             echo '{ORDER}' > memory/note.md\n\
             printf -- '---\\nname: greet\\ndescription: Greets.\\n---\\n%s\\n' '{ORDER}' > skills/greet/SKILL.md\n"
        ),
    );
    scene.chat("Build the library.").ok();
    assert!(scene.home.exists(".chela/workspace/skills/greet/SKILL.md"));
    assert_eq!(state(&scene, "HEARTBEAT.md"), "held");
    assert_eq!(state(&scene, "memory/note.md"), "held");
    let prompt = scene.home.run(&["prompt"]).ok();
    assert!(!prompt.contains("<name>greet</name>"), "{prompt}");
}

/// Everyday work on own files stays the agent's own, beside a clone and without a sandbox.
#[test]
fn what_the_agent_typed_itself_is_its_own() {
    let note = (
        "write",
        json!({ "path": "memory/note.md", "content": "- tea\n" }),
    );
    let steps = [ScriptStep::tool(note.0, note.1)].into_iter().chain(
        [
            "echo '- likes coffee' >> memory/note.md",
            "sed -i 's/coffee/cocoa/' memory/note.md",
            "mv memory/note.md memory/drinks.md",
            "echo '- Name: Ann' >> USER.md",
            "sh -c \"printf -- '- cake' > memory/food.md\"",
            "cat >> memory/long.md <<'EOF'\n- costs $5\nEOF",
        ]
        .map(exec),
    );
    let scene = home(steps);
    plant(&scene, "vendor/lib/README.md", ORDER);
    scene.chat("Note what I like.").ok();
    for file in [
        "memory/drinks.md",
        "memory/food.md",
        "memory/long.md",
        "USER.md",
    ] {
        assert_eq!(state(&scene, file), "trusted", "{file}");
    }
    let kept = scene.home.read(".chela/workspace/memory/drinks.md");
    assert_eq!(kept, "- tea\n- likes cocoa\n");
    let prompt = scene.home.run(&["prompt"]).ok();
    assert!(prompt.contains("Name: Ann"), "{prompt}");
}

/// One line added to a foreign file does not make the rest the agent's own.
#[test]
fn adding_to_a_file_answers_for_nothing_in_it() {
    for way in [
        "echo x >> vendor/README.md",
        "touch vendor/README.md",
        "sed -i '1d' vendor/README.md",
        "mv vendor/README.md vendor/OTHER.md",
        "echo x | tee -a vendor/README.md",
    ] {
        let scene = home([exec(way)]);
        plant(&scene, "vendor/README.md", &format!("first\n{ORDER}\n"));
        scene.chat("Tidy up.").ok();
        let left = ["README.md", "OTHER.md"]
            .iter()
            .map(|name| format!(".chela/workspace/vendor/{name}"))
            .find(|file| scene.home.exists(file))
            .unwrap();
        let path = left.strip_prefix(".chela/workspace/").unwrap().to_owned();
        let read = [
            ScriptStep::tool("read", json!({ "path": path })),
            ScriptStep::tool("web_fetch", json!({ "url": super::provenance::HOSTILE })),
            ScriptStep::reply("done"),
        ];
        scene.endpoint.play(EndpointScript::steps(read));
        let args = ["chat", "--session", "agent:main:two", "-m", "and now?"];
        scene.home.run(&args).answered();
        super::provenance::is_refused(&scene, way);
    }
}

/// A script that goes on in the background is no different.
#[test]
fn what_a_background_script_wrote_waits() {
    let later = "sh vendor/later.sh";
    let scene = home([
        ScriptStep::tool("exec", json!({ "command": later, "background": true })),
        exec("sh -c 'while [ ! -e done ]; do sleep 0.1; done'"),
    ]);
    let script = "sleep 0.3; echo evil.invalid >> AGENTS.md; touch done\n";
    plant(&scene, "vendor/later.sh", script);
    scene.chat("Start it, AGENTS.md is yours.").ok();
    assert_eq!(state(&scene, "AGENTS.md"), "held");
    let prompt = scene.home.run(&["prompt"]).ok();
    assert!(!prompt.contains("evil.invalid"));
}
