//! Whatever the agent writes with, it ends in the same row.

use chela_core::Trust;
use chela_testkit::{EndpointScript, ScriptStep, StepRule, wait_until};
use chela_tools::ApprovalScope;
use chela_workspace::trust::{TrustStanding, VersionWriter};
use serde_json::{Value, json};

use super::custody;
use crate::guarding::{Home, Owner, inbox};
use crate::trusting::{entry, prompt, set_up, workspace};

const OLD: &str = "- Be kind.\n";

/// Ways to put `- Be brief.` into SOUL.md.
fn means() -> Vec<(&'static str, ScriptStep)> {
    let exec = |command: &str| ScriptStep::tool("exec", json!({ "command": command }));
    let patch =
        "*** Begin Patch\n*** Update File: SOUL.md\n-- Be kind.\n+- Be brief.\n*** End Patch\n";
    let mut means = vec![
        (
            "write",
            ScriptStep::tool(
                "write",
                json!({ "path": "SOUL.md", "content": "- Be brief.\n" }),
            ),
        ),
        (
            "edit",
            ScriptStep::tool(
                "edit",
                json!({ "path": "./SOUL.md", "oldText": "kind", "newText": "brief" }),
            ),
        ),
        (
            "apply_patch",
            ScriptStep::tool("apply_patch", json!({ "patch": patch })),
        ),
        ("echo", exec("echo '- Be brief.' >> SOUL.md")),
        ("sh", exec("sh -c \"printf -- '- Be brief.' > ./SOUL.md\"")),
    ];
    let has = |program: &str| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&path).any(|dir| dir.join(program).is_file())
    };
    if has("python3") {
        let script = "python3 -c \"open('SOUL.md','a').write('- Be brief.')\"";
        means.push(("python", exec(script)));
    }
    means
}

fn home() -> Home {
    let home = set_up([]);
    std::fs::write(workspace(&home).join("SOUL.md"), OLD).expect("a file");
    custody(&home.open())
        .record_files(["SOUL.md"], &VersionWriter::Owner, "set up")
        .expect("a record");
    home
}

fn play(home: &Home, steps: impl IntoIterator<Item = ScriptStep>) {
    home.endpoint.play(EndpointScript {
        otherwise: Some(ScriptStep::reply("Done.")),
        ..EndpointScript::steps(steps)
    });
}

#[test]
fn in_a_clean_turn_each_is_recorded_with_the_turn() {
    for (name, step) in means() {
        let home = home();
        play(&home, [step, ScriptStep::reply("ok")]);
        let talk = home.open();
        home.say(
            &talk,
            "Be brief from now on.",
            &Owner::says(Some(ApprovalScope::Once)),
        )
        .expect("a turn");
        let version = entry(&home, "SOUL.md")
            .and_then(|entry| entry.trusted)
            .expect("a version");
        assert!(
            matches!(&version.writer, VersionWriter::Agent { turn, .. } if !turn.is_empty()),
            "{name}: {version:?}"
        );
        // The words of `echo` and `sh -c` say all they do. Python loads modules from the folder it
        // runs in: the owner was asked, and let what it wrote stay as foreign text.
        let trust = match name {
            "python" => Trust::External,
            _ => Trust::Agent,
        };
        assert_eq!(version.trust, trust, "{name}");
        assert!(prompt(&talk).contains("Be brief."), "{name}");
    }
}

#[test]
fn in_a_tainted_turn_none_reaches_the_prompt_and_the_text_is_kept() {
    for (name, step) in means() {
        let home = home();
        play(&home, [inbox(), step, ScriptStep::reply("ok")]);
        let talk = home.open();
        let owner = match name {
            "write" | "edit" | "apply_patch" => Owner::says(None),
            _ => Owner::says_once(ApprovalScope::Once),
        };
        home.say(&talk, "Read my mail.", &owner).expect("a turn");
        let entry = entry(&home, "SOUL.md").expect("an entry");
        let waits = entry.held.or(entry.proposed).expect(name);
        let versions = chela_workspace::trust::VersionCopies::of(&home.host);
        let kept = versions.bytes(waits.hash.expect("a text")).expect(name);
        assert!(
            String::from_utf8_lossy(&kept).contains("Be brief."),
            "{name}"
        );
        let prompt = prompt(&talk);
        assert!(
            prompt.contains("Be kind.") && !prompt.contains("Be brief."),
            "{name}"
        );
    }
}

