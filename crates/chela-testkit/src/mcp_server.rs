//! A tool server (MCP) that follows a script, over its input and output: what it offers, what it answers,
//! and how it goes wrong. Written from the protocol, and knowing nothing of how Chela reads it.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::script::{ScriptError, read_script};

/// What a server does. In a file: JSON, where `//` begins a comment.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct McpScript {
    /// `2025-11-25` (the default) or `2026-07-28`.
    pub version: Option<String>,
    /// What a server of the older era does with the first question of the newer one.
    pub discover: DiscoverHabit,
    pub tools: Vec<ScriptedTool>,
    /// The tools in place of those once it has said that they changed.
    pub later: Option<Vec<ScriptedTool>>,
    /// What it does when it is asked as a hook of a plugin, by the name of the hook.
    pub hooks: BTreeMap<String, Vec<ServerDeed>>,
    /// Before anything is read.
    pub start: Vec<ServerDeed>,
    /// Printed beside the messages.
    pub errors: Option<String>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DiscoverHabit {
    /// It knows no such method.
    #[default]
    Error,
    /// It answers with nothing.
    Empty,
    /// It says nothing at all.
    Silent,
}

/// A tool and what a call of it does.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ScriptedTool {
    pub name: String,
    pub description: String,
    /// The description so many times.
    pub repeat: usize,
    pub input_schema: Option<Value>,
    pub annotations: Option<Value>,
    /// In this order.
    pub deeds: Vec<ServerDeed>,
}

/// One thing a server does.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ServerDeed {
    /// Answers with a text; `{{NAME}}` stands for an argument.
    Text(String),
    /// Answers with this result.
    Result(Value),
    /// Answers with an error.
    Error(String),
    /// Says nothing, and goes on listening.
    Hang,
    /// Works for ever.
    Spin,
    /// Ends.
    Exit(i32),
    /// Takes so many mebibytes of memory, and keeps them.
    Balloon(usize),
    /// A line of so many bytes.
    GiantLine(usize),
    /// So many lines that are no message.
    Garbage(usize),
    /// So many notifications nobody asked for; 0: without end.
    Flood(usize),
    /// An answer to another request.
    WrongId(String),
    /// Says that its tools changed.
    ToolsChanged,
    /// Reads a file and answers with what is in it, or why not.
    ReadFile(String),
    /// Writes a file and answers whether that went well.
    WriteFile(String),
    /// Connects to `host:port` and answers whether that went well.
    Connect(String),
    /// Answers with the names of its variables.
    Variables,
    /// As a hook: says what is in a file, or why not, to the prompt.
    FileToPrompt(String),
    /// As a hook: says what it was told to the prompt.
    ToldToPrompt,
    /// Asks the client for something.
    Ask(String),
}

impl McpScript {
    pub fn read(path: &Path) -> Result<Self, ScriptError> {
        read_script(path)
    }
}

/// Follows a script until its input ends.
pub fn serve_mcp(script: &McpScript) -> io::Result<()> {
    if let Some(errors) = &script.errors {
        io::stderr().write_all(errors.as_bytes())?;
    }
    let mut server = PlayedServer {
        script,
        has_changed: false,
        kept: Vec::new(),
    };
    for deed in &script.start {
        server.act(deed, &Value::Null, &Value::Null)?;
    }
    for line in io::stdin().lock().lines() {
        let Ok(message) = serde_json::from_str::<Value>(&line?) else {
            continue;
        };
        server.hear(&message)?;
    }
    Ok(())
}

struct PlayedServer<'a> {
    script: &'a McpScript,
    has_changed: bool,
    kept: Vec<Vec<u8>>,
}

