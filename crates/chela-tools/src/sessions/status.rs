//! `session_status`.

use std::sync::Arc;

use chela_core::grouped;
use serde::Deserialize;
use serde_json::json;

use super::{SessionToolset, failed};
use crate::blocking::{BlockingJob, BlockingTool, CallForesight, ForeseeingTool};
use crate::local_time::{local_time, local_time_as};
use crate::schema::{ArgumentKind, ArgumentSchema};
use crate::spec::shared_spec;
use crate::{CallSink, Effect, SinkKind, StatusCard, Tool, ToolOutput, ToolSpec};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct StatusArguments {
    session_key: Option<String>,
    model: Option<String>,
}

pub(super) fn tool(sessions: &Arc<SessionToolset>) -> Arc<dyn Tool> {
    Arc::new(ForeseeingTool {
        sight: CallForesight {
            // Another model is another mind.
            effect: Some(|_: &SessionToolset, arguments: &StatusArguments| match arguments.model {
                Some(_) => Effect::Persona,
                None => Effect::Read,
            }),
            targets: Some(|sessions: &SessionToolset, arguments| {
                sessions.target(arguments.session_key.as_deref())
            }),
            ..CallForesight::default()
        },
        tool: BlockingTool {
        spec: shared_spec!(ToolSpec {
            name: "session_status".into(),
            description: "Exact time, model, context use, tokens and cost of a session; `model` sets the model it uses from now on.".into(),
            parameters: ArgumentSchema::object()
                .optional(
                    "sessionKey",
                    ArgumentKind::text(),
                    "(current)",
                )
                .optional(
                    "model",
                    ArgumentKind::text().not_empty(),
                    "Model, alias or `default`",
                )
                .build().into(),
            effect: Effect::Read,
            sinks: [CallSink::new("model", SinkKind::Name)].into(),
        }),
        with: Arc::clone(sessions),
        act: status,
        },
    })
}

fn status(sessions: &SessionToolset, arguments: StatusArguments, _: &BlockingJob) -> ToolOutput {
    let session = match sessions.named(arguments.session_key.as_deref()) {
        Ok(session) => session,
        Err(failed) => return failed,
    };
    let mut lines = Vec::new();
    if let Some(model) = arguments.model.as_deref() {
        let wanted = (!model.eq_ignore_ascii_case("default")).then_some(model);
        match sessions.view.set_model(&session, wanted) {
            Ok(model) => lines.push(format!("Model set: {model} from the next reply on.")),
            Err(error) => return failed(error),
        }
    }
    let now = sessions.now();
    let zone = sessions.time_zone.as_deref();
    let time = local_time_as(now, zone, sessions.time_format);
    lines.push(format!("Time: {time}"));
    lines.push(format!("Session: {session}"));
    match sessions.view.status(&session) {
        Ok(card) => {
            lines.extend(card_lines(&card, zone));
            let details = json!({
                "session": session.to_string(),
                "model": card.model,
                "contextUsed": card.context_used,
                "contextWindow": card.context_window,
                "cost": card.cost,
            });
            ToolOutput::said(lines.join("\n")).with_details(details)
        }
        // The time is worth telling even so.
        Err(error) => {
            lines.push(error.to_string());
            ToolOutput::said(lines.join("\n"))
        }
    }
}

fn card_lines(card: &StatusCard, zone: Option<&str>) -> Vec<String> {
    let number = |n: u64| grouped(n as usize);
    let mut lines = vec![match &card.fallback {
        Some((model, why)) => {
            format!("Model: {} (answered by {model}: {why})", card.model)
        }
        None => format!("Model: {}", card.model),
    }];
    lines.extend(match (card.context_used, card.context_window) {
        (Some(used), Some(window)) if window > 0 => Some(format!(
            "Context: {} of {} tokens ({} %)",
            number(used),
            number(window),
            used.saturating_mul(100) / window
        )),
        (Some(used), _) => Some(format!("Context: {} tokens", number(used))),
        (None, _) => None,
    });
    let cached = match card.cached_tokens {
        0 => String::new(),
        cached => format!(" ({} cached)", number(cached)),
    };
    lines.push(format!(
        "Tokens: {} in{cached}, {} out",
        number(card.input_tokens),
        number(card.output_tokens)
    ));
    lines.extend(card.cost.map(|cost| format!("Cost: ${cost:.4}")));
    lines.push(format!("Compactions: {}", card.compactions));
    let levels = [
        ("Thinking", &card.thinking),
        ("Reasoning", &card.reasoning),
        ("Verbose", &card.verbose),
        ("Elevated", &card.elevated),
    ];
    let set = levels
        .into_iter()
        .filter_map(|(name, level)| Some((name, level.as_ref()?)));
    lines.extend(set.map(|(name, level)| format!("{name}: {level}")));
    let started = card.started_at.map(|at| local_time(at, zone));
    lines.extend(started.map(|at| format!("Started: {at}")));
    lines.extend(card.tasks.iter().map(|task| format!("Running: {task}")));
    lines
}
