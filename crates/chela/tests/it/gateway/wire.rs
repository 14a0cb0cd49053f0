//! Attacks below HTTP's meaning: requests that two readers would read in two ways, bodies that
//! never come, thousands of connections that say nothing. Refused, logged, without effect, in
//! bounded memory.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use chela_testkit::{EndpointScript, ScriptStep, wait_until};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::{TestGateway, message, said};
use crate::scene::ScriptedHome;

fn scene() -> ScriptedHome {
    ScriptedHome::new(EndpointScript::always(ScriptStep::reply("hello")))
}

/// Everything that comes back before the other side closes, or says nothing more for a while.
fn exchange(gateway: &TestGateway, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", gateway.port)).unwrap();
    let _ = stream.write_all(bytes);
    let patience = std::time::Duration::from_secs(2);
    stream.set_read_timeout(Some(patience)).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn a_request_that_can_be_read_in_two_ways_is_refused_and_does_nothing() {
    let scene = scene();
    let gateway = TestGateway::start(&scene.home);
    let bearer = gateway.bearer();
    let hidden = "GET /metrics HTTP/1.1\r\nhost: localhost\r\n\r\n";
    let post = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nauthorization: {bearer}\r\n"
    );
    let length = hidden.len() + 5;
    let ambiguous = [
        // Two lengths, by two rules.
        format!(
            "{post}content-length: {length}\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n{hidden}"
        ),
        format!(
            "{post}transfer-encoding: chunked\r\ncontent-length: {length}\r\n\r\n0\r\n\r\n{hidden}"
        ),
        format!("{post}transfer-encoding: chunked, identity\r\n\r\n0\r\n\r\n{hidden}"),
        format!("{post}transfer-encoding: xchunked\r\n\r\n0\r\n\r\n{hidden}"),
        format!("{post}content-length: 4\r\ncontent-length: 5\r\n\r\nabcd{hidden}"),
        format!("{post}content-length: +4\r\n\r\nabcd{hidden}"),
        format!("{post}content-length: 4, 4\r\n\r\nabcd{hidden}"),
        // A name with a space, a folded line, a bare carriage return.
        format!("{post}content-length : 4\r\n\r\nabcd{hidden}"),
        format!("{post}x-folded: one\r\n two\r\n\r\n{hidden}"),
        format!("{post}x-return: one\rtwo: three\r\n\r\n{hidden}"),
        format!("{post}x-null: a\0b\r\n\r\n{hidden}"),
    ];
    for request in ambiguous {
        let answer = exchange(&gateway, request.as_bytes());
        assert!(
            !answer.contains("chela_work_accepted_total"),
            "{request}: {answer}"
        );
        let statuses: Vec<&str> = answer
            .match_indices("HTTP/1.1 ")
            .filter_map(|(at, _)| answer.get(at + 9..at + 12))
            .collect();
        assert!(
            statuses
                .iter()
                .all(|status| matches!(*status, "400" | "401" | "501")),
            "{request}: {answer}"
        );
    }
    // Lines that end without a carriage return are read as lines, and need the token like others.
    let bare = exchange(
        &gateway,
        b"GET /metrics HTTP/1.1\nhost: localhost\nconnection: close\n\n",
    );
    assert!(bare.is_empty() || bare.starts_with("HTTP/1.1 4"), "{bare}");
    assert_eq!(gateway.metric("chela_work_accepted_total"), 0);
    assert!(scene.endpoint.calls().is_empty());
    let log = scene.home.run(&["gateway", "logs"]).ok();
    assert!(log.contains("a request was refused"), "{log}");
    assert_eq!(
        said(&gateway.post("/v1/chat/completions", &message("hi"))),
        "hello"
    );
}

#[test]
fn bodies_and_heads_that_never_come_are_given_up_and_hold_nobody_up() {
    let scene = scene();
    let gateway = TestGateway::start(&scene.home);
    let begin = |bytes: String| {
        let mut stream = TcpStream::connect(("127.0.0.1", gateway.port)).unwrap();
        stream.write_all(bytes.as_bytes()).unwrap();
        stream
    };
    let bearer = gateway.bearer();
    let head = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nauthorization: {bearer}\r\n"
    );
    let mut slow: Vec<TcpStream> = Vec::new();
    for _ in 0..20 {
        // A body of which little comes, one in chunks that ends in the middle, half a head.
        slow.push(begin(format!(
            "{head}content-length: 100000\r\n\r\n{{\"messages\""
        )));
        slow.push(begin(format!(
            "{head}transfer-encoding: chunked\r\n\r\nff\r\n{{"
        )));
        slow.push(begin(head.clone()));
    }
    // The other side of some is gone without a word.
    slow.drain(..9);
    assert_eq!(
        said(&gateway.post("/v1/chat/completions", &message("hi"))),
        "hello"
    );
    for mut stream in slow {
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer);
        assert!(
            answer.is_empty() || answer.starts_with("HTTP/1.1 408"),
            "{answer}"
        );
    }
    wait_until("none of them is left", || {
        gateway.metric("chela_connections_open") == 1
    });
    assert_eq!(gateway.metric("chela_work_accepted_total"), 1);
}

/// Kibibytes of the process that are in memory.
fn resident(gateway: &TestGateway) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", gateway.pid())).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
    number.unwrap()
}

#[test]
fn ten_thousand_connections_that_say_nothing_cost_little_memory() {
    let scene = scene();
    let gateway = TestGateway::start(&scene.home);
    assert_eq!(
        said(&gateway.post("/v1/chat/completions", &message("hi"))),
        "hello"
    );
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        maximum: limit.maximum,
    };
    setrlimit(Resource::Nofile, raised).unwrap();
    let most = limit
        .maximum
        .unwrap_or(20_000)
        .saturating_sub(500)
        .min(10_000);
    let before = resident(&gateway);
    let idle: Vec<TcpStream> = (0..most)
        .filter_map(|_| TcpStream::connect(("127.0.0.1", gateway.port)).ok())
        .collect();
    assert!(idle.len() as u64 > most / 2, "{} of {most}", idle.len());
    let grown = resident(&gateway).saturating_sub(before);
    assert!(
        grown < 32 * 1024,
        "{grown} KiB more with {} connections",
        idle.len()
    );
    drop(idle);
    wait_until("there is room again", || {
        gateway
            .raw(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n")
            .is_some()
    });
    assert!(gateway.metric("chela_connections_refused_total") > 0);
    assert_eq!(
        said(&gateway.post("/v1/chat/completions", &message("hi"))),
        "hello"
    );
}
