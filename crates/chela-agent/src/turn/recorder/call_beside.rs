//! A call of a model that is none of the turn's steps: a summary, a look at a picture.

use std::time::Duration;

use chela_core::ok_or_warn;
use chela_model::{ModelResponse, ResponseEvent, TurnStage, Usage};

use super::{RecordedCall, TurnRecorder};
use crate::transcript::Transcript;
use crate::turn::PartialAnswer;
use crate::turn::open_request::CallResult;

impl TurnRecorder {
    /// One call, within the limits and on record like every other: the answer, or why there is
    /// none, and what it cost.
    pub async fn call_beside(
        &self,
        call: &RecordedCall<'_>,
        transcript: &Transcript,
        limit: Option<Duration>,
    ) -> Result<(Result<ModelResponse, String>, Usage), String> {
        let open = self.open_request(call, None).await?;
        let mut partial = PartialAnswer::default();
        let mut listen = |event| match event {
            ResponseEvent::Text(text) => partial.text.push_str(&text),
            ResponseEvent::Reasoning(text) => partial.reasoning.push_str(&text),
            ResponseEvent::Restarted { .. } => partial.restart(),
            ResponseEvent::ToolCall { .. } | ResponseEvent::Waiting { .. } => {}
        };
        let http = &call.scope.agents.http;
        let stage = TurnStage::Underway;
        let answer = call
            .chain
            .answer(http, call.request, &open.sent, stage, &mut listen);
        let answer = match limit {
            Some(limit) => tokio::time::timeout(limit, answer)
                .await
                .map_err(|_| format!("no answer in {} s", limit.as_secs())),
            None => Ok(answer.await),
        };
        let wasted = partial.wasted(open.input);
        let (heard, missing) = match answer {
            Ok(Ok(response)) => (Ok(response), wasted),
            Ok(Err(error)) => (Err(error.to_string()), partial.failed(open.input, &error)),
            Err(late) => (Err(late), partial.broken_off(open.input)),
        };
        let result = match &heard {
            Ok(response) => CallResult::Whole { response, wasted },
            Err(why) => CallResult::Missing {
                why,
                usage: missing,
            },
        };
        let usage = result.usage();
        self.close_request(open, call, result).await;
        // A sum that is not kept changes nothing about the answer.
        let used = transcript.meter().used;
        let added = transcript.sessions.add_usage(call.session, usage, used);
        ok_or_warn!(
            added.await,
            "what a call beside the turn cost is not added up"
        );
        Ok((heard, usage))
    }
}
