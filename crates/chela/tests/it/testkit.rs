//! `chela testkit serve`: the endpoint of the tests, for people.

#![expect(
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use crate::home::{TestHome, text};

/// Starts it and reads the address off its first line.
fn serving(
    home: &TestHome,
    args: &[&str],
) -> (Child, BufReader<std::process::ChildStdout>, String) {
    let mut child = home
        .command()
        .args(["testkit", "serve"])
        .args(args)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut first = String::new();
    out.read_line(&mut first).unwrap();
    let address = first.trim().strip_prefix("Serving at http://").unwrap();
    (child, out, address.to_owned())
}

fn ask(address: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let body = r#"{"messages":[{"role":"user","content":"hello"}]}"#;
    let length = body.len();
    write!(
        stream,
        "POST /v1/chat/completions HTTP/1.1\r\nconnection: close\r\n\
         content-length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn a_script_is_played_once_and_told() {
    let home = TestHome::empty();
    let script = home.write(
        "s.json",
        r#"{ "models": ["tiny"], "key": null, "steps": [ { "reply": "You said {{user}}" }, { "status": 503 } ] }"#,
    );
    let (mut child, mut out, address) = serving(&home, &[text(&script), "--once"]);
    assert!(ask(&address).contains("You said hello"));
    assert!(ask(&address).starts_with("HTTP/1.1 503"));
    let mut told = String::new();
    out.read_to_string(&mut told).unwrap();
    assert!(child.wait().unwrap().success());
    let told = told.trim_start().replace(&address, "ADDRESS");
    insta::assert_snapshot!(told, @r#"
    Point a provider at it:
      chela config set models.providers.testkit \
        '{ baseUrl: "http://ADDRESS", models: [{ id: "tiny" }] }'
      chela config set agents.defaults.model testkit/tiny
      It answers in the format of the request. For formats other than OpenAI's chat
      completions, add api: "openai-responses", "anthropic-messages",
      "google-generative-ai" or "ollama".

    Ctrl-C to stop. Requests:
      #1   POST /v1/chat/completions → reply  (8 tokens, 0 cached)
      #2   POST /v1/chat/completions → status 503
    "#);
}

#[test]
fn the_example_can_be_served_as_it_is() {
    let home = TestHome::empty();
    let example = home.exact(&["testkit", "serve", "--example"]);
    let script = home.write("example.json", &example);
    let (mut child, _out, address) = serving(&home, &[text(&script)]);
    assert!(ask(&address).contains("Hello! You said: hello"));
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_bad_script_is_told_with_its_line() {
    let home = TestHome::empty();
    let script = home.write(
        "bad.json",
        "{\n  \"steps\": [\n    { \"replay\": 1 }\n  ]\n}",
    );
    let told = home.run(&["testkit", "serve", text(&script)]).fails(2);
    assert!(
        told.starts_with("error: ~/bad.json:3:14: unknown field `replay`"),
        "{told}"
    );
    let missing = home.run(&["testkit", "serve"]).fails(2);
    assert!(missing.contains("<SCRIPT>"), "{missing}");
}
