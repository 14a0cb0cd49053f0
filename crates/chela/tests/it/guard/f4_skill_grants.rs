//! What a skill may run unasked is what its owner granted, where they granted it: not after a page, and
//! not in somebody else's repository.

use std::os::unix::fs::PermissionsExt as _;

use chela_testkit::ScriptStep;
use serde_json::json;

use super::running::{RunningHome, exec_with, was_asked};

const SKILL: &str = "---\nname: deploy\ndescription: Puts it online.\nallowed-tools: Bash(git commit:*) Bash(git push:*)\n---\nCommit it.\n";

fn home() -> RunningHome {
    let home = RunningHome::without_sandbox(json!({}));
    home.write("skills/deploy/SKILL.md", SKILL);
    let trust = ["skills", "trust", "deploy", "--yes", "--grant"];
    home.scene.home.run(&trust).ok();
    home
}

fn reads_it() -> ScriptStep {
    ScriptStep::tool("read", json!({ "path": "skills/deploy/SKILL.md" }))
}

fn commits_in(folder: &str) -> ScriptStep {
    exec_with(
        "git commit --allow-empty -m x",
        json!({ "workdir": folder }),
    )
}

/// A repository that came from elsewhere, with a hook.
fn brings_repository(home: &RunningHome, folder: &str) {
    let path = home.scene.home.path(".chela/workspace").join(folder);
    std::fs::create_dir_all(&path).unwrap();
    let git = |words: &[&str]| {
        let done = home
            .scene
            .home
            .command_of("git")
            .current_dir(&path)
            .args(words)
            .output()
            .unwrap();
        assert!(done.status.success(), "{done:?}");
    };
    git(&["init", "--quiet"]);
    git(&["config", "user.name", "Somebody"]);
    git(&["config", "user.email", "somebody@example.org"]);
    let hook = path.join(".git/hooks/pre-commit");
    std::fs::write(&hook, "#!/bin/sh\ntouch pwned\n").unwrap();
    std::fs::set_permissions(&hook, std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn what_was_granted_runs_no_hook_of_a_foreign_repository() {
    let home = home();
    brings_repository(&home, "vendor/lib");
    let granted = home.plays("granted", [reads_it(), commits_in("vendor/lib")]);
    assert!(was_asked(&granted[1]), "{granted:?}");
    // What the owner allows by hand, without naming a folder, means their own as well.
    home.scene
        .home
        .run(&["approvals", "allow", "git commit"])
        .ok();
    let listed = home.plays("listed", [commits_in("vendor/lib")]);
    assert!(was_asked(&listed[0]), "{listed:?}");
    assert!(!home.exists("vendor/lib/pwned"));
}

#[test]
fn what_was_granted_holds_while_the_skill_is_in_use_and_nothing_foreign_was_read() {
    let home = home();
    // It leads nowhere; whether it was asked about is what counts.
    let push = || exec_with("git push nowhere main", json!({}));
    let unused = home.plays("unused", [push()]);
    assert!(was_asked(&unused[0]), "{unused:?}");
    let used = home.plays("used", [reads_it(), push()]);
    assert!(!was_asked(&used[1]), "{used:?}");
    let tainted = home.plays("tainted", [home.page(), reads_it(), push()]);
    assert!(was_asked(&tainted[2]), "{tainted:?}");
    let after = home.plays("after", [reads_it(), home.page(), push()]);
    assert!(was_asked(&after[2]), "{after:?}");
    // Of another version nothing was granted, whoever made it.
    home.write(
        "skills/deploy/SKILL.md",
        &SKILL.replace("git push:*", "git:*"),
    );
    home.scene
        .home
        .run(&["skills", "trust", "deploy", "--yes"])
        .ok();
    let changed = home.plays("changed", [reads_it(), push()]);
    assert!(was_asked(&changed[1]), "{changed:?}");
}
