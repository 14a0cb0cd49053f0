//! What turns text around or commands a terminal is spelled out wherever it is printed.

use chela_testkit::{EndpointScript, ScriptStep};

use crate::scene::ScriptedHome;

const TURNED: &str = "see evil\u{202e}gnp.exe and \u{9b}2J\u{85} and \u{2066}x";

fn acts(text: &str) -> bool {
    text.contains(['\u{202e}', '\u{9b}', '\u{85}', '\u{2066}'])
}

#[test]
fn nothing_printed_turns_text_around_or_commands_the_terminal() {
    let scene = ScriptedHome::new(EndpointScript::always(ScriptStep::reply(TURNED)));
    let json = scene.home.run(&["chat", "-m", TURNED, "--json"]).ok();
    assert!(!acts(&json), "{json:?}");
    for args in [
        &["sessions", "show", "agent:main:main"][..],
        &["sessions", "show", "agent:main:main", "--json"][..],
        &["sessions", "export", "agent:main:main"][..],
        &["sessions", "list"][..],
        &["sessions", "list", "--json"][..],
        &["turn", "list"][..],
        &["turn", "list", "--json"][..],
        &["audit", "show"][..],
        &["audit", "show", "--json"][..],
    ] {
        let printed = scene.home.run(args).ok();
        assert!(!acts(&printed), "{args:?}: {printed:?}");
    }
    let shown = scene
        .home
        .run(&["sessions", "show", "agent:main:main"])
        .ok();
    assert!(shown.contains("\\u{202e}gnp.exe"), "{shown}");
    let exported = serde_json::to_string(&scene.exported()).unwrap_or_default();
    assert!(
        exported.contains('\u{202e}'),
        "a program reads what was said"
    );
}
