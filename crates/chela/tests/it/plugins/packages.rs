//! Packages: read in three forms, added, updated with a diff, taken away.

use std::process::Command;

use chela_testkit::ScriptStep;
use serde_json::json;

use super::{PluginHome, printed, says};
use crate::home::text;

#[test]
fn a_plugin_is_added_shown_granted_and_removed() {
    let home = PluginHome::new();
    let hooks =
        json!({ "before_prompt_build": says(json!({ "prependContext": "hello from kit" })) });
    let more = json!({ "grants": ["prompt:tail=60", "host:api.example.org"] });
    let told = home
        .add_with("kit", &hooks, &more, &["hook:before_prompt_build"])
        .ok();
    // What it asks for, what that means, and the worst of it.
    for words in [
        "host:api.example.org",
        "reach api.example.org",
        "worst:",
        "Not granted",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    home.say("Hello", [ScriptStep::reply("Hello.")]).ok();
    assert!(!home.sent().contains("hello from kit"));
    home.home()
        .run(&["plugins", "grant", "kit", "prompt:tail=60"])
        .ok();
    home.say("Hello", [ScriptStep::reply("Hello.")]).ok();
    assert!(home.sent().contains("hello from kit"), "{}", home.sent());
    let info = home
        .home()
        .run(&["plugins", "info", "kit", "--json"])
        .json();
    assert_eq!(
        info["grants"],
        json!(["hook:before_prompt_build", "prompt:tail=60"])
    );
    let test = home.home().run(&["plugins", "test", "kit"]).ok();
    assert!(test.contains("hello from kit"), "{test}");
    home.home().run(&["plugins", "revoke", "kit"]).ok();
    home.say("Hello again", [ScriptStep::reply("Hello.")]).ok();
    assert!(
        !home
            .sent()
            .rsplit("Hello again")
            .next()
            .unwrap()
            .contains("hello from kit")
    );
    let removed = home.home().run(&["plugins", "remove", "kit"]).ok();
    assert!(removed.contains("trash"), "{removed}");
    assert!(
        !home
            .home()
            .read(".chela/chela.json")
            .contains("prompt:tail")
    );
    let none = home.home().run(&["plugins", "list"]).ok();
    assert!(none.contains("No plugins are installed"), "{none}");
}

#[test]
fn what_cannot_be_added_says_why() {
    let home = PluginHome::new();
    home.home().write("empty/readme.md", "x");
    home.home().write("bad/plugin.json", "{ \"name\": \"x\" }");
    for (words, wanted, code) in [
        (vec!["plugins", "add", "empty"], "no plugin", 1),
        (vec!["plugins", "add", "bad"], "$schema", 1),
        (
            vec!["plugins", "add", "./gone"],
            "owner/repo or npm:NAME",
            1,
        ),
        (
            vec!["plugins", "grant", "gone", "conversation"],
            "there is no plugin",
            1,
        ),
        (
            vec!["plugins", "add", "empty", "--grant", "all"],
            "no grant",
            2,
        ),
    ] {
        let mut command = home.home().command();
        command.current_dir(home.home().path("")).args(&words);
        let output = command.output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(code), "{words:?}: {told}");
        assert!(told.contains(wanted), "{words:?}: {told}");
    }
    // Without a terminal nobody agreed.
    let folder = home.write(
        "kit",
        &json!({ "agent_end": says(json!(null)) }),
        &json!({}),
    );
    let told = home.home().run(&["plugins", "add", &folder]).fails(1);
    assert!(told.contains("--yes"), "{told}");
    assert!(!home.home().path(".chela/plugins/kit").exists());
}

#[test]
fn an_update_shows_the_difference_and_asks_for_what_is_new() {
    let home = PluginHome::new();
    let hooks = json!({ "before_prompt_build": says(json!({ "prependContext": "version one" })) });
    let grants = ["hook:before_prompt_build", "prompt:tail=60"];
    home.add("kit", &hooks, &grants).ok();
    let same = home.home().run(&["plugins", "update", "kit", "--yes"]).ok();
    assert!(same.contains("as it was"), "{same}");
    let hooks = json!({
        "before_prompt_build": says(json!({ "prependContext": "version two" })),
        "after_tool_call": says(json!({ "result": "mine" })),
    });
    home.write("kit", &hooks, &json!({}));
    let refused = home.home().run(&["plugins", "update", "kit"]).fails(1);
    assert!(refused.contains("nothing was changed"), "{refused}");
    let told = home.home().run(&["plugins", "update", "kit", "--yes"]).ok();
    for words in [
        "changed: script.json",
        "version two",
        "It wants more than before",
        "hook:after_tool_call",
    ] {
        assert!(told.contains(words), "{words}: {told}");
    }
    home.say(
        "Hello",
        [
            ScriptStep::tool("ls", json!({ "path": "." })),
            ScriptStep::reply("Hello."),
        ],
    )
    .ok();
    let sent = home.sent();
    assert!(
        sent.contains("version two") && !sent.contains("\"mine\""),
        "{sent}"
    );
}

