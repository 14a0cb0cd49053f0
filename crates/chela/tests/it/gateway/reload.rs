//! The config of a running gateway: a valid change counts from the next turn, an invalid one
//! changes nothing, and what needs a restart is said.

use chela_testkit::{EndpointScript, ScriptStep, wait_until};
use rustix::process::Signal;
use serde_json::{Value, json};

use super::socket::SocketClient;
use super::{TestGateway, said};
use crate::scene::ScriptedHome;

fn scene() -> ScriptedHome {
    ScriptedHome::new(EndpointScript::always(ScriptStep::reply("hello")))
}

fn config(scene: &ScriptedHome) -> Value {
    serde_json::from_str(&scene.home.read(".chela/chela.json")).unwrap()
}

fn status(scene: &ScriptedHome) -> Value {
    // It ends with 1 while none answers.
    let status = scene.home.run(&["gateway", "status", "--json"]);
    serde_json::from_str(&status.out).unwrap()
}

#[test]
fn a_change_counts_from_the_next_turn_and_a_broken_file_changes_nothing() {
    let scene = scene();
    let gateway = TestGateway::start(&scene.home);
    let (mut client, _) = SocketClient::connect(&gateway, None);
    assert_eq!(said(&gateway.say("main", "one")), "hello");
    assert!(scene.endpoint.calls()[0].body.contains("\"exec\""));

    // An editor that saves by renaming.
    let mut changed = config(&scene);
    changed["tools"] = json!({ "deny": ["exec"] });
    changed["agents"]["defaults"]["model"] = "kit/second".into();
    changed["models"]["providers"]["kit"]["models"] =
        json!([{ "id": "scripted" }, { "id": "second", "contextWindow": 64_000 }]);
    scene
        .home
        .write(".chela/chela.json.new", &changed.to_string());
    let file = scene.home.path(".chela/chela.json");
    std::fs::rename(scene.home.path(".chela/chela.json.new"), &file).unwrap();
    let event = client.until("config.changed");
    let keys = event["data"]["changed"].to_string();
    assert!(
        keys.contains("tools.deny") && keys.contains("agents.defaults.model"),
        "{event}"
    );
    assert_eq!(event["data"]["needsRestart"], json!([]));
    assert_eq!(said(&gateway.say("main", "two")), "hello");
    let second = scene.endpoint.calls()[1].json();
    assert_eq!(second["model"], "second");

    // Line 2, column 13.
    scene
        .home
        .write(".chela/chela.json", "{\n  gateway: { port: 'many' },\n}\n");
    let event = client.until("config.rejected");
    let problem = &event["data"]["problems"][0];
    assert_eq!(
        (&problem["key"], &problem["line"]),
        (&"gateway.port".into(), &2.into()),
        "{event}"
    );
    assert!(problem["column"].as_u64().unwrap() > 1);
    assert_eq!(said(&gateway.say("main", "three")), "hello");
    assert_eq!(scene.endpoint.calls()[2].json()["model"], "second");
    let told = scene.home.run(&["gateway", "status"]).ok();
    assert!(
        told.contains("not in use") && told.contains("gateway.port"),
        "{told}"
    );
    assert!(scene.home.run(&["status"]).ok().contains("has errors"));
    let doctor = scene.home.run(&["doctor", "--only", "gateway"]).out;
    assert!(
        doctor.contains("works with the config as it was"),
        "{doctor}"
    );

    scene.home.write(".chela/chela.json", &changed.to_string());
    client.until("config.changed");
    assert_eq!(status(&scene)["running"]["config"]["problems"], json!([]));
    let doctor = scene
        .home
        .run(&["doctor", "--only", "gateway", "--json"])
        .out;
    assert!(doctor.contains("\"findings\": []"), "{doctor}");
}

#[test]
fn what_needs_a_restart_is_said_and_done_where_the_config_says_so() {
    let scene = scene();
    let mut hot = config(&scene);
    hot["gateway"] = json!({ "reload": { "mode": "hot" } });
    scene.home.write(".chela/chela.json", &hot.to_string());
    let gateway = TestGateway::start(&scene.home);
    let (mut client, _) = SocketClient::connect(&gateway, None);
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    hot["gateway"]["port"] = port.into();
    scene.home.write(".chela/chela.json", &hot.to_string());
    let event = client.until("config.changed");
    assert_eq!(event["data"]["needsRestart"], json!(["gateway.port"]));
    let told = scene.home.run(&["gateway", "status"]).ok();
    assert!(
        told.contains("after `chela gateway restart`: gateway.port"),
        "{told}"
    );
    let line = scene.home.run(&["status"]).ok();
    assert!(line.contains("restart it for gateway.port"), "{line}");
    // It still answers where it was.
    assert_eq!(said(&gateway.say("main", "one")), "hello");

    // By itself, once nothing runs.
    let before = status(&scene)["running"]["started"].clone();
    hot["gateway"]["reload"] = json!({ "mode": "hybrid" });
    scene.home.write(".chela/chela.json", &hot.to_string());
    let stopping = client.until("gateway.stopping");
    assert_eq!(stopping["data"]["restarts"], true);
    wait_until("it is back", || {
        let now = status(&scene);
        now["answers"] == true && now["running"]["started"] != before
    });
    assert_eq!(status(&scene)["running"]["pid"], gateway.pid());
    assert_eq!(
        status(&scene)["running"]["config"]["needsRestart"],
        json!([])
    );
}

