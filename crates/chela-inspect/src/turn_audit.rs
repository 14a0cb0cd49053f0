//! What a turn decided and did, from the audit chain.

use chela_ledger::{
    AuditEntry, AuditFilter, AuditKind, Ledger, LedgerError, RecordFilter, RecordId,
};
use serde::Serialize;
use serde_json::{Value, json};

/// What the guard decided about each call of a turn, and what the owner answered.
#[derive(Debug, Serialize)]
pub struct TurnDecisions {
    pub turn: String,
    pub calls: Vec<Value>,
    pub answers: Vec<Value>,
}

/// One thing that happened to a call: it was decided about, asked about, or ended.
#[derive(Debug, Serialize)]
pub struct CallEvent {
    pub tool: String,
    /// The decision, the answer or the outcome.
    pub said: String,
    pub call: String,
}

/// The decisions of the turn a request belongs to; of the newest turn without a request. `None`
/// when there is no turn on record.
pub async fn turn_decisions(
    ledger: &Ledger,
    request: Option<RecordId>,
) -> Result<Option<TurnDecisions>, LedgerError> {
    let turn = match request {
        Some(id) => ledger.show(id).await?.summary.turn,
        None => {
            let newest = RecordFilter {
                limit: Some(1),
                ..RecordFilter::default()
            };
            match ledger.list(&newest).await?.into_iter().next() {
                Some(newest) => newest.turn,
                None => return Ok(None),
            }
        }
    };
    let bodies = |entries: Vec<AuditEntry>| entries.iter().map(AuditEntry::json).collect();
    let mut calls: Vec<Value> = bodies(entries_of(ledger, AuditKind::ToolDecision, &turn).await?);
    let outcomes: Vec<Value> = bodies(entries_of(ledger, AuditKind::ToolOutcome, &turn).await?);
    for call in &mut calls {
        add_outcome(call, &outcomes);
    }
    Ok(Some(TurnDecisions {
        calls,
        answers: bodies(entries_of(ledger, AuditKind::Approval, &turn).await?),
        turn,
    }))
}

/// What came of a call in the end: the guard may let a call pass that its tool refuses.
fn add_outcome(call: &mut Value, outcomes: &[Value]) {
    let own = |outcome: &&Value| outcome["call"] == call["call"] && outcome["tool"] == call["tool"];
    let Some(outcome) = outcomes.iter().find(own) else {
        return;
    };
    let (said, why) = (outcome["outcome"].clone(), outcome["why"].clone());
    call["outcome"] = said;
    if !why.is_null() {
        call["refusedBecause"] = why;
    }
}

/// What happened to the calls of a turn, in order.
pub async fn call_events(ledger: &Ledger, turn: &str) -> Result<Vec<CallEvent>, LedgerError> {
    let mut events = Vec::new();
    for kind in [
        AuditKind::ToolDecision,
        AuditKind::Approval,
        AuditKind::ToolOutcome,
    ] {
        for entry in entries_of(ledger, kind, turn).await? {
            let body = entry.json();
            let word = |name: &str| {
                let word = body.get(name).and_then(Value::as_str);
                word.unwrap_or_default().to_owned()
            };
            let said = ["decision", "answer", "outcome"]
                .map(word)
                .into_iter()
                .find(|word| !word.is_empty());
            let event = CallEvent {
                tool: word("tool"),
                said: said.unwrap_or_default(),
                call: word("call"),
            };
            events.push((entry.seq, event));
        }
    }
    events.sort_by_key(|(seq, _)| *seq);
    Ok(events.into_iter().map(|(_, event)| event).collect())
}

async fn entries_of(
    ledger: &Ledger,
    kind: AuditKind,
    turn: &str,
) -> Result<Vec<AuditEntry>, LedgerError> {
    let filter = AuditFilter {
        kind: Some(kind),
        about: Some(format!("\"turn\":{}", json!(turn))),
        ..AuditFilter::default()
    };
    ledger.audit(&filter).await
}
