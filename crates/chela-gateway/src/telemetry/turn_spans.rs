//! Turns, calls of models and calls of tools as spans, from what the ledger has on record. The
//! ledger is the queue: what was not sent yet is read again, and no turn waits for any of it.

use std::collections::{BTreeMap, VecDeque};

use chela_core::ContentHash;
use chela_ledger::{AuditFilter, AuditKind, Ledger, LedgerError, RecordFilter, RequestSummary};
use serde_json::Value;

use super::names;
use super::otlp::{EndedSpan, Histogram, SpanKind, number, text};

/// After so long without another request a turn that nobody runs is over, in milliseconds.
const QUIET: u64 = 2_000;
/// A request without an end is one whose process died, after this.
const LOST: u64 = 10 * 60_000;
/// Turns that were told of, so that they are not told of again.
const REMEMBERED: usize = 10_000;

const TOKENS: [f64; 14] = [
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1_024.0,
    4_096.0,
    16_384.0,
    65_536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
    67_108_864.0,
];
const SECONDS: [f64; 14] = [
    0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
];

/// Reads the ledger forward.
#[derive(Debug)]
pub struct TurnGatherer {
    /// Requests from this moment on are read.
    since: u64,
    /// Audit entries behind this one are.
    entry: u64,
    told: VecDeque<String>,
    decided: BTreeMap<String, u64>,
    tools: BTreeMap<String, Vec<ToolSpan>>,
    /// By model and kind of token; by model.
    pub usage: BTreeMap<(String, &'static str), Histogram>,
    pub durations: BTreeMap<String, Histogram>,
}

#[derive(Debug)]
struct ToolSpan {
    call: String,
    tool: String,
    outcome: String,
    start: u64,
    end: u64,
}

impl TurnGatherer {
    pub fn new(since: u64, entry: u64) -> Self {
        Self {
            since,
            entry,
            told: VecDeque::new(),
            decided: BTreeMap::new(),
            tools: BTreeMap::new(),
            usage: BTreeMap::new(),
            durations: BTreeMap::new(),
        }
    }

    /// The spans of turns that have ended since the last look.
    pub async fn gather(
        &mut self,
        ledger: &Ledger,
        now: u64,
        runs: impl Fn(&RequestSummary) -> bool,
    ) -> Result<Vec<EndedSpan>, LedgerError> {
        self.read_calls(ledger).await?;
        let query = RecordFilter {
            since: Some(self.since),
            ..RecordFilter::default()
        };
        let mut turns: BTreeMap<String, Vec<RequestSummary>> = BTreeMap::new();
        for request in ledger.list(&query).await? {
            let id = format!("{}/{}", request.session, request.turn);
            if !self.told.contains(&id) {
                turns.entry(id).or_default().push(request);
            }
        }
        let mut spans = Vec::new();
        let mut oldest_open = now.saturating_sub(QUIET);
        for (id, mut requests) in turns {
            requests.sort_by_key(|request| request.id);
            let begun = requests.iter().map(|request| request.at).min();
            let is_over = requests.iter().all(|request| match request.ended {
                Some(ended) => now.saturating_sub(ended) >= QUIET,
                None => now.saturating_sub(request.at) >= LOST,
            });
            if !is_over || requests.iter().any(&runs) {
                oldest_open = oldest_open.min(begun.unwrap_or(now));
                continue;
            }
            spans.extend(self.spans_of(&id, &requests));
            self.told.push_back(id);
            if self.told.len() > REMEMBERED {
                self.told.pop_front();
            }
        }
        self.since = self.since.max(oldest_open);
        Ok(spans)
    }

    /// Decisions and outcomes of tools, by the turn they belong to.
    async fn read_calls(&mut self, ledger: &Ledger) -> Result<(), LedgerError> {
        let filter = AuditFilter {
            since: Some(self.entry),
            ..AuditFilter::default()
        };
        for entry in ledger.audit(&filter).await? {
            if entry.seq <= self.entry {
                continue;
            }
            self.entry = entry.seq;
            let kind = AuditKind::named(&entry.kind);
            let Ok(body) = serde_json::from_str::<Value>(&entry.body) else {
                continue;
            };
            let field = |name: &str| {
                let text = body.get(name).and_then(Value::as_str);
                text.unwrap_or_default().to_owned()
            };
            let turn = format!("{}/{}", field("session"), field("turn"));
            let call = format!("{turn}/{}", field("call"));
            match kind {
                Some(AuditKind::ToolDecision) => drop(self.decided.insert(call, entry.at)),
                Some(AuditKind::ToolOutcome) => {
                    let start = self.decided.remove(&call).unwrap_or(entry.at);
                    self.tools.entry(turn).or_default().push(ToolSpan {
                        call: field("call"),
                        tool: field("tool"),
                        outcome: field("outcome"),
                        start,
                        end: entry.at,
                    });
                }
                _ => {}
            }
        }
        // Calls whose turn nobody tells of are not kept for good.
        while self.decided.len() > REMEMBERED {
            self.decided.pop_first();
        }
        while self.tools.len() > REMEMBERED {
            self.tools.pop_first();
        }
        Ok(())
    }

