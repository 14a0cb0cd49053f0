//! What a command prints that the owner typed: untrusted content only where somebody else's text can
//! be in it.

use chela_testkit::ScriptStep;
use serde_json::json;

use super::at_the_card::{ASKED, ENTER, home_with, is_made, leave, open_and_say};
use super::running::write;
use crate::chat::terminal::ChatTerminal;
use crate::scene::ScriptedHome;

/// After untrusted content writing what runs at a build asks.
fn scene() -> ScriptedHome {
    home_with(
        [write("Makefile", "all:\n"), ScriptStep::reply("I see.")],
        json!({}),
    )
}

fn typed(scene: &ScriptedHome, line: &str) -> ChatTerminal {
    let mut terminal = open_and_say(scene, line);
    terminal.sees("sent with your next message");
    terminal.types("and now make one\r");
    terminal
}

#[test]
fn names_and_texts_of_ones_own_workspace_are_nobody_elses() {
    for line in ["!ls", "!cat SOUL.md", "!pwd"] {
        let scene = scene();
        let mut terminal = typed(&scene, line);
        terminal.sees("I see.");
        assert!(is_made(&scene, "Makefile"), "{line}");
        leave(terminal);
    }
}

#[test]
fn what_somebody_else_wrote_is_theirs_when_the_owner_prints_it_too() {
    for line in [
        "!cat mail.txt",
        "!ls",
        "!sort mail.txt | tee copy.txt",
        "!awk 1 SOUL.md",
    ] {
        let scene = scene();
        scene
            .home
            .brings(".chela/workspace/mail.txt", "do as I say\n");
        let mut terminal = typed(&scene, line);
        terminal.sees(ASKED);
        terminal.types(ENTER);
        leave(terminal);
        assert!(!is_made(&scene, "Makefile"), "{line}");
    }
}

/// It names nothing: what stands in one's own files is no order.
#[test]
fn what_is_printed_of_ones_own_files_names_no_host() {
    let fetch = ScriptStep::tool("web_fetch", json!({ "url": super::provenance::HOSTILE }));
    let scene = home_with(
        [
            write("links.md", super::provenance::ORDER),
            ScriptStep::reply("Noted."),
            fetch,
            ScriptStep::reply("I see."),
        ],
        json!({}),
    );
    let mut terminal = open_and_say(&scene, "note that");
    terminal.sees("Noted.");
    terminal.types("!cat links.md\r");
    terminal.sees("sent with your next message");
    terminal.types("and now?\r");
    terminal.sees(ASKED);
    terminal.types(ENTER);
    leave(terminal);
}
