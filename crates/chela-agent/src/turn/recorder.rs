//! What a turn puts on record: each request before it is sent, each effect before it happens,
//! each cent before it is spent.

mod call_beside;
mod tool_calls;

use std::sync::Arc;

use chela_core::ok_or_warn;
use chela_ledger::{
    AuditKind, ContextRewrite, DraftedRequest, Ledger, LedgerError, OpenedRequest, RequestOutcome,
    RequestRecord, ReserveError, ToolList,
};
use chela_model::{EncodedRequest, FallbackChain, ModelRequest};
use chela_session::{OpenSession, SessionError};
use chela_store::WriteDurability;
use serde_json::Value;
use tracing::Instrument as _;

use super::open_request::{CallResult, OpenRequest, outcome};
use super::partial::PartialAnswer;
use super::request::{TurnRequest, estimate};
use super::reserve_spending::{reservation_for, spend_limits};
use super::{ModelCallOutcome, RunningTurn, TurnEnd, TurnError, TurnEvent};
use crate::agent::Agents;
use crate::context_builder::RequestPrefix;
use crate::scope::ConversationScope;

pub(super) use tool_calls::needed_before;

/// The record of one piece of work: a turn, or the writing of a summary.
pub(crate) struct TurnRecorder {
    ledger: Option<Arc<Ledger>>,
    /// What the steps of the work have in common.
    turn: String,
}

/// A model call, as the books see it.
#[derive(Clone, Copy)]
pub(crate) struct RecordedCall<'a> {
    pub scope: &'a Arc<ConversationScope>,
    pub session: &'a OpenSession,
    pub prefix: &'a Arc<RequestPrefix>,
    pub chain: &'a FallbackChain,
    pub request: &'a Arc<ModelRequest>,
    /// The tools the request begins with.
    pub tool_marks: &'a ToolList,
    /// Of the request, by our own count. `None`: not counted yet.
    pub tokens: Option<u64>,
    /// Which call of the work, from 1.
    pub step: u32,
    /// The conversation was rewritten since the request before.
    pub rewrite: Option<ContextRewrite>,
    /// What it is recorded under when it is none of the conversation's own requests: those are
    /// compared with each other.
    pub aside: Option<&'a str>,
}

impl<'c> RecordedCall<'c> {
    fn record(&self, turn: &'c str, sent: &'c EncodedRequest) -> RequestRecord<'c> {
        RequestRecord {
            agent: &self.scope.view.id,
            session_key: &self.scope.key,
            session: self.aside.unwrap_or(self.session.id.as_str()),
            turn,
            step: self.step,
            model: sent.model(),
            url: sent.url(),
            body: sent.bytes(),
            unread: sent.unread(),
            sections: self.prefix.text.sections.clone(),
            tools: self.tool_marks.clone(),
            rewrite: self.rewrite,
        }
    }
}

/// What it takes to make the request of a call ready, on whichever thread.
pub(super) struct RequestPreparing {
    scope: Arc<ConversationScope>,
    session: OpenSession,
    prefix: Arc<RequestPrefix>,
    chain: FallbackChain,
    step: u32,
    aside: Option<String>,
    turn: String,
    ledger: Option<Arc<Ledger>>,
}

impl RequestPreparing {
    /// Encodes a request, counts it where that is not done yet, and drafts its record.
    pub fn prepare(
        &self,
        request: &Arc<ModelRequest>,
        tool_marks: &ToolList,
        tokens: Option<u64>,
        rewrite: Option<ContextRewrite>,
    ) -> PreparedRequest {
        let sent = self.chain.encode(request);
        let call = RecordedCall {
            scope: &self.scope,
            session: &self.session,
            prefix: &self.prefix,
            chain: &self.chain,
            request,
            tool_marks,
            tokens,
            step: self.step,
            rewrite,
            aside: self.aside.as_deref(),
        };
        let ledger = self.ledger.as_ref();
        PreparedRequest {
            input: tokens.unwrap_or_else(|| estimate(self.chain.current(), request)),
            draft: ledger.map(|ledger| ledger.draft(&call.record(&self.turn, &sent))),
            sent,
        }
    }
}

/// A request as it is sent and put on record.
pub(super) struct PreparedRequest {
    sent: EncodedRequest,
    /// Tokens by our own count.
    input: u64,
    /// `None`: there is no ledger.
    draft: Option<DraftedRequest>,
}

impl TurnRecorder {
    pub fn open(agents: &Agents) -> Self {
        agents.ledger_slot.try_again();
        Self {
            ledger: agents.ledger(),
            turn: agents.host.random_hex(8),
        }
    }

