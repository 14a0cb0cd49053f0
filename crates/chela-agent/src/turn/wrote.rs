//! What a call did to the files that shape the agent.

use std::path::{Path, PathBuf};

use chela_core::Trust;
use chela_guard::flow::{Decision, Rule, Taint};
use chela_ledger::AuditKind;
use chela_model::ToolCall;
use chela_tools::{CallWrites, FileChange, Journal as _, MOST_FILE_BYTES, WriteExtent};
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
    /// The texts that nobody else keeps for the journal.
    kept: Vec<(PathBuf, Option<Vec<u8>>)>,
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

    /// Looks at what a call may change. `None` for one that changes nothing here.
    pub(super) fn watch(&self, call: &ToolCall, case: &Case) -> Option<Watch> {
        let reach = match &case.writes {
            CallWrites::Nothing => return None,
            CallWrites::Files { paths, extent } => Reach::Named {
                paths: self.resolved(paths),
                extent: match extent {
                    WriteExtent::Whole => Extent::Whole,
                    WriteExtent::Part => Extent::Part,
                },
            },
            CallWrites::Anything => Reach::Anything {
                words: Value::Object(call.arguments.clone()).to_string(),
            },
        };
        self.talk.note_background();
        let kept = match (&reach, case.prepared.tool.keeps_changes()) {
            (Reach::Named { paths, .. }, false) => paths
                .iter()
                .map(|path| (path.clone(), read_for_journal(path)))
                .collect(),
            _ => Vec::new(),
        };
        Some(Watch {
            before: self.talk.writes.before(&reach)?,
            reach,
            kept,
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
        self.journal_changes(&watch, call);
        let Watch { before, reach, .. } = watch;
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

    /// Paths as the trust in files knows them.
    fn resolved(&self, paths: &[PathBuf]) -> Vec<PathBuf> {
        match self.talk.writes.custody() {
            Some(custody) => paths.iter().map(|path| custody.resolved(path)).collect(),
            None => Vec::new(),
        }
    }

    /// Hands to the journal what a tool changed that keeps none itself: the change can be taken
    /// back, and text from outside stays text from outside.
    fn journal_changes(&self, watch: &Watch, call: &ToolCall) {
        for (path, before) in &watch.kept {
            let after = read_for_journal(path);
            if *before == after {
                continue;
            }
            let change = FileChange {
                path,
                before: before.as_deref(),
                after: after.as_deref(),
                keeps: match watch.reach {
                    Reach::Named {
                        extent: Extent::Part,
                        ..
                    } => Some(path),
                    _ => None,
                },
                tool: &call.name,
                call: &call.id,
            };
            if let Err(why) = self.talk.pen.before(&change) {
                self.surface.event(TurnEvent::Notice(format!(
                    "{} was changed by {} and cannot be taken back: {why}",
                    path.display(),
                    call.name
                )));
            }
        }
    }
}

/// What a file holds, as far as the journal keeps files; `None` for none.
fn read_for_journal(path: &Path) -> Option<Vec<u8>> {
    let size = path.metadata().ok()?.len();
    match size <= MOST_FILE_BYTES {
        true => std::fs::read(path).ok(),
        false => None,
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
            drop(ledger.note(AuditKind::TrustChange, &body));
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
