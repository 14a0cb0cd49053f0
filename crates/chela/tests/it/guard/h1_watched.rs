//! Files that programs run by themselves, written by commands that nobody was asked about: there is
//! no way around the watch.

use chela_testkit::ScriptStep;
use serde_json::json;

use super::running::{RunningHome, exec, exec_with, was_asked, write};

fn home() -> RunningHome {
    RunningHome::without_sandbox(json!({ "tools": { "exec": { "mode": "full" } } }))
}

/// Ways to leave one behind, and where it would be.
const WAYS: &[(&str, &str)] = &[
    ("echo evil > .envrc", ".envrc"),
    ("sh vendor/x.sh", ".envrc"),
    (
        "mkdir -p node_modules/a; echo evil > node_modules/a/.envrc",
        "node_modules/a/.envrc",
    ),
    (
        "mkdir -p target/.vscode; echo evil > target/.vscode/tasks.json",
        "target/.vscode/tasks.json",
    ),
    (
        "mkdir -p .venv/lib; echo 'import evil' > .venv/lib/a.pth",
        ".venv/lib/a.pth",
    ),
    (
        "git init -q new; echo evil > new/.git/hooks/post-checkout",
        "new/.git/hooks/post-checkout",
    ),
    (
        "mkdir -p new/.git; cd new/.git; echo x > HEAD; printf '[core]\\n\\tfsmonitor = evil\\n' > config",
        "new/.git/config",
    ),
    (
        "mkdir bare; cd bare; echo x > HEAD; printf '[core]\\n\\tfsmonitor = evil\\n' > config",
        "bare/config",
    ),
    ("mkdir new; echo 'gitdir: ../bare' > new/.git", "new/.git"),
    (
        "mkdir x; echo evil > x/tasks.json; ln -s x .vscode",
        ".vscode",
    ),
    ("echo evil > linked/tasks.json", "linked/tasks.json"),
    ("echo evil > env.sh", "no-such-file"),
];

#[test]
fn no_way_leads_around_the_watch() {
    for (command, left) in WAYS {
        for tainted in [false, true] {
            let home = home();
            home.write("vendor/x.sh", "echo evil > .envrc\n");
            // Links that were there before.
            let work = home.scene.home.path(".chela/workspace");
            std::fs::create_dir(work.join("linked")).unwrap();
            std::os::unix::fs::symlink("linked", work.join(".zed")).unwrap();
            home.write("env.sh", "mine");
            std::fs::create_dir(work.join("sub")).unwrap();
            std::os::unix::fs::symlink("../env.sh", work.join("sub/.envrc")).unwrap();
            let page = tainted.then(|| home.page());
            let steps = page.into_iter().chain([exec(command)]);
            let results = home.plays("one", steps);
            let told = results.last().unwrap();
            if was_asked(told) {
                continue;
            }
            assert!(told.contains("moved aside"), "{command}: {told}");
            assert!(!home.exists(left), "{command}: {told}");
        }
    }
}

#[test]
fn what_goes_on_in_the_background_is_no_different() {
    let home = home();
    let command =
        "sleep 0.3; echo evil > .envrc; mkdir .vscode; echo evil > .vscode/tasks.json; touch done";
    let start = exec_with(command, json!({ "background": true }));
    home.plays(
        "one",
        [start, exec("while [ ! -e done ]; do sleep 0.1; done")],
    );
    assert!(home.exists("done"));
    assert!(!home.exists(".envrc") && !home.exists(".vscode/tasks.json"));
    assert!(home.exists(".envrc.held"));

    // It goes on when the conversation has ended.
    let home = self::home();
    let start = exec_with(
        "echo evil > .envrc; sleep 600",
        json!({ "background": true }),
    );
    home.plays(
        "one",
        [
            start,
            ScriptStep::tool("process", json!({ "action": "list" })),
        ],
    );
    assert!(!home.exists(".envrc"));
}

/// A link leads anywhere; what lies there was written by nobody, and stays what and where it is.
#[test]
fn a_link_out_of_the_workspace_moves_nothing_of_the_owners() {
    let home = home();
    let owners = home.scene.home.path("me");
    for file in [
        ".vimrc",
        ".gitconfig",
        ".config/git/config",
        ".local/bin/tool",
    ] {
        home.scene.home.write(&format!("me/{file}"), "the owner's");
    }
    let link = |name: &str, to: &str| format!("ln -s '{}{to}' {name}", owners.display());
    let steps = [
        exec(&link("x", "")),
        exec(&link(".config", "/.config")),
        exec(&link(".local", "/.local")),
    ];
    for told in home.plays("one", steps) {
        assert!(
            !told.contains("the owner's") && !told.contains("me/.vimrc"),
            "{told}"
        );
    }
    for file in [
        ".vimrc",
        ".gitconfig",
        ".config/git/config",
        ".local/bin/tool",
    ] {
        assert_eq!(home.scene.home.read(&format!("me/{file}")), "the owner's");
    }
}

/// A command that was broken off has written what it has written.
#[test]
fn what_a_stopped_command_wrote_is_set_aside() {
    let config = json!({ "tools": { "exec": { "mode": "full" } },
        "agents": { "defaults": { "timeoutSeconds": 2 } } });
    let home = RunningHome::without_sandbox(config);
    let command = "echo evil > .envrc; sleep 60";
    let step = exec_with(command, json!({ "yieldMs": 60_000 }));
    home.scene
        .endpoint
        .play(chela_testkit::EndpointScript::steps([
            step,
            ScriptStep::reply("done"),
        ]));
    home.scene.chat("look");
    assert!(home.exists(".envrc.held"));
    assert!(!home.exists(".envrc"));
}

/// By the name of a link a file tool writes the same file.
#[test]
fn a_file_tool_does_not_get_around_by_a_link() {
    let home = home();
    let work = home.scene.home.path(".chela/workspace");
    std::fs::create_dir(work.join("linked")).unwrap();
    std::os::unix::fs::symlink("linked", work.join(".vscode")).unwrap();
    for file in [".vscode/tasks.json", "linked/tasks.json"] {
        let results = home.plays("one", [write(file, "evil")]);
        assert!(was_asked(&results[0]), "{file}: {results:?}");
        assert!(!home.exists(file), "{file}");
    }
}

/// Everyday work is not disturbed.
#[test]
fn a_plain_repository_and_a_build_file_stay() {
    let home = home();
    let results = home.plays(
        "one",
        [
            exec("git init -q new"),
            exec("echo 'all:' > Makefile"),
            exec("mkdir -p node_modules/a; echo '{}' > node_modules/a/package.json"),
        ],
    );
    assert!(
        results.iter().all(|result| !result.contains("moved aside")),
        "{results:?}"
    );
    for file in ["new/.git/config", "Makefile", "node_modules/a/package.json"] {
        assert!(home.exists(file), "{file}");
    }
}
