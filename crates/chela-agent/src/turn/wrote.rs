//! What a call did to the files that shape the agent.

use std::path::PathBuf;

use chela_core::{Trust, ok_or_warn};
use chela_guard::flow::{Decision, Rule, Taint};
use chela_ledger::AuditKind;
use chela_model::ToolCall;
use chela_tools::Effect;
use serde_json::{Value, json};

use super::guard::{Case, Yes};
use super::{Turn, TurnEvent};
use crate::conversation::Conversation;
use crate::trust::Extent;
use crate::writes::{Before, Doing, Noted, Reach};

/// The files a call may change, as they were before it.
pub(super) struct Watch {
    before: Before,
    reach: Reach,
}

/// What of the guard's word matters here.
#[derive(Debug, Clone)]
pub(super) struct Word {
    taint: Taint,
    question: Option<String>,
}

impl Turn<'_> {
    pub(super) async fn word_about(
        &self,
        case: &Case,
        decision: &Decision,
        yes: Option<&Yes>,
    ) -> Word {
        let question = match yes {
            Some(yes) => Some(yes.question.clone()),
            None if decision.rule == Rule::ApprovedShape => self.question_behind(case).await,
            None => None,
        };
        Word {
            taint: decision.taint,
            question,
        }
    }

    /// Looks at what a call may change. `None` for one that only reads.
    pub(super) fn watch(&self, call: &ToolCall, effect: Effect) -> Option<Watch> {
        if matches!(
            effect,
            Effect::Read | Effect::ReadUntrusted | Effect::Egress | Effect::WriteOutward
        ) {
            return None;
        }
        self.talk.note_background();
        let extent = match call.name.as_str() {
            "write" => Some(Extent::Whole),
            "edit" | "apply_patch" => Some(Extent::Part),
            _ => None,
        };
        let reach = match extent {
            Some(extent) => Reach::Named {
                paths: self.paths_named(call),
                extent,
            },
            None => Reach::Anything {
                words: Value::Object(call.arguments.clone()).to_string(),
            },
        };
        Some(Watch {
            before: self.talk.writes.before(&reach)?,
            reach,
        })
    }

    /// Puts on record what a call changed. Gives the files that wait for the owner now.
    pub(super) fn note_writes(
        &self,
        watch: Watch,
        call: &ToolCall,
        word: &Word,
        brought: Trust,
    ) -> Vec<PathBuf> {
        let Watch { before, reach } = watch;
        let is_command = matches!(reach, Reach::Anything { .. });
        let doing = Doing {
            tool: call.name.clone(),
            turn: self.book.turn().to_owned(),
            // A command that brought text from outside may have written it down, too.
            taint: match is_command && brought < Trust::Agent {
                true => Taint::Tainted,
                false => word.taint,
            },
            question: word.question.clone(),
            reach,
        };
        let noted = self.talk.writes.note(&before, &doing);
        for trouble in &noted.troubles {
            self.surface.event(TurnEvent::Notice(trouble.clone()));
        }
        self.talk.book_writes(&noted, &doing);
        let held = |path: &PathBuf| {
            let custody = self.talk.writes.custody();
            let book = custody.map(|custody| custody.book());
            book.is_some_and(|book| book.entry(path).is_some_and(|entry| entry.held.is_some()))
        };
        let paths = noted.files.into_iter().map(|file| file.path);
        paths.filter(held).collect()
    }

    /// The paths a call of a file tool names.
    pub(super) fn paths_named(&self, call: &ToolCall) -> Vec<PathBuf> {
        let Some(custody) = self.talk.writes.custody() else {
            return Vec::new();
        };
        named_in(call)
            .iter()
            .map(|name| {
                let path = self.talk.agents.host.expand_from(name, custody.root());
                custody.resolved(&path.components().collect::<PathBuf>())
            })
            .collect()
    }
}

impl Conversation {
    /// Puts on record what commands in the background changed meanwhile.
    pub(crate) fn note_background(&self) {
        if let Some((noted, doing)) = self.writes.look_back() {
            self.book_writes(&noted, &doing);
        }
    }

    /// Files that shape the agent have changed: that belongs to the record.
    fn book_writes(&self, noted: &Noted, doing: &Doing) {
        let (Some(custody), Some(ledger)) = (self.writes.custody(), self.agents.ledger()) else {
            return;
        };
        let by = json!({
            "agent": self.view.id,
            "turn": doing.turn,
            "tool": doing.tool,
            "taint": doing.taint.as_str(),
            "question": doing.question,
        });
        let book = |what: Value| {
            let mut body = by.clone();
            if let (Some(body), Value::Object(what)) = (body.as_object_mut(), what) {
                body.extend(what);
            }
            // What has happened already happens no less without a record.
            let noted = ledger.append(AuditKind::TrustChange, &body);
            ok_or_warn!(noted, "a change of trust is not in the audit chain");
        };
        for file in &noted.files {
            let judged = custody.look(&file.path).map(|(judged, _)| judged.judgement);
            let judgement = judged.or(custody.missed(&file.path).map(|absent| absent.judgement));
            book(json!({
                "change": match file.after {
                    Some(_) => "agent-write",
                    None => "agent-delete",
                },
                "file": custody.shown(&file.path),
                "before": file.before,
                "hash": file.after,
                "state": judgement.map(|judgement| judgement.state.as_str()),
            }));
        }
        for skill in &noted.skills {
            book(json!({
                "change": "agent-write",
                "skill": skill.name,
                "tree": skill.tree,
                "state": skill.outcome.as_str(),
            }));
        }
    }
}

/// The paths a call of a file tool names.
fn named_in(call: &ToolCall) -> Vec<String> {
    const MARKS: [&str; 4] = [
        "*** Add File: ",
        "*** Update File: ",
        "*** Delete File: ",
        "*** Move to: ",
    ];
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
