//! Deliveries: what was said goes where it is wanted, once, over every kind of failure.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Mutex};

use chela_testkit::{EndpointScript, ScriptStep, StepRule, wait_until};
use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha2::Sha256;

use super::{TestGateway, said};
use crate::scene::{APIS, ScriptedHome};

const SECRET: &str = "a-secret-of-both-ends";

/// What one request to the other end held.
#[derive(Debug, Clone)]
struct Posted {
    head: String,
    body: String,
}

impl Posted {
    fn header(&self, name: &str) -> &str {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        let found = lines.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.trim()).unwrap_or_default()
    }

    fn is_signed(&self) -> bool {
        let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
        mac.update(format!("{}.{}", self.header("x-chela-timestamp"), self.body).as_bytes());
        let bytes = mac.finalize().into_bytes();
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        self.header("x-chela-signature") == format!("v1={hex}")
    }
}

/// A server of somebody else's, which answers with these statuses in turn and then with the last.
struct OtherEnd {
    url: String,
    posted: Receiver<Posted>,
    statuses: Arc<Mutex<Vec<u16>>>,
}

impl OtherEnd {
    /// 0: it takes the request and hangs up without an answer; 1: it never answers.
    fn answering(statuses: &[u16]) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/in", listener.local_addr().unwrap());
        let (sender, posted) = channel();
        let statuses = Arc::new(Mutex::new(statuses.to_vec()));
        let known = Arc::clone(&statuses);
        std::thread::spawn(move || {
            let mut silent = Vec::new();
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                let Some(request) = read_request(&mut stream) else {
                    continue;
                };
                let status = {
                    let mut known = known.lock().unwrap();
                    match known.len() {
                        1 => known[0],
                        _ => known.remove(0),
                    }
                };
                if sender.send(request).is_err() {
                    return;
                }
                if status == 1 {
                    silent.push(stream);
                } else if status > 1 {
                    let reply = format!("HTTP/1.1 {status} X\r\ncontent-length: 0\r\n\r\n");
                    let _ = stream.write_all(reply.as_bytes());
                }
            }
        });
        Self {
            url,
            posted,
            statuses,
        }
    }

    fn next(&self) -> Posted {
        let patience = std::time::Duration::from_secs(60);
        self.posted.recv_timeout(patience).unwrap()
    }

    fn answers_now(&self, status: u16) {
        *self.statuses.lock().unwrap() = vec![status];
    }
}

fn read_request(stream: &mut std::net::TcpStream) -> Option<Posted> {
    let mut bytes = Vec::new();
    let mut piece = [0; 4096];
    loop {
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some((head, body)) = text.split_once("\r\n\r\n") {
            let length = head.lines().find_map(|line| {
                let (name, value) = line.split_once(": ")?;
                name.eq_ignore_ascii_case("content-length").then_some(value)
            });
            let length: usize = length.and_then(|length| length.parse().ok()).unwrap_or(0);
            if body.len() >= length {
                let (head, body) = (head.to_owned(), body.to_owned());
                return Some(Posted { head, body });
            }
        }
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return None,
            Ok(count) => bytes.extend_from_slice(&piece[..count]),
        }
    }
}

fn script() -> EndpointScript {
    let news = ScriptStep::reply("Three new notes.").when(StepRule {
        contains: Some("What is new".into()),
        ..StepRule::default()
    });
    EndpointScript {
        otherwise: Some(ScriptStep::reply("I see.")),
        ..EndpointScript::steps([news])
    }
}

fn scene(webhooks: &[&str]) -> ScriptedHome {
    let delivery = json!({ "webhooks": webhooks, "secret": SECRET, "backoffMs": [50] });
    let more = json!({ "gateway": { "delivery": delivery } });
    ScriptedHome::with(APIS[0], script(), more)
}

fn add_job(scene: &ScriptedHome, deliver: &str) {
    let args = [
        "cron",
        "add",
        "--every",
        "1d",
        "--session",
        "isolated",
        "--name",
        "news",
        "--deliver",
        deliver,
        "What is new?",
    ];
    scene.home.run(&args).ok();
}