impl PlayedServer<'_> {
    fn hear(&mut self, message: &Value) -> io::Result<()> {
        let id = &message["id"];
        let params = &message["params"];
        let is_newer = self.script.version.as_deref() == Some("2026-07-28");
        match (message["method"].as_str().unwrap_or_default(), is_newer) {
            _ if id.is_null() => Ok(()),
            ("server/discover", true) => self.result(id, json!({
                "supportedVersions": ["2026-07-28"], "capabilities": { "tools": { "listChanged": true } },
                "ttlMs": 0, "cacheScope": "private",
            })),
            ("server/discover", false) => match self.script.discover {
                DiscoverHabit::Error => self.error(id, -32601, "Method not found"),
                DiscoverHabit::Empty => self.result(id, json!({})),
                DiscoverHabit::Silent => Ok(()),
            },
            ("initialize", false) => self.result(id, json!({
                "protocolVersion": "2025-11-25",
                "capabilities": { "tools": { "listChanged": true } },
                "serverInfo": { "name": "kit", "version": "1" },
            })),
            ("subscriptions/listen", true) => self.say(&json!({
                "jsonrpc": "2.0", "method": "notifications/subscriptions/acknowledged",
                "params": { "_meta": { "io.modelcontextprotocol/subscriptionId": id } },
            })),
            ("ping", _) => self.result(id, json!({})),
            ("tools/list", _) => {
                let told: Vec<Value> = self.tools().iter().map(ScriptedTool::told).collect();
                self.result(id, json!({ "tools": told, "ttlMs": 0, "cacheScope": "private" }))
            }
            ("tools/call", _) => {
                let name = params["name"].as_str().unwrap_or_default();
                let tool = self.tools().iter().find(|tool| tool.name == name).cloned();
                let Some(tool) = tool else {
                    return self.error(id, -32602, "no such tool");
                };
                let mut deeds = tool.deeds.iter();
                deeds.try_for_each(|deed| self.act(deed, id, &params["arguments"]))
            }
            (hook, _) => match self.script.hooks.get(hook) {
                Some(deeds) => deeds.iter().try_for_each(|deed| self.act(deed, id, params)),
                None => self.error(id, -32601, "Method not found"),
            },
        }
    }

    fn tools(&self) -> &[ScriptedTool] {
        match &self.script.later {
            Some(later) if self.has_changed => later,
            _ => &self.script.tools,
        }
    }

    fn act(&mut self, deed: &ServerDeed, id: &Value, arguments: &Value) -> io::Result<()> {
        match deed {
            ServerDeed::Text(text) => self.text(id, &filled(text, arguments)),
            ServerDeed::Result(result) => self.result(id, result.clone()),
            ServerDeed::Error(words) => self.error(id, -32000, words),
            ServerDeed::FileToPrompt(path) => {
                let read = std::fs::read_to_string(path);
                let text = read.unwrap_or_else(|error| format!("cannot read it: {error}"));
                self.result(id, json!({ "prependContext": text }))
            }
            ServerDeed::ToldToPrompt => {
                self.result(id, json!({ "prependContext": arguments.to_string() }))
            }
            ServerDeed::Hang => Ok(()),
            ServerDeed::Spin => spin(),
            ServerDeed::Exit(code) => leave(*code),
            ServerDeed::Balloon(mebibytes) => {
                for _ in 0..*mebibytes {
                    self.kept.push(vec![1; 1 << 20]);
                }
                Ok(())
            }
            ServerDeed::GiantLine(bytes) => {
                let mut out = io::stdout().lock();
                out.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"")?;
                io::copy(&mut io::repeat(b'x').take(*bytes as u64), &mut out)?;
                out.write_all(b"\"}\n")?;
                out.flush()
            }
            ServerDeed::Garbage(lines) => {
                let mut out = io::stdout().lock();
                (0..*lines).try_for_each(|line| writeln!(out, "this is no message ({line})"))?;
                out.flush()
            }
            ServerDeed::Flood(many) => {
                let note = json!({ "jsonrpc": "2.0", "method": "notifications/message", "params": {
                    "level": "info", "data": "again",
                } });
                let mut sent = 0;
                while *many == 0 || sent < *many {
                    self.say(&note)?;
                    sent += 1;
                }
                Ok(())
            }
            ServerDeed::WrongId(text) => self.text(&json!(987_654), text),
            ServerDeed::ToolsChanged => {
                self.has_changed = true;
                self.say(&json!({
                    "jsonrpc": "2.0",
                    "method": "notifications/tools/list_changed",
                }))
            }
            ServerDeed::ReadFile(path) => {
                let read = std::fs::read_to_string(filled(path, arguments));
                self.text(
                    id,
                    &read.unwrap_or_else(|error| format!("cannot read: {error}")),
                )
            }
            ServerDeed::WriteFile(path) => {
                let path = filled(path, arguments);
                let written = std::fs::write(&path, "written by the server\n");
                let told = written.map_or_else(
                    |error| format!("cannot write: {error}"),
                    |()| "written".to_owned(),
                );
                self.text(id, &told)
            }
            ServerDeed::Connect(to) => {
                let told = match connect(&filled(to, arguments)) {
                    Ok(()) => "connected".to_owned(),
                    Err(error) => format!("cannot connect: {error}"),
                };
                self.text(id, &told)
            }
            ServerDeed::Variables => {
                let names: Vec<String> = std::env::vars().map(|(name, _)| name).collect();
                self.text(id, &names.join(" "))
            }
            ServerDeed::Ask(method) => self.say(&json!({
                "jsonrpc": "2.0", "id": "from-the-server", "method": method, "params": {},
            })),
        }
    }

    fn text(&self, id: &Value, text: &str) -> io::Result<()> {
        let content = json!([{ "type": "text", "text": text }]);
        self.result(id, json!({ "content": content, "resultType": "complete" }))
    }

    fn result(&self, id: &Value, result: Value) -> io::Result<()> {
        let mut result = result;
        if let Value::Object(fields) = &mut result {
            fields
                .entry("resultType")
                .or_insert_with(|| "complete".into());
        }
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "result": result }))
    }

    fn error(&self, id: &Value, code: i64, words: &str) -> io::Result<()> {
        let error = json!({ "code": code, "message": words });
        self.say(&json!({ "jsonrpc": "2.0", "id": id, "error": error }))
    }

    fn say(&self, message: &Value) -> io::Result<()> {
        let mut out = io::stdout().lock();
        writeln!(out, "{message}")?;
        out.flush()
    }
}

impl ScriptedTool {
    fn told(&self) -> Value {
        let description = match self.repeat {
            0 => self.description.clone(),
            times => self.description.repeat(times),
        };
        let mut told = json!({
            "name": self.name,
            "description": description,
            "inputSchema": self.input_schema.clone().unwrap_or(json!({ "type": "object" })),
        });
        if let (Value::Object(fields), Some(hints)) = (&mut told, &self.annotations) {
            fields.insert("annotations".to_owned(), hints.clone());
        }
        told
    }
}

fn filled(text: &str, arguments: &Value) -> String {
    let mut text = text.to_owned();
    for (name, value) in arguments.as_object().into_iter().flatten() {
        let value = value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned);
        text = text.replace(&format!("{{{{{name}}}}}"), &value);
    }
    text
}

fn connect(to: &str) -> io::Result<()> {
    use std::net::ToSocketAddrs as _;
    let address = to.to_socket_addrs()?.next();
    let address = address.ok_or(io::ErrorKind::AddrNotAvailable)?;
    TcpStream::connect_timeout(&address, Duration::from_secs(2)).map(drop)
}

fn spin() -> ! {
    loop {
        std::hint::spin_loop();
    }
}

#[expect(
    clippy::exit,
    reason = "a server that ends in the middle is what is played"
)]
fn leave(code: i32) -> ! {
    std::process::exit(code)
}
