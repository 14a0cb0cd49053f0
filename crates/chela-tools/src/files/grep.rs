//! `grep`.

use std::fs::File;
use std::io::Read;
use std::ops::ControlFlow;
use std::sync::Arc;

use chela_core::Trust;
use chela_core::secret::Redactor;
use chela_files::ReadVersion;
use chela_guard::LabelledText;
use regex::bytes::{Regex, RegexBuilder};
use serde::Deserialize;
use serde_json::json;

use super::find::{FindPattern, ignored};
use super::tree::{FileTree, WalkEnd};
use super::{FileTools, counted, text};
use crate::blocking::{BlockingJob, BlockingTool, CallForesight};
use crate::place::{EntryKind, OpenPlace, PlaceAccess, PlaceError};
use crate::schema::{ArgumentKind, ArgumentSchema};
use crate::spec::shared_spec;
use crate::{CallSink, Effect, OutputPiece, SinkKind, Tool, ToolOutput, ToolSpec};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct GrepArguments {
    pattern: String,
    path: Option<String>,
    glob: Option<String>,
    ignore_case: Option<bool>,
    literal: Option<bool>,
    context: Option<usize>,
    limit: Option<usize>,
    include_ignored: Option<bool>,
}

const USUAL_LIMIT: usize = 100;
/// Longer lines are cut.
const MOST_LINE_CHARS: usize = 500;
/// Of larger files only the beginning is searched.
const MOST_SEARCHED: u64 = 64 * 1024 * 1024;
/// A pattern that would need more memory is refused.
const MOST_PATTERN_BYTES: usize = 4 * 1024 * 1024;

pub(super) fn tool(files: &Arc<FileTools>) -> Arc<dyn Tool> {
    Arc::new(
        BlockingTool {
            spec: shared_spec!(ToolSpec {
                name: "grep".into(),
                description:
                    "Search file contents by line with a regular expression; .gitignore counts."
                        .into(),
                parameters: ArgumentSchema::object()
                    .required(
                        "pattern",
                        ArgumentKind::text().not_empty().such_as("fn main"),
                        "",
                    )
                    .optional("path", ArgumentKind::text(), "File or folder (here)")
                    .optional("glob", ArgumentKind::text().not_empty(), "Such as `*.rs`")
                    .optional("ignoreCase", ArgumentKind::flag(), "")
                    .optional("literal", ArgumentKind::flag(), "")
                    .optional(
                        "context",
                        ArgumentKind::integer().min(0).max(20),
                        "Lines around each match",
                    )
                    .optional(
                        "limit",
                        ArgumentKind::integer().min(1).max(2_000),
                        "Most matches (100)",
                    )
                    .optional("includeIgnored", ArgumentKind::flag(), "")
                    .build()
                    .into(),
                effect: Effect::Read,
                sinks: [CallSink::new("path", SinkKind::Path)].into(),
            }),
            with: Arc::clone(files),
            act: grep,
        }
        .foreseeing(CallForesight {
            targets: Some(|files, arguments| files.tree_target(arguments.path.as_deref())),
            ..CallForesight::default()
        }),
    )
}