fn main_session(scene: &ScriptedHome) -> String {
    let export = scene
        .home
        .run(&["sessions", "export", "agent:main:main", "--format", "md"]);
    export.out
}

fn deliveries(scene: &ScriptedHome) -> Vec<Value> {
    let list = scene
        .home
        .run(&["gateway", "deliveries", "--all", "--json"])
        .json();
    list["deliveries"].as_array().unwrap().clone()
}

#[test]
fn what_a_job_says_on_its_own_is_announced_once_and_known_to_the_agent() {
    let scene = scene(&[]);
    let gateway = TestGateway::start(&scene.home);
    // Nobody reads a conversation of its own: announced unless something else is said.
    let args = [
        "cron",
        "add",
        "--every",
        "1d",
        "--session",
        "isolated",
        "--name",
        "news",
        "What is new?",
    ];
    scene.home.run(&args).ok();
    scene.home.run(&["cron", "run", "news"]).ok();
    gateway.wait_for_metric("chela_deliveries_delivered_total", 1);
    wait_until("it stands in the main conversation", || {
        main_session(&scene).contains("Three new notes.")
    });
    assert_eq!(main_session(&scene).matches("Three new notes.").count(), 1);
    // No model was asked for it.
    assert_eq!(scene.endpoint.calls().len(), 1);
    said(&gateway.say("main", "thanks"));
    let asked = scene.endpoint.calls().pop().unwrap().body;
    assert!(
        asked.contains("You said this outside of this conversation, as job news"),
        "{asked}"
    );
    assert!(asked.contains("Three new notes."), "{asked}");
    let [delivery] = &deliveries(&scene)[..] else {
        panic!("{:?}", deliveries(&scene));
    };
    assert_eq!(delivery["state"], "delivered");
    assert!(
        delivery["id"].as_str().unwrap().starts_with("answer:cron:"),
        "{delivery}"
    );
}

#[test]
fn a_run_by_hand_without_a_gateway_is_announced_too() {
    let scene = scene(&[]);
    add_job(&scene, "owner");
    let ran = scene.home.run(&["cron", "run", "news"]).ok();
    assert!(ran.contains("Three new notes."), "{ran}");
    assert!(main_session(&scene).contains("Three new notes."));
}

#[test]
fn a_webhook_is_signed_tried_again_and_known_by_its_key() {
    let other = OtherEnd::answering(&[503, 0, 204]);
    let scene = scene(&[&other.url]);
    let gateway = TestGateway::start(&scene.home);
    add_job(&scene, &other.url);
    scene.home.run(&["cron", "run", "news"]).ok();
    let all = [other.next(), other.next(), other.next()];
    for posted in &all {
        assert!(posted.is_signed(), "{posted:?}");
        assert_eq!(
            posted.header("idempotency-key"),
            all[0].header("idempotency-key")
        );
        let body: Value = serde_json::from_str(&posted.body).unwrap();
        assert_eq!(body["text"], "Three new notes.");
        assert_eq!(body["id"], posted.header("idempotency-key"));
    }
    gateway.wait_for_metric("chela_deliveries_delivered_total", 1);
    wait_until("nothing waits for delivery", || {
        gateway.metric("chela_deliveries_waiting") == 0
    });
    assert!(other.posted.try_recv().is_err(), "it came once more");
    assert!(!main_session(&scene).contains("Three new notes."));
}

