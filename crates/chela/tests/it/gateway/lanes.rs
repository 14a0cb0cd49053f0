//! Lanes: one turn at a time in a session, several sessions side by side, and what happens with
//! words that come in between.

use chela_testkit::{AnswerFault, EndpointScript, ScriptStep, StepRule, wait_until};
use serde_json::json;

use super::{TestGateway, message, said};
use crate::scene::{APIS, ScriptedHome};

fn slow(text: &str, answer: &str, delay_ms: u64) -> ScriptStep {
    let step = ScriptStep {
        delay_ms,
        ..ScriptStep::reply(answer)
    };
    step.when(StepRule {
        contains: Some(text.to_owned()),
        ..StepRule::default()
    })
}

fn with_mode(mode: &str, script: EndpointScript) -> ScriptedHome {
    ScriptedHome::with(
        APIS[0],
        script,
        json!({ "messages": { "queue": { "mode": mode, "debounceMs": 50 } } }),
    )
}

#[test]
fn sessions_work_side_by_side_and_each_in_its_order() {
    let script =
        EndpointScript::steps([slow("slow one", "slow", 1_500), slow("quick", "quick", 0)]);
    let scene = with_mode("followup", script);
    let gateway = TestGateway::start(&scene.home);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| gateway.say("explicit:a", "slow one"));
        wait_until("the slow one is asked", || {
            scene.endpoint.calls().len() == 1
        });
        // Another session does not wait for it.
        assert_eq!(said(&gateway.say("explicit:b", "quick")), "quick");
        assert!(!first.is_finished());
        // The same one does.
        assert_eq!(said(&gateway.say("explicit:a", "quick")), "quick");
        assert!(first.is_finished() || said(&first.join().unwrap()) == "slow");
    });
    let bodies: Vec<String> = scene
        .endpoint
        .calls()
        .into_iter()
        .map(|call| call.body)
        .collect();
    assert_eq!(bodies.len(), 3);
    assert!(
        bodies[2].contains("slow one") && bodies[2].contains("quick"),
        "{}",
        bodies[2]
    );
}

#[test]
fn no_more_turns_run_than_the_config_allows() {
    let script = EndpointScript::always(ScriptStep {
        delay_ms: 300,
        ..ScriptStep::reply("ok")
    });
    let scene = ScriptedHome::with(
        APIS[0],
        script,
        json!({ "agents": { "defaults": { "maxConcurrent": 1 } } }),
    );
    let gateway = TestGateway::start(&scene.home);
    std::thread::scope(|scope| {
        let all: Vec<_> = (0..3)
            .map(|_| scope.spawn(|| gateway.post("/v1/chat/completions", &message("hi"))))
            .collect();
        wait_until("one is asked", || !scene.endpoint.calls().is_empty());
        let mut most = 0;
        while !all.iter().all(std::thread::ScopedJoinHandle::is_finished) {
            most = most.max(gateway.metric("chela_work_running"));
        }
        assert_eq!(most, 1);
        for one in all {
            assert_eq!(said(&one.join().unwrap()), "ok");
        }
    });
}

#[test]
fn a_word_in_between_is_heard_in_the_turn_that_runs() {
    let script = EndpointScript::steps([
        slow("a word more", "heard both", 0),
        slow("begin", "begun", 800),
    ]);
    let scene = with_mode("steer", script);
    let gateway = TestGateway::start(&scene.home);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| gateway.say("main", "begin"));
        wait_until("it is asked", || scene.endpoint.calls().len() == 1);
        assert_eq!(said(&gateway.say("main", "a word more")), "heard both");
        assert_eq!(said(&first.join().unwrap()), "heard both");
    });
    assert_eq!(gateway.metric("chela_work_steered_total"), 1);
    assert_eq!(scene.endpoint.calls().len(), 2);
}

#[test]
fn words_that_wait_are_read_together_in_collect() {
    let script = EndpointScript::steps([slow("begin", "begun", 800), slow("third", "both", 0)]);
    let scene = with_mode("collect", script);
    let gateway = TestGateway::start(&scene.home);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| gateway.say("main", "begin"));
        wait_until("it is asked", || scene.endpoint.calls().len() == 1);
        let second = scope.spawn(|| gateway.say("main", "second"));
        gateway.wait_for_metric("chela_work_accepted_total", 2);
        assert_eq!(said(&gateway.say("main", "third")), "both");
        assert_eq!(said(&second.join().unwrap()), "both");
        assert_eq!(said(&first.join().unwrap()), "begun");
    });
    assert_eq!(scene.endpoint.calls().len(), 2);
}

