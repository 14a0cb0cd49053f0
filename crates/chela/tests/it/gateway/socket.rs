//! The WebSocket: requests, events, what was missed, and the owner's answers.

use std::io::{Read, Write};
use std::net::TcpStream;

use chela_testkit::{EndpointScript, ScriptStep, StepRule};
use serde_json::{Value, json};

use super::{TestGateway, message};
use crate::scene::{APIS, ScriptedHome, after_tool};

/// A client as small as a client can be.
pub(crate) struct SocketClient {
    stream: TcpStream,
    next: u64,
    /// Events that came while a reply was waited for.
    events: Vec<Value>,
}

impl SocketClient {
    pub(crate) fn connect(gateway: &TestGateway, since: Option<u64>) -> (Self, Value) {
        let mut stream = TcpStream::connect(("127.0.0.1", gateway.port)).unwrap();
        let head = format!(
            "GET /ws HTTP/1.1\r\nhost: 127.0.0.1:{}\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-protocol: chela.v1, chela.token.{}\r\n\r\n",
            gateway.port, gateway.token
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut answer = Vec::new();
        while !answer.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            assert_eq!(
                stream.read(&mut byte).unwrap(),
                1,
                "{}",
                String::from_utf8_lossy(&answer)
            );
            answer.push(byte[0]);
        }
        let answer = String::from_utf8(answer).unwrap();
        assert!(answer.contains("101"), "{answer}");
        assert!(
            answer
                .to_lowercase()
                .contains("sec-websocket-protocol: chela.v1"),
            "{answer}"
        );
        let mut client = Self {
            stream,
            next: 1,
            events: Vec::new(),
        };
        let hello = client.ask(json!({ "type": "hello", "version": 1, "since": since }));
        assert_eq!(hello["ok"], true, "{hello}");
        (client, hello["result"].clone())
    }

    fn send(&mut self, value: &Value) {
        let text = value.to_string();
        let mut frame = vec![0x81];
        match u8::try_from(text.len()) {
            Ok(length @ 0..=125) => frame.push(0x80 | length),
            _ => {
                frame.push(0x80 | 126);
                frame.extend(u16::try_from(text.len()).unwrap().to_be_bytes());
            }
        }
        // A mask of zeros masks nothing.
        frame.extend([0, 0, 0, 0]);
        frame.extend(text.as_bytes());
        self.stream.write_all(&frame).unwrap();
    }

    fn receive(&mut self) -> Value {
        loop {
            let mut head = [0; 2];
            self.stream.read_exact(&mut head).unwrap();
            let length = match head[1] {
                126 => {
                    let mut bytes = [0; 2];
                    self.stream.read_exact(&mut bytes).unwrap();
                    usize::from(u16::from_be_bytes(bytes))
                }
                127 => {
                    let mut bytes = [0; 8];
                    self.stream.read_exact(&mut bytes).unwrap();
                    usize::try_from(u64::from_be_bytes(bytes)).unwrap()
                }
                short => usize::from(short),
            };
            let mut body = vec![0; length];
            self.stream.read_exact(&mut body).unwrap();
            if head[0] & 0x0f == 1 {
                return serde_json::from_slice(&body).unwrap();
            }
        }
    }

    pub(crate) fn ask(&mut self, mut request: Value) -> Value {
        request["id"] = self.next.into();
        self.next += 1;
        self.send(&request);
        loop {
            let told = self.receive();
            if told["type"] == "reply" && told["id"] == request["id"] {
                return told;
            }
            self.events.push(told);
        }
    }

    /// The next message of this type.
    pub(crate) fn until_type(&mut self, name: &str) -> Value {
        loop {
            let told = self.receive();
            if told["type"] == name {
                return told;
            }
        }
    }

    /// Whether the other end hangs up.
    pub(crate) fn is_closed(&mut self) -> bool {
        let mut rest = Vec::new();
        // A frame that says so may come before the end.
        self.stream.read_to_end(&mut rest).is_ok()
    }

    /// The next event of this name.
    pub(crate) fn until(&mut self, name: &str) -> Value {
        if let Some(at) = self.events.iter().position(|event| event["event"] == name) {
            return self.events.remove(at);
        }
        loop {
            let told = self.receive();
            if told["event"] == name {
                return told;
            }
        }
    }
}

