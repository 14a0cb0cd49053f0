//! What waits for the owner: a text the agent wanted to write when nobody could be asked, and one
//! that a command wrote while foreign text was being read.

use std::path::{Path, PathBuf};

use chela_core::{ContentHash, Trust};
use chela_files::{LineChange, line_changes};
use chela_guard::approval::{AnswerError, AskedCall, Asking, Question, shown};
use chela_model::ToolCall;
use chela_tools::{Call, Progress, Toolbox};
use chela_workspace::replace_file;
use chela_workspace::trust::{Custody, Hand, Kind, Versions, Writer, Wrote};
use serde_json::{Map, Value};

use super::guard::{Case, NoYes, Unallowed};
use super::{Turn, TurnEvent};
use crate::conversation::Draft;

/// Lines of a change a question shows.
const MOST_LINES: usize = 40;

/// What the model is told about a text that is kept.
const KEPT: &str = " What you wanted to write is kept for the owner to decide about; do not write it anywhere else.";

impl Turn<'_> {
    /// Keeps what a call would have written into files that shape the agent, for the owner to
    /// decide about later. After a no, what was kept of it before is dropped.
    pub(super) async fn keep_proposal(
        &self,
        call: &ToolCall,
        case: &Case,
        toolbox: &Toolbox,
        asked: &Unallowed,
    ) -> Option<&'static str> {
        let custody = self.talk.writes.custody()?;
        let mut kept = None;
        for draft in self.drafts(call, case, toolbox).await {
            let path = custody.resolved(&draft.path);
            if matches!(custody.kind(&path), None | Some(Kind::Skill)) {
                continue;
            }
            let hash = draft.after.as_ref().map(ContentHash::of);
            if asked.why == NoYes::Denied {
                let book = custody.book();
                let known = book.entry(&path).and_then(|entry| entry.proposed.as_ref());
                if known.is_some_and(|known| known.hash == hash) {
                    let _ = custody.drop_proposal(&path);
                }
                continue;
            }
            let hand = Hand {
                turn: self.book.turn(),
                tool: &call.name,
                question: Some(&asked.question),
            };
            if let Err(error) = custody.propose(&path, draft.after.as_deref(), &hand) {
                self.surface.event(TurnEvent::Notice(error.to_string()));
                continue;
            }
            let name = custody.shown(&path);
            self.surface.event(TurnEvent::Notice(format!(
                "What was to be written into {name} is kept: chela trust diff {name} shows it, chela trust approve {name} or chela trust refuse {name} settles it."
            )));
            kept = Some(KEPT);
        }
        kept
    }

    /// What a call of a file tool would leave behind, without doing it.
    async fn drafts(&self, call: &ToolCall, case: &Case, toolbox: &Toolbox) -> Vec<Draft> {
        let calls = match call.name.as_str() {
            "write" | "edit" => vec![case.prepared.arguments.clone()],
            // A refused patch stops at its first file.
            "apply_patch" => one_by_one(&case.prepared.arguments),
            _ => return Vec::new(),
        };
        let progress = |_: Progress| {};
        self.talk.pen.begin_draft();
        for arguments in calls {
            let Ok(prepared) = toolbox.prepare(&call.name, &arguments) else {
                continue;
            };
            let made = Call {
                id: &call.id,
                arguments: &arguments,
                progress: &progress,
                approver: &chela_guard::approval::Headless,
            };
            toolbox.run_prepared(&prepared, made).await;
        }
        self.talk.pen.end_draft()
    }

    /// Asks about what a command just did to files that shape the agent. Nobody there: it waits.
    pub(super) async fn ask_about_held(&self, call: &ToolCall, held: Vec<PathBuf>) {
        let Some(custody) = self.talk.writes.custody().filter(|_| !held.is_empty()) else {
            return;
        };
        let host = &self.talk.agents.host;
        let id = host.random_hex(3);
        let calls = held
            .iter()
            .map(|path| self.about_held(&custody, path, call))
            .collect();
        let asking = Asking {
            id: &id,
            now: host.clock.now(),
            lasts: self.talk.patience(),
        };
        let mut question = Question::new(calls, asking);
        let outcome = self.put(&mut question).await;
        let settle: &dyn Fn(&Path) -> Result<(), String> = match outcome {
            Ok(_) => &|path| self.keep_held(&custody, path, call, &id),
            Err(AnswerError::Denied) => &|path| put_back(&custody, path),
            Err(_) => return,
        };
        for path in &held {
            if let Err(why) = settle(path) {
                self.surface.event(TurnEvent::Notice(why));
            }
        }
    }

    fn about_held(&self, custody: &Custody, path: &Path, call: &ToolCall) -> AskedCall {
        let name = custody.shown(path);
        let (old, new) = texts(custody, path);
        let redactor = self.talk.agents.redactor();
        let change = changed_lines(old.as_deref().unwrap_or(""), new.as_deref().unwrap_or(""));
        let did = match new {
            Some(_) => "changed",
            None => "deleted",
        };
        AskedCall {
            tool: shown(&call.name),
            summary: format!("A command {did} {}. Is that to stay?", shown(&name)),
            exact: change
                .iter()
                .map(|(mark, line)| ((*mark).to_owned(), shown(&redactor.redact(line))))
                .collect(),
            why: "the file shapes the agent, and text from outside had been read when it was changed; after a no the former text is put back".to_owned(),
            passage: None,
            shape: ContentHash::of(format!("{name}\0{new:?}")),
        }
    }

    /// The owner lets it stay. Its words are foreign all the same.
    fn keep_held(
        &self,
        custody: &Custody,
        path: &Path,
        call: &ToolCall,
        question: &str,
    ) -> Result<(), String> {
        let writer = Writer::Agent {
            turn: self.book.turn().to_owned(),
            question: Some(question.to_owned()),
        };
        let noted = match custody.look(path) {
            Some((_, bytes)) => custody.record(&[Wrote {
                path: &custody.resolved(path),
                bytes: &bytes,
                writer: &writer,
                how: &call.name,
                trust: Trust::External,
            }]),
            None => custody.record_gone(path, &writer, &call.name),
        };
        noted.map_err(|error| error.to_string())
    }
}

