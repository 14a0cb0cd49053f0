//! What the model is told of its sub-agents.

use chela_core::{ContentHash, Origin, SessionKey, Trust};
use chela_files::is_process_alive;
use chela_guard::{ExternalSource, LabelledText};

use super::mark::{EndedRun, MarkAge, RunnerProcess, untold};
use super::runs::RunningChildren;
use crate::agent::Agents;
use crate::runtime_blocks::{BlockKind, RuntimeBlock};
use chela_session::TranscriptEntry;

/// Ends the model has not heard of, as a block, and the runs they are of.
pub(crate) struct UntoldRuns {
    pub block: RuntimeBlock,
    pub runs: Vec<String>,
}

impl UntoldRuns {
    /// The block and the runs.
    pub fn apart(told: Option<Self>) -> (Option<RuntimeBlock>, Vec<String>) {
        told.map_or((None, Vec::new()), |told| (Some(told.block), told.runs))
    }
}

impl RunningChildren {
    /// What came of sub-agents since the model last heard.
    pub fn news_for_model(
        &self,
        agents: &Agents,
        key: &SessionKey,
        branch: &[TranscriptEntry],
    ) -> Option<UntoldRuns> {
        self.take_news();
        self.mark_told();
        let runs_on = |run: &str, runner: RunnerProcess<'_>, age: MarkAge| {
            agents.seats.is_alive(run)
                || (age == MarkAge::Young
                    && runner.pid != std::process::id()
                    && is_process_alive(runner.boot, runner.pid))
        };
        let news = untold(branch, key, &runs_on, agents.host.unix_millis());
        let trust = news.iter().map(|news| news.trust).min()?;
        let mut parts: Vec<String> = news.iter().map(|news| in_words(news, agents)).collect();
        let still = self.rows(agents.host.unix_millis());
        let still: Vec<String> = still
            .iter()
            .filter(|row| row.is_live())
            .map(|row| format!("`{}` ({}, {})", row.label, row.run, row.status))
            .collect();
        if !still.is_empty() {
            parts.push(format!("Not ended yet: {}.", still.join(", ")));
        }
        Some(UntoldRuns {
            block: RuntimeBlock {
                kind: BlockKind::Events,
                text: parts.join("\n\n"),
                origin: Origin::Runtime,
                trust,
            },
            runs: news.into_iter().map(|news| news.run).collect(),
        })
    }
}

fn in_words(news: &EndedRun, agents: &Agents) -> String {
    let result = match (news.result.trim(), news.trust) {
        ("", _) => "(none)".to_owned(),
        (text, Trust::External) => {
            let source = ExternalSource::Api {
                name: format!("sub-agent {}", news.run),
            };
            let origin = Origin::Tool {
                call: format!("sessions_spawn {}", news.run),
                hash: ContentHash::of(text),
            };
            let entropy = agents.host.entropy.as_ref();
            LabelledText::external(text, &source, origin, entropy)
                .text()
                .to_owned()
        }
        (text, _) => text.to_owned(),
    };
    format!(
        "Sub-agent `{}` (run {}) has ended.\nStatus: {}\nStats: {}\nResult:\n{result}",
        news.label, news.run, news.status, news.stats
    )
}

/// Two blocks of events as one: a later block of a name replaces an earlier one.
pub(crate) fn joined(
    one: Option<RuntimeBlock>,
    other: Option<RuntimeBlock>,
) -> Option<RuntimeBlock> {
    match (one, other) {
        (Some(one), Some(other)) => Some(RuntimeBlock {
            text: format!("{}\n\n{}", one.text, other.text),
            trust: one.trust.join(other.trust),
            ..one
        }),
        (one, other) => one.or(other),
    }
}