#[test]
fn hooks_of_claude_code_are_read_and_a_two_is_a_no() {
    let home = PluginHome::new();
    home.home().write(
        "claude/.claude-plugin/plugin.json",
        &json!({ "name": "rails", "version": "2", "description": "Keeps off the rails" })
            .to_string(),
    );
    let check =
        "read line; case \"$line\" in *rails.txt*) echo 'off the rails' >&2; exit 2;; esac; exit 0";
    home.home().write(
        "claude/hooks/hooks.json",
        &json!({ "hooks": {
            "PreToolUse": [{ "matcher": "Write", "hooks": [{ "type": "command", "command": check }] }],
            "UserPromptSubmit": [{ "hooks": [{ "type": "command", "command": "echo from the old world" }] }],
            "Notification": [{ "hooks": [{ "type": "command", "command": "true" }] }],
        } }).to_string(),
    );
    let folder = home.home().path("claude");
    let told = home
        .home()
        .run(&[
            "plugins",
            "add",
            text(&folder),
            "--yes",
            "--grant-asked",
            "--grant",
            "prompt:tail=50",
        ])
        .ok();
    assert!(
        told.contains("Claude plugin") && told.contains("not used: hooks: Notification"),
        "{told}"
    );
    let write = |path: &str| ScriptStep::tool("write", json!({ "path": path, "content": "x" }));
    let run = home.say(
        "Write both.",
        [
            write("rails.txt"),
            write("fine.txt"),
            ScriptStep::reply("One of them."),
        ],
    );
    assert!(printed(&run).contains("off the rails"), "{}", printed(&run));
    assert!(!home.home().path(".chela/workspace/rails.txt").exists());
    assert!(
        home.sent().contains("from the old world"),
        "{}",
        home.sent()
    );
}

#[test]
fn archives_and_repositories_are_fetched_like_folders() {
    let home = PluginHome::new();
    let hooks = json!({ "agent_end": says(json!(null)) });
    let folder = home.write("kit", &hooks, &json!({}));
    let archive = home.home().path("kit.tgz");
    let tar = Command::new("tar")
        .args([
            "-czf",
            text(&archive),
            "-C",
            text(&home.home().path("kit")),
            "kit",
        ])
        .status()
        .unwrap();
    assert!(tar.success());
    home.home()
        .run(&["plugins", "add", text(&archive), "--yes"])
        .ok();
    home.home().run(&["plugins", "remove", "kit"]).ok();
    for words in [
        ["init", "-q"].as_slice(),
        &["add", "."],
        &[
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "commit",
            "-qm",
            "one",
        ],
    ] {
        let git = Command::new("git")
            .current_dir(&folder)
            .args(words)
            .status()
            .unwrap();
        assert!(git.success());
    }
    let address = format!("file://{folder}");
    home.home().run(&["plugins", "add", &address, "--yes"]).ok();
    let list = home.home().run(&["plugins", "list", "--json"]).json();
    assert!(
        list["plugins"][0]["from"]
            .as_str()
            .unwrap()
            .contains(" at "),
        "{list}"
    );
}

#[test]
fn skills_of_a_plugin_wait_for_their_owner_and_go_with_it() {
    let home = PluginHome::new();
    let folder = home.write(
        "kit",
        &json!({ "agent_end": says(json!(null)) }),
        &json!({}),
    );
    home.home().write(
        "kit/kit/skills/juggle/SKILL.md",
        "---\nname: juggle\ndescription: Juggles three balls. Use when asked to juggle.\n---\nThrow them.\n",
    );
    home.home().run(&["plugins", "add", &folder, "--yes"]).ok();
    home.say("Hello", [ScriptStep::reply("Hello.")]).ok();
    assert!(
        !home.sent().contains("Juggles three balls"),
        "{}",
        home.sent()
    );
    home.home()
        .run(&["skills", "trust", "juggle", "--yes"])
        .ok();
    let list = home.home().run(&["skills", "list", "--json"]).ok();
    assert!(list.contains("juggle"), "{list}");
    home.say("/new", []).ok();
    home.say("Hello", [ScriptStep::reply("Hello.")]).ok();
    assert!(
        home.sent().contains("Juggles three balls"),
        "{}",
        home.sent()
    );
    home.home().run(&["plugins", "disable", "kit"]).ok();
    home.say("/new", []).ok();
    home.say("Hello", [ScriptStep::reply("Hello.")]).ok();
    assert!(
        !home.sent().contains("Juggles three balls"),
        "{}",
        home.sent()
    );
}

#[test]
fn a_new_plugin_is_made_and_works() {
    let home = PluginHome::new();
    let folder = home.home().path("mine");
    home.home()
        .run(&["plugins", "new", "mine", "--folder", text(&folder)])
        .ok();
    let told = home
        .home()
        .run(&["plugins", "add", text(&folder), "--yes", "--grant-asked"])
        .ok();
    assert!(told.contains("runs a program"), "{told}");
    home.home().run(&["plugins", "new", "Bad Name"]).fails(2);
    home.home()
        .run(&["plugins", "new", "mine", "--folder", text(&folder)])
        .fails(1);
}
