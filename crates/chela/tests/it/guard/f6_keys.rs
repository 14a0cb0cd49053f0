//! Keystrokes that were meant for a message answer nothing.

use std::time::Duration;

use chela_testkit::ScriptStep;

use super::at_the_card::{
    ASKED, ENTER, NEXT, PREVIOUS, asking_home, command, is_made, leave, open_and_say, press,
    press_all,
};
use crate::chat::terminal::ChatTerminal;
use crate::scene::ScriptedHome;

fn scene() -> ScriptedHome {
    asking_home([command("touch made"), ScriptStep::reply("As you like.")])
}

fn is_nothing_allowed(scene: &ScriptedHome) -> bool {
    let list = scene.home.run(&["approvals", "list", "--json"]).json();
    let mut rows = list.as_array().unwrap().iter();
    // The question itself is listed while it is open.
    !is_made(scene, "made") && rows.all(|row| row["entry"].is_null() && row["call"].is_null())
}

#[test]
fn letters_go_to_the_line_and_are_a_message() {
    let scene = scene();
    let mut terminal = open_and_say(&scene, "go");
    terminal.sees(ASKED);
    for message in ["stop! do not do that", "actually no, abort", "y", "always"] {
        press(&mut terminal, message);
        terminal.sees("clear the line to answer here");
        terminal.types(ENTER);
        terminal.sees("it reads this before its next step");
    }
    assert!(is_nothing_allowed(&scene));
    // An Enter on an empty line meets what is harmless.
    press(&mut terminal, ENTER);
    terminal.sees("denied");
    leave(terminal);
    assert!(is_nothing_allowed(&scene));
}

#[test]
fn the_highlight_and_enter_are_an_answer() {
    let scene = scene();
    let mut terminal = open_and_say(&scene, "go");
    terminal.sees(ASKED);
    press_all(&mut terminal, &[NEXT, ENTER]);
    terminal.sees("allowed once");
    terminal.sees("As you like.");
    leave(terminal);
    assert!(is_made(&scene, "made"));
}

#[test]
fn keys_from_before_the_question_stood_there_count_for_nothing() {
    let scene = scene();
    let mut terminal = ChatTerminal::open(&scene.home, &[]);
    terminal.sees("lists commands");
    terminal.types("go\r\t\r\t\r\u{1b}[C\r\r");
    terminal.sees(ASKED);
    // Pasted where the terminal does not say that it was: two keys at once.
    press(&mut terminal, "\t\r");
    // And where it does.
    press(&mut terminal, "\u{1b}[200~\t\n\u{1b}[C\ny\n\u{1b}[201~");
    terminal.sees("clear the line to answer here");
    std::thread::sleep(Duration::from_millis(300));
    assert!(is_nothing_allowed(&scene));
    leave(terminal);
    assert!(is_nothing_allowed(&scene));
}

#[test]
fn an_answer_can_be_typed_with_the_id() {
    let scene = scene();
    let mut terminal = open_and_say(&scene, "go");
    let id = terminal.reads_after("question ", 6);
    press(&mut terminal, &format!("/approve {id} once\r"));
    terminal.sees("allowed once");
    leave(terminal);
    assert!(is_made(&scene, "made"));
}

#[test]
fn a_yes_for_good_is_asked_twice() {
    let scene = scene();
    let mut terminal = open_and_say(&scene, "go");
    terminal.sees(ASKED);
    press_all(&mut terminal, &[PREVIOUS, ENTER]);
    terminal.sees("confirm");
    terminal.sees("From now on agent main runs");
    // The same key again goes back.
    press(&mut terminal, ENTER);
    terminal.sees("this session");
    assert!(is_nothing_allowed(&scene));
    press_all(&mut terminal, &[PREVIOUS, ENTER, NEXT, ENTER]);
    terminal.sees("always allowed");
    terminal.sees("As you like.");
    leave(terminal);
    let list = scene.home.run(&["approvals", "list"]).ok();
    assert!(list.contains("touch"), "{list}");
}

/// What was allowed with an option is allowed without it, where the card says so.
#[test]
fn a_yes_for_a_beginning_covers_every_end() {
    let scene = asking_home([
        command("git status --short"),
        ScriptStep::reply("One."),
        command("git status"),
        ScriptStep::reply("Two."),
        command("git log -1"),
        ScriptStep::reply("Three."),
    ]);
    let mut terminal = open_and_say(&scene, "go");
    terminal.sees("always `git status …`");
    press_all(&mut terminal, &[PREVIOUS, ENTER]);
    terminal.sees("From now on agent main runs `git status …`");
    press_all(&mut terminal, &[NEXT, ENTER]);
    terminal.sees("One.");
    let before = terminal.passed().matches(ASKED).count();
    terminal.types("again\r");
    terminal.sees("Two.");
    assert_eq!(terminal.passed().matches(ASKED).count(), before);
    terminal.types("and this\r");
    terminal.sees(ASKED);
    terminal.sees("git log -1");
    leave(terminal);
    let list = scene.home.run(&["approvals", "list"]).ok();
    assert!(list.contains("git status …"), "{list}");
}

#[test]
fn the_next_line_of_a_paste_answers_nothing_on_a_plain_line() {
    let mut scene = scene();
    scene.home = scene.home.through(&["env", "TERM=dumb"]);
    let mut terminal = ChatTerminal::open(&scene.home, &[]);
    terminal.sees("> ");
    terminal.types("go\ny\nyes\nalways\na\n");
    let id = terminal.reads_after("Answer ", 6);
    terminal.sees(", or no: ");
    for line in ["y\n", "yes\n", "always\n", "once\n", "allow it, please\n"] {
        terminal.types(line);
        terminal.sees("Not an answer to this question.");
        terminal.sees(", or no: ");
    }
    assert!(is_nothing_allowed(&scene));
    terminal.types(&format!("{id} always\n"));
    terminal.sees("From now on agent main runs");
    terminal.sees(", or no: ");
    terminal.types("yes\n");
    terminal.sees("Not an answer to this question.");
    assert!(is_nothing_allowed(&scene));
    terminal.types("no\n");
    terminal.sees("As you like.");
    terminal.sees("> ");
    terminal.types("\u{4}");
    assert!(terminal.ends().success());
    assert!(is_nothing_allowed(&scene));
}
