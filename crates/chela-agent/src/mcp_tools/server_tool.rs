//! One tool of a server.

use std::path::PathBuf;
use std::sync::Arc;

use chela_core::{ContentHash, Entropy, Origin, Trust};
use chela_guard::{ExternalSource, LabelledText};
use chela_mcp::{
    AcceptedBy, CallAnswer, McpPool, McpServerSpec, PoolError, PooledTool, ResultPiece,
};
use chela_tools::{
    CallFuture, CallProspect, CallSuccess, CallTarget, CallWrites, Effect, OutputPiece, RunCall,
    Tool, ToolOffer, ToolOutput, ToolSpec,
};
use serde_json::{Map, Value, json};

use super::server_effect::{effect_of_tool, sinks_of, targets_of};

/// A tool of a server, as an agent calls it.
pub(super) struct ServerCallTool {
    spec: ToolSpec,
    pool: McpPool,
    server: String,
    /// As the server calls it.
    tool: String,
    described_by: Trust,
    targets: Vec<CallTarget>,
    /// Whether it can change files that somebody else reads, too.
    writes_folders: bool,
    /// The folders it may write in.
    folders: Vec<PathBuf>,
    /// Whether its owner said what it does.
    is_declared: bool,
    entropy: Arc<dyn Entropy>,
}

impl ServerCallTool {
    pub fn new(
        pool: &McpPool,
        spec: &McpServerSpec,
        pooled: PooledTool,
        entropy: &Arc<dyn Entropy>,
    ) -> Self {
        let PooledTool {
            name,
            server,
            tool,
            accepted_by,
        } = pooled;
        let effect = effect_of_tool(spec, &tool.name);
        let description = match tool.description.is_empty() {
            true => tool.title.clone().unwrap_or_default(),
            false => tool.description.clone(),
        };
        Self {
            spec: ToolSpec {
                name: name.into(),
                description: description.into(),
                sinks: sinks_of(spec, effect, &tool.schema).into(),
                parameters: tool.schema.into(),
                effect,
            },
            pool: pool.clone(),
            server,
            is_declared: spec.grants.effects.of_tool(&tool.name).is_some(),
            tool: tool.name,
            described_by: match accepted_by {
                AcceptedBy::Owner => Trust::Plugin,
                AcceptedBy::FirstSight => Trust::External,
            },
            targets: targets_of(spec),
            writes_folders: spec.writes_folders(),
            folders: spec.written_folders().collect(),
            entropy: Arc::clone(entropy),
        }
    }

    /// Whether another one may stand for it: the same tool, and what its owner granted is the same.
    pub fn is_as_granted_before(&self, known: &dyn Tool) -> bool {
        let empty = Map::new();
        known.targets(&empty) == self.targets
            && known.writes(&empty) == self.writes(&empty)
            && known.writes_in() == self.folders
    }

    async fn act(&self, call: RunCall<'_>) -> ToolOutput {
        let answer = self
            .pool
            .call(&self.server, &self.tool, call.arguments)
            .await;
        let place = AnswerPlace {
            server: &self.server,
            what: &self.tool,
            name: &self.spec.name,
            call: &call,
            entropy: &*self.entropy,
        };
        match answer {
            Ok(answer) => place.output(answer),
            Err(error) => place.failure(error),
        }
    }
}

impl Tool for ServerCallTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn offer(&self) -> ToolOffer {
        ToolOffer::Deferred
    }

    fn described_by(&self) -> Trust {
        self.described_by
    }

    fn prospect(&self, _: &Map<String, Value>) -> CallProspect {
        let declared = match self.is_declared {
            true => "",
            false => "; what it does is not declared (effects)",
        };
        CallProspect {
            words: Some(format!(
                "calls {} of the MCP server {}{declared}",
                chela_core::sanitize::literal(&self.tool),
                self.server
            )),
            ..CallProspect::of(self.spec.effect)
        }
    }

    fn targets(&self, _: &Map<String, Value>) -> Vec<CallTarget> {
        self.targets.clone()
    }

    fn writes(&self, _: &Map<String, Value>) -> CallWrites {
        match self.writes_folders {
            true => CallWrites::Anything,
            // Its own folder is nobody else's.
            false => CallWrites::Nothing,
        }
    }

    fn writes_in(&self) -> Vec<PathBuf> {
        self.folders.clone()
    }

    fn run<'a>(&'a self, call: RunCall<'a>) -> CallFuture<'a> {
        Box::pin(self.act(call))
    }
}

/// Where an answer comes from, and who reads it.
pub(super) struct AnswerPlace<'a> {
    pub server: &'a str,
    pub what: &'a str,
    pub name: &'a str,
    pub call: &'a RunCall<'a>,
    pub entropy: &'a dyn Entropy,
}

impl AnswerPlace<'_> {
    /// What a server answered, as a stranger's words.
    pub fn output(&self, answer: CallAnswer) -> ToolOutput {
        let text = answer.text();
        let mut output = match text.is_empty() {
            true => ToolOutput::said("It answered without a text."),
            false => self.labelled(text),
        };
        for piece in answer.pieces {
            if let ResultPiece::Image { mime, data } = piece {
                output.content.push(OutputPiece::Image { mime, data });
            }
        }
        if answer.is_error {
            output.success = CallSuccess::Failed;
        }
        output.with_details(json!({ "server": self.server, "tool": self.what }))
    }

    fn labelled(&self, text: String) -> ToolOutput {
        let name = format!("{}-{}", self.name, self.call.id);
        match self.call.bound {
            Some(bound) => bound.output(&name, text, Trust::External, |text| self.label(&text)),
            None => ToolOutput::of(self.label(&text)),
        }
    }

    fn label(&self, text: &str) -> LabelledText {
        let origin = Origin::Tool {
            call: self.call.id.to_owned(),
            hash: ContentHash::of(text),
        };
        let source = ExternalSource::Mcp {
            server: self.server.to_owned(),
            tool: self.what.to_owned(),
        };
        LabelledText::external(text, &source, origin, self.entropy)
    }

    /// Why there is no answer. What a server says about it is a stranger's words.
    pub fn failure(&self, error: PoolError) -> ToolOutput {
        tracing::info!(server = self.server, %error, "a call of a server's tool failed");
        let (why, words) = match error {
            PoolError::Failed { why, .. } => {
                let words = format!(
                    "{} did not work. What is known of it, in part in the server's own words:",
                    self.name
                );
                (why, words)
            }
            PoolError::Down { why, .. } => {
                let words = format!(
                    "The MCP server `{}` cannot be used, so {} was not called. What is known of it, in part in the server's own words:",
                    self.server, self.name
                );
                (why, words)
            }
            PoolError::LeftAlone {
                seconds,
                times,
                why,
                ..
            } => {
                let words = format!(
                    "The MCP server `{}` failed {times} times and is left alone for {seconds} s, so {} was not called. Go on without it. What is known of it, in part in the server's own words:",
                    self.server, self.name
                );
                (why, words)
            }
            other => {
                return ToolOutput::failed(format!("{other}. Go on without it, or tell the user."));
            }
        };
        let mut output = ToolOutput::failed(words);
        output.content.push(OutputPiece::Text(self.label(&why)));
        output
    }
}

/// The gravest of what tools of these servers do.
pub(super) fn gravest(effects: impl Iterator<Item = Effect>) -> Effect {
    let gravity = |effect: &Effect| match effect {
        Effect::Irreversible => 5,
        Effect::WriteOutward => 4,
        Effect::Egress => 3,
        Effect::WriteReversible => 2,
        _ => 1,
    };
    effects.max_by_key(gravity).unwrap_or(Effect::Irreversible)
}