    /// Takes room for a call and puts its request on record. Says why it may not be made.
    pub async fn open_request(
        &self,
        call: &RecordedCall<'_>,
        prepared: Option<PreparedRequest>,
    ) -> Result<OpenRequest, String> {
        let PreparedRequest { sent, input, draft } = match prepared {
            Some(prepared) => prepared,
            None => self.prepare_request(call).await,
        };
        let unopened = || OpenRequest {
            reservation: None,
            ledger: self.ledger.clone(),
            record: None,
            sent: sent.clone(),
            prices: call.chain.current().info().cost,
            input: 0,
            unrecorded: None,
        };
        let mut open = unopened();
        let (Some(ledger), Some(draft)) = (&self.ledger, draft) else {
            let slot = &call.scope.agents.ledger_slot;
            let why = slot
                .trouble()
                .unwrap_or_else(|| "it is not there".to_owned());
            if !spend_limits(call.scope).is_empty() {
                return Err(uncountable(&format!("the ledger cannot be opened ({why})")));
            }
            open.unrecorded = slot.untold_trouble();
            return match call.scope.agents.loaded.config.ledger.required {
                true => Err(unrecordable(&why)),
                false => Ok(open),
            };
        };
        open.input = input;
        let ask = reservation_for(call, &self.turn, input);
        // The first request of a turn is safe from a power cut before it is sent, and so is every
        // one that counts against a limit. Those that follow are taken along by what the calls
        // between them put on record.
        let durability = match call.step > 1 && ask.limits.is_empty() {
            true => WriteDurability::Process,
            false => WriteDurability::Disk,
        };
        let opening = ledger.open_request(&ask, draft, durability);
        let mut open = match claim(open, opening).await {
            Ok(open) => open,
            Err(ReserveError::Limit(limit)) => {
                tracing::info!(limit = limit.in_words(), "a call is over a spending limit");
                return Err(limit.in_words());
            }
            Err(ReserveError::Ledger(error)) if !ask.limits.is_empty() => {
                return Err(uncountable(&error));
            }
            Err(ReserveError::Ledger(error)) => {
                tracing::warn!(%error, "a request is not on record");
                let mut open = unopened();
                open.unrecorded = Some(error.to_string());
                open
            }
        };
        match &open.unrecorded {
            Some(why) if call.scope.agents.loaded.config.ledger.required => {
                let words = unrecordable(why);
                if let Some(reservation) = open.reservation.take() {
                    ok_or_warn!(
                        ledger.release(reservation).await,
                        "room for a call is not given back"
                    );
                }
                Err(words)
            }
            _ => Ok(open),
        }
    }

    /// Encodes a request, counts it and drafts its record, where that holds up nobody.
    async fn prepare_request(&self, call: &RecordedCall<'_>) -> PreparedRequest {
        let preparing = RequestPreparing {
            scope: Arc::clone(call.scope),
            session: call.session.clone(),
            prefix: Arc::clone(call.prefix),
            chain: call.chain.clone(),
            step: call.step,
            aside: call.aside.map(str::to_owned),
            turn: self.turn.clone(),
            ledger: self.ledger.clone(),
        };
        let (request, tool_marks) = (Arc::clone(call.request), call.tool_marks.clone());
        let (tokens, rewrite) = (call.tokens, call.rewrite);
        let prepared = move || preparing.prepare(&request, &tool_marks, tokens, rewrite);
        call.scope.agents.cores.run(prepared).await
    }

    /// Notes what came of a call, and what it cost.
    pub async fn close_request(
        &self,
        mut open: OpenRequest,
        call: &RecordedCall<'_>,
        answer: CallResult<'_>,
    ) {
        let Some(ledger) = &self.ledger else {
            return;
        };
        let target = call.chain.current();
        let prices = target.info().cost;
        open.settle(&answer.usage(), prices);
        // Another model answered in its place: what that one was sent is on record too.
        let by_another = match &answer {
            CallResult::Whole { response, .. } => Some(&response.sent),
            CallResult::Missing { .. } => None,
        }
        .filter(|sent| sent.model() != open.sent.model());
        let mut record = open.record.take();
        if let Some(sent) = by_another {
            let silent = RequestOutcome {
                error: Some(format!("{} answered in its place", target.reference())),
                ..RequestOutcome::default()
            };
            if let Some(record) = record {
                drop(ledger.finish(record, &silent));
            }
            let again = RecordedCall {
                rewrite: None,
                ..*call
            };
            let request = again.record(&self.turn, sent);
            let written = ledger.begin(&request).await;
            record = ok_or_warn!(written, "the request to the fallback is not on record")
                .map(|(record, _)| record);
        }
        if let Some(record) = record {
            let finished = ledger.finish(record, &outcome(&answer, prices)).await;
            ok_or_warn!(finished, "the outcome of a request is not on record");
        }
    }
}

impl TurnRecorder {
    pub fn turn(&self) -> &str {
        &self.turn
    }

    /// Adds to the audit chain what happens anyway.
    pub fn note(&self, kind: AuditKind, body: &Value) {
        // What has happened already happens no less without a record.
        if let Some(ledger) = &self.ledger {
            drop(ledger.note(kind, body));
        }
    }

    /// The same where something follows from it that must not happen without a record.
    pub async fn must_note(&self, kind: AuditKind, body: &Value) -> Result<(), String> {
        let ledger = self.ledger.as_ref().ok_or("the ledger cannot be opened")?;
        ledger
            .append(kind, body)
            .await
            .map(drop)
            .map_err(|error| error.to_string())
    }
}