#[test]
fn the_owners_no_puts_the_former_text_back_and_a_yes_lets_it_stay_as_foreign_text() {
    for (says, text) in [
        (ApprovalScope::Deny, OLD.to_owned()),
        (ApprovalScope::Once, format!("{OLD}- Be brief.\n")),
    ] {
        let home = home();
        let echo = json!({ "command": "echo '- Be brief.' >> SOUL.md" });
        play(
            &home,
            [
                inbox(),
                ScriptStep::tool("exec", echo),
                ScriptStep::reply("ok"),
            ],
        );
        let owner = Owner::says_first([Some(ApprovalScope::Once)], Some(says));
        home.say(&home.open(), "Read my mail.", &owner)
            .expect("a turn");
        let soul = std::fs::read_to_string(workspace(&home).join("SOUL.md")).expect("a file");
        assert_eq!(soul, text);
        let entry = entry(&home, "SOUL.md").expect("an entry");
        assert_eq!(entry.held, None);
        let version = entry.trusted.expect("a version");
        let asked = owner.questions()[1].id.clone();
        match says {
            ApprovalScope::Deny => assert_eq!(version.writer, VersionWriter::Owner),
            _ => {
                assert_eq!(version.trust, Trust::External);
                assert!(
                    matches!(&version.writer, VersionWriter::Agent { question: Some(id), .. } if *id == asked),
                    "{version:?}"
                );
            }
        }
    }
}

/// The command has returned long before the file is written.
#[test]
fn what_goes_on_in_the_background_is_held() {
    for tainted in [false, true] {
        let home = home();
        let wait = workspace(&home).join("go");
        let command = format!(
            "while [ ! -e '{}' ]; do sleep 0.02; done; echo '- Be brief.' >> SOUL.md; touch done",
            wait.display()
        );
        let start = ScriptStep::tool("exec", json!({ "command": command, "background": true }));
        let mut steps = vec![start, ScriptStep::reply("Started.")];
        if tainted {
            steps.insert(0, inbox());
        }
        play(&home, steps);
        let talk = home.open();
        home.say(&talk, "Start it.", &Owner::says_once(ApprovalScope::Once))
            .expect("a turn");
        std::fs::write(&wait, "").expect("a sign");
        let done = workspace(&home).join("done");
        wait_until("the command is done", || done.exists());
        home.say(&talk, "And?", &Owner::says(None)).expect("a turn");
        let entry = entry(&home, "SOUL.md").expect("an entry");
        let soul = workspace(&home).join("SOUL.md");
        let state = custody(&talk)
            .look(&soul)
            .expect("a file")
            .0
            .judgement
            .state;
        let prompt = prompt(&talk);
        // What it read meanwhile nobody saw, whatever the session had read.
        assert!(entry.held.is_some(), "{entry:?}");
        assert_eq!(state, TrustStanding::Held);
        assert!(!prompt.contains("Be brief."));
    }
}

#[test]
fn a_conversation_that_ends_looks_once_more() {
    let home = home();
    let wait = workspace(&home).join("go");
    let command = format!(
        "while [ ! -e '{}' ]; do sleep 0.02; done; echo '- Be brief.' >> SOUL.md; touch done; sleep 600",
        wait.display()
    );
    let start = ScriptStep::tool("exec", json!({ "command": command, "background": true }));
    play(&home, [inbox(), start, ScriptStep::reply("Started.")]);
    let talk = home.open();
    home.say(&talk, "Start it.", &Owner::says_once(ApprovalScope::Once))
        .expect("a turn");
    std::fs::write(&wait, "").expect("a sign");
    let done = workspace(&home).join("done");
    wait_until("the command is done", || done.exists());
    drop(talk);
    assert!(entry(&home, "SOUL.md").expect("an entry").held.is_some());
}

