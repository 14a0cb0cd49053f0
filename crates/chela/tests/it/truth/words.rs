//! Sentences that were right and that nobody says, as people read them now.

use chela_testkit::ScriptStep;
use serde_json::json;

use super::{always, answering};
use crate::chat::terminal::ChatTerminal;
use crate::home::TestHome;
use crate::scene::{APIS, ScriptedHome, after_tool};

#[test]
fn a_conversation_that_goes_on_says_so_at_a_terminal() {
    let scene = answering(json!({}));
    scene.chat("hello").ok();
    let mut terminal = ChatTerminal::open(&scene.home, &[]);
    terminal.sees("continuing your last conversation; /new starts fresh");
    terminal.types("\u{4}");
    assert!(terminal.ends().success());
}

#[test]
fn the_chat_says_it_in_the_words_of_the_field() {
    let scene = answering(json!({}));
    let help = scene.chat("/help").ok();
    assert!(
        help.contains("stop asking because of untrusted content read so far"),
        "{help}"
    );
    let short = scene.chat("/compact");
    let told = format!("{}{}", short.out, short.err);
    assert!(told.contains("too short to compact"), "{told}");
    let linking = ScriptedHome::without_canary(
        APIS[0],
        always("See https://elsewhere.example/x?y=1 for more."),
        json!({}),
    );
    // Text from outside may have asked for it.
    let ask = ["-m", "where is it?"];
    let told = linking.home.run_with_input(&ask, "A page of somebody.\n");
    assert!(
        told.err
            .contains("1 link disabled: you did not mention its host"),
        "{told:?}"
    );
}

#[test]
fn commands_say_it_in_the_words_of_the_field() {
    let home = TestHome::empty();
    let says = |words: &[&str], what: &str| {
        let told = home.run(words);
        let told = format!("{} {}", told.out, told.err);
        let told = told.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(told.contains(what), "{words:?}: {told}");
    };
    says(&["init"], "Created your agent's files");
    says(&["status"], "not created yet; using defaults");
    says(&["context", "lint"], "No problems found.");
    says(&["chat", "--help"], "2 usage error");
    says(
        &["skills", "--help"],
        "Watch for added, changed or removed skills",
    );
    says(&["trust", "revoke", "SOUL.md"], "is no longer trusted");
}

#[test]
fn what_was_undone_can_be_redone_and_nothing_is_left_to_prune() {
    let scene = ScriptedHome::without_canary(
        APIS[0],
        chela_testkit::EndpointScript {
            otherwise: Some(after_tool(ScriptStep::reply("Done."))),
            ..chela_testkit::EndpointScript::steps([ScriptStep::tool(
                "write",
                json!({ "path": "list.md", "content": "milk\n" }),
            )])
        },
        json!({}),
    );
    scene.chat("write a list").ok();
    let told = scene.home.run(&["undo"]).ok();
    assert!(
        told.contains("Undone. Run `chela undo 2` to redo."),
        "{told}"
    );
    let told = scene.home.run(&["turn", "prune"]).ok();
    assert!(
        told.contains("Nothing to prune (") && told.contains("bytes stored)."),
        "{told}"
    );
}