/// Fills an open request with what the ledger gave. The ledger opens it even if nobody waits any more: a
/// request nobody claims is closed again, and nothing was sent with it.
async fn claim(
    mut open: OpenRequest,
    opening: impl Future<Output = Result<OpenedRequest, ReserveError>> + Send + 'static,
) -> Result<OpenRequest, ReserveError> {
    let (hand_over, claimed) = tokio::sync::oneshot::channel();
    let work = async move {
        let opened = opening.await.map(|opened| {
            open.reservation = Some(opened.reservation);
            match opened.record {
                Ok((record, _)) => open.record = Some(record),
                Err(error) => {
                    tracing::warn!(%error, "a request is not on record");
                    open.unrecorded = Some(error.to_string());
                }
            }
            open
        });
        if let Err(Ok(mut unclaimed)) = hand_over.send(opened) {
            unclaimed.input = 0;
        }
    };
    tokio::spawn(work.in_current_span());
    match claimed.await {
        Ok(opened) => opened,
        Err(_) => Err(ReserveError::Ledger(LedgerError::Interrupted)),
    }
}

impl RunningTurn<'_> {
    /// Takes room for a call and puts its request on record. Says why it may not be made.
    pub(super) async fn open_request(
        &mut self,
        request: &mut TurnRequest,
    ) -> Result<OpenRequest, TurnEnd> {
        let rewrite = self.rewrite.take();
        let prepared = request.prepared.take();
        let open = match self.try_request(request, rewrite, prepared).await {
            Ok(open) => open,
            Err(words) => match self.take_cheaper() {
                // The cheaper model has the same limits, and costs less.
                true => self
                    .try_request(request, rewrite, None)
                    .await
                    .map_err(TurnEnd::Limit)?,
                false => return Err(TurnEnd::Limit(words)),
            },
        };
        if let Some(error) = &open.unrecorded {
            let notice = format!("This request was not recorded: {error}");
            self.surface.event(TurnEvent::Unrecorded(notice));
        }
        Ok(open)
    }

    async fn try_request(
        &self,
        request: &TurnRequest,
        rewrite: Option<ContextRewrite>,
        prepared: Option<PreparedRequest>,
    ) -> Result<OpenRequest, String> {
        let call = RecordedCall {
            rewrite,
            ..self.call_of(request)
        };
        self.recorder.open_request(&call, prepared).await
    }

    /// What it takes to make the next request ready.
    pub(super) fn preparing(&self) -> RequestPreparing {
        RequestPreparing {
            scope: Arc::clone(self.parts.scope),
            session: self.session.clone(),
            prefix: Arc::clone(&self.prefix),
            chain: self.chain.clone(),
            step: self.spent.steps + 1,
            aside: None,
            turn: self.recorder.turn.clone(),
            ledger: self.recorder.ledger.clone(),
        }
    }

    /// Closes the open request of a call; gives what was paid for one without an answer.
    pub(super) async fn close_request(
        &mut self,
        open: OpenRequest,
        request: &TurnRequest,
        heard: &Result<ModelCallOutcome, TurnError>,
        partial: &PartialAnswer,
    ) -> Result<(), SessionError> {
        let input = open.input;
        let (why, usage) = match heard {
            Ok(ModelCallOutcome::Answer(response)) => {
                let answer = CallResult::Whole {
                    response,
                    wasted: partial.wasted(input),
                };
                let call = self.call_of(request);
                self.recorder.close_request(open, &call, answer).await;
                return Ok(());
            }
            Ok(ModelCallOutcome::Interrupted(ended)) => {
                (ended.as_str().to_owned(), partial.broken_off(input))
            }
            Err(TurnError::Model(error)) => (error.to_string(), partial.failed(input, error)),
            Err(error) => (error.to_string(), partial.broken_off(input)),
        };
        let answer = CallResult::Missing { why: &why, usage };
        let call = self.call_of(request);
        self.recorder.close_request(open, &call, answer).await;
        self.usage += usage;
        let used = self.parts.transcript.meter().used;
        self.parts
            .transcript
            .sessions
            .add_usage(&self.session, usage, used)
            .await
    }

    fn call_of<'c>(&'c self, request: &'c TurnRequest) -> RecordedCall<'c> {
        RecordedCall {
            scope: self.parts.scope,
            session: &self.session,
            prefix: &self.prefix,
            chain: &self.chain,
            request: &request.asked,
            tool_marks: &request.tool_marks,
            tokens: Some(request.tokens),
            step: self.spent.steps + 1,
            rewrite: None,
            aside: None,
        }
    }
}

/// The owner wants no request that is not on record.
fn unrecordable(why: &str) -> String {
    format!(
        "Nothing is sent without a record (ledger.required), and the ledger cannot be written: \
            {why}"
    )
}

/// A limit that cannot be counted is not a limit that may be passed.
fn uncountable(why: &dyn std::fmt::Display) -> String {
    format!("Spending cannot be counted, so nothing more is spent: {why}")
}
