//! Recorded tasks and attacks, as data: what the owner wrote, which calls follow, what came back.

use std::collections::BTreeMap;
use std::sync::Arc;

use chela_guard::{CallSink, Effect, SinkKind};
use serde::Deserialize;
use serde_json::{Map, Value};

#[derive(Debug, Deserialize)]
pub struct Traces {
    pub tools: BTreeMap<String, Tool>,
    pub users: Vec<Task>,
    pub injections: Vec<Attack>,
}

#[derive(Debug, Deserialize)]
pub struct Tool {
    effect: String,
    kind: Option<String>,
    sink_args: Value,
    args: Vec<String>,
    #[serde(skip)]
    name: &'static str,
    #[serde(skip)]
    pub declared: Option<Declared>,
}

/// What a tool of the traces would declare here.
#[derive(Debug, Clone)]
pub struct Declared {
    pub effect: Effect,
    pub sinks: Arc<[CallSink]>,
    /// Whether what it brings back is from outside.
    pub foreign: bool,
}

#[derive(Debug, Deserialize)]
pub struct Task {
    pub suite: String,
    pub id: String,
    pub prompt: String,
    pub calls: Vec<Call>,
}

#[derive(Debug, Deserialize)]
pub struct Attack {
    pub suite: String,
    pub id: String,
    pub goal: String,
    #[serde(default)]
    pub calls: Vec<Call>,
    pub text_only: bool,
}

#[derive(Debug, Clone, Deserialize)]
pub struct Call {
    #[serde(rename = "fn")]
    pub tool: String,
    pub args: Map<String, Value>,
    #[serde(default)]
    pub output: Option<String>,
    #[serde(default)]
    pub injected: bool,
}

/// A tool that brings in whatever is to be read.
pub const INBOX: &str = "inbox";

/// Where the goal of an attack stands in a recorded output.
pub const PLACE: &str = "<<<INJECTION>>>";

impl Traces {
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut traces: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        for (name, tool) in &mut traces.tools {
            tool.name = name.clone().leak();
            tool.declared = Some(
                tool.declare()
                    .ok_or(format!("{name}: unknown effect {}", tool.effect))?,
            );
        }
        Ok(traces)
    }

    /// Every task with every attack of its suite that calls something.
    pub fn cases(&self) -> impl Iterator<Item = (&Task, &Attack)> {
        self.users.iter().flat_map(|task| {
            self.injections
                .iter()
                .filter(move |attack| attack.suite == task.suite && !attack.text_only)
                .filter(|_| task.calls.iter().any(|call| call.injected))
                .map(move |attack| (task, attack))
        })
    }

    pub fn declared(&self, tool: &str) -> Option<Declared> {
        self.tool(tool).map(|(_, declared)| declared)
    }

    /// A tool under a name that lasts; [`INBOX`] is everyone's.
    pub fn tool(&self, name: &str) -> Option<(&'static str, Declared)> {
        if name == INBOX {
            return Some((
                INBOX,
                Declared {
                    effect: Effect::ReadUntrusted,
                    sinks: [].into(),
                    foreign: true,
                },
            ));
        }
        let tool = self.tools.get(name)?;
        Some((tool.name, tool.declared.clone()?))
    }
}

impl Tool {
    /// Effect classes of the traces in ours. What the traces mark as money or deletion cannot be
    /// undone; what they mark as a credential is a secret in a sink.
    fn declare(&self) -> Option<Declared> {
        let kind = self.kind.as_deref();
        let effect = match (self.effect.as_str(), kind) {
            ("read_trusted", _) => Effect::Read,
            ("read_untrusted", _) => Effect::ReadUntrusted,
            ("egress_read", _) => Effect::Egress,
            ("write_reversible", _) => Effect::WriteReversible,
            ("write_outward", Some("money" | "delete")) => Effect::Irreversible,
            ("write_outward", _) => Effect::WriteOutward,
            _ => return None,
        };
        let names: Vec<&str> = match &self.sink_args {
            Value::Array(names) => names.iter().filter_map(Value::as_str).collect(),
            _ => self.args.iter().map(String::as_str).collect(),
        };
        let sinks: Vec<CallSink> = names
            .into_iter()
            .map(|name| CallSink {
                argument: name.to_owned().into(),
                kind: sink_kind(name),
            })
            .collect();
        let foreign = !matches!(self.effect.as_str(), "read_trusted");
        Some(Declared {
            effect,
            sinks: sinks.into(),
            foreign,
        })
    }
}

/// What the argument of a tool in the traces is, by what it is called there.
fn sink_kind(argument: &str) -> SinkKind {
    match argument {
        "url" => SinkKind::Url,
        "password" => SinkKind::Secret,
        "amount" => SinkKind::Amount,
        "attachments" | "file_id" | "email_id" | "first_name" | "last_name" | "street" | "city" => {
            SinkKind::Name
        }
        _ => SinkKind::Recipient,
    }
}
