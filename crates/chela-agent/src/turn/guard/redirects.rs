//! A server sends a call on: every hop is a target of its own, judged like the first.

use chela_guard::WebAddress;
use chela_model::ToolCall;
use chela_tools::{CallTarget, PreparedCall, RedirectFuture, RedirectJudge, SinkKind};
use serde_json::Value;

use super::{BatchApproval, CallPermit, JudgedCall};
use crate::turn::RunningTurn;
use chela_guard::SecretLook;

/// Judges the hops of one call.
pub(in crate::turn) struct TurnRedirects<'a> {
    pub turn: &'a RunningTurn<'a>,
    pub call: &'a ToolCall,
    pub case: &'a JudgedCall,
}

impl RedirectJudge for TurnRedirects<'_> {
    fn judge<'a>(&'a self, from: &'a WebAddress, to: &'a WebAddress) -> RedirectFuture<'a> {
        Box::pin(async move {
            let provenance = &self.turn.parts.guarding.provenance;
            provenance.with(|seen| seen.note_redirect(to));
            let case = self.hop(from, to);
            // A yes to the first address is none to where it leads.
            let leave = BatchApproval::default();
            match self.turn.permit_case(self.call, case, &leave).await {
                Ok(CallPermit::Go { decision, .. }) => {
                    tracing::debug!(rule = decision.rule.as_str(), "a redirect is followed");
                    Ok(())
                }
                Ok(CallPermit::No { words, .. }) => Err(words),
                Ok(CallPermit::Impossible(output)) => Err(output.text()),
                Err(error) => {
                    tracing::warn!(%error, "a redirect cannot be judged, so it is not followed");
                    Err("It could not be judged.".to_owned())
                }
            }
        })
    }
}

impl TurnRedirects<'_> {
    /// The same call, about where it was led.
    fn hop(&self, from: &WebAddress, to: &WebAddress) -> JudgedCall {
        let prepared = &self.case.prepared;
        let mut arguments = prepared.arguments.clone();
        for sink in prepared.tool.spec().sinks.iter() {
            if sink.kind == SinkKind::Url && arguments.contains_key(sink.argument.as_ref()) {
                arguments.insert(sink.argument.to_string(), Value::from(to.as_str()));
            }
        }
        let mut prospect = self.case.prospect.clone();
        prospect.words = Some(format!(
            "{} follows a redirect from {} to {}.",
            prepared.tool.spec().name,
            from.server(),
            to.server()
        ));
        JudgedCall {
            prepared: PreparedCall {
                tool: std::sync::Arc::clone(&prepared.tool),
                arguments,
                // What stands in it the server wrote.
                look: SecretLook::Plain,
            },
            // The one it was judged by named what there is to be named.
            chosen_names: Vec::new(),
            prospect,
            writes: self.case.writes.clone(),
            targets: vec![CallTarget::Url(to.clone())],
            orders: Vec::new(),
            led_from: Some(from.clone()),
        }
    }
}
