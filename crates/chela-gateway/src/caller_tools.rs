//! Tools of the program that talks to an agent. The agent calls them as it calls its own, and the
//! program runs them: the call goes out with the answer to its request, the turn waits, and the
//! result comes in with the next request.
//!
//! A call goes to whoever asked, as an answer does; what the program does with it is its own
//! affair. What it brings back is external.

use std::collections::{BTreeSet, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use chela_agent::prelude::{
    CallFuture, Conversation, Effect, ExternalSource, Host, LabelledText, RunCall, Tool,
    ToolOutput, ToolSpec, check_own_name,
};
use chela_core::{ContentHash, Origin, lock};
use serde_json::Value;
use tokio::sync::{Notify, oneshot};

use crate::work_item::{CallerTool, WorkItem};

/// So long a turn waits for the result of a call.
const PATIENCE: Duration = Duration::from_secs(600);
/// Calls of one step come at the same time; so long the others are waited for.
const GATHER: Duration = Duration::from_millis(30);
/// So many calls are known by their id after they were answered.
const KNOWN: usize = 4_096;
const MOST_TOOLS: usize = 128;

/// A call that waits for its program.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CallerCall {
    pub id: String,
    /// The piece of work whose turn made it, and its lane.
    pub work: String,
    pub lane: String,
    pub name: String,
    pub arguments: Value,
}

/// What a program says came of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct CallerResult {
    pub call: String,
    pub text: String,
    pub failed: bool,
}

/// The calls that wait, of all turns of this process. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct CallerCalls(Arc<CallBoard>);

#[derive(Debug, Default)]
struct CallBoard {
    state: Mutex<BoardState>,
    /// A call was made.
    asked: Notify,
}

#[derive(Debug, Default)]
struct BoardState {
    waiting: Vec<WaitingCall>,
    /// Which work a call belonged to: a result that comes twice is one of that work.
    known: VecDeque<(String, String)>,
}

#[derive(Debug)]
struct WaitingCall {
    call: CallerCall,
    result: oneshot::Sender<CallerResult>,
}

/// Takes a call down when its turn does not wait any more.
struct CallPost<'a> {
    calls: &'a CallerCalls,
    id: String,
}

impl Drop for CallPost<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.calls.0.state);
        state.waiting.retain(|waiting| waiting.call.id != self.id);
    }
}

impl CallerCalls {
    /// Makes a call and waits for its result; `None` when nobody brings it.
    async fn ask(&self, call: CallerCall) -> Option<CallerResult> {
        let (result, heard) = oneshot::channel();
        let _post = CallPost {
            calls: self,
            id: call.id.clone(),
        };
        {
            let mut state = lock(&self.0.state);
            if state.known.len() == KNOWN {
                state.known.pop_front();
            }
            state.known.push_back((call.id.clone(), call.work.clone()));
            state.waiting.push(WaitingCall { call, result });
        }
        self.0.asked.notify_waiters();
        tokio::time::timeout(PATIENCE, heard).await.ok()?.ok()
    }

    /// The calls of a piece of work, as soon as there are some.
    pub async fn until_asked(&self, work: &str) -> Vec<CallerCall> {
        loop {
            let asked = self.0.asked.notified();
            tokio::pin!(asked);
            asked.as_mut().enable();
            if !self.waiting_of(work).is_empty() {
                tokio::time::sleep(GATHER).await;
                let calls = self.waiting_of(work);
                if !calls.is_empty() {
                    return calls;
                }
            }
            asked.await;
        }
    }

    fn waiting_of(&self, work: &str) -> Vec<CallerCall> {
        let state = lock(&self.0.state);
        let calls = state.waiting.iter().map(|waiting| &waiting.call);
        calls.filter(|call| call.work == work).cloned().collect()
    }

    /// The work a call belongs to, whether it still waits or not.
    pub fn work_of(&self, call: &str) -> Option<String> {
        let state = lock(&self.0.state);
        let mut known = state.known.iter().rev();
        known
            .find(|(id, _)| id == call)
            .map(|(_, work)| work.clone())
    }

