//! What the model is told of its sub-agents.

use chela_core::{ContentHash, Origin, Trust};
use chela_guard::{ExternalSource, Labelled};

use super::mark::{Age, News, untold};
use crate::conversation::Conversation;
use crate::turn::{Block, BlockKind};
use chela_session::{Entry, Label, Source};

/// Ends the model has not heard of, as a block, and the runs they are of.
pub(crate) struct Told {
    pub block: Block,
    pub runs: Vec<String>,
}

impl Told {
    /// The block and the runs.
    pub fn apart(told: Option<Self>) -> (Option<Block>, Vec<String>) {
        told.map_or((None, Vec::new()), |told| (Some(told.block), told.runs))
    }
}

impl Conversation {
    /// What another session says is trusted as far as that session was.
    pub(crate) fn label_of_told(&self, text: &str) -> Option<Label> {
        (self.source == Source::Session).then(|| Label {
            trust: self.grant.trust(),
            origin: Origin::Channel {
                channel: "session".to_owned(),
                message: self.key.to_string(),
                hash: ContentHash::of(text),
            },
        })
    }

    /// What came of sub-agents since the model last heard.
    pub(crate) fn subagent_news(&self, branch: &[Entry]) -> Option<Told> {
        self.children.0.take_news();
        self.children.0.told();
        let agents = &self.agents;
        let runs_on = |run: &str, pid: u32, age: Age| {
            agents.seats.is_alive(run)
                || (age == Age::Young && pid != std::process::id() && is_alive(pid))
        };
        let news = untold(branch, &self.key, &runs_on, agents.host.unix_millis());
        let trust = news.iter().map(|news| news.trust).min()?;
        let mut parts: Vec<String> = news.iter().map(|news| self.in_words(news)).collect();
        let still = self.children.0.rows(agents.host.unix_millis());
        let still: Vec<String> = still
            .iter()
            .filter(|row| row.is_live())
            .map(|row| format!("`{}` ({}, {})", row.label, row.run, row.status))
            .collect();
        if !still.is_empty() {
            parts.push(format!("Not ended yet: {}.", still.join(", ")));
        }
        Some(Told {
            block: Block {
                kind: BlockKind::Events,
                text: parts.join("\n\n"),
                origin: Origin::Runtime,
                trust,
            },
            runs: news.into_iter().map(|news| news.run).collect(),
        })
    }

    fn in_words(&self, news: &News) -> String {
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
                let entropy = self.agents.host.entropy.as_ref();
                Labelled::external(text, &source, origin, entropy)
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
}

/// Two blocks of events as one: a later block of a name replaces an earlier one.
pub(crate) fn joined(one: Option<Block>, other: Option<Block>) -> Option<Block> {
    match (one, other) {
        (Some(one), Some(other)) => Some(Block {
            text: format!("{}\n\n{}", one.text, other.text),
            trust: one.trust.join(other.trust),
            ..one
        }),
        (one, other) => one.or(other),
    }
}

/// Whether a process is there.
fn is_alive(pid: u32) -> bool {
    i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw)
        .is_some_and(|pid| rustix::process::test_kill_process(pid).is_ok())
}
