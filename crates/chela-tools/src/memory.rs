//! `memory_search` and `memory_get`.

use std::ops::ControlFlow;
use std::sync::Arc;

use chela_core::{Audience, ContentHash, Entropy, Origin, Trust};
use chela_guard::{ExternalSource, LabelledText};
use chela_memory::index::SyncDepth;
use chela_memory::tool::{GetRequest, MemoryToolError, ToolText, memory_get, memory_search};
use chela_memory::{AgentMemory, DayLimits, MemoryQuestion, SearchScope, SearchSources};
use serde::Deserialize;
use serde_json::json;

use crate::blocking::{BlockingJob, BlockingTool, CallForesight};
use crate::schema::{ArgumentKind, ArgumentSchema};
use crate::spec::shared_spec;
use crate::{CallSink, Effect, OutputBound, SinkKind, Tool, ToolNeed, ToolOutput, ToolSpec};

/// An agent's memory, as one session may use it.
#[derive(Debug, Clone)]
pub struct MemoryAccess {
    pub memory: Arc<AgentMemory>,
    /// Who reads the session.
    pub audience: Audience,
    /// The key of the session.
    pub session: String,
    /// Characters of an answer the model can bear, where that is fewer than usual and nothing else
    /// is configured.
    pub max_chars: Option<usize>,
}

struct Remembers {
    access: MemoryAccess,
    bound: Arc<OutputBound>,
    entropy: Arc<dyn Entropy>,
}

impl Remembers {
    fn output(&self, job: &BlockingJob, result: Result<ToolText, MemoryToolError>) -> ToolOutput {
        let found = match result {
            Ok(found) => found,
            Err(error) => return ToolOutput::failed(error.to_string()),
        };
        let details = json!({ "trust": found.trust, "audience": found.audience });
        let label = |text: String| self.label(&job.name, text, found.trust);
        self.bound
            .output(&job.name, found.text, found.trust, label)
            .with_details(details)
    }

    fn label(&self, call: &str, text: String, trust: Trust) -> LabelledText {
        let origin = Origin::Tool {
            call: call.to_owned(),
            hash: ContentHash::of(&text),
        };
        match trust {
            Trust::External => {
                let source = ExternalSource::Api {
                    name: "memory".to_owned(),
                };
                LabelledText::external(&text, &source, origin, self.entropy.as_ref())
            }
            trust => LabelledText::local(text, trust, origin),
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
struct SearchArguments {
    query: String,
    since: Option<String>,
    until: Option<String>,
    on: Option<String>,
    #[serde(rename = "in")]
    sources: Option<SourceArgument>,
    max_results: Option<usize>,
    min_score: Option<f32>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "lowercase")]
enum SourceArgument {
    Notes,
    Sessions,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct GetArguments {
    path: String,
    from: Option<u32>,
    lines: Option<u32>,
}

pub(crate) fn tools(
    access: MemoryAccess,
    bound: Arc<OutputBound>,
    entropy: Arc<dyn Entropy>,
) -> Vec<Arc<dyn Tool>> {
    let with = Arc::new(Remembers {
        access,
        bound,
        entropy,
    });
    let search = BlockingTool {
        spec: shared_spec!(ToolSpec {
            name: "memory_search".into(),
            description: "Search your notes (MEMORY.md, memory/*.md) and past conversations by words, meaning and days: before answering about earlier work, decisions, dates, people, preferences. A query that is only a time, such as last week, lists what there is of it.".into(),
            parameters: ArgumentSchema::object()
                .required(
                    "query",
                    ArgumentKind::text().not_empty().such_as("birthday of the neighbour"),
                    "",
                )
                .optional("since", ArgumentKind::text(), "A date, or words such as March")
                .optional("until", ArgumentKind::text(), "")
                .optional("on", ArgumentKind::text(), "")
                .optional("in", ArgumentKind::one_of(&["notes", "sessions"]), "")
                .optional("maxResults", ArgumentKind::integer().min(1).max(100), "")
                .optional("minScore", ArgumentKind::number(), "")
                .build().into(),
            effect: Effect::Read,
            sinks: [].into(),
        }),
        with: Arc::clone(&with),
        act: search,
    };
    let get = BlockingTool {
        spec: shared_spec!(ToolSpec {
            name: "memory_get".into(),
            description: "Read lines of a memory file that memory_search named.".into(),
            parameters: ArgumentSchema::object()
                .required(
                    "path",
                    ArgumentKind::text()
                        .not_empty()
                        .such_as("memory/2026-03-04.md"),
                    "",
                )
                .optional("from", ArgumentKind::integer().min(1), "First line (1)")
                .optional("lines", ArgumentKind::integer().min(1), "")
                .build()
                .into(),
            effect: Effect::Read,
            sinks: [CallSink::new("path", SinkKind::Path)].into(),
        }),
        with,
        act: get,
    };
    // What it finds lies in the folders of the session.
    let search = search.foreseeing(CallForesight {
        needs: &[ToolNeed::Folders],
        ..CallForesight::default()
    });
    vec![Arc::new(search), Arc::new(get)]
}

fn search(with: &Remembers, arguments: SearchArguments, job: &BlockingJob) -> ToolOutput {
    let limits = DayLimits {
        since: arguments.since.as_deref(),
        until: arguments.until.as_deref(),
        on: arguments.on.as_deref(),
    };
    let sources = match arguments.sources {
        None => SearchSources::All,
        Some(SourceArgument::Notes) => SearchSources::Notes,
        Some(SourceArgument::Sessions) => SearchSources::Sessions,
    };
    let found = with.access.memory.with(|memory| {
        let days = limits.read(memory.today())?;
        if memory.syncs_on_search() || memory.is_empty()? {
            // Stopped early, it answers from what is indexed by then.
            memory.sync(SyncDepth::Quick, &mut |_| match job.stop.is_set() {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            })?;
        }
        let ask = MemoryQuestion {
            max_results: arguments.max_results,
            min_score: arguments.min_score,
            max_chars: with.access.max_chars,
            scope: SearchScope { days, sources },
            asked_in: Some(&with.access.session),
            ..MemoryQuestion::new(&arguments.query, with.access.audience)
        };
        memory_search(memory, &ask)
    });
    with.output(job, found)
}

fn get(with: &Remembers, arguments: GetArguments, job: &BlockingJob) -> ToolOutput {
    let ask = GetRequest {
        path: &arguments.path,
        from: arguments.from,
        lines: arguments.lines,
        audience: with.access.audience,
        sources: SearchSources::All,
    };
    let found = with.access.memory.with(|memory| memory_get(memory, &ask));
    with.output(job, found)
}

#[cfg(test)]
mod tests;