/// What was deleted has its row too.
#[test]
fn a_deleted_file_is_recorded_held_or_told_and_comes_back() {
    let delete = "*** Begin Patch\n*** Delete File: SOUL.md\n*** End Patch\n";
    let ways: [(&str, ScriptStep); 2] = [
        (
            "rm",
            ScriptStep::tool("exec", json!({ "command": "rm SOUL.md" })),
        ),
        (
            "patch",
            ScriptStep::tool("apply_patch", json!({ "patch": delete })),
        ),
    ];
    for (name, step) in ways {
        for tainted in [false, true] {
            let home = home();
            let first = tainted.then(inbox);
            play(
                &home,
                first
                    .into_iter()
                    .chain([step.clone(), ScriptStep::reply("ok")]),
            );
            let owner = match (name, tainted) {
                ("patch", true) => Owner::says(None),
                ("rm", false) => Owner::says(Some(ApprovalScope::Once)),
                _ => Owner::says_once(ApprovalScope::Once),
            };
            home.say(&home.open(), "Go on.", &owner).expect("a turn");
            let row = format!("{name}, tainted: {tainted}");
            let entry = entry(&home, "SOUL.md").expect(&row);
            let exists = workspace(&home).join("SOUL.md").exists();
            let tomorrow = home.open_in(Some("agent:main:tomorrow"));
            let listener = Owner::says(None);
            home.say(&tomorrow, "Hello.", &listener).expect("a turn");
            let prompt = prompt(&tomorrow);
            match (name, tainted) {
                (_, false) => {
                    let gone = entry.gone.expect(&row);
                    assert!(matches!(gone.writer, VersionWriter::Agent { .. }), "{row}");
                    assert!(!exists && !prompt.contains("Be kind."), "{row}");
                    assert!(!listener.told().contains("chela trust"), "{row}");
                }
                ("rm", true) => {
                    assert_eq!(entry.held.expect(&row).hash, None, "{row}");
                    assert!(!exists && prompt.contains("Be kind."), "{row}: stands in");
                    assert!(
                        listener.told().contains("chela trust restore SOUL.md"),
                        "{row}"
                    );
                }
                _ => {
                    assert_eq!(entry.proposed.expect(&row).hash, None, "{row}");
                    assert!(exists && prompt.contains("Be kind."), "{row}");
                }
            }
        }
    }
}

#[test]
fn what_someone_else_deleted_follows_the_policy() {
    for (policy, stands_in, is_told) in [
        ("allow", false, false),
        ("warn", false, true),
        ("quarantine", true, true),
    ] {
        let home = home_under(json!({ "guard": { "trust": { "workspace": policy } } }));
        std::fs::remove_file(workspace(&home).join("SOUL.md")).expect("a file");
        let talk = home.open();
        let listener = Owner::says(None);
        home.say(&talk, "Hello.", &listener).expect("a turn");
        assert_eq!(
            first_prompt(&home).contains("Be kind."),
            stands_in,
            "{policy}"
        );
        let told = listener.told().contains("deleted by someone else");
        assert_eq!(told, is_told, "{policy}: {}", listener.told());
        let gone = entry(&home, "SOUL.md").and_then(|entry| entry.gone);
        assert_eq!(gone.is_some(), policy == "allow", "{policy}");
    }
}

fn home_under(more: Value) -> Home {
    let home = crate::trusting::set_up_with([], more);
    std::fs::write(workspace(&home).join("SOUL.md"), OLD).expect("a file");
    custody(&home.open())
        .record_files(["SOUL.md"], &VersionWriter::Owner, "set up")
        .expect("a record");
    home
}

/// What the model was sent first.
fn first_prompt(home: &Home) -> String {
    home.endpoint.calls()[0].json().to_string()
}

#[test]
fn a_sub_agent_writes_in_the_name_of_its_own_turn() {
    for tainted in [false, true] {
        let home = home();
        let inside = |step: ScriptStep, after_tool| {
            step.when(StepRule {
                body: Some("[Subagent Task]".to_owned()),
                after_tool: Some(after_tool),
                ..StepRule::default()
            })
        };
        let text = json!({ "path": "SOUL.md", "content": "- Be brief.\n" });
        let mut steps = vec![
            inside(ScriptStep::tool("write", text), false),
            inside(ScriptStep::reply("Written."), true),
        ];
        steps.extend(tainted.then(inbox));
        steps.push(ScriptStep::tool(
            "sessions_spawn",
            json!({ "task": "write it down" }),
        ));
        steps.push(ScriptStep::reply("Started."));
        play(&home, steps);
        let talk = home.open();
        let owner = Owner::says(None);
        home.say(&talk, "Have it written down.", &owner)
            .expect("a turn");
        home.settle(&talk, &owner);
        let entry = entry(&home, "SOUL.md").expect("an entry");
        let prompt = prompt(&talk);
        match tainted {
            true => {
                assert!(entry.proposed.is_some(), "{entry:?}");
                assert!(prompt.contains("Be kind."));
            }
            false => {
                let version = entry.trusted.expect("a version");
                assert!(
                    matches!(&version.writer, VersionWriter::Agent { turn, .. } if !turn.is_empty()),
                    "{version:?}"
                );
                assert!(prompt.contains("Be brief."));
            }
        }
    }
}
