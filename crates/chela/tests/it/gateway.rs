//! The gateway as a process: started, spoken to over real sockets, killed.

#![expect(
    clippy::panic,
    clippy::unwrap_used,
    reason = "a test that cannot be set up fails here"
)]

mod answering;
mod attacks;
mod callers_choose;
mod clients;
mod config_tool;
mod crash;
mod delivery;
mod hooks;
mod lanes;
mod living;
mod process;
mod quotas;
mod reload;
mod shared_chat;
pub(crate) mod socket;
mod telemetry;
mod tls;
mod tools;
mod whose_words;
mod wire;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use chela_testkit::wait_until;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::home::TestHome;

/// A gateway of a test's own home, on a free port.
pub struct TestGateway {
    child: Child,
    pub port: u16,
    pub token: String,
}

/// What was answered to one request.
#[derive(Debug)]
pub struct HttpAnswer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl HttpAnswer {
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|_| panic!("no JSON: {self:?}"))
    }
}

impl Drop for TestGateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl TestGateway {
    pub fn start(home: &TestHome) -> Self {
        let mut child = home
            .command()
            .args(["gateway", "run", "--port", "0"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        out.read_line(&mut line).unwrap();
        let port = line.split(':').nth(2).and_then(|rest| {
            let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
            digits.parse().ok()
        });
        let Some(port) = port else {
            let mut err = String::new();
            let _ = child.stderr.take().unwrap().read_to_string(&mut err);
            panic!("it does not listen: {line:?} {err}");
        };
        // Whatever it says later must find a reader.
        let mut err = child.stderr.take().unwrap();
        std::thread::spawn(move || std::io::copy(&mut err, &mut std::io::sink()));
        std::thread::spawn(move || std::io::copy(&mut out, &mut std::io::sink()));
        let token = home.run(&["gateway", "token"]).ok().trim().to_owned();
        Self { child, port, token }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// kill -9.
    pub fn kill(mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
    }

    /// Waits for its end; gives the exit code.
    pub fn wait(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }

    /// A request exactly as it is written.
    pub fn raw(&self, bytes: &[u8]) -> Option<HttpAnswer> {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        // It may hang up before everything is written.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        read_answer(&String::from_utf8_lossy(&answer))
    }

    /// A request with these headers and no others but what HTTP needs.
    pub fn ask(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> HttpAnswer {
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n",
            body.len()
        );
        if !headers
            .iter()
            .any(|(name, _)| name.eq_ignore_ascii_case("host"))
        {
            head.push_str(&format!("host: 127.0.0.1:{}\r\n", self.port));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        let request = format!("{head}\r\n{body}");
        self.raw(request.as_bytes()).unwrap()
    }

    /// With the owner's token.
    pub fn get(&self, path: &str) -> HttpAnswer {
        self.ask("GET", path, &[("authorization", &self.bearer())], "")
    }

    pub fn post(&self, path: &str, body: &Value) -> HttpAnswer {
        self.post_with(path, &[], body)
    }

    pub fn post_with(&self, path: &str, headers: &[(&str, &str)], body: &Value) -> HttpAnswer {
        let bearer = self.bearer();
        let mut all = vec![
            ("authorization", bearer.as_str()),
            ("content-type", "application/json"),
        ];
        all.extend_from_slice(headers);
        self.ask("POST", path, &all, &body.to_string())
    }

    pub fn bearer(&self) -> String {
        format!("Bearer {}", self.token)
    }

    /// A message in a session that is kept, and the answer to it.
    pub fn say(&self, session: &str, text: &str) -> HttpAnswer {
        let headers = [("x-chela-session-key", session)];
        self.post_with("/v1/chat/completions", &headers, &message(text))
    }

    /// A counter of `/metrics`.
    pub fn metric(&self, name: &str) -> u64 {
        let text = self.get("/metrics").body;
        let line = text
            .lines()
            .find(|line| line.starts_with(&format!("{name} ")));
        let value = line.and_then(|line| line.split(' ').nth(1)?.parse().ok());
        value.unwrap_or_else(|| panic!("no {name} in {text}"))
    }

    pub fn wait_for_metric(&self, name: &str, least: u64) {
        wait_until(&format!("{name} reaches {least}"), || {
            self.metric(name) >= least
        });
    }
}

pub fn message(text: &str) -> Value {
    json!({ "model": "chela", "messages": [{ "role": "user", "content": text }] })
}

/// What the agent said, of a chat completion.
pub fn said(answer: &HttpAnswer) -> String {
    assert_eq!(answer.status, 200, "{answer:?}");
    let json = answer.json();
    json["choices"][0]["message"]["content"]
        .as_str()
        .unwrap()
        .to_owned()
}

fn read_answer(text: &str) -> Option<HttpAnswer> {
    let (head, body) = text.split_once("\r\n\r\n")?;
    let status = head.split(' ').nth(1)?.parse().ok()?;
    let is_chunked = head.to_lowercase().contains("transfer-encoding: chunked");
    let body = match is_chunked {
        true => unchunked(body),
        false => body.to_owned(),
    };
    Some(HttpAnswer {
        status,
        head: head.to_owned(),
        body,
    })
}

fn unchunked(mut text: &str) -> String {
    let mut whole = String::new();
    while let Some((size, rest)) = text.split_once("\r\n") {
        let size = usize::from_str_radix(size.trim(), 16).unwrap_or(0);
        if size == 0 || rest.len() < size {
            break;
        }
        whole.push_str(&rest[..size]);
        text = rest[size..].trim_start_matches("\r\n");
    }
    whole
}
