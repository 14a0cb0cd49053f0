//! Going back to an earlier conversation, and beginning one that carries nothing along.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

use crate::chat::terminal::ChatTerminal;
use crate::scene::ScriptedHome;
use chela_testkit::{EndpointScript, ScriptStep};

fn counting() -> ScriptedHome {
    ScriptedHome::new(EndpointScript::always(ScriptStep::reply(
        "{{messages}} messages, call 0800-INVENTED",
    )))
}

/// The id of the conversation that goes on in the main session.
fn current(scene: &ScriptedHome) -> String {
    let told = scene.home.run(&["sessions", "list", "--json"]).json();
    told["sessions"][0]["sessionId"]
        .as_str()
        .unwrap()
        .to_owned()
}

#[test]
fn a_conversation_that_ended_goes_on_by_id_and_by_words() {
    let scene = counting();
    scene.chat("plan the trip to lisbon").ok();
    let trip = current(&scene);
    scene.chat("/new").ok();
    let fresh = scene.chat("something else entirely").ok();
    assert_ne!(current(&scene), trip);
    let again = scene
        .home
        .run(&["resume", &trip[..8], "-m", "and the hotel?"]);
    assert_ne!(again.ok(), fresh, "it knows what was said before");
    assert_eq!(current(&scene), trip);
    // The one in its place has ended, and comes back by what was written in it.
    scene
        .home
        .run(&["resume", "something", "entirely", "-m", "back here"])
        .ok();
    assert_ne!(current(&scene), trip);
    // What is used last goes on, whichever that is.
    scene.home.run(&["chat", "-s", &trip, "-m", "third"]).ok();
    scene
        .home
        .run(&["chat", "--new-session", "notes", "-m", "milk"])
        .ok();
    let told = scene
        .home
        .run(&["chat", "--continue", "-m", "eggs", "--json"])
        .json();
    assert_eq!(told["session"], "agent:main:notes");
}

#[test]
fn a_conversation_nobody_began_is_an_error_and_never_a_new_one() {
    let scene = counting();
    scene.chat("plan the trip").ok();
    let id = current(&scene);
    let before = scene.home.run(&["sessions", "list", "--all"]).ok();
    let mistyped = format!("{}x", &id[..id.len() - 1]);
    for args in [
        vec!["chat", "-s", mistyped.as_str(), "-m", "hi"],
        vec!["chat", "-s", "notes", "-m", "hi"],
        vec!["resume", "zebra", "-m", "hi"],
    ] {
        let told = scene.home.run(&args).fails(1);
        assert!(told.contains("there is no conversation"), "{told}");
    }
    let near = scene
        .home
        .run(&["chat", "-s", &mistyped, "-m", "hi"])
        .fails(1);
    assert!(near.contains(&format!("did you mean `{id}`")), "{near}");
    let new = scene
        .home
        .run(&["chat", "-s", "notes", "-m", "hi"])
        .fails(1);
    assert!(new.contains("--new-session notes"), "{new}");
    assert!(new.contains("plan the trip"), "the newest are named: {new}");
    assert_eq!(scene.home.run(&["sessions", "list", "--all"]).ok(), before);
    let told = scene.home.run(&["resume", "-m", "hi"]).fails(2);
    assert!(told.contains("which conversation"), "{told}");
}

#[test]
fn a_name_is_given_once() {
    let scene = counting();
    scene
        .home
        .run(&["chat", "--new-session", "notes", "-m", "milk"])
        .ok();
    let told = scene
        .home
        .run(&["chat", "--new-session", "notes", "-m", "milk"])
        .fails(2);
    assert!(told.contains("already"), "{told}");
    scene.home.run(&["chat", "-s", "notes", "-m", "eggs"]).ok();
}

