//! Killed while a conversation is made short: it is short or it is whole, and nothing is lost.

use chela_testkit::{EndpointScript, ScriptStep, StepRule};
use serde_json::json;

use super::{KillCounts, WorkSpan, entries, every_call_has_its_result, rounds};
use crate::scene::{APIS, ScriptedHome};

const GOOD: &str = "## Goals\n- go on\n\n## Decisions\n- none\n\n## Done\n- none\n\n## Open\n- none\n\n## Identifiers\n- none";

#[test]
fn a_killed_compaction_is_done_or_not_done() {
    let script = EndpointScript {
        otherwise: Some(ScriptStep::reply("word ".repeat(150))),
        ..EndpointScript::steps([ScriptStep {
            piece_ms: 1,
            ..ScriptStep::reply(GOOD)
        }
        .when(StepRule {
            contains: Some("Summarise the conversation".into()),
            ..StepRule::default()
        })])
    };
    let scene = ScriptedHome::with(
        APIS[0],
        script,
        json!({ "agents": { "defaults": { "compaction": {
            "keepRecentTokens": 300, "recentTurnsPreserve": 1,
        } } } }),
    );
    let compact = ["sessions", "compact", "agent:main:main"];
    for turn in 0..3 {
        scene.chat(&format!("before-{turn}")).ok();
    }
    let span = WorkSpan::of(&scene, &compact);
    let mut counts = KillCounts::of("compaction");
    let mut done = 0;
    for round in 0..rounds(6) {
        scene.chat(&format!("round-{round}")).ok();
        let before = entries(&scene);
        counts.kill(&scene, &compact, span);
        let after = entries(&scene);
        counts.expect_kept(after.starts_with(&before), || {
            format!("round {round}: the transcript was rewritten")
        });
        let new: Vec<&str> = after
            .iter()
            .skip(before.len())
            .filter_map(|entry| entry["type"].as_str())
            .collect();
        assert!(
            matches!(new[..], [] | ["compaction"]),
            "round {round}: half a compaction: {new:?}"
        );
        done += new.len();
    }
    // Whatever was left, the conversation goes on, and nothing else was touched.
    let told = scene.chat_json("and on");
    assert_eq!(told["ended"], "done", "{told}");
    every_call_has_its_result(&scene.endpoint.calls().pop().unwrap().json());
    let list = scene
        .home
        .run(&[
            "audit",
            "show",
            "--kind",
            "compaction",
            "--json",
            "-n",
            "1000",
        ])
        .json();
    // On record before it is done: there may be more on record than were done.
    let on_record = list.as_array().unwrap().len();
    counts.expect_kept(on_record > done, || {
        format!("{done} and one more were done, {on_record} are on record")
    });
    counts.finish(&scene, format!("{done} done, {on_record} on record"));
}