#[test]
fn a_hang_up_reads_the_config_and_a_limit_holds_at_once() {
    let scene = scene();
    let mut off = config(&scene);
    off["gateway"] = json!({ "reload": { "mode": "off" } });
    scene.home.write(".chela/chela.json", &off.to_string());
    let gateway = TestGateway::start(&scene.home);
    let (mut client, _) = SocketClient::connect(&gateway, None);
    assert_eq!(said(&gateway.say("main", "one")), "hello");
    off["limits"] = json!({ "day": { "tokens": 1 } });
    scene.home.write(".chela/chela.json", &off.to_string());
    let doctor = scene.home.run(&["doctor", "--only", "gateway"]).out;
    assert!(doctor.contains("newer than the one"), "{doctor}");
    gateway.signal(Signal::HUP);
    client.until("config.changed");
    let refused = gateway.say("main", "two");
    assert_ne!(refused.status, 200, "{refused:?}");
    assert!(refused.body.contains("limit"), "{refused:?}");
}

#[test]
fn a_new_token_ends_open_sockets() {
    let scene = scene();
    let gateway = TestGateway::start(&scene.home);
    let (mut client, _) = SocketClient::connect(&gateway, None);
    scene.home.run(&["gateway", "token", "rotate"]).ok();
    let told = client.until_type("closing");
    assert!(told["why"].as_str().unwrap().contains("token"), "{told}");
    assert!(client.is_closed());
}

#[test]
fn included_files_and_the_env_file_are_part_of_the_config() {
    let scene = scene();
    let mut split = config(&scene);
    split["models"]["providers"]["kit"]["apiKey"] = "${KIT_KEY}".into();
    split["tools"] = json!({ "$include": "./parts/tools.json5" });
    scene
        .home
        .write(".chela/.env", "KIT_KEY=first-key-of-the-kit\n");
    scene
        .home
        .write(".chela/parts/tools.json5", "{ deny: ['read'] }\n");
    scene.home.write(".chela/chela.json", &split.to_string());
    let gateway = TestGateway::start(&scene.home);
    let (mut client, _) = SocketClient::connect(&gateway, None);
    let sent = |number: usize| scene.endpoint.calls().swap_remove(number);
    let shown = |number: usize| sent(number).header("authorization").map(str::to_owned);
    assert_eq!(said(&gateway.say("explicit:one", "hi")), "hello");
    assert_eq!(shown(0).as_deref(), Some("Bearer first-key-of-the-kit"));
    assert!(sent(0).body.contains("\"exec\"") && !sent(0).body.contains("\"name\":\"read\""));

    scene
        .home
        .write(".chela/parts/tools.json5", "{ deny: ['exec'] }\n");
    let event = client.until("config.changed");
    assert!(
        event["data"]["changed"].to_string().contains("tools.deny"),
        "{event}"
    );
    assert_eq!(said(&gateway.say("explicit:two", "hi")), "hello");
    assert!(!sent(1).body.contains("\"name\":\"exec\""));
    assert!(sent(1).body.contains("\"name\":\"read\""));

    scene
        .home
        .write(".chela/.env", "KIT_KEY=second-key-of-the-kit\n");
    client.until("config.changed");
    assert_eq!(said(&gateway.say("explicit:three", "hi")), "hello");
    assert_eq!(shown(2).as_deref(), Some("Bearer second-key-of-the-kit"));

    // What is broken in a part is told with its own name, and changes nothing.
    scene
        .home
        .write(".chela/parts/tools.json5", "{ deny: 'read' \n");
    let event = client.until("config.rejected");
    let told = event["data"]["problems"][0].to_string();
    assert!(told.contains("tools.json5"), "{event}");
    assert_eq!(said(&gateway.say("explicit:four", "hi")), "hello");
    assert!(!sent(3).body.contains("\"name\":\"exec\""));
}
