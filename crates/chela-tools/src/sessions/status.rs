//! `session_status`.

use std::sync::Arc;

use chela_core::grouped;
use serde::Deserialize;
use serde_json::json;

use super::{Sessions, failed};
use crate::blocking::{Blocking, Foreseen, Job};
use crate::local_time::local_time;
use crate::schema::{Kind, Schema};
use crate::{Effect, Output, Sink, SinkKind, Spec, StatusCard, Tool};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Arguments {
    session_key: Option<String>,
    model: Option<String>,
}

pub(super) fn tool(sessions: &Arc<Sessions>) -> Arc<dyn Tool> {
    Arc::new(Foreseen {
        // Another model is another mind.
        effect: |_, arguments: &Arguments| match arguments.model {
            Some(_) => Effect::Persona,
            None => Effect::Read,
        },
        tool: Blocking {
        spec: Spec {
            name: "session_status".into(),
            description: "Show the exact time, model, context use, tokens and cost of a session; with `model`, set the model it uses from now on.".into(),
            parameters: Schema::object()
                .optional(
                    "sessionKey",
                    Kind::text(),
                    "Key from sessions_list; `current` unless given",
                )
                .optional(
                    "model",
                    Kind::text().not_empty(),
                    "Model or alias to use from now on; `default` for the configured one",
                )
                .build().into(),
            effect: Effect::Read,
            sinks: [Sink::new("model", SinkKind::Name)].into(),
        },
        with: Arc::clone(sessions),
        act: status,
        },
    })
}

fn status(sessions: &Sessions, arguments: Arguments, _: &Job) -> Output {
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
    lines.push(format!("Time: {}", local_time(now, zone)));
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
            Output::said(lines.join("\n")).with_details(details)
        }
        // The time is worth telling even so.
        Err(error) => {
            lines.push(error.to_string());
            Output::said(lines.join("\n"))
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
    lines.extend(
        card.thinking
            .as_ref()
            .map(|level| format!("Thinking: {level}")),
    );
    let started = card.started_at.map(|at| local_time(at, zone));
    lines.extend(started.map(|at| format!("Started: {at}")));
    lines.extend(card.tasks.iter().map(|task| format!("Running: {task}")));
    lines
}
