//! What an agent and a sender may use up in a window: refused clearly, and remembered.

use chela_testkit::{EndpointScript, ScriptStep, TokenCounts};
use serde_json::{Value, json};

use super::socket::SocketClient;
use super::{HttpAnswer, TestGateway, message, said};
use crate::scene::{APIS, ScriptedHome};

fn scene(quotas: Value) -> ScriptedHome {
    let script = EndpointScript::always(ScriptStep::reply("hello"));
    ScriptedHome::with(APIS[0], script, json!({ "gateway": { "quotas": quotas } }))
}

fn as_sender(gateway: &TestGateway, user: &str) -> HttpAnswer {
    let mut body = message("hi");
    body["user"] = json!(user);
    gateway.post("/v1/chat/completions", &body)
}

#[test]
fn a_sender_that_used_up_its_turns_waits_and_others_do_not() {
    let scene = scene(json!({ "sender": { "turns": 2, "window": "1h" } }));
    let gateway = TestGateway::start(&scene.home);
    for _ in 0..2 {
        assert_eq!(said(&as_sender(&gateway, "ann")), "hello");
    }
    let refused = as_sender(&gateway, "ann");
    assert_eq!(refused.status, 429, "{refused:?}");
    let why = refused.json()["error"]["message"]
        .as_str()
        .unwrap()
        .to_owned();
    assert!(
        why.contains("sender `api:ann` has used 2 of 2 turns"),
        "{why}"
    );
    let after = refused
        .head
        .lines()
        .find_map(|line| line.strip_prefix("retry-after: "));
    let after: u64 = after.unwrap().trim().parse().unwrap();
    assert!((3_500..=3_600).contains(&after), "{after}");
    assert_eq!(said(&as_sender(&gateway, "bob")), "hello");
    assert_eq!(
        said(&gateway.post("/v1/chat/completions", &message("hi"))),
        "hello"
    );
    assert_eq!(
        scene.endpoint.calls().len(),
        4,
        "what is refused asks no model"
    );
    // Another process knows what was used.
    gateway.kill();
    let gateway = TestGateway::start(&scene.home);
    assert_eq!(as_sender(&gateway, "ann").status, 429);
    assert_eq!(said(&as_sender(&gateway, "bob")), "hello");
    let usage = scene.home.run(&["usage"]).ok();
    assert!(
        usage.contains("sender `api:ann`: 2 of 2 turns in the last hour")
            || usage.contains("sender `api:ann`: 2 of 2 turns in the last 1 hour"),
        "{usage}"
    );
}

#[test]
fn an_agent_that_used_up_its_tokens_works_for_nobody_and_its_jobs_fail_with_the_reason() {
    let scene = scene(json!({ "agent": { "tokens": 1, "window": "1d" } }));
    let gateway = TestGateway::start(&scene.home);
    let once = [("idempotency-key", "k1")];
    let path = "/v1/chat/completions";
    assert_eq!(
        said(&gateway.post_with(path, &once, &message("hi"))),
        "hello"
    );
    let refused = gateway.post(path, &message("hi"));
    assert_eq!(refused.status, 429, "{refused:?}");
    assert!(
        refused.body.contains("agent `main` has used"),
        "{refused:?}"
    );
    // An answer that is on record costs nothing.
    assert_eq!(
        said(&gateway.post_with(path, &once, &message("hi"))),
        "hello"
    );
    scene
        .home
        .run(&[
            "cron",
            "add",
            "--every",
            "1h",
            "--name",
            "look",
            "--retries",
            "0",
            "look",
        ])
        .ok();
    let ran = scene.home.run(&["cron", "run", "look"]).fails(1);
    assert!(ran.contains("agent `main` has used"), "{ran}");
    let runs = scene.home.run(&["cron", "runs", "look", "--json"]).json();
    assert_eq!(runs["runs"][0]["run"]["status"], "failed", "{runs}");
    assert_eq!(scene.endpoint.calls().len(), 1);
}

#[test]
fn a_quota_set_while_the_gateway_runs_counts_what_was_used_before() {
    let scene = scene(json!({}));
    let gateway = TestGateway::start(&scene.home);
    let (mut client, _) = SocketClient::connect(&gateway, None);
    assert_eq!(said(&as_sender(&gateway, "ann")), "hello");
    assert_eq!(said(&as_sender(&gateway, "ann")), "hello");

    let config = scene.home.read(".chela/chela.json");
    let mut config: Value = serde_json::from_str(&config).unwrap();
    config["gateway"]["quotas"] = json!({ "sender": { "turns": 2, "window": "1h" } });
    scene.home.write(".chela/chela.json", &config.to_string());
    client.until("config.changed");
    let refused = as_sender(&gateway, "ann");
    assert_eq!(refused.status, 429, "{refused:?}");
    assert!(refused.body.contains("2 of 2 turns"), "{refused:?}");
    assert_eq!(said(&as_sender(&gateway, "bob")), "hello");
    assert_eq!(scene.endpoint.calls().len(), 3);
}

#[test]
fn a_sender_that_used_up_its_dollars_waits_for_the_window() {
    // Two dollars a million in, eight out: a call is a little more than two cents.
    let answer = ScriptStep {
        usage: Some(TokenCounts {
            input: 10_000,
            output: 100,
            cached: 0,
            cache_write: 0,
            reasoning: 0,
        }),
        ..ScriptStep::reply("hello")
    };
    let more = json!({
        "gateway": { "quotas": { "sender": { "usd": 0.03, "window": "1h" } } },
        "models": { "providers": { "kit": { "models": [
            { "id": "scripted", "contextWindow": 64_000, "cost": { "input": 2, "output": 8 } },
        ] } } },
    });
    let scene = ScriptedHome::with(APIS[0], EndpointScript::always(answer), more);
    let gateway = TestGateway::start(&scene.home);
    for _ in 0..2 {
        assert_eq!(said(&as_sender(&gateway, "ann")), "hello");
    }
    let refused = as_sender(&gateway, "ann");
    assert_eq!(refused.status, 429, "{refused:?}");
    let why = refused.json()["error"]["message"].to_string();
    assert!(
        why.contains("sender `api:ann` has used $0.04") && why.contains("of $0.03"),
        "{why}"
    );
    assert_eq!(said(&as_sender(&gateway, "bob")), "hello");
    gateway.kill();
    let gateway = TestGateway::start(&scene.home);
    assert_eq!(as_sender(&gateway, "ann").status, 429);
    assert_eq!(scene.endpoint.calls().len(), 3);
}
