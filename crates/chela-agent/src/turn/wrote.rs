//! What a call did to the files that shape the agent.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use chela_core::ContentHash;
use chela_guard::flow::{Decision, Rule, Taint};
use chela_ledger::AuditKind;
use chela_model::ToolCall;
use chela_tools::{Effect, Scope};
use chela_workspace::trust::{Custody, Judged};
use serde_json::json;

use super::{Turn, TurnEvent};
use crate::trust::{AgentWrite, Extent, note_agent_write};

/// The files a call may change, as they were before it.
pub(super) struct Watch {
    custody: Arc<Custody>,
    /// Those it names, and those it may reach without naming them.
    before: BTreeMap<PathBuf, (Named, Option<Judged>)>,
    extent: Extent,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Named {
    Yes,
    No,
}

/// What of the guard's word matters here.
#[derive(Debug, Clone, Copy)]
pub(super) struct Word {
    taint: Taint,
    allowed: bool,
}

impl Word {
    pub(super) fn of(decision: &Decision, yes: Option<Scope>) -> Self {
        Self {
            taint: decision.taint,
            allowed: yes.is_some() || decision.rule == Rule::ApprovedShape,
        }
    }
}

impl Turn<'_> {
    /// Looks at what a call may change. `None` for one that only reads.
    pub(super) fn watch(&self, call: &ToolCall, effect: Effect) -> Option<Watch> {
        if matches!(
            effect,
            Effect::Read | Effect::ReadUntrusted | Effect::Egress | Effect::WriteOutward
        ) {
            return None;
        }
        let agents = &self.talk.agents;
        let custody = agents.assembler.custody(&self.talk.view.id).ok()?;
        let extent = match call.name.as_str() {
            "write" => Extent::Whole,
            "edit" | "apply_patch" => Extent::Part,
            _ => Extent::Unseen,
        };
        let mut before = BTreeMap::new();
        if extent == Extent::Unseen {
            for file in custody.survey(&[]) {
                before.insert(file.path, (Named::No, file.judged));
            }
        }
        for name in named_in(call) {
            let path = agents.host.expand_from(&name, custody.root());
            let path = custody.resolved(&path.components().collect::<PathBuf>());
            let judged = custody.look(&path).map(|(judged, _)| judged);
            before.insert(path, (Named::Yes, judged));
        }
        Some(Watch {
            custody,
            before,
            extent,
        })
    }

    /// Puts on record what a call changed.
    pub(super) fn note_writes(&self, watch: Watch, call: &ToolCall, word: Word) {
        let Watch {
            custody,
            mut before,
            extent,
        } = watch;
        if extent == Extent::Unseen {
            // What was not there before it ran.
            for file in custody.survey(&[]) {
                before.entry(file.path).or_insert((Named::No, None));
            }
        }
        for (path, (named, judged)) in &before {
            let now = custody.look(path).map(|(judged, _)| judged.hash);
            let hash = |judged: &Judged| judged.hash;
            if now.is_none() || now == judged.as_ref().map(hash) {
                continue;
            }
            let write = AgentWrite {
                path,
                tool: &call.name,
                turn: self.book.turn(),
                taint: word.taint,
                allowed: (word.allowed && *named == Named::Yes).then_some(call.id.as_str()),
                before: judged.as_ref(),
                extent,
            };
            if let Err(error) = note_agent_write(&custody, &write) {
                self.surface.event(TurnEvent::Notice(error.to_string()));
            }
            if custody.kind(path).is_some() {
                self.book_write(&custody, &write, now);
            }
        }
    }

    /// A file that shapes the agent has changed: that belongs to the record.
    fn book_write(&self, custody: &Custody, write: &AgentWrite<'_>, hash: Option<ContentHash>) {
        let judged = custody.look(write.path).map(|(judged, _)| judged);
        let state = judged.map(|judged| judged.judgement.state.as_str());
        let body = json!({
            "change": "agent-write",
            "agent": self.talk.view.id,
            "file": custody.shown(write.path),
            "turn": write.turn,
            "tool": write.tool,
            "taint": write.taint.as_str(),
            "allowed": write.allowed,
            "before": write.before.map(|judged| judged.hash),
            "hash": hash,
            "state": state,
        });
        self.book.note(AuditKind::TrustChange, &body);
    }
}

/// The paths a call of a file tool names.
fn named_in(call: &ToolCall) -> Vec<String> {
    const MARKS: [&str; 3] = ["*** Add File: ", "*** Update File: ", "*** Move to: "];
    let text = |name: &str| call.arguments.get(name).and_then(|value| value.as_str());
    match call.name.as_str() {
        "write" | "edit" => text("path").map(str::to_owned).into_iter().collect(),
        "apply_patch" => text("patch")
            .unwrap_or_default()
            .lines()
            .filter_map(|line| {
                let line = line.trim();
                MARKS.iter().find_map(|mark| line.strip_prefix(mark))
            })
            .map(|path| path.trim().to_owned())
            .collect(),
        _ => Vec::new(),
    }
}