fn grep(files: &FileTools, arguments: GrepArguments, job: &BlockingJob) -> ToolOutput {
    let (regex, glob) = match (
        regex(&arguments),
        arguments.glob.as_deref().map(FindPattern::new),
    ) {
        (Err(error), _) => {
            return ToolOutput::failed(format!(
                "grep: argument `pattern` is not a regular expression: {}. For plain text set literal to true.",
                last_line(&error.to_string())
            ));
        }
        (_, Some(Err(error))) => {
            return ToolOutput::failed(format!(
                "grep: argument `glob` is not a glob: {error}. Example: {{\"pattern\":\"fn main\",\"glob\":\"*.rs\"}}"
            ));
        }
        (Ok(regex), glob) => (regex, glob.and_then(Result::ok)),
    };
    let path = arguments.path.as_deref().unwrap_or(".");
    let spot = match files.places.locate(path, PlaceAccess::Read) {
        Ok(spot) => spot,
        Err(error) => return files.refused(path, &error),
    };
    let mut search = Search {
        regex,
        redactor: Arc::clone(&files.redactor),
        context: arguments.context.unwrap_or(0),
        limit: arguments.limit.unwrap_or(USUAL_LIMIT),
        room: files.bound.chars().saturating_mul(4),
        matches: 0,
        files: 0,
        trust: None,
        lines: Vec::new(),
    };
    let mut ended = WalkEnd::Whole;
    match spot.kind() {
        EntryKind::File => match spot.open() {
            Ok(file) => search.file(&file, spot.shown(), |read| {
                spot.trust_of_read(spot.path(), read)
            }),
            Err(error) => return files.refused(path, &error),
        },
        EntryKind::Folder => {
            let tree = FileTree {
                places: &files.places,
                ignored: ignored(arguments.include_ignored),
                stop: &job.stop,
            };
            ended = tree.walk(&spot, &mut |visit| {
                let wanted = glob
                    .as_ref()
                    .is_none_or(|glob| glob.matches(visit.relative));
                if visit.kind == EntryKind::File
                    && wanted
                    && let Some(file) = visit.open()
                {
                    search.file(&file, &visit.shown(&spot), |read| {
                        spot.trust_of_read(visit.path, read)
                    });
                }
                match search.is_full() {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            });
        }
        kind => {
            let path = spot.shown().to_owned();
            let error = match kind {
                EntryKind::Absent => PlaceError::Missing { path },
                _ => PlaceError::NotFile { path },
            };
            return files.refused(spot.shown(), &error);
        }
    }
    output(files, &arguments, &spot, search, ended, job)
}

fn output(
    files: &FileTools,
    arguments: &GrepArguments,
    spot: &OpenPlace,
    search: Search,
    ended: WalkEnd,
    job: &BlockingJob,
) -> ToolOutput {
    let note = match (ended, search.is_full()) {
        (WalkEnd::TooMany, _) => {
            Some("[Too many files: only part was searched. Give a path or a glob.]".to_owned())
        }
        (_, true) => Some(format!(
            "[Stopped after {}. Narrow the pattern, the path or the glob, or raise limit.]",
            counted(search.matches, "match", "matches")
        )),
        _ => None,
    };
    if search.matches == 0 {
        let note = note.unwrap_or_default();
        return ToolOutput::said(format!(
            "No match for `{}` in {}. {note}",
            arguments.pattern,
            spot.named()
        ));
    }
    let trust = search.trust.unwrap_or(Trust::External);
    let label = |text| spot.label_as(text, trust, files.entropy.as_ref());
    let mut output = files
        .bound
        .output(&job.name, search.lines.join("\n"), trust, label);
    let note = note.map(|note| OutputPiece::Text(LabelledText::runtime(note)));
    output.content.extend(note);
    output.with_details(json!({ "matches": search.matches, "files": search.files }))
}

fn regex(arguments: &GrepArguments) -> Result<Regex, regex::Error> {
    let pattern = match arguments.literal {
        Some(true) => regex::escape(&arguments.pattern),
        _ => arguments.pattern.clone(),
    };
    RegexBuilder::new(&pattern)
        .case_insensitive(arguments.ignore_case == Some(true))
        .size_limit(MOST_PATTERN_BYTES)
        .build()
}

/// The line of an error that says what is wrong.
fn last_line(error: &str) -> &str {
    let line = error.lines().last().unwrap_or(error);
    line.strip_prefix("error: ").unwrap_or(line)
}

struct Search {
    regex: Regex,
    redactor: Arc<Redactor>,
    context: usize,
    limit: usize,
    /// Characters still to be gathered: more than fit would only be cut.
    room: usize,
    matches: usize,
    files: usize,
    /// The lowest trust of what was found.
    trust: Option<Trust>,
    lines: Vec<String>,
}

impl Search {
    fn is_full(&self) -> bool {
        self.matches >= self.limit || self.room == 0
    }

    /// Who answers for a file is asked only where it is shown.
    fn file(&mut self, file: &File, shown: &str, trust: impl FnOnce(&ReadVersion) -> Trust) {
        let before = file.metadata();
        let mut bytes = Vec::new();
        let read = file.take(MOST_SEARCHED).read_to_end(&mut bytes);
        let (Ok(before), Ok(_)) = (before, read) else {
            return;
        };
        if let Some(text) = text::decode(&bytes)
            && self.regex.is_match(text.body.as_bytes())
        {
            // What is hidden is not searched either: whether it matches would tell of it.
            let clean = self.redactor.mask(&text.body).text;
            let is_whole = before.len() <= MOST_SEARCHED;
            let whole = is_whole.then_some(bytes.as_slice());
            let version = ReadVersion::of_read(file, before, whole);
            self.text(clean.as_bytes(), shown, trust(&version));
        }
    }

    fn text(&mut self, text: &[u8], shown: &str, trust: Trust) {
        let lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
        // The first line not shown yet.
        let mut next = 0;
        let mut any = false;
        for (at, line) in lines.iter().enumerate() {
            if self.is_full() {
                break;
            }
            if line.is_empty() && at + 1 == lines.len() || !self.regex.is_match(line) {
                continue;
            }
            self.matches += 1;
            any = true;
            let from = at.saturating_sub(self.context).max(next);
            let to = (at + self.context).min(lines.len() - 1);
            if self.context > 0 && from > next && next > 0 {
                self.lines.push("--".to_owned());
            }
            for (number, line) in lines.iter().enumerate().take(to + 1).skip(from) {
                let hit = number == at || self.regex.is_match(line);
                self.push(shown, number + 1, line, hit);
            }
            next = next.max(to + 1);
        }
        if any {
            self.files += 1;
            self.trust = Some(self.trust.map_or(trust, |lowest| lowest.join(trust)));
        }
    }

    fn push(&mut self, shown: &str, number: usize, line: &[u8], hit: bool) {
        let line = String::from_utf8_lossy(line);
        let line = line.trim_end_matches('\r');
        let mut cut = line.to_owned();
        if let Some((end, _)) = line.char_indices().nth(MOST_LINE_CHARS) {
            cut.truncate(end);
            cut.push('…');
        }
        let text = match hit {
            true => format!("{shown}:{number}: {cut}"),
            false => format!("{shown}-{number}- {cut}"),
        };
        self.room = self.room.saturating_sub(text.len() + 1);
        self.lines.push(text);
    }
}
