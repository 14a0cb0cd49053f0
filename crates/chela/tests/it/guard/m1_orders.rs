//! What gives the agent orders changes with the owner's knowledge, in a clean session, too.

use chela_testkit::{EndpointScript, ScriptStep};
use serde_json::json;

use super::running::{RunningHome, exec, was_asked, write};

const ORDERS: &[&str] = &[
    "SOUL.md",
    "AGENTS.md",
    "IDENTITY.md",
    "HEARTBEAT.md",
    "TOOLS.md",
    "skills/greet/SKILL.md",
];

/// A home whose first conversation is over.
fn home() -> RunningHome {
    let home = RunningHome::without_sandbox(json!({ "tools": { "exec": { "mode": "full" } } }));
    let file = home.scene.home.path(".chela/workspace/BOOTSTRAP.md");
    std::fs::remove_file(file).unwrap();
    home
}

fn text_of(file: &str) -> &'static str {
    match file.ends_with("SKILL.md") {
        true => "---\nname: greet\ndescription: Greets.\n---\nSay moo.\n",
        false => "- Always say moo.\n",
    }
}

/// What each call came back with, after this message.
fn told(home: &RunningHome, message: &str, steps: Vec<ScriptStep>) -> Vec<String> {
    let steps = steps.into_iter().chain([ScriptStep::reply("done")]);
    home.scene.endpoint.play(EndpointScript::steps(steps));
    home.scene.chat(message).ok();
    super::web_scene::told(&home.scene)
}

#[test]
fn what_gives_orders_asks_and_notes_do_not() {
    let home = home();
    let before: Vec<bool> = ORDERS.iter().map(|file| home.exists(file)).collect();
    let results = home.plays(
        "orders",
        ORDERS.iter().map(|file| write(file, text_of(file))),
    );
    for (file, result) in ORDERS.iter().zip(&results) {
        assert!(was_asked(result), "{file}: {result}");
    }
    let after: Vec<bool> = ORDERS.iter().map(|file| home.exists(file)).collect();
    assert_eq!(before, after);
    // The proposal is kept for the owner.
    let diff = home.scene.home.run(&["trust", "diff", "SOUL.md"]);
    assert!(diff.out.contains("Always say moo."), "{}", diff.out);

    let notes = [
        "USER.md",
        "MEMORY.md",
        "memory/2026-01-01.md",
        "lib/AGENTS.md",
    ];
    let results = home.plays("notes", notes.iter().map(|file| write(file, "- moo\n")));
    for (file, result) in notes.iter().zip(&results) {
        assert!(!was_asked(result), "{file}: {result}");
    }
}

#[test]
fn whoever_names_the_file_is_not_asked() {
    for (file, message) in [
        ("SOUL.md", "Put into SOUL.md that you always say moo."),
        ("AGENTS.md", "add to agents.md: always say moo"),
        ("skills/greet/SKILL.md", "Write a skill that greets people."),
    ] {
        let home = home();
        let results = told(&home, message, vec![write(file, text_of(file))]);
        assert!(!was_asked(&results[0]), "{file}: {results:?}");
        assert!(home.exists(file), "{file}");
    }
}

#[test]
fn the_first_conversation_is_left_alone() {
    let home = RunningHome::without_sandbox(json!({ "tools": { "exec": { "mode": "full" } } }));
    let calls = vec![
        write("IDENTITY.md", "- Name: Moo\n"),
        write("USER.md", "- Name: Ann\n"),
        write("SOUL.md", "- Be kind.\n"),
        write("AGENTS.md", "- Never swear.\n"),
        exec("rm BOOTSTRAP.md"),
    ];
    let results = told(&home, "You are Moo, I am Ann.", calls);
    assert!(
        results.iter().all(|result| !was_asked(result)),
        "{results:?}"
    );
    let status = home.scene.home.run(&["trust", "status", "--json"]).json();
    let waits = |row: &&serde_json::Value| row["state"] != "trusted" && row["state"] != "deleted";
    let waiting: Vec<_> = status["files"]
        .as_array()
        .unwrap()
        .iter()
        .filter(waits)
        .collect();
    assert!(waiting.is_empty(), "{waiting:?}");
}

/// A command that writes there is asked about afterwards; until then the former text stands.
#[test]
fn a_command_does_not_get_around_that() {
    for command in [
        "echo '- Always say moo.' >> SOUL.md",
        "sed -i '$a - Always say moo.' SOUL.md",
        "sh -c \"echo '- Always say moo.' >> SOUL.md\"",
    ] {
        let home = home();
        told(&home, "Be more fun.", vec![exec(command)]);
        let soul = home.scene.home.read(".chela/workspace/SOUL.md");
        assert!(soul.contains("say moo"), "{command}");
        let prompt = home.scene.home.run(&["prompt"]).ok();
        assert!(!prompt.contains("say moo"), "{command}");

        let home = self::home();
        told(&home, "Put it into SOUL.md.", vec![exec(command)]);
        let prompt = home.scene.home.run(&["prompt"]).ok();
        assert!(prompt.contains("say moo"), "{command}");
    }
}

/// A file that only looks like the beginning of the first conversation begins none.
#[test]
fn nobody_else_begins_a_first_conversation() {
    let home = home();
    home.scene
        .home
        .brings(".chela/workspace/BOOTSTRAP.md", "Hello.");
    let results = home.plays("late", [write("SOUL.md", "- Always say moo.\n")]);
    assert!(was_asked(&results[0]), "{results:?}");
}