#[test]
fn a_turn_is_seen_as_it_happens_and_what_was_missed_comes_afterwards() {
    let scene = ScriptedHome::new(EndpointScript::always(ScriptStep::reply("good day")));
    let gateway = TestGateway::start(&scene.home);
    let (mut client, hello) = SocketClient::connect(&gateway, None);
    assert_eq!(hello["version"], 1);
    let sent = client.ask(json!({ "type": "chat.send", "text": "hi", "idempotencyKey": "a" }));
    let work = sent["result"]["work"].clone();
    let begins = client.until("turn.text");
    let delta = begins["data"]["delta"].as_str().unwrap().to_owned();
    assert!(
        !delta.is_empty() && "good day".starts_with(&delta),
        "{begins}"
    );
    let ended = client.until("work.ended");
    assert_eq!(
        (&ended["work"], &ended["data"]["reply"]),
        (&work, &"good day".into())
    );
    let again = client.ask(json!({ "type": "chat.send", "text": "hi", "idempotencyKey": "a" }));
    assert_eq!(again["result"]["repeated"], true);
    let seen = ended["seq"].as_u64().unwrap();
    drop(client);

    super::said(&gateway.say("main", "meanwhile"));
    let (mut client, hello) = SocketClient::connect(&gateway, Some(seen));
    assert_eq!(hello["gap"], false);
    let missed = client.until("work.ended");
    assert!(missed["seq"].as_u64().unwrap() > seen);
    let refused =
        client.ask(json!({ "type": "chat.send", "text": "x", "session": "agent:other:main" }));
    assert_eq!(refused["ok"], false, "{refused}");
    let (_, hello) = SocketClient::connect(&gateway, Some(99_999));
    assert_eq!(hello["gap"], true);
}

/// A command that needs a yes.
fn asking() -> ScriptedHome {
    let call = ScriptStep::tool("exec", json!({ "command": "echo did >> did.txt" }));
    let script = EndpointScript::steps([
        call.when(StepRule {
            after_tool: Some(false),
            ..StepRule::default()
        }),
        after_tool(ScriptStep::reply("done")),
    ]);
    ScriptedHome::with(
        APIS[0],
        script,
        json!({ "tools": { "exec": { "mode": "ask", "security": "full", "ask": "always" } } }),
    )
}

#[test]
fn a_question_is_put_to_whoever_listens_and_the_first_answer_counts() {
    let scene = asking();
    let gateway = TestGateway::start(&scene.home);
    let (mut client, _) = SocketClient::connect(&gateway, None);
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| gateway.say("main", "do it"));
        let question = client.until("approval.asked");
        let id = question["data"]["id"].clone();
        assert!(
            question["data"]["calls"][0]["summary"].as_str().is_some(),
            "{question}"
        );
        let open = gateway.get("/approvals").json();
        assert_eq!(open["open"][0]["id"], id);
        let given =
            client.ask(json!({ "type": "approvals.answer", "question": id, "answer": "once" }));
        assert_eq!(given["ok"], true, "{given}");
        let late = gateway.post(
            &format!("/approvals/{}", id.as_str().unwrap()),
            &json!({ "answer": "deny" }),
        );
        assert_eq!(late.status, 404, "{late:?}");
        assert_eq!(super::said(&asked.join().unwrap()), "done");
    });
    assert_eq!(scene.home.read(".chela/workspace/did.txt"), "did\n");
}

#[test]
fn a_question_of_the_gateway_is_answered_from_a_terminal() {
    let scene = asking();
    let gateway = TestGateway::start(&scene.home);
    let (mut client, _) = SocketClient::connect(&gateway, None);
    std::thread::scope(|scope| {
        let asked = scope.spawn(|| gateway.say("main", "do it"));
        let question = client.until("approval.asked");
        let id = question["data"]["id"].as_str().unwrap().to_owned();
        let listed = scene.home.run(&["approvals", "list"]).ok();
        assert!(listed.contains(&id), "{listed}");
        let told = scene.home.run(&["approvals", "allow", &id]).ok();
        assert!(told.contains("Answered"), "{told}");
        assert_eq!(super::said(&asked.join().unwrap()), "done");
    });
    assert_eq!(scene.home.read(".chela/workspace/did.txt"), "did\n");
}

#[test]
fn nobody_listens_and_the_question_waits_on_the_list() {
    let scene = asking();
    let gateway = TestGateway::start(&scene.home);
    super::said(&gateway.post("/v1/chat/completions", &message("do it")));
    assert!(!scene.home.exists(".chela/workspace/did.txt"));
}
