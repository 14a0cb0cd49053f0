//! `chela undo`: what an agent did to files is seen and taken back.

use chela_testkit::{EndpointScript, ScriptStep};
use serde_json::json;

use crate::home::TestHome;
use crate::scene::ScriptedHome;

#[test]
fn with_nothing_done_there_is_nothing_to_take_back() {
    let home = TestHome::ready();
    assert_eq!(
        home.run(&["undo", "--list"]).ok(),
        "Nothing to undo: no file was changed by a file tool yet.\n"
    );
    let told = home.run(&["undo"]).fails(1);
    assert!(told.contains("nothing to undo"), "{told}");
    let told = home.run(&["undo", "3f2a4c"]).fails(1);
    assert!(told.contains("`chela undo --list` shows"), "{told}");
    home.run(&["undo", "--list", "--agent", "nobody"]).fails(1);
}

#[test]
fn a_turn_is_taken_back_refused_forced_and_brought_back() {
    let scene = ScriptedHome::new(EndpointScript::steps([
        ScriptStep::tool("write", json!({ "path": "a.md", "content": "one\ntwo\n" })),
        ScriptStep::tool("write", json!({ "path": "b.md", "content": "b\n" })),
        ScriptStep::reply("Done."),
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
    let scene = ScriptedHome::new(EndpointScript::steps([
        ScriptStep::tool("write", json!({ "path": "a.md", "content": "one\n" })),
        ScriptStep::reply("Done."),
    ]));
    scene.chat("write it").ok();
    let home = &scene.home;
    let told = home.run(&["undo", "--keep", "a.md"]).ok();
    assert_eq!(
        told,
        "a.md has nothing that was written with untrusted content in context.\n"
    );
    home.run(&["undo", "--keep", "nowhere.md"]).fails(1);
    home.run(&["undo", "--keep", "a.md", "--list"]).fails(2);

    let scene = ScriptedHome {
        home: scene.home.env("CHELA_SHELL", "exec"),
        endpoint: scene.endpoint,
    };
    for args in [
        &["undo"][..],
        &["undo", "--keep", "a.md"],
        &["undo", "--force"],
    ] {
        let told = scene.home.run(args).fails(1);
        assert!(told.contains("by the owner, not by an agent"), "{told}");
    }
    assert!(scene.home.exists(".chela/workspace/a.md"));
}

/// A backup, a restored profile, a new machine: the copy speaks of its own files.
#[test]
fn a_copied_home_takes_its_own_files_back_and_leaves_the_original_alone() {
    let outside = tempfile::tempdir().unwrap();
    let far = outside.path().canonicalize().unwrap().join("far.md");
    let scene = ScriptedHome::with(
        "openai-completions",
        EndpointScript::steps([
            ScriptStep::tool("write", json!({ "path": "a.md", "content": "one\n" })),
            ScriptStep::reply("Done."),
            ScriptStep::tool(
                "write",
                json!({ "path": far.to_str().unwrap(), "content": "far\n" }),
            ),
            ScriptStep::reply("Done."),
        ]),
        json!({ "tools": { "fs": { "workspaceOnly": false } } }),
    );
    let home = &scene.home;
    scene.chat("write it").ok();
    scene.chat("write it far away").ok();
    assert!(far.exists(), "{}", home.run(&["undo", "--list"]).ok());
    let copied = std::process::Command::new("cp")
        .arg("-a")
        .args([home.path(".chela"), home.path("copy")])
        .status()
        .unwrap();
    assert!(copied.success());
    let in_copy = |args: &[&str]| {
        let output = home
            .command()
            .env("CHELA_HOME", home.path("copy"))
            .args(args)
            .output()
            .unwrap();
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        (
            output.status.success(),
            text(&output.stdout) + &text(&output.stderr),
        )
    };

    // The file outside both homes was written by the original.
    let (done, told) = in_copy(&["undo"]);
    assert!(!done && told.contains("another home"), "{told}");
    assert!(told.contains("--force"), "{told}");
    assert!(far.exists());

    // The file in the workspace is the copy's own.
    let (done, told) = in_copy(&["undo", "1"]);
    assert!(done, "{told}");
    assert!(!home.exists("copy/workspace/a.md"));
    assert!(
        home.exists(".chela/workspace/a.md"),
        "the original was touched"
    );

    // Where it was made, it is taken back as ever; and the copy may be told to.
    home.run(&["undo", "1"]).ok();
    assert!(!home.exists(".chela/workspace/a.md"));
    let (done, told) = in_copy(&["undo", "--force"]);
    assert!(done, "{told}");
    assert!(!far.exists());
}

#[test]
fn when_everything_is_taken_back_that_is_said() {
    let scene = ScriptedHome::new(EndpointScript::steps([
        ScriptStep::tool("write", json!({ "path": "a.md", "content": "one\n" })),
        ScriptStep::reply("Done."),
    ]));
    let home = &scene.home;
    let told = home.run(&["undo"]).fails(1);
    assert!(told.contains("no file was changed"), "{told}");
    scene.chat("write it").ok();
    home.run(&["undo"]).ok();
    let told = home.run(&["undo"]).fails(1);
    assert!(
        told.contains("everything is already undone; `chela undo --list` shows it"),
        "{told}"
    );
}
