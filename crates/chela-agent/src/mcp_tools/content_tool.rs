//! `mcp__read`: what servers have to be read, and the texts they have ready.

use std::path::PathBuf;
use std::sync::Arc;

use chela_core::Entropy;
use chela_mcp::{CallAnswer, McpPool, McpRecord, McpServerSpec, PoolError, ResultPiece};
use chela_tools::schema::{self, ArgumentKind, ArgumentSchema};
use chela_tools::{
    CallFuture, CallProspect, CallTarget, CallWrites, Effect, RunCall, Tool, ToolOffer, ToolOutput,
    ToolSpec,
};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::server_effect::{effect_of_tool, sinks_of, targets_of};
use super::server_tool::{AnswerPlace, gravest};

const NAME: &str = "mcp__read";
/// Under these names its owner says what reading does.
const RESOURCES: &str = "resources/read";
const PROMPTS: &str = "prompts/get";

/// Reads resources and prompts of servers.
pub(super) struct ContentTool {
    spec: ToolSpec,
    pool: McpPool,
    specs: Vec<Arc<McpServerSpec>>,
    entropy: Arc<dyn Entropy>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ReadArguments {
    server: String,
    uri: Option<String>,
    prompt: Option<String>,
    #[serde(default)]
    arguments: Map<String, Value>,
}

impl ContentTool {
    /// `None` where no server has anything to be read.
    pub fn new(
        pool: &McpPool,
        specs: &[Arc<McpServerSpec>],
        record: &McpRecord,
        entropy: &Arc<dyn Entropy>,
    ) -> Option<Self> {
        let has_some = |spec: &&Arc<McpServerSpec>| {
            let server = record.servers.get(&spec.prefix);
            server.is_some_and(|server| server.has_resources || server.has_prompts)
        };
        let specs: Vec<Arc<McpServerSpec>> = specs.iter().filter(has_some).cloned().collect();
        if specs.is_empty() {
            return None;
        }
        let names: Vec<&str> = specs.iter().map(|spec| spec.prefix.as_str()).collect();
        let parameters = ArgumentSchema::object()
            .required("server", ArgumentKind::one_of(&names), "")
            .optional(
                "uri",
                ArgumentKind::text(),
                "Reads the resource at this address.",
            )
            .optional(
                "prompt",
                ArgumentKind::text(),
                "Gets the prompt of this name.",
            )
            .optional(
                "arguments",
                ArgumentKind::text_map(),
                "What fills the places of the prompt.",
            )
            .build();
        let effects = specs
            .iter()
            .flat_map(|spec| [RESOURCES, PROMPTS].map(|name| effect_of_tool(spec, name)));
        let effect = gravest(effects);
        let sinks = specs.iter().find(|spec| spec.is_networked());
        let sinks = sinks.map(|spec| sinks_of(spec, effect, &parameters));
        Some(Self {
            spec: ToolSpec {
                name: NAME.into(),
                description: "Read a resource of an MCP server, or get one of its prompts. With a server alone: what it has."
                    .into(),
                parameters: parameters.into(),
                effect,
                sinks: sinks.unwrap_or_default().into(),
            },
            pool: pool.clone(),
            specs,
            entropy: Arc::clone(entropy),
        })
    }

    fn server_of(&self, arguments: &Map<String, Value>) -> Option<&Arc<McpServerSpec>> {
        let named = arguments.get("server")?.as_str()?;
        self.specs.iter().find(|spec| spec.prefix == named)
    }

    async fn act(&self, call: RunCall<'_>) -> Result<ToolOutput, ToolOutput> {
        let arguments: ReadArguments = schema::read(call.arguments)?;
        let server = arguments.server.as_str();
        let (what, answer) = match (&arguments.uri, &arguments.prompt) {
            (Some(_), Some(_)) => {
                return Err(ToolOutput::failed(format!(
                    "{NAME} reads one thing at a time: give uri or prompt."
                )));
            }
            (Some(uri), None) => (RESOURCES, self.pool.read_resource(server, uri).await),
            (None, Some(prompt)) => {
                let filled = &arguments.arguments;
                (PROMPTS, self.pool.get_prompt(server, prompt, filled).await)
            }
            (None, None) => ("what it has", self.overview(server).await),
        };
        let place = AnswerPlace {
            server,
            what,
            name: NAME,
            call: &call,
            entropy: &*self.entropy,
        };
        Ok(match answer {
            Ok(answer) => place.output(answer),
            Err(error) => place.failure(error),
        })
    }

    /// What a server has, in its own words.
    async fn overview(&self, server: &str) -> Result<CallAnswer, PoolError> {
        let (about, _) = self.pool.about(server).await?;
        let mut text = String::new();
        if let Some(instructions) = &about.instructions {
            text.push_str(&format!("{instructions}\n\n"));
        }
        for resource in self.pool.list_resources(server).await? {
            let kind = match resource.is_pattern {
                true => "resource pattern",
                false => "resource",
            };
            let words = resource.description.unwrap_or_default();
            text.push_str(&format!(
                "{kind} {}: {} {words}\n",
                resource.uri, resource.name
            ));
        }
        for prompt in self.pool.list_prompts(server).await? {
            let arguments: Vec<String> = prompt
                .arguments
                .iter()
                .map(|argument| match argument.required {
                    true => argument.name.clone(),
                    false => format!("{}?", argument.name),
                })
                .collect();
            let words = prompt.description.unwrap_or_default();
            text.push_str(&format!(
                "prompt {}({}): {words}\n",
                prompt.name,
                arguments.join(", ")
            ));
        }
        Ok(CallAnswer {
            pieces: vec![ResultPiece::Text(text)],
            is_error: false,
        })
    }
}

impl Tool for ContentTool {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn offer(&self) -> ToolOffer {
        ToolOffer::Deferred
    }

    fn prospect(&self, arguments: &Map<String, Value>) -> CallProspect {
        let Some(spec) = self.server_of(arguments) else {
            return CallProspect::of(self.spec.effect);
        };
        let (effect, what) = match (arguments.get("uri"), arguments.get("prompt")) {
            (Some(_), _) => (effect_of_tool(spec, RESOURCES), "reads a resource"),
            (None, Some(_)) => (effect_of_tool(spec, PROMPTS), "gets a prompt"),
            // What it has is asked of it anyway.
            (None, None) => (Effect::ReadUntrusted, "lists what there is"),
        };
        CallProspect {
            words: Some(format!("{what} of the MCP server {}", spec.prefix)),
            ..CallProspect::of(effect)
        }
    }

    fn targets(&self, arguments: &Map<String, Value>) -> Vec<CallTarget> {
        let spec = self.server_of(arguments);
        spec.map(|spec| targets_of(spec)).unwrap_or_default()
    }

    fn writes(&self, arguments: &Map<String, Value>) -> CallWrites {
        let may_write = match self.server_of(arguments) {
            Some(spec) => spec.writes_folders(),
            None => self.specs.iter().any(|spec| spec.writes_folders()),
        };
        match may_write {
            true => CallWrites::Anything,
            false => CallWrites::Nothing,
        }
    }

    fn writes_in(&self) -> Vec<PathBuf> {
        let folders = self.specs.iter().flat_map(|spec| spec.written_folders());
        folders.collect()
    }

    fn run<'a>(&'a self, call: RunCall<'a>) -> CallFuture<'a> {
        Box::pin(async move { self.act(call).await.unwrap_or_else(|failed| failed) })
    }
}