#[test]
fn a_new_conversation_carries_nothing_along() {
    let scene = counting();
    scene.chat("who sells paint in sagres?").ok();
    let told = scene.chat("/new").ok();
    assert!(told.contains("memory/"), "the note is named: {told}");
    scene.chat("hello").ok();
    let request = scene.endpoint.calls().pop().unwrap().body;
    assert!(!request.contains("paint"), "{request}");
    assert!(!request.contains("0800-INVENTED"), "{request}");
    let found = scene
        .home
        .run(&["memory", "search", "who sells paint in sagres", "--json"])
        .ok();
    assert!(found.contains("who sells paint"), "{found}");
    let found = scene
        .home
        .run(&["memory", "search", "0800-INVENTED call", "--json"])
        .json();
    for result in found["results"].as_array().into_iter().flatten() {
        let text = result["text"].as_str().unwrap();
        // Conversations are searched, too, and say who said it.
        let is_conversation = result["path"].as_str().unwrap().starts_with("sessions/");
        assert!(
            !text.contains("call 0800") || is_conversation && text.contains("Assistant: "),
            "what the model said is no note: {result}"
        );
    }
}

#[test]
fn a_conversation_is_picked_with_the_arrow_keys() {
    let scene = counting();
    scene.chat("plan the trip").ok();
    scene.chat("/new").ok();
    scene.chat("fix the bike").ok();
    let mut terminal = ChatTerminal::open(&scene.home, &[]);
    terminal.sees("continuing your last conversation");
    terminal.types("/resume\r");
    terminal.sees("Resume a conversation");
    terminal.sees("fix the bike");
    terminal.sees("plan the trip");
    terminal.types("\u{1b}[B");
    terminal.sees("last: plan the trip");
    terminal.types("\r");
    terminal.sees("continuing your last conversation");
    terminal.sees("plan the trip");
    terminal.sees("2 messages, call");
    terminal.types("what now\r");
    terminal.sees("4 messages, call");
    terminal.types("\u{4}");
    assert!(terminal.ends().success());
    let shown = scene.home.run(&["sessions", "show", "main"]).ok();
    assert!(
        shown.contains("plan the trip") && shown.contains("what now"),
        "{shown}"
    );
}

#[test]
fn esc_leaves_the_list_and_typing_narrows_it() {
    let scene = counting();
    scene.chat("plan the trip").ok();
    scene.chat("/new").ok();
    scene.chat("fix the bike").ok();
    let mut terminal = ChatTerminal::open(&scene.home, &[]);
    terminal.sees("continuing");
    terminal.types("/resume\r");
    terminal.sees("Esc to cancel");
    terminal.types("trip");
    terminal.sees("last: plan the trip");
    terminal.types("\u{1b}");
    terminal.sees("› ");
    terminal.types("/resume zebra\r");
    terminal.sees("there is no conversation");
    terminal.types("\u{4}");
    assert!(terminal.ends().success());
}

#[test]
fn words_from_the_middle_lead_back_and_piped_text_is_shown_as_it_was_piped() {
    let scene = counting();
    let review = ["review this"];
    let piped = "fn umbrella() {}\n```\n";
    scene.home.run_with_input(&review, piped).ok();
    let first = current(&scene);
    scene.chat("and the gramophone?").ok();
    scene.chat("thanks").ok();
    scene.chat("/new").ok();
    scene.chat("something else entirely").ok();
    for words in [
        &["gramophone"][..],
        &["UMBRELLA"],
        &["gramophone", "umbrella"],
    ] {
        scene.chat("/new").ok();
        scene.chat("another one").ok();
        scene
            .home
            .run(&[&["resume"], words, &["-m", "go on"]].concat())
            .ok();
        assert_eq!(current(&scene), first, "{words:?}");
    }
    let told = scene
        .home
        .run(&["resume", "gramophone", "zebra", "-m", "x"])
        .fails(1);
    assert!(told.contains("there is no conversation"), "{told}");
    assert!(
        told.contains("review this") && !told.contains("UNTRUSTED"),
        "the title is what was typed: {told}"
    );
    scene
        .home
        .run(&["sessions", "export", &first, "-o", "talk.md"])
        .ok();
    for read in [
        scene.home.read("talk.md"),
        scene.home.run(&["sessions", "show", &first]).ok(),
        scene.home.run(&["sessions", "show"]).ok(),
    ] {
        assert!(
            read.contains("review this\n\n````\nfn umbrella() {}\n```\n````"),
            "{read}"
        );
        assert!(!read.contains("UNTRUSTED"), "{read}");
    }
}
