//! Links: their own text, where they lead, and where they lead from another place.

use std::os::unix::fs::symlink;

use serde_json::json;

use super::provenance::ORDER;
use super::running::{RunningHome, exec, was_asked};

/// Commands run on the machine itself, unasked.
fn home() -> RunningHome {
    RunningHome::without_sandbox(json!({ "tools": { "exec": { "mode": "full" } } }))
}

#[test]
fn the_text_of_a_link_is_somebody_elses() {
    for way in [
        "ls -l clone/NOTES",
        "stat clone/NOTES",
        "ls -l clone/lead",
        "ls -l clone",
    ] {
        let home = home();
        home.write("clone/a.md", "x");
        let clone = home.scene.home.path(".chela/workspace/clone");
        symlink(ORDER.replace('/', "|"), clone.join("NOTES")).unwrap();
        symlink("../AGENTS.md", clone.join("lead")).unwrap();
        assert!(home.is_tainted_by("one", [exec(way)]), "{way}");
        assert!(!home.is_tainted_by("two", [exec("ls -l AGENTS.md")]));
    }
}

#[test]
fn a_link_that_is_moved_leads_elsewhere() {
    let way = "mv clone/deep/l clone/deep/x/l && cat clone/deep/x/l";
    let home = home();
    home.write("clone/AGENTS.md", ORDER);
    home.write("clone/deep/x/a.md", "x");
    let deep = home.scene.home.path(".chela/workspace/clone/deep");
    symlink("../../AGENTS.md", deep.join("l")).unwrap();
    assert!(home.is_tainted_by("one", [exec(way)]));
}

/// What only looks needs nobody's yes in the workspace; a link out of it does.
#[test]
fn looking_does_not_follow_a_link_out_of_the_folder_unasked() {
    let home = RunningHome::without_sandbox(json!({}));
    home.scene.home.write("private/diary.md", "my diary");
    let work = home.scene.home.path(".chela/workspace");
    symlink(
        home.scene.home.path("private/diary.md"),
        work.join("link.md"),
    )
    .unwrap();
    symlink(home.scene.home.path("private"), work.join("out")).unwrap();
    for way in [
        "cat link.md",
        "head -n 3 link.md",
        "wc -l link.md",
        "cat out/diary.md",
        "grep -r diary out/",
        "grep -R diary .",
        "ls out/",
    ] {
        let results = home.plays("one", [exec(way)]);
        let told = results.last().unwrap();
        assert!(was_asked(told) || !told.contains("diary"), "{way}: {told}");
    }
}

/// Where nothing is asked, what came through a link counts as somebody else's.
#[test]
fn text_behind_a_link_out_of_the_folder_is_somebody_elses() {
    for way in ["cat link.md", "head -n 3 link.md", "ls -l out"] {
        let home = home();
        home.scene.home.brings("elsewhere/mail.md", ORDER);
        let work = home.scene.home.path(".chela/workspace");
        symlink(
            home.scene.home.path("elsewhere/mail.md"),
            work.join("link.md"),
        )
        .unwrap();
        symlink(home.scene.home.path("elsewhere"), work.join("out")).unwrap();
        assert!(home.is_tainted_by("one", [exec(way)]), "{way}");
    }
}
