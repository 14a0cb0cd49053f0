//! Several times no is heard, and what is refused can be had by its owner.

use chela_testkit::ScriptStep;
use serde_json::json;

use super::at_the_card::{
    ASKED, ENTER, asking_home, command, home_with, is_made, leave, open_and_say, press,
};

#[test]
fn after_three_times_no_a_clean_session_asks_nothing_until_the_owner_writes() {
    let calls = (1..=12).map(|n| command(&format!("touch made{n}")));
    let scene = asking_home(
        calls
            .chain([ScriptStep::reply("I give up.")])
            .chain([command("touch made13"), ScriptStep::reply("Asked again.")]),
    );
    let mut terminal = open_and_say(&scene, "go");
    for n in 1..=3 {
        terminal.sees(ASKED);
        terminal.sees(&format!("touch made{n}"));
        press(&mut terminal, ENTER);
        terminal.sees("denied");
    }
    terminal.sees("Not asked again, because you denied it");
    terminal.sees("I give up.");
    let before = terminal.plain();
    assert!(!before.contains("command: touch made4"), "{before}");
    press(&mut terminal, "go on\r");
    terminal.sees(ASKED);
    terminal.sees("touch made13");
    press(&mut terminal, ENTER);
    terminal.sees("Asked again.");
    leave(terminal);
    assert!((1..=13).all(|n| !is_made(&scene, &format!("made{n}"))));
}

/// What the model was told after its last call.
fn told(scene: &crate::scene::ScriptedHome) -> String {
    let calls = scene.endpoint.calls();
    let last = calls.last().map(|call| call.json().to_string());
    last.unwrap_or_default()
}

#[test]
fn a_command_that_is_not_listed_can_be_had_as_the_refusal_says() {
    let scene = home_with(
        [
            command("touch made"),
            ScriptStep::reply("No."),
            command("touch made"),
            ScriptStep::reply("No."),
            command("touch made"),
            ScriptStep::reply("Yes."),
        ],
        json!({ "tools": { "exec": { "mode": "allowlist" } } }),
    );
    scene.chat("go").answered();
    assert!(told(&scene).contains("chela config set tools.exec.mode ask"));
    scene
        .home
        .run(&["config", "set", "tools.exec.mode", "ask"])
        .ok();
    scene.chat("go").answered();
    assert!(told(&scene).contains("chela approvals allow PROGRAM"));
    assert!(!is_made(&scene, "made"));
    scene.home.run(&["approvals", "allow", "touch"]).ok();
    scene.chat("go").answered();
    assert!(is_made(&scene, "made"), "{}", told(&scene));
}

#[test]
fn what_nobody_could_answer_waits_as_the_refusal_says() {
    let write = || {
        ScriptStep::tool(
            "write",
            json!({ "path": "HEARTBEAT.md", "content": "Every day.\n" }),
        )
    };
    let scene = home_with(
        [
            write(),
            ScriptStep::reply("No."),
            write(),
            ScriptStep::reply("It waits."),
            write(),
            ScriptStep::reply("Done."),
        ],
        json!({ "guard": { "confirm": ["persona"] } }),
    );
    let before = scene.home.read(".chela/workspace/HEARTBEAT.md");
    scene.chat("go").answered();
    let refused = told(&scene);
    assert!(refused.contains("nobody answered"), "{refused}");
    assert!(
        refused.contains("chela config set guard.approvals.headless queue"),
        "{refused}"
    );
    scene
        .home
        .run(&["config", "set", "guard.approvals.headless", "queue"])
        .ok();
    scene.chat("go").answered();
    let list = scene.home.run(&["approvals", "list", "--json"]).json();
    let list = list.to_string();
    let id = list.split("\"id\":\"").nth(1).map(|rest| &rest[..8]);
    assert!(id.is_some(), "{list}");
    scene
        .home
        .run(&["approvals", "allow", id.unwrap_or_default()])
        .ok();
    scene.chat("go").answered();
    let after = scene.home.read(".chela/workspace/HEARTBEAT.md");
    assert_ne!(before, after, "{}", told(&scene));
}
