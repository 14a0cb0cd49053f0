//! What was allowed for good holds in an open chat until it is revoked, in whichever shell.

use chela_testkit::ScriptStep;

use super::at_the_card::{
    ASKED, ENTER, NEXT, PREVIOUS, asking_home, command, is_made, leave, open_and_say, press_all,
};

/// The id under which the list has the command.
fn listed_id(scene: &crate::scene::ScriptedHome) -> String {
    let list = scene.home.run(&["approvals", "list", "--json"]).json();
    let text = list.to_string();
    let document: serde_json::Value =
        serde_json::from_str(&scene.home.read(".chela/exec-approvals.json")).unwrap();
    let id = document["agents"]["main"]["allowlist"][0]["id"].as_str();
    let id = id.unwrap().to_owned();
    assert!(text.contains(&id), "{text}");
    id
}

#[test]
fn a_yes_for_good_that_is_revoked_in_another_shell_is_asked_again_in_the_open_chat() {
    let scene = asking_home([
        command("touch made"),
        ScriptStep::reply("First."),
        command("touch made"),
        ScriptStep::reply("Second."),
        command("touch made"),
        ScriptStep::reply("Third."),
    ]);
    let mut terminal = open_and_say(&scene, "go");
    terminal.sees(ASKED);
    press_all(&mut terminal, &[PREVIOUS, ENTER, NEXT, ENTER]);
    terminal.sees("First.");
    let made = scene.home.path(".chela/workspace/made");
    std::fs::remove_file(&made).unwrap();
    // It holds, without a question.
    terminal.types("again\r");
    terminal.sees("Second.");
    assert!(is_made(&scene, "made"));
    std::fs::remove_file(&made).unwrap();
    scene
        .home
        .run(&["approvals", "revoke", &listed_id(&scene)])
        .ok();
    terminal.types("once more\r");
    terminal.sees(ASKED);
    assert!(!is_made(&scene, "made"));
    press_all(&mut terminal, &[ENTER]);
    terminal.sees("Third.");
    assert!(!is_made(&scene, "made"));
    leave(terminal);
}