/// The last trusted text is put back; what had none is taken away.
pub fn put_back(custody: &Custody, path: &Path) -> Result<(), String> {
    let resolved = custody.resolved(path);
    let book = custody.book();
    let entry = book.entry(&resolved).cloned().unwrap_or_default();
    let former = entry.trusted.as_ref().filter(|_| entry.gone.is_none());
    let put = match former {
        Some(version) => {
            let bytes = Versions::of(custody.host())
                .bytes(version.hash)
                .ok_or_else(|| {
                    format!(
                        "the former text of {} was not kept, so it cannot be put back",
                        custody.shown(path)
                    )
                })?;
            replace_file(&resolved, &bytes).map_err(|error| error.to_string())
        }
        None => match std::fs::remove_file(&resolved) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.to_string()),
            _ => Ok(()),
        },
    };
    put.and_then(|()| custody.settle_held(&resolved).map_err(|e| e.to_string()))
}

fn texts(custody: &Custody, path: &Path) -> (Option<String>, Option<String>) {
    let lossy = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    let book = custody.book();
    let entry = book.entry(&custody.resolved(path));
    let version = entry.and_then(|entry| entry.trusted.as_ref());
    let old = version.and_then(|version| Versions::of(custody.host()).bytes(version.hash));
    let new = custody.look(path).map(|(_, bytes)| bytes);
    (old.map(lossy), new.map(lossy))
}

/// The lines that went and those that came.
fn changed_lines<'t>(old: &'t str, new: &'t str) -> Vec<(&'static str, &'t str)> {
    let changes = line_changes(old, new);
    let gone = changes.iter().filter_map(|change| match change {
        LineChange::Removed(line) => Some(("-", *line)),
        _ => None,
    });
    let come = changes.iter().filter_map(|change| match change {
        LineChange::Added(line) => Some(("+", *line)),
        _ => None,
    });
    gone.take(MOST_LINES).chain(come.take(MOST_LINES)).collect()
}

/// A patch of several files as patches of one file each.
fn one_by_one(arguments: &Map<String, Value>) -> Vec<Map<String, Value>> {
    const BEGINS: [&str; 3] = ["*** Add File:", "*** Update File:", "*** Delete File:"];
    let patch = arguments.get("patch").and_then(Value::as_str).unwrap_or("");
    let mut sections: Vec<String> = Vec::new();
    for line in patch.lines() {
        if BEGINS.iter().any(|begin| line.trim().starts_with(begin)) {
            sections.push(String::new());
        } else if ["*** Begin Patch", "*** End Patch"].contains(&line.trim()) {
            continue;
        }
        if let Some(section) = sections.last_mut() {
            section.push_str(line);
            section.push('\n');
        }
    }
    sections
        .into_iter()
        .map(|section| {
            let mut arguments = arguments.clone();
            let patch = format!("*** Begin Patch\n{section}*** End Patch\n");
            arguments.insert("patch".to_owned(), Value::String(patch));
            arguments
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::changed_lines;

    #[test]
    fn a_question_shows_the_lines_that_changed() {
        assert_eq!(
            changed_lines("a\nb\nc", "a\nx\nc"),
            [("-", "b"), ("+", "x")]
        );
        assert_eq!(changed_lines("a\n", "a\na\n"), [("+", "a")]);
        assert!(changed_lines("a", "a").is_empty());
    }
}