    /// Gives results to the calls that wait for them. The first one counts.
    pub fn answer(&self, results: Vec<CallerResult>) {
        for result in results {
            let mut state = lock(&self.0.state);
            let at = state
                .waiting
                .iter()
                .position(|waiting| waiting.call.id == result.call);
            let waiting = at.map(|at| state.waiting.remove(at));
            drop(state);
            if let Some(waiting) = waiting {
                // The turn may have ended this very moment.
                let _ = waiting.result.send(result);
            }
        }
    }

    /// The program has gone on without results: what waits in its session waits for nothing.
    pub fn give_up(&self, lane: &str) {
        lock(&self.0.state)
            .waiting
            .retain(|waiting| waiting.call.lane != lane);
    }
}

/// A tool of a program, as the agent has it.
struct CallerToolProxy {
    spec: ToolSpec,
    calls: CallerCalls,
    work: String,
    lane: String,
    host: Host,
}

impl Tool for CallerToolProxy {
    fn spec(&self) -> &ToolSpec {
        &self.spec
    }

    fn run<'a>(&'a self, call: RunCall<'a>) -> CallFuture<'a> {
        Box::pin(async move {
            let asked = CallerCall {
                id: format!("call_{}", self.host.random_hex(12)),
                work: self.work.clone(),
                lane: self.lane.clone(),
                name: self.spec.name.to_string(),
                arguments: Value::Object(call.arguments.clone()),
            };
            let Some(result) = self.calls.ask(asked).await else {
                return ToolOutput::failed(format!(
                    "The program that offers the tool `{}` returned no result.",
                    self.spec.name
                ));
            };
            let source = ExternalSource::Api {
                name: format!("tool {} of the program", self.spec.name),
            };
            let origin = Origin::Tool {
                call: call.id.to_owned(),
                hash: ContentHash::of(&result.text),
            };
            let entropy = self.host.entropy.as_ref();
            let text = LabelledText::external(&result.text, &source, origin, entropy);
            let mut output = ToolOutput::of(text);
            if result.failed {
                output.success = ToolOutput::failed("").success;
            }
            output
        })
    }
}

/// Gives a conversation the tools of the program that talks to it now, in place of those it had.
pub(crate) fn lend_tools(
    conversation: &Conversation,
    calls: &CallerCalls,
    item: &WorkItem,
    lent: &mut Vec<String>,
) {
    for name in lent.drain(..) {
        conversation.remove_tool(&name);
    }
    for tool in &item.options.tools {
        let proxy = CallerToolProxy {
            spec: ToolSpec {
                name: tool.name.as_str().into(),
                description: tool.description.as_str().into(),
                parameters: Arc::new(tool.parameters.clone()),
                effect: Effect::ReadUntrusted,
                sinks: [].into(),
            },
            calls: calls.clone(),
            work: item.id.clone(),
            lane: item.lane(),
            host: conversation.agents().host().clone(),
        };
        match conversation.add_tool(Arc::new(proxy)) {
            Ok(()) => lent.push(tool.name.clone()),
            Err(error) => tracing::warn!(%error, "a tool of a program is not offered"),
        }
    }
}

/// Whether an agent can have these tools; the error is for the program.
pub(crate) fn check_tools(tools: &[CallerTool]) -> Result<(), String> {
    if tools.len() > MOST_TOOLS {
        return Err(format!(
            "at most {MOST_TOOLS} tools can come with a request"
        ));
    }
    let mut names = BTreeSet::new();
    for tool in tools {
        let name = chela_core::sanitize::literal(&tool.name.chars().take(64).collect::<String>())
            .to_string();
        check_own_name(&tool.name).map_err(|error| error.to_string())?;
        if !names.insert(&tool.name) {
            return Err(format!("two tools are called `{name}`"));
        }
        let is_object = tool.parameters.get("type").and_then(Value::as_str) == Some("object");
        if !is_object {
            return Err(format!(
                "the parameters of the tool `{name}` are not a schema of an object"
            ));
        }
    }
    Ok(())
}
