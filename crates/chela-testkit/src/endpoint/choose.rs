//! Which step answers a request.

use std::sync::Arc;

use serde_json::Value;

use super::{EndpointState, ReceivedRequest, ScriptProgress};
use crate::http::HttpRequest;
use crate::model_call::{CallFormat, ModelCall, format_of};
use crate::prefix;
use crate::script::{AnswerBody, EndpointScript, ScriptStep, StepRule, TokenCounts};
use crate::wire::{self, WireAnswer};

/// What a request is answered.
pub struct ChosenAnswer {
    pub step: ScriptStep,
    /// What the model says, when the request is a model call and the step speaks.
    pub answer: Option<(ModelCall, WireAnswer)>,
    call: Option<u64>,
}

impl ChosenAnswer {
    pub fn is_call(&self) -> bool {
        self.call.is_some()
    }
}

/// Decides, and writes it down.
pub fn choose(shared: &EndpointState, request: &HttpRequest) -> ChosenAnswer {
    let body = request.json();
    let asked = format_of(request).map(|format| ModelCall::read(format, request, &body));
    let mut played = shared.played();
    let script = Arc::clone(&played.script);
    let call = asked.as_ref().map(|_| {
        played.calls += 1;
        played.calls
    });
    let mut step = refused(&script, request, asked.as_ref(), &body)
        .or_else(|| scripted(&script, &mut played, request, asked.as_ref()))
        .or_else(|| wire::listing(&script, request).map(json_step))
        .unwrap_or_else(|| nothing_left(request, asked.as_ref(), call));
    let speaks = step.status.is_none() && step.body.is_none();
    let tokens = match &asked {
        Some(asked) if speaks => played.cache.visit(asked.format, &body),
        _ => TokenCounts::default(),
    };
    if let (Some(asked), Some(status), None) = (&asked, step.status, &step.body) {
        let message = format!("scripted status {status}");
        let made_up = wire::error_body(asked.format, status, &message);
        step.body = Some(AnswerBody::Json(made_up));
    }
    let recorded = ReceivedRequest {
        method: request.method.clone(),
        path: request.path.clone(),
        headers: request.headers.clone(),
        body: String::from_utf8_lossy(&request.body).into_owned(),
        call,
        tokens,
        answer: step.summary(),
    };
    if let Some(watch) = &shared.watch {
        watch(&recorded);
    }
    played.requests.push(recorded);
    let answer = match (asked, call) {
        (Some(asked), Some(call)) if speaks => {
            let answer = WireAnswer::new(&step, &asked, &body, call, tokens);
            Some((asked, answer))
        }
        _ => None,
    };
    ChosenAnswer { step, answer, call }
}

/// What a server says before its model is asked: no key, or too long a text.
fn refused(
    script: &EndpointScript,
    request: &HttpRequest,
    asked: Option<&ModelCall>,
    body: &Value,
) -> Option<ScriptStep> {
    let format = asked.map_or(CallFormat::Chat, |asked| asked.format);
    if let Some(key) = &script.key
        && !carries_key(request, key)
    {
        return Some(error_step(format, 401, "the key is missing or wrong"));
    }
    let window = script.context_window?;
    let length = prefix::count(asked?.format, body);
    (length > window).then(|| {
        let message = format!(
            "the request exceeds the available context size: {length} tokens of prompt, maximum \
             context length is {window} tokens"
        );
        let mut step = error_step(format, 400, &message);
        if let (CallFormat::Chat, Some(AnswerBody::Json(body))) = (format, &mut step.body) {
            body["error"]["type"] = "exceed_context_size_error".into();
            body["error"]["code"] = "context_length_exceeded".into();
        }
        step
    })
}

fn carries_key(request: &HttpRequest, key: &str) -> bool {
    let bearer = request
        .header("authorization")
        .and_then(|value| value.strip_prefix("Bearer "));
    let query = request
        .path
        .split(['?', '&'])
        .find_map(|pair| pair.strip_prefix("key="));
    let headers = ["x-api-key", "x-goog-api-key"].map(|name| request.header(name));
    [bearer, query]
        .into_iter()
        .chain(headers)
        .any(|given| given == Some(key))
}

/// Rules first, then what is next in turn, then the rest.
fn scripted(
    script: &EndpointScript,
    played: &mut ScriptProgress,
    request: &HttpRequest,
    asked: Option<&ModelCall>,
) -> Option<ScriptStep> {
    let calls = played.calls;
    let open = |at: usize, step: &ScriptStep, played: &ScriptProgress| {
        step.plays().is_none_or(|plays| played.steps[at] < plays)
    };
    let steps = || script.steps.iter().enumerate();
    let rule = steps().find(|(at, step)| {
        let matches = |rule| applies(rule, request, asked, calls);
        step.when.as_ref().is_some_and(matches) && open(*at, step, played)
    });
    let in_turn = || steps().find(|(at, step)| step.when.is_none() && open(*at, step, played));
    let chosen = rule.or_else(|| asked.and_then(|_| in_turn()));
    if let Some((at, step)) = chosen {
        played.steps[at] += 1;
        return Some(step.clone());
    }
    asked.and_then(|_| script.otherwise.clone())
}

fn applies(rule: &StepRule, request: &HttpRequest, asked: Option<&ModelCall>, calls: u64) -> bool {
    let path = rule.path.as_ref();
    if !path.is_none_or(|path| request.path.contains(path)) {
        return false;
    }
    if let Some(text) = &rule.body
        && !String::from_utf8_lossy(&request.body).contains(text)
    {
        return false;
    }
    let Some(asked) = asked else {
        return path.is_some() && rule.contains.is_none() && rule.model.is_none();
    };
    let newest = if asked.after_tool {
        &asked.tool
    } else {
        &asked.user
    };
    rule.contains
        .as_ref()
        .is_none_or(|text| newest.contains(text))
        && rule
            .model
            .as_ref()
            .is_none_or(|model| *model == asked.model)
        && rule.nth.is_none_or(|nth| nth == calls)
        && rule
            .after_tool
            .is_none_or(|after| after == asked.after_tool)
}

fn nothing_left(request: &HttpRequest, asked: Option<&ModelCall>, call: Option<u64>) -> ScriptStep {
    match asked {
        Some(asked) => {
            let message = format!(
                "the script has no step for model call {}; add one, or `otherwise`",
                call.unwrap_or_default()
            );
            error_step(asked.format, 400, &message)
        }
        None => {
            let message = format!("no such route: {} {}", request.method, request.route());
            error_step(CallFormat::Chat, 404, &message)
        }
    }
}

fn error_step(format: CallFormat, status: u16, message: &str) -> ScriptStep {
    ScriptStep {
        status: Some(status),
        ..json_step(wire::error_body(format, status, message))
    }
}

fn json_step(body: Value) -> ScriptStep {
    ScriptStep {
        body: Some(AnswerBody::Json(body)),
        ..ScriptStep::default()
    }
}
