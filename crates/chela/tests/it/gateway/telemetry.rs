//! What a collector of OpenTelemetry is sent, read by the protocol's own package; and that none of
//! it holds a turn up.

use std::process::Command;

use chela_testkit::{
    AnswerFault, EndpointScript, ScriptStep, ScriptedEndpoint, find_part, wait_until,
};
use serde_json::{Value, json};

use super::{TestGateway, message, said};
use crate::parts::installed_by;
use crate::scene::{APIS, ScriptedHome, after_tool};

/// A collector: it answers whatever is sent with `step`.
fn collector(step: ScriptStep) -> ScriptedEndpoint {
    let mut script = EndpointScript::default();
    for path in ["/v1/traces", "/v1/metrics"] {
        let rule = chela_testkit::StepRule {
            path: Some(path.into()),
            ..chela_testkit::StepRule::default()
        };
        script.steps.push(step.clone().when(rule));
    }
    ScriptedEndpoint::start(script).unwrap()
}

fn scene(collector: &ScriptedEndpoint) -> ScriptedHome {
    let script = EndpointScript::steps([
        after_tool(ScriptStep::reply("the note says tea")),
        ScriptStep::tool("read", json!({ "path": "note.txt" }))
            .when(chela_testkit::StepRule::default()),
    ]);
    let otel = json!({ "diagnostics": { "otel": {
        "enabled": true, "endpoint": collector.url(), "flushIntervalMs": 100,
        "serviceName": "kitchen",
        "headers": { "x-collector": "a-value-of-the-header" },
    } } });
    let scene = ScriptedHome::with(APIS[0], script, otel);
    scene.home.write(".chela/workspace/note.txt", "tea\n");
    scene
}

fn sent(collector: &ScriptedEndpoint, path: &str) -> Vec<Value> {
    let requests = collector.requests();
    let to = requests.iter().filter(|request| request.path == path);
    to.map(|request| request.json()).collect()
}

fn spans(collector: &ScriptedEndpoint) -> Vec<Value> {
    let bodies = sent(collector, "/v1/traces");
    let spans = bodies.iter().map(|body| {
        let spans = &body["resourceSpans"][0]["scopeSpans"][0]["spans"];
        spans.as_array().unwrap().clone()
    });
    spans.flatten().collect()
}

fn attribute<'a>(span: &'a Value, key: &str) -> &'a Value {
    let attributes = span["attributes"].as_array().unwrap();
    let found = attributes.iter().find(|attribute| attribute["key"] == key);
    let value = &found.unwrap_or_else(|| panic!("no {key} in {span}"))["value"];
    match value.get("intValue") {
        Some(number) => number,
        None => &value["stringValue"],
    }
}

#[test]
fn a_turn_is_a_trace_without_content_that_the_protocol_can_read() {
    let collector = collector(ScriptStep {
        status: Some(200),
        ..ScriptStep::default()
    });
    let scene = scene(&collector);
    let gateway = TestGateway::start(&scene.home);
    let words = "what does my secret diary note say?";
    assert_eq!(
        said(&gateway.post("/v1/chat/completions", &message(words))),
        "the note says tea"
    );
    wait_until("the trace is sent", || !spans(&collector).is_empty());
    let spans = spans(&collector);
    let names: Vec<&str> = spans
        .iter()
        .map(|span| span["name"].as_str().unwrap())
        .collect();
    assert_eq!(
        names,
        [
            "chat scripted",
            "chat scripted",
            "execute_tool read",
            "invoke_agent main"
        ]
    );
    let turn = &spans[3];
    for span in &spans[..3] {
        assert_eq!(span["traceId"], turn["traceId"]);
        assert_eq!(span["parentSpanId"], turn["spanId"]);
    }
    assert_eq!(attribute(&spans[0], "gen_ai.operation.name"), "chat");
    assert_eq!(attribute(&spans[0], "gen_ai.provider.name"), "kit");
    assert_ne!(attribute(&spans[0], "gen_ai.usage.input_tokens"), "0");
    assert_eq!(
        attribute(&spans[0], "gen_ai.usage.cache_write.input_tokens"),
        "0"
    );
    assert_eq!(attribute(&spans[2], "gen_ai.tool.name"), "read");
    let has_usage = |body: &Value| body.to_string().contains("gen_ai.client.token.usage");
    wait_until("the metrics are sent", || {
        sent(&collector, "/v1/metrics").iter().any(has_usage)
    });
    for request in collector.requests() {
        assert_eq!(request.header("x-collector"), Some("a-value-of-the-header"));
        for content in ["diary", "the note says", "note.txt", "kit-Ba1t"] {
            assert!(
                !request.body.contains(content),
                "{content}: {}",
                request.body
            );
        }
        assert!(request.body.contains("kitchen"));
    }
    let Some(reader) = find_part("otel-proto", installed_by("otel-proto.sh")) else {
        return;
    };
    for (kind, bodies) in [
        ("traces", sent(&collector, "/v1/traces")),
        ("metrics", sent(&collector, "/v1/metrics")),
    ] {
        for body in bodies {
            let file = scene.home.write("body.json", &body.to_string());
            let read = Command::new(&reader).arg(kind).arg(file).output().unwrap();
            assert!(read.status.success(), "{read:?}");
            let text = String::from_utf8_lossy(&read.stdout);
            assert!(text.contains("kitchen"), "{text}");
        }
    }
}

#[test]
fn a_collector_that_hangs_or_fails_holds_nothing_up_and_gets_it_later() {
    let collector = collector(ScriptStep {
        fault: Some(AnswerFault::Stall(0)),
        ..ScriptStep::reply("never")
    });
    let scene = scene(&collector);
    let gateway = TestGateway::start(&scene.home);
    wait_until("the collector hangs", || !collector.requests().is_empty());
    for _ in 0..3 {
        assert_eq!(
            said(&gateway.post("/v1/chat/completions", &message("hi"))),
            "the note says tea"
        );
    }
    // It comes back.
    let ok = ScriptStep {
        status: Some(200),
        ..ScriptStep::default()
    };
    let rule = chela_testkit::StepRule {
        path: Some("/v1/".into()),
        ..chela_testkit::StepRule::default()
    };
    let mut again = EndpointScript::default();
    again.steps.push(ok.when(rule));
    collector.play(again);
    let turns = || {
        let all = spans(&collector);
        all.iter()
            .filter(|span| span["name"] == "invoke_agent main")
            .count()
    };
    wait_until("all of it is sent", || turns() >= 3);
    assert_eq!(turns(), 3);
}
