//! `sessions_spawn`.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;

use super::{ChildCleanup, ChildContext, ChildSpawner, SpawnAsk, SpawnReceipt};
use crate::blocking::{BlockingJob, BlockingTool, CallForesight};
use crate::schema::{ArgumentKind, ArgumentSchema};
use crate::spec::shared_spec;
use crate::{CallSink, CallTarget, Effect, SinkKind, Tool, ToolNeed, ToolOutput, ToolSpec};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct SpawnArguments {
    task: String,
    label: Option<String>,
    agent_id: Option<String>,
    model: Option<String>,
    thinking: Option<String>,
    run_timeout_seconds: Option<u64>,
    context: Option<String>,
    cleanup: Option<String>,
    /// There is one mode so far.
    #[serde(rename = "mode")]
    _mode: Option<String>,
}

pub(super) fn tool(spawner: &Arc<dyn ChildSpawner>) -> Arc<dyn Tool> {
    Arc::new(BlockingTool {
        spec: shared_spec!(ToolSpec {
            name: "sessions_spawn".into(),
            description: "Start a sub-agent for a task of its own; it never has more than you have. Returns at once; its result is pushed to you when it ends.".into(),
            parameters: ArgumentSchema::object()
                .required(
                    "task",
                    ArgumentKind::text().not_empty(),
                    "What to do and what to report, complete in itself",
                )
                .optional("label", ArgumentKind::text().not_empty(), "Short name for lists")
                .optional(
                    "agentId",
                    ArgumentKind::text().not_empty(),
                    "Agent from agents_list; yourself unless given",
                )
                .optional("model", ArgumentKind::text().not_empty(), "Model or alias")
                .optional("thinking", ArgumentKind::text().not_empty(), "Thinking level")
                .optional(
                    "runTimeoutSeconds",
                    ArgumentKind::integer().min(0),
                    "Ends it after so long; 0 for no limit of its own",
                )
                .optional(
                    "context",
                    ArgumentKind::one_of(&["isolated", "fork"]),
                    "`fork` gives it this conversation; `isolated` unless given",
                )
                .optional(
                    "cleanup",
                    ArgumentKind::one_of(&["keep", "delete"]),
                    "What becomes of its transcript; `keep` unless given",
                )
                .optional("mode", ArgumentKind::one_of(&["run"]), "One run")
                .build().into(),
            effect: Effect::WriteReversible,
            sinks: [
                CallSink::new("task", SinkKind::Text),
                CallSink::new("agentId", SinkKind::Name),
            ].into(),
        }),
        with: Arc::new(Arc::clone(spawner)),
        act: spawn,
    }.foreseeing(CallForesight { targets: Some(|_, arguments| arguments.agent_id.iter().cloned().map(CallTarget::Agent).collect()), needs: &[ToolNeed::Children], ..CallForesight::default() }))
}

fn spawn(
    spawner: &Arc<dyn ChildSpawner>,
    arguments: SpawnArguments,
    _: &BlockingJob,
) -> ToolOutput {
    let asked = SpawnAsk {
        task: arguments.task,
        label: arguments.label,
        agent: arguments.agent_id,
        model: arguments.model,
        thinking: arguments.thinking,
        timeout_seconds: arguments.run_timeout_seconds,
        context: match arguments.context.as_deref() {
            Some("fork") => ChildContext::Fork,
            _ => ChildContext::Isolated,
        },
        cleanup: match arguments.cleanup.as_deref() {
            Some("delete") => ChildCleanup::Delete,
            _ => ChildCleanup::Keep,
        },
    };
    match spawner.spawn(asked) {
        Ok(receipt) => said(&receipt),
        Err(refused) => ToolOutput::failed(refused.to_string()),
    }
}

fn said(receipt: &SpawnReceipt) -> ToolOutput {
    let list = |names: &[String]| match names {
        [] => "none".to_owned(),
        names => names.join(", "),
    };
    let mut lines = vec![
        format!("Started run {} as {}.", receipt.run, receipt.session),
        format!(
            "agent: {}; model: {}; context: {}; depth: {} of {}",
            receipt.agent, receipt.model, receipt.context, receipt.depth, receipt.deepest
        ),
        format!("tools: {}", list(&receipt.tools)),
        format!("paths: {}", list(&receipt.paths)),
        format!("files in its prompt: {}", list(&receipt.files)),
        format!("budget: {}", list(&receipt.budget)),
        format!("trust: {}", receipt.trust.as_str()),
    ];
    lines.extend(receipt.warnings.iter().map(|text| format!("Note: {text}")));
    lines.push("Its result comes to you by itself when it ends. Do not poll.".to_owned());
    let told = ToolOutput::said(lines.join("\n")).offering(["subagents".to_owned()]);
    told.with_details(json!({
        "status": "accepted",
        "runId": receipt.run,
        "childSessionKey": receipt.session.to_string(),
        "inherits": {
            "agent": receipt.agent,
            "model": receipt.model,
            "context": receipt.context,
            "tools": receipt.tools,
            "paths": receipt.paths,
            "files": receipt.files,
            "budget": receipt.budget,
            "trust": receipt.trust.as_str(),
            "depth": receipt.depth,
        },
        "warnings": receipt.warnings,
    }))
}