    fn spans_of(&mut self, id: &str, requests: &[RequestSummary]) -> Vec<EndedSpan> {
        let Some(first) = requests.first() else {
            return Vec::new();
        };
        let trace = id_of(&["trace", id], 16);
        let root = id_of(&["turn", id], 8);
        let common = || {
            vec![
                text(names::AGENT, &first.agent),
                text(names::CONVERSATION, &first.session),
                text(names::SESSION_KEY, &first.session_key),
            ]
        };
        let mut spans = Vec::new();
        for request in requests {
            self.count(request);
            spans.push(request_span(request, &trace, &root, common()));
        }
        for tool in self.tools.remove(id).unwrap_or_default() {
            let mut attributes = common();
            attributes.extend([
                text(names::OPERATION, names::EXECUTE_TOOL),
                text(names::TOOL, &tool.tool),
                text(names::TOOL_CALL, &tool.call),
            ]);
            spans.push(EndedSpan {
                trace: trace.clone(),
                span: id_of(&["call", id, &tool.call], 8),
                parent: Some(root.clone()),
                name: format!("{} {}", names::EXECUTE_TOOL, tool.tool),
                kind: SpanKind::Internal,
                start: tool.start,
                end: tool.end,
                attributes,
                error: (tool.outcome != "done").then_some(tool.outcome),
            });
        }
        let mut attributes = common();
        attributes.push(text(names::OPERATION, names::INVOKE_AGENT));
        let last_error = requests.last().and_then(|last| last.error.clone());
        spans.push(EndedSpan {
            trace,
            span: root,
            parent: None,
            name: format!("{} {}", names::INVOKE_AGENT, first.agent),
            kind: SpanKind::Internal,
            start: spans
                .iter()
                .map(|span| span.start)
                .min()
                .unwrap_or(first.at),
            end: spans.iter().map(|span| span.end).max().unwrap_or(first.at),
            attributes,
            error: last_error,
        });
        spans
    }

    fn count(&mut self, request: &RequestSummary) {
        let (provider, model) = provider_and_model(&request.model);
        let attributes = || {
            vec![
                text(names::OPERATION, names::CHAT),
                text(names::PROVIDER, provider),
                text(names::REQUEST_MODEL, model),
            ]
        };
        if let Some(ended) = request.ended {
            let seconds = ended.saturating_sub(request.at) as f64 / 1e3;
            let durations = self.durations.entry(request.model.clone());
            durations
                .or_insert_with(|| Histogram::new(&SECONDS, attributes()))
                .add(seconds);
        }
        let Some(usage) = &request.usage else { return };
        for (kind, tokens) in [("input", usage.input), ("output", usage.output)] {
            let mut attributes = attributes();
            attributes.push(text(names::TOKEN_TYPE, kind));
            let histogram = self.usage.entry((request.model.clone(), kind));
            histogram
                .or_insert_with(|| Histogram::new(&TOKENS, attributes))
                .add(tokens as f64);
        }
    }
}

fn request_span(
    request: &RequestSummary,
    trace: &str,
    root: &str,
    mut attributes: Vec<Value>,
) -> EndedSpan {
    let (provider, model) = provider_and_model(&request.model);
    attributes.extend([
        text(names::OPERATION, names::CHAT),
        text(names::PROVIDER, provider),
        text(names::REQUEST_MODEL, model),
        number(names::STEP, request.step.into()),
    ]);
    if let Some(usage) = &request.usage {
        attributes.extend([
            number(names::INPUT_TOKENS, usage.input),
            number(names::OUTPUT_TOKENS, usage.output),
            number(names::CACHE_READ, usage.cache_read),
            number(names::CACHE_WRITE, usage.cache_write),
        ]);
    }
    attributes.extend(request.cost.map(|cost| number(names::MICRO_DOLLARS, cost)));
    let error = match request.ended {
        Some(_) => request.error.clone(),
        None => Some("the process ended before the answer".to_owned()),
    };
    attributes.extend(error.as_ref().map(|_| text(names::ERROR, "model_call")));
    EndedSpan {
        trace: trace.to_owned(),
        span: id_of(&["request", &request.id.to_string(), &request.turn], 8),
        parent: Some(root.to_owned()),
        name: format!("{} {model}", names::CHAT),
        kind: SpanKind::Client,
        start: request.at,
        end: request.ended.unwrap_or(request.at),
        attributes,
        error,
    }
}

fn provider_and_model(whole: &str) -> (&str, &str) {
    whole.split_once('/').unwrap_or(("unknown", whole))
}

/// The same thing has the same id, however often it is told.
fn id_of(parts: &[&str], bytes: usize) -> String {
    let hash = ContentHash::of(parts.join("\n")).to_string();
    hash.chars().take(bytes * 2).collect()
}
