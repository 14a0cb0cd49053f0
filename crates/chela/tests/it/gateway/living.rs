//! What happens in a gateway without anybody saying something: BOOT.md, wakes, conversations that
//! leave memory, and how it ends.

use chela_testkit::{AnswerFault, EndpointScript, ScriptStep, StepRule, wait_until};
use rustix::process::Signal;
use serde_json::json;

use super::socket::SocketClient;
use super::{TestGateway, message, said};
use crate::scene::{APIS, ScriptedHome, after_tool};

fn when(text: &str, step: ScriptStep) -> ScriptStep {
    step.when(StepRule {
        contains: Some(text.to_owned()),
        after_tool: Some(false),
        ..StepRule::default()
    })
}

#[test]
fn boot_md_is_followed_once_for_each_start() {
    let scene = ScriptedHome::new(EndpointScript::always(ScriptStep::reply("NO_REPLY")));
    scene
        .home
        .write(".chela/workspace/BOOT.md", "Say good morning to the log.\n");
    let gateway = TestGateway::start(&scene.home);
    wait_until("the agent is asked", || !scene.endpoint.calls().is_empty());
    let asked = scene.endpoint.calls()[0].body.clone();
    assert!(asked.contains("BOOT.md"), "{asked}");
    gateway.wait_for_metric("chela_work_answered_total", 1);
    gateway.signal(Signal::TERM);
    assert_eq!(gateway.wait(), Some(0));
    assert_eq!(scene.endpoint.calls().len(), 1);
    let _again = TestGateway::start(&scene.home);
    wait_until("it is asked again", || scene.endpoint.calls().len() == 2);
}

#[test]
fn what_ends_in_the_background_wakes_the_agent_and_clients_see_it() {
    let run = json!({ "command": "sleep 1; echo red", "background": true });
    let script = EndpointScript {
        otherwise: Some(ScriptStep::reply("I see.")),
        ..EndpointScript::steps([
            when(
                "in the background has ended",
                ScriptStep::reply("It has a colour."),
            ),
            when("run it", ScriptStep::tool("exec", run)),
            after_tool(ScriptStep::reply("Started.")),
        ])
    };
    let more = json!({ "tools": { "exec": { "mode": "full" } } });
    let scene = ScriptedHome::with(APIS[0], script, more);
    let gateway = TestGateway::start(&scene.home);
    let (mut client, _) = SocketClient::connect(&gateway, None);
    assert_eq!(said(&gateway.say("main", "run it")), "Started.");
    let first = client.until("work.ended");
    assert_eq!(
        first["data"]["background"]["commands"]
            .as_array()
            .unwrap()
            .len(),
        1,
        "{first}"
    );
    let woken = client.until("work.ended");
    assert_eq!(woken["data"]["reply"], "It has a colour.", "{woken}");
    client.until("background.ended");
}

#[test]
fn a_change_of_the_config_does_not_end_what_runs_in_the_background() {
    let run = json!({ "command": "sleep 2; echo red > colour.txt", "background": true });
    let script = EndpointScript {
        otherwise: Some(ScriptStep::reply("I see.")),
        ..EndpointScript::steps([
            when("run it", ScriptStep::tool("exec", run)),
            after_tool(ScriptStep::reply("Started.")),
        ])
    };
    let more = json!({ "tools": { "exec": { "mode": "full" } } });
    let scene = ScriptedHome::with(APIS[0], script, more);
    let gateway = TestGateway::start(&scene.home);
    let (mut client, _) = SocketClient::connect(&gateway, None);
    assert_eq!(said(&gateway.say("main", "run it")), "Started.");
    let mut config: serde_json::Value =
        serde_json::from_str(&scene.home.read(".chela/chela.json")).unwrap();
    config["agents"]["defaults"]["maxConcurrent"] = 3.into();
    scene.home.write(".chela/chela.json", &config.to_string());
    client.until("config.changed");
    assert_eq!(said(&gateway.say("main", "and?")), "I see.");
    wait_until("the command has ended", || {
        scene.home.exists(".chela/workspace/colour.txt")
    });
}

#[test]
fn an_idle_conversation_leaves_memory_and_comes_back() {
    let scene = ScriptedHome::new(EndpointScript::always(ScriptStep::reply("hello")));
    let mut config: serde_json::Value =
        serde_json::from_str(&scene.home.read(".chela/chela.json")).unwrap();
    config["gateway"] = json!({ "conversationIdleMinutes": 0 });
    scene.home.write(".chela/chela.json", &config.to_string());
    let gateway = TestGateway::start(&scene.home);
    assert_eq!(said(&gateway.say("main", "my number is 7")), "hello");
    wait_until("nothing is in memory", || {
        gateway.metric("chela_conversations_open") == 0
    });
    assert_eq!(said(&gateway.say("main", "which number?")), "hello");
    let asked = scene.endpoint.calls()[1].body.clone();
    assert!(asked.contains("my number is 7"), "{asked}");
}

