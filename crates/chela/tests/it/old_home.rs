//! A home that an earlier version wrote: it opens, replays, verifies and goes on.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

use std::path::Path;

use chela_testkit::{EndpointScript, ScriptStep};

use crate::home::TestHome;
use crate::scene::ScriptedHome;

/// Ten requests: a hello, a file written and read, a long message, a compaction, an undo.
const REQUESTS: usize = 10;

fn lay_out(home: &TestHome) {
    let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/home-v0");
    for part in [
        "agents/main/sessions.sqlite",
        "agents/main/journal.sqlite",
        "state/ledger.sqlite",
        "state/ledger.head",
        "state/ledger.kept",
        "state/trust.json",
    ] {
        let place = home.path(".chela").join(part);
        std::fs::create_dir_all(place.parent().unwrap()).unwrap();
        std::fs::copy(fixture.join(part), place).unwrap();
    }
}

#[test]
fn what_an_earlier_version_kept_is_read_replayed_and_verified() {
    let home = TestHome::ready();
    lay_out(&home);
    let verdict = home.run(&["audit", "verify", "--json"]).json();
    assert_eq!(verdict["entries"], 29, "{verdict}");
    assert_eq!(verdict["requests"], REQUESTS);
    for request in 1..=REQUESTS {
        let told = home.run(&["turn", "replay", &request.to_string()]).ok();
        assert!(told.contains("matches what was sent"), "{told}");
    }
    let sessions = home.run(&["sessions", "list"]).ok();
    assert!(sessions.contains("agent:main:main"), "{sessions}");
    let changes = home.run(&["undo", "--list"]).ok();
    assert!(changes.contains("notes.md"), "{changes}");
    home.run(&["turn", "diff", "7", "9"]).ok();
}

#[test]
fn a_conversation_of_an_earlier_version_goes_on() {
    let scene = ScriptedHome::new(EndpointScript::steps([ScriptStep::reply("I remember.")]));
    lay_out(&scene.home);
    scene.chat("do you remember?").ok();
    let sent = scene.endpoint.requests().pop().unwrap().body;
    assert!(sent.contains("after the compaction"), "{sent}");
    let home = &scene.home;
    let verdict = home.run(&["audit", "verify", "--json"]).json();
    assert_eq!(verdict["requests"], REQUESTS + 1, "{verdict}");
    for request in 1..=REQUESTS + 1 {
        home.run(&["turn", "replay", &request.to_string()]).ok();
    }
}

#[test]
fn a_ledger_that_is_gone_is_found_missing() {
    let home = TestHome::ready();
    let none = home.run(&["audit", "verify"]).ok();
    assert!(none.starts_with("Nothing is recorded yet"), "{none}");
    lay_out(&home);
    std::fs::remove_file(home.path(".chela/state/ledger.sqlite")).unwrap();
    let run = home.run(&["audit", "verify"]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.out.contains("entries 1 to 29 are missing"), "{run:?}");
    let run = home.run(&["audit", "verify", "--json"]);
    assert_eq!(run.code, 1, "{run:?}");
    let verdict: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!(verdict["damage"][0]["what"], "missing", "{verdict}");
}

#[test]
fn a_ledger_that_cannot_be_opened_is_told_and_may_be_required() {
    let scene = ScriptedHome::new(EndpointScript::always(ScriptStep::reply("Hello.")));
    let home = &scene.home;
    home.write(
        ".chela/state/ledger.sqlite",
        &"no database at all\n".repeat(99),
    );
    let run = scene.chat("hi");
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.err.contains("This request was not recorded"), "{run:?}");
    assert!(run.err.contains("ledger.sqlite"), "{run:?}");
    let asked = scene.endpoint.requests().len();
    home.run(&["config", "set", "ledger.required", "true"]).ok();
    let run = scene.chat("hi");
    assert!(
        run.err.contains("ledger.required") || run.out.contains("ledger.required"),
        "{run:?}"
    );
    assert_eq!(scene.endpoint.requests().len(), asked);
}
