//! `chela undo`: what an agent did to files is seen and taken back.

use chela_testkit::{Script, Step};
use serde_json::json;

use crate::home::Home;
use crate::scene::Scene;

#[test]
fn with_nothing_done_there_is_nothing_to_take_back() {
    let home = Home::ready();
    assert_eq!(
        home.run(&["undo", "--list"]).ok(),
        "Nothing can be taken back: no file was changed by a file tool yet.\n"
    );
    let told = home.run(&["undo"]).fails(1);
    assert!(told.contains("there is nothing to take back"), "{told}");
    let told = home.run(&["undo", "3f2a4c"]).fails(1);
    assert!(told.contains("`chela undo --list` shows"), "{told}");
    home.run(&["undo", "--list", "--agent", "nobody"]).fails(1);
}

#[test]
fn a_turn_is_taken_back_refused_forced_and_brought_back() {
    let scene = Scene::new(Script::steps([
        Step::tool("write", json!({ "path": "a.md", "content": "one\ntwo\n" })),
        Step::tool("write", json!({ "path": "b.md", "content": "b\n" })),
        Step::reply("Done."),
    ]));
    let home = &scene.home;
    home.write(".chela/workspace/a.md", "one\n");
    scene.chat("write them").ok();

    let list = home.run(&["undo", "--list", "--json"]).json();
    assert_eq!(list["changes"][1]["what"], "1 line added at line 2");
    assert_eq!(list["changes"][0]["what"], "created (1 line)");
    let shown = home.run(&["undo", "--list"]).ok();
    assert!(
        shown.contains("a.md") && shown.contains("agent:main:main"),
        "{shown}"
    );

    let plan = home.run(&["undo", "--dry-run"]).ok();
    assert!(plan.contains("  b.md: deleted (1 line)\n"), "{plan}");
    assert!(home.exists(".chela/workspace/b.md"));

    home.write(".chela/workspace/a.md", "mine\n");
    let told = home.run(&["undo"]).fails(1);
    assert!(
        told.contains("a.md was changed by someone else since"),
        "{told}"
    );
    assert!(told.contains("--force"), "{told}");
    assert!(home.exists(".chela/workspace/b.md"));

    let done = home.run(&["undo", "--force"]).ok();
    assert!(done.contains("  a.md: line 1 changed\n"), "{done}");
    assert_eq!(home.read(".chela/workspace/a.md"), "one\n");
    assert!(!home.exists(".chela/workspace/b.md"));
    let again = done
        .split("`chela undo ")
        .nth(1)
        .and_then(|rest| rest.split('`').next())
        .unwrap();
    home.run(&["undo", again]).ok();
    assert_eq!(home.read(".chela/workspace/a.md"), "mine\n");
    assert_eq!(home.read(".chela/workspace/b.md"), "b\n");

    let audit = home
        .run(&["audit", "show", "--kind", "undo", "--json"])
        .json();
    assert_eq!(audit.as_array().unwrap().len(), 2);
}

#[test]
fn the_owner_stands_for_a_file_and_an_agents_command_cannot() {
    let scene = Scene::new(Script::steps([
        Step::tool("write", json!({ "path": "a.md", "content": "one\n" })),
        Step::reply("Done."),
    ]));
    scene.chat("write it").ok();
    let home = &scene.home;
    let told = home.run(&["undo", "--keep", "a.md"]).ok();
    assert_eq!(
        told,
        "a.md holds nothing that was written after reading text from outside.\n"
    );
    home.run(&["undo", "--keep", "nowhere.md"]).fails(1);
    home.run(&["undo", "--keep", "a.md", "--list"]).fails(2);

    let scene = Scene {
        home: scene.home.env("CHELA_SHELL", "exec"),
        endpoint: scene.endpoint,
    };
    for args in [
        &["undo"][..],
        &["undo", "--keep", "a.md"],
        &["undo", "--force"],
    ] {
        let told = scene.home.run(args).fails(1);
        assert!(told.contains("by the owner"), "{told}");
    }
    assert!(scene.home.exists(".chela/workspace/a.md"));
}
