//! How many run, how long, and how they end.

use chela_store::block_on;

use chela_testkit::ScriptStep;
use serde_json::json;

use super::{Home, child, child_of_a_child, one_child, spawn, stalled, subagents};

#[test]
fn there_are_never_more_than_the_config_allows() {
    let home = Home::new(
        [
            stalled(),
            spawn(json!({ "task": "one" })),
            spawn(json!({ "task": "two" })),
            ScriptStep::reply("Only one."),
        ],
        subagents(json!({ "maxChildrenPerAgent": 1 })),
    );
    let results = home.say("go");
    assert!(results[0].contains("Started run"), "{results:?}");
    assert!(results[1].contains("maxChildrenPerAgent"), "{results:?}");
    assert_eq!(home.talk().background().subagents_running(), 1);
    let home = Home::new(
        [
            spawn(json!({ "task": "three", "agentId": "other" })),
            ScriptStep::reply("Nobody."),
        ],
        json!({}),
    );
    let results = home.say("go");
    assert!(results[0].contains("may not be started"), "{results:?}");
}

#[test]
fn those_beyond_max_concurrent_wait_for_a_place() {
    let first = ScriptStep {
        delay_ms: 1500,
        ..child("one", ScriptStep::reply("First."))
    };
    let home = Home::new(
        [
            first,
            child("two", ScriptStep::reply("Second.")),
            spawn(json!({ "task": "one", "label": "one" })),
            spawn(json!({ "task": "two", "label": "two" })),
            ScriptStep::tool("subagents", json!({ "action": "list" })),
            ScriptStep::reply("Started."),
        ],
        subagents(json!({ "maxConcurrent": 1 })),
    );
    let results = home.say("go");
    assert!(results[1].contains("maxConcurrent"), "{results:?}");
    assert!(results[2].contains("`two`: queued"), "{results:?}");
    home.settle();
    let news = home.news();
    for part in ["First.", "Second."] {
        assert!(news.contains(part), "{part}: {news}");
    }
    let order: Vec<bool> = home
        .childrens()
        .iter()
        .map(|request| request.to_string().contains("Task]\\none"))
        .collect();
    assert_eq!(order, [true, false], "one after the other");
}

#[test]
fn one_that_waits_can_be_ended() {
    let home = Home::new(
        [
            stalled(),
            spawn(json!({ "task": "one", "label": "one" })),
            spawn(json!({ "task": "two", "label": "two" })),
            ScriptStep::tool("subagents", json!({ "action": "kill", "target": "two" })),
            ScriptStep::reply("Ended."),
        ],
        subagents(json!({ "maxConcurrent": 1 })),
    );
    home.say("go");
    home.run(async {
        while home.talk().background().subagents_running() > 1 {
            tokio::task::yield_now().await;
        }
    });
    assert_eq!(home.talk().background().running().subagents, ["one"]);
    assert_eq!(home.childrens().len(), 1, "the other never began");
}

/// With one place, whoever waits for its own sub-agents must not keep it.
#[test]
fn a_place_is_not_kept_while_waiting_for_others() {
    let home = Home::new(
        child_of_a_child(),
        subagents(json!({ "maxSpawnDepth": 2, "maxConcurrent": 1 })),
    );
    home.say("go");
    home.settle();
    assert!(home.news().contains("All told."));
}

#[test]
fn sessions_of_those_that_ended_are_put_away() {
    let run = |minutes: u64| {
        let mut home = Home::new(
            one_child("Done."),
            subagents(json!({ "archiveAfterMinutes": minutes })),
        );
        home.say("go");
        home.settle();
        home.agents.finish_keeping();
        home.pass(61 * 60);
        home.say("later");
        home.agents.finish_keeping();
        block_on(
            home.talk()
                .store()
                .list(&chela_session::SessionFilter::default()),
        )
        .expect("a list")
        .iter()
        .filter(|info| info.key.is_subagent())
        .count()
    };
    assert_eq!(run(60), 0);
    assert_eq!(run(62), 1);
    assert_eq!(run(0), 1, "0: never");
}

#[test]
fn a_sub_agent_can_be_ended_by_its_parent_and_by_the_person() {
    let home = Home::new(
        [
            stalled(),
            spawn(json!({ "task": "wait", "label": "waiter" })),
            ScriptStep::tool("subagents", json!({ "action": "list" })),
            ScriptStep::tool("subagents", json!({ "action": "kill", "target": "waiter" })),
            ScriptStep::reply("Ended."),
        ],
        json!({}),
    );
    let results = home.say("go");
    assert!(results[1].contains("`waiter`: running"), "{results:?}");
    assert!(results[2].contains("Ending"), "{results:?}");
    assert!(home.news().contains("Status: stopped"));

    let home = Home::new(
        [
            stalled(),
            spawn(json!({ "task": "wait again" })),
            ScriptStep::reply("Started."),
        ],
        json!({}),
    );
    home.say("go");
    home.talk().stop();
    assert!(home.news().contains("Status: stopped"));
}

#[test]
fn time_runs_out_and_silence_is_no_result() {
    let home = Home::new(
        [
            stalled(),
            spawn(json!({ "task": "wait", "runTimeoutSeconds": 1 })),
            ScriptStep::reply("Started."),
        ],
        json!({}),
    );
    home.say("go");
    assert!(home.news().contains("Status: limit: 1 seconds"));

    let home = Home::new(one_child("NO_REPLY"), json!({}));
    home.say("go");
    assert!(
        home.news()
            .contains("Status: failed: it ended without a result")
    );
}

#[test]
fn a_run_that_a_crash_cut_off_is_reported() {
    let mut home = Home::new(
        [
            stalled(),
            spawn(json!({ "task": "wait", "label": "lost" })),
            ScriptStep::reply("Started."),
            ScriptStep::reply("Yes."),
        ],
        json!({}),
    );
    home.say("go");
    home.crash();
    let news = home.news();
    assert!(
        news.contains("`lost`") && news.contains("Status: interrupted"),
        "{news}"
    );
    let again = home.news();
    assert_eq!(again.matches("Status: interrupted").count(), 1);
}

/// A clock that jumped may be wrong, so the owner hears when records go by it.
#[test]
fn records_that_go_after_the_clock_jumped_are_told_once() {
    const DAY: u64 = 86_400;
    let mut home = Home::new([], json!({}));
    home.say("hello");
    home.agents.finish_keeping();
    let mut heard = Vec::new();
    for day in [400, 401, 402] {
        home.pass(day * DAY);
        for text in ["hello", "and now?"] {
            home.say(text);
            home.agents.finish_keeping();
        }
        let notices = std::mem::take(&mut *home.watched.notices.lock().expect("a lock"));
        let told = notices
            .iter()
            .filter(|text| text.contains("jumped far ahead"));
        heard.push(told.count());
    }
    assert_eq!(heard, [0, 1, 0]);
}