#[test]
fn the_newest_word_ends_the_turn_in_interrupt() {
    let script =
        EndpointScript::steps([slow("no, this", "this", 0), slow("that", "that", 600_000)]);
    let scene = with_mode("interrupt", script);
    let gateway = TestGateway::start(&scene.home);
    std::thread::scope(|scope| {
        let first = scope.spawn(|| gateway.say("main", "that"));
        wait_until("it is asked", || scene.endpoint.calls().len() == 1);
        assert_eq!(said(&gateway.say("main", "no, this")), "this");
        assert_eq!(first.join().unwrap().status, 200);
    });
}

#[test]
fn a_full_queue_says_so_or_drops_the_oldest() {
    for (rule, statuses) in [("new", [200, 429]), ("old", [429, 200])] {
        let script = EndpointScript::steps([slow("begin", "begun", 1_500), slow("say", "said", 0)]);
        let scene = ScriptedHome::with(
            APIS[0],
            script,
            json!({ "messages": { "queue": { "mode": "followup", "cap": 1, "drop": rule } } }),
        );
        let gateway = TestGateway::start(&scene.home);
        std::thread::scope(|scope| {
            let first = scope.spawn(|| gateway.say("main", "begin"));
            wait_until("it is asked", || scene.endpoint.calls().len() == 1);
            let second = scope.spawn(|| gateway.say("main", "say two"));
            gateway.wait_for_metric("chela_work_accepted_total", 2);
            let third = gateway.say("main", "say three").status;
            assert_eq!([second.join().unwrap().status, third], statuses, "{rule}");
            assert_eq!(said(&first.join().unwrap()), "begun");
        });
    }
}

#[test]
fn what_was_dropped_is_told_with_the_next_message_also_after_a_restart() {
    let stalls = ScriptStep {
        times: Some(1),
        ..ScriptStep::reply("never heard").fault(AnswerFault::Stall(0))
    };
    let script = EndpointScript {
        otherwise: Some(ScriptStep::reply("ok")),
        ..EndpointScript::steps([stalls.when(StepRule::default())])
    };
    let queue = json!({ "mode": "followup", "cap": 1, "drop": "summarize" });
    let scene = ScriptedHome::with(APIS[0], script, json!({ "messages": { "queue": queue } }));
    let gateway = TestGateway::start(&scene.home);
    std::thread::scope(|scope| {
        let gateway = &gateway;
        let leave = |text: &'static str| {
            scope.spawn(move || {
                let body = message(text).to_string();
                let request = format!(
                    "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nauthorization: {}\r\nx-chela-session-key: main\r\nidempotency-key: {text}\r\ncontent-length: {}\r\n\r\n{body}",
                    gateway.bearer(),
                    body.len()
                );
                gateway.raw(request.as_bytes());
            })
        };
        leave("begin");
        wait_until("it is asked", || scene.endpoint.calls().len() == 1);
        for (at, text) in ["say two", "say three", "say four"].into_iter().enumerate() {
            leave(text);
            gateway.wait_for_metric("chela_work_accepted_total", at as u64 + 2);
        }
        assert_eq!(gateway.metric("chela_work_dropped_total"), 2);
        gateway.signal(rustix::process::Signal::KILL);
    });
    drop(gateway);
    let gateway = TestGateway::start(&scene.home);
    gateway.wait_for_metric("chela_work_answered_total", 2);
    let asked = scene.endpoint.calls().pop().unwrap().body;
    for words in [
        "2 earlier messages were dropped",
        "- say two",
        "- say three",
        "say four",
    ] {
        assert!(asked.contains(words), "{words}: {asked}");
    }
    // Once: the message after that has nothing of it to tell.
    said(&gateway.say("main", "say five"));
    let asked = scene.endpoint.calls().pop().unwrap().body;
    assert_eq!(
        asked.matches("earlier messages were dropped").count(),
        1,
        "{asked}"
    );
}

#[test]
fn the_same_message_again_is_answered_from_the_record() {
    let scene = ScriptedHome::new(EndpointScript::always(ScriptStep::reply("once")));
    let gateway = TestGateway::start(&scene.home);
    let headers = [("idempotency-key", "same")];
    let ask = |stream: bool| {
        let mut ask = message("hi");
        ask["stream"] = stream.into();
        gateway.post_with("/v1/chat/completions", &headers, &ask)
    };
    assert_eq!(said(&ask(false)), "once");
    assert_eq!(said(&ask(false)), "once");
    assert!(ask(true).body.contains("once"));
    assert_eq!(scene.endpoint.calls().len(), 1);
    assert_eq!(gateway.metric("chela_work_repeated_total"), 2);
}
