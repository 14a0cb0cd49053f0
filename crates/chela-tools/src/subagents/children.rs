//! `subagents`.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::json;

use super::{ChildSpawner, SpawnRefused, WhichChildren};
use crate::blocking::{BlockingJob, BlockingTool, CallForesight};
use crate::schema::{ArgumentKind, ArgumentSchema};
use crate::spec::shared_spec;
use crate::{CallSink, CallTarget, Effect, SinkKind, Tool, ToolNeed, ToolOutput, ToolSpec};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChildrenArguments {
    action: Action,
    target: Option<String>,
    message: Option<String>,
}

#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Action {
    List,
    Steer,
    Kill,
}

pub(super) fn tool(spawner: &Arc<dyn ChildSpawner>) -> Arc<dyn Tool> {
    Arc::new(
        BlockingTool {
            spec: shared_spec!(ToolSpec {
            name: "subagents".into(),
            description:
                "List the sub-agents of this session, say something to one that runs, or end one."
                    .into(),
            parameters: ArgumentSchema::object()
                .required(
                    "action",
                    ArgumentKind::one_of(&["list", "steer", "kill"]),
                    "What to do",
                )
                .optional(
                    "target",
                    ArgumentKind::text().not_empty(),
                    "Run id, label or session key; `all` for kill",
                )
                .optional(
                    "message",
                    ArgumentKind::text().not_empty(),
                    "For steer: what to say",
                )
                .build()
                .into(),
            effect: Effect::WriteReversible,
            sinks: [
                CallSink::new("target", SinkKind::Name),
                CallSink::new("message", SinkKind::Text),
            ]
            .into(),
        }),
            with: Arc::new(Arc::clone(spawner)),
            act,
        }
        .foreseeing(CallForesight {
            targets: Some(|_, arguments| {
                arguments
                    .target
                    .iter()
                    .cloned()
                    .map(CallTarget::Agent)
                    .collect()
            }),
            needs: &[ToolNeed::Children],
            ..CallForesight::default()
        }),
    )
}

fn act(
    spawner: &Arc<dyn ChildSpawner>,
    arguments: ChildrenArguments,
    _: &BlockingJob,
) -> ToolOutput {
    let target = arguments.target.as_deref();
    let done = match arguments.action {
        Action::List => return list(spawner.as_ref()),
        Action::Steer => steer(spawner.as_ref(), target, arguments.message.as_deref()),
        Action::Kill => kill(spawner.as_ref(), target),
    };
    match done {
        Ok(text) => ToolOutput::said(text),
        Err(refused) => ToolOutput::failed(refused.to_string()),
    }
}

fn list(spawner: &dyn ChildSpawner) -> ToolOutput {
    let runs = spawner.runs();
    let lines: Vec<String> = runs
        .iter()
        .map(|run| {
            let doing = run.doing.as_ref().map(|doing| format!(", {doing}"));
            format!(
                "{} `{}`: {}, {} s{}, {}",
                run.run,
                run.label,
                run.status,
                run.seconds,
                doing.unwrap_or_default(),
                run.session
            )
        })
        .collect();
    let text = match lines.is_empty() {
        true => "This session has started no sub-agents.".to_owned(),
        false => lines.join("\n"),
    };
    let rows: Vec<_> = runs
        .iter()
        .map(|run| {
            json!({
                "runId": run.run,
                "sessionKey": run.session.to_string(),
                "label": run.label,
                "status": run.status,
                "seconds": run.seconds,
            })
        })
        .collect();
    ToolOutput::said(text).with_details(json!({ "runs": rows }))
}

fn steer(
    spawner: &dyn ChildSpawner,
    target: Option<&str>,
    message: Option<&str>,
) -> Result<String, SpawnRefused> {
    let missing =
        |what: &str| SpawnRefused(format!("steer needs `{what}`. Call it again with both."));
    let target = target.ok_or_else(|| missing("target"))?;
    let message = message.ok_or_else(|| missing("message"))?;
    let run = spawner.steer(target, message)?;
    Ok(format!("{run} hears it between two of its steps."))
}

fn kill(spawner: &dyn ChildSpawner, target: Option<&str>) -> Result<String, SpawnRefused> {
    let target = target
        .ok_or_else(|| SpawnRefused("kill needs `target`: a run, a label, or `all`.".to_owned()))?;
    let which = match target {
        "all" => WhichChildren::All,
        one => WhichChildren::One(one),
    };
    let killed = spawner.kill(which)?;
    Ok(match killed.as_slice() {
        [] => "No sub-agent runs.".to_owned(),
        runs => format!("Ending {}.", runs.join(", ")),
    })
}