#[test]
fn a_second_word_to_end_does_not_wait_and_loses_nothing() {
    let stalls = ScriptStep {
        times: Some(1),
        ..ScriptStep::reply("never").fault(AnswerFault::Stall(0))
    };
    let script = EndpointScript {
        otherwise: Some(ScriptStep::reply("answered later")),
        ..EndpointScript::steps([stalls.when(StepRule::default())])
    };
    let scene = ScriptedHome::new(script);
    let gateway = TestGateway::start(&scene.home);
    let (mut client, _) = SocketClient::connect(&gateway, None);
    let sent = client.ask(json!({ "type": "chat.send", "text": "hi", "idempotencyKey": "k" }));
    let work = sent["result"]["work"].as_str().unwrap().to_owned();
    wait_until("the model is asked", || !scene.endpoint.calls().is_empty());
    gateway.signal(Signal::TERM);
    client.until("gateway.stopping");
    gateway.signal(Signal::TERM);
    assert_eq!(gateway.wait(), Some(0));
    let gateway = TestGateway::start(&scene.home);
    let (mut client, _) = SocketClient::connect(&gateway, None);
    wait_until("it is answered", || {
        let standing = client.ask(json!({ "type": "work.get", "work": work }));
        standing["result"]["outcome"]["reply"] == "answered later"
    });
    assert_eq!(
        gateway.post("/v1/chat/completions", &message("x")).status,
        200
    );
}

#[test]
fn a_sub_agent_that_ends_wakes_the_session_that_started_it() {
    let spawn = json!({ "task": "look into the safe", "label": "safe" });
    let slow = ScriptStep {
        delay_ms: 800,
        ..ScriptStep::reply("The safe is blue.")
    };
    let script = EndpointScript {
        otherwise: Some(ScriptStep::reply("I see.")),
        ..EndpointScript::steps([
            when("[Subagent Task]", slow),
            when(
                "in the background has ended",
                ScriptStep::reply("It is blue."),
            ),
            when("hand it on", ScriptStep::tool("sessions_spawn", spawn)),
            after_tool(ScriptStep::reply("Started.")),
        ])
    };
    let scene = ScriptedHome::new(script);
    let gateway = TestGateway::start(&scene.home);
    let (mut client, _) = SocketClient::connect(&gateway, None);
    // A script waits for it, though it runs in the gateway.
    let told = scene.chat_json("hand it on");
    assert_eq!(told["reply"], "It is blue.", "{told}");
    let first = client.until("work.ended");
    assert_eq!(
        first["data"]["background"]["subagents"],
        json!(["safe"]),
        "{first}"
    );
    assert_eq!(client.until("work.ended")["data"]["reply"], "It is blue.");
}

#[test]
fn one_session_writes_to_another_and_hears_its_answer() {
    let send = json!({ "sessionKey": "agent:main:notes", "message": "a word from the main one" });
    let script = EndpointScript {
        otherwise: Some(ScriptStep::reply("I see.")),
        ..EndpointScript::steps([
            when("pass it on", ScriptStep::tool("sessions_send", send)),
            when(
                "a word from the main one",
                ScriptStep::reply("noted and filed"),
            ),
            after_tool(ScriptStep::reply("they know")),
        ])
    };
    let scene = ScriptedHome::new(script);
    let gateway = TestGateway::start(&scene.home);
    let (mut client, _) = SocketClient::connect(&gateway, None);
    assert_eq!(said(&gateway.say("notes", "hi")), "I see.");
    assert_eq!(
        said(&gateway.say("main", "pass it on to agent:main:notes")),
        "they know"
    );
    // Whoever watches that session sees what is said in it, and by whom.
    let letter = loop {
        let began = client.until("work.began");
        if began["data"]["source"]["kind"] == "session" {
            break began;
        }
    };
    assert_eq!(letter["session"], "agent:main:notes", "{letter}");
    assert_eq!(letter["data"]["source"]["from"], "agent:main:main");
    assert_eq!(letter["data"]["text"], "a word from the main one");
    let ended = loop {
        let ended = client.until("work.ended");
        if ended["work"] == letter["work"] {
            break ended;
        }
    };
    assert_eq!(ended["data"]["reply"], "noted and filed", "{ended}");
    let heard = scene.endpoint.calls().last().unwrap().body.clone();
    assert!(heard.contains("noted and filed"), "{heard}");
    // It stands in that session, too.
    said(&gateway.say("notes", "what was that?"));
    let asked = scene.endpoint.calls().last().unwrap().body.clone();
    assert!(asked.contains("a word from the main one"), "{asked}");
}
