//! The `gateway` tool: what the agent may look at and change of the config, with the owner's word.

use chela_testkit::{EndpointScript, ScriptStep, StepRule, wait_until};
use serde_json::{Value, json};

use super::socket::SocketClient;
use super::{TestGateway, said};
use crate::scene::{KEY, ScriptedHome, after_tool};

fn when(text: &str, step: ScriptStep) -> ScriptStep {
    step.when(StepRule {
        contains: Some(text.to_owned()),
        after_tool: Some(false),
        ..StepRule::default()
    })
}

fn scene_calling(arguments: Value) -> ScriptedHome {
    let get = ScriptStep::tool(
        "gateway",
        json!({ "action": "config.get", "path": "models" }),
    );
    let script = EndpointScript {
        otherwise: Some(ScriptStep::reply("I see.")),
        ..EndpointScript::steps([
            when("look at it", get),
            when("change it", ScriptStep::tool("gateway", arguments)),
            after_tool(ScriptStep::reply("done")),
        ])
    };
    ScriptedHome::new(script)
}

fn base_hash(scene: &ScriptedHome) -> String {
    chela_core::ContentHash::of(scene.home.read(".chela/chela.json")).short()
}

fn results(scene: &ScriptedHome) -> String {
    scene.endpoint.calls().last().unwrap().body.clone()
}

#[test]
fn it_reads_the_config_without_its_secrets_and_is_not_in_every_request() {
    let scene = scene_calling(json!({}));
    let gateway = TestGateway::start(&scene.home);
    assert_eq!(said(&gateway.say("main", "look at it")), "done");
    let first = scene.endpoint.calls()[0].body.clone();
    assert!(
        !first.contains("\"name\":\"gateway\""),
        "it waits to be found"
    );
    let told = results(&scene);
    assert!(
        told.contains("baseHash") && told.contains("scripted"),
        "{told}"
    );
    assert!(!told.contains(KEY), "{told}");
    // Without a gateway there is none.
    let local = scene.home.run(&[
        "chat",
        "--local",
        "--new-session",
        "here",
        "-m",
        "look at it",
    ]);
    local.answered();
    assert!(
        results(&scene).contains("gateway"),
        "the call is in the transcript"
    );
    assert!(!results(&scene).contains("baseHash"));
}

#[test]
fn a_change_is_shown_as_a_diff_and_counts_once_the_owner_allows_it() {
    let scene = scene_calling(json!({}));
    let change = json!({
        "action": "config.patch", "baseHash": base_hash(&scene),
        "config": json!({ "agents": { "defaults": { "userTimezone": "Europe/Lisbon" } } }).to_string(),
    });
    scene.endpoint.play(EndpointScript {
        otherwise: Some(ScriptStep::reply("I see.")),
        ..EndpointScript::steps([
            when("change it", ScriptStep::tool("gateway", change)),
            after_tool(ScriptStep::reply("done")),
        ])
    });
    let gateway = TestGateway::start(&scene.home);
    let (mut client, _) = SocketClient::connect(&gateway, None);
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| gateway.say("main", "change it"));
        let question = client.until("approval.asked");
        let shown = question["data"]["calls"][0]["exact"].to_string();
        assert!(
            shown.contains("+") && shown.contains("Europe/Lisbon"),
            "{shown}"
        );
        assert!(!shown.contains(KEY), "{shown}");
        let choices: Vec<&str> = question["data"]["choices"]
            .as_array()
            .unwrap()
            .iter()
            .map(|choice| choice["word"].as_str().unwrap())
            .collect();
        assert_eq!(choices, ["deny", "once"]);
        let id = question["data"]["id"].clone();
        client.ask(json!({ "type": "approvals.answer", "question": id, "answer": "once" }));
        assert_eq!(said(&asked.join().unwrap()), "done");
    });
    assert!(
        scene
            .home
            .read(".chela/chela.json")
            .contains("Europe/Lisbon")
    );
    let changed = client.until("config.changed");
    assert_eq!(
        changed["data"]["changed"],
        json!(["agents.defaults.userTimezone"])
    );
    let audit = [
        "audit",
        "show",
        "--kind",
        "tool-decision",
        "--about",
        "config.patch",
    ];
    let audit = scene.home.run(&audit).ok();
    assert!(audit.contains("tool-decision"), "{audit}");
}

#[test]
fn what_widens_authority_is_refused_in_every_spelling() {
    for patch in [
        json!({ "tools": { "exec": { "ask": "off" } } }),
        json!({ "tools": { "exec": { "mode": "full" } } }),
        json!({ "tools": { "bash": { "ask": "off" } } }),
        json!({ "guard": { "policy": "open" } }),
        json!({ "gateway": { "bind": "lan" } }),
        json!({ "hooks": { "enabled": true, "token": "abcdefgh" } }),
        json!({ "agents": { "defaults": { "sandbox": { "mode": "off" } } } }),
    ] {
        let scene = scene_calling(json!({}));
        let before = scene.home.read(".chela/chela.json");
        let change = json!({
            "action": "config.patch", "baseHash": base_hash(&scene), "config": patch.to_string(),
        });
        scene.endpoint.play(EndpointScript {
            otherwise: Some(ScriptStep::reply("I see.")),
            ..EndpointScript::steps([
                when("change it", ScriptStep::tool("gateway", change)),
                after_tool(ScriptStep::reply("done")),
            ])
        });
        let gateway = TestGateway::start(&scene.home);
        // Nobody is asked about what is refused whatever they say.
        said(&gateway.say("main", "change it"));
        assert!(
            results(&scene).contains("alone to change"),
            "{patch}: {}",
            results(&scene)
        );
        assert_eq!(scene.home.read(".chela/chela.json"), before, "{patch}");
    }
}

#[test]
fn after_a_restart_the_session_that_asked_is_told() {
    let restart = json!({ "action": "restart", "why": "a new port" });
    let scene = scene_calling(restart);
    let gateway = TestGateway::start(&scene.home);
    let pid = gateway.pid();
    let (mut client, _) = SocketClient::connect(&gateway, None);
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| gateway.say("main", "change it"));
        let question = client.until("approval.asked");
        let id = question["data"]["id"].clone();
        client.ask(json!({ "type": "approvals.answer", "question": id, "answer": "once" }));
        assert_eq!(said(&asked.join().unwrap()), "done");
    });
    assert_eq!(client.until("gateway.stopping")["data"]["restarts"], true);
    wait_until("the session is told", || {
        let calls = scene.endpoint.calls();
        calls.iter().any(|call| {
            call.body.contains("The gateway was restarted") && call.body.contains("a new port")
        })
    });
    let status: Value = scene.home.run(&["gateway", "status", "--json"]).json();
    assert_eq!(status["running"]["pid"], pid);
}