#[test]
fn what_is_refused_is_told_to_the_owner_once_and_can_be_tried_again() {
    let other = OtherEnd::answering(&[404]);
    let scene = scene(&[&other.url]);
    let gateway = TestGateway::start(&scene.home);
    add_job(&scene, &other.url);
    scene.home.run(&["cron", "run", "news"]).ok();
    other.next();
    gateway.wait_for_metric("chela_deliveries_failed_total", 1);
    wait_until("the owner is told", || {
        main_session(&scene).contains("was not delivered to")
    });
    let listed = scene.home.run(&["gateway", "deliveries"]).ok();
    assert!(
        listed.contains("failed: answered 404") && listed.contains("job news"),
        "{listed}"
    );
    let number = deliveries(&scene)
        .iter()
        .find(|row| row["state"] == "failed")
        .map(|row| row["number"].as_str().unwrap().to_owned())
        .unwrap();
    other.answers_now(404);
    scene
        .home
        .run(&["gateway", "deliveries", "retry", &number])
        .ok();
    other.next();
    gateway.wait_for_metric("chela_deliveries_failed_total", 2);
    other.answers_now(200);
    scene
        .home
        .run(&["gateway", "deliveries", "retry", &number])
        .ok();
    other.next();
    wait_until("it arrives", || {
        deliveries(&scene)
            .iter()
            .any(|row| row["number"] == number.as_str() && row["state"] == "delivered")
    });
    assert_eq!(
        main_session(&scene).matches("was not delivered to").count(),
        1
    );
    scene
        .home
        .run(&["gateway", "deliveries", "drop", &number])
        .fails(2);
    scene
        .home
        .run(&["gateway", "deliveries", "retry", "ffffff00"])
        .fails(2);
}

#[test]
fn an_answer_whose_delivery_was_killed_arrives_and_no_model_is_asked_again() {
    // The first request is taken, and the gateway dies before it hears so.
    let other = OtherEnd::answering(&[1, 200]);
    let scene = scene(&[&other.url]);
    let gateway = TestGateway::start(&scene.home);
    add_job(&scene, &other.url);
    scene.home.run(&["cron", "run", "news"]).ok();
    let first = other.next();
    gateway.kill();
    assert_eq!(deliveries(&scene)[0]["state"], "waiting");
    let gateway = TestGateway::start(&scene.home);
    let second = other.next();
    assert_eq!(
        first.header("idempotency-key"),
        second.header("idempotency-key")
    );
    gateway.wait_for_metric("chela_deliveries_delivered_total", 1);
    assert_eq!(scene.endpoint.calls().len(), 1);
}

#[test]
fn what_nothing_delivers_is_refused_before_anybody_relies_on_it() {
    let scene = scene(&["https://example.org/in"]);
    for (deliver, words) in [
        ("telegram:42", "no channel `telegram` is set up"),
        ("https://example.org/inbox", "does not name example.org"),
        (
            "http://169.254.169.254/latest",
            "gateway.delivery.webhooks does not name",
        ),
        ("agent:other:main", "belongs to another agent"),
        ("nobody", "no channel `nobody` is set up"),
    ] {
        let args = ["cron", "add", "--every", "1d", "--deliver", deliver, "x"];
        let refused = scene.home.run(&args).fails(2);
        assert!(refused.contains(words), "{deliver}: {refused}");
    }
    assert!(deliveries(&scene).is_empty());
}

#[test]
fn an_alert_of_a_heartbeat_reaches_the_owner_or_no_model_is_asked() {
    let alert = ScriptStep::reply("The disk is nearly full.");
    let beat = json!({ "agents": { "defaults": { "heartbeat": { "every": "30m" } } } });
    let scene = ScriptedHome::with(APIS[0], EndpointScript::always(alert), beat);
    scene
        .home
        .write(".chela/workspace/HEARTBEAT.md", "Look at the disk.\n");
    scene.home.run(&["workspace", "approve", "HEARTBEAT.md"]);
    let gateway = TestGateway::start(&scene.home);
    scene.home.run(&["heartbeat", "run", "--force"]).ok();
    gateway.wait_for_metric("chela_deliveries_delivered_total", 1);
    wait_until("it is announced", || {
        main_session(&scene).contains("The disk is nearly full.")
    });
    gateway.kill();
    let calls = scene.endpoint.calls().len();
    scene
        .home
        .run(&[
            "config",
            "set",
            "agents.defaults.heartbeat.target",
            "telegram",
        ])
        .ok();
    let why = scene.home.run(&["heartbeat", "why"]);
    assert!(
        why.flat()
            .contains("heartbeat.target names a channel that is not set up"),
        "{why:?}"
    );
    assert_eq!(scene.endpoint.calls().len(), calls);
}
