//! `find`.

use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;

use chela_core::grouped;
use chela_guard::LabelledText;
use globset::{GlobBuilder, GlobMatcher};
use serde::Deserialize;
use serde_json::json;

use super::FileTools;
use super::tree::{FileTree, IgnoredFiles, WalkEnd};
use crate::blocking::{BlockingJob, BlockingTool, CallForesight};
use crate::place::{EntryKind, PlaceAccess, PlaceError};
use crate::schema::{ArgumentKind, ArgumentSchema};
use crate::spec::shared_spec;
use crate::{CallSink, Effect, OutputPiece, SinkKind, Tool, ToolOutput, ToolSpec};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct FindArguments {
    pattern: String,
    path: Option<String>,
    limit: Option<usize>,
    include_ignored: Option<bool>,
    newest_first: Option<bool>,
}

const USUAL_LIMIT: usize = 500;

pub(super) fn tool(files: &Arc<FileTools>) -> Arc<dyn Tool> {
    Arc::new(
        BlockingTool {
            spec: shared_spec!(ToolSpec {
                name: "find".into(),
                description: "Find files and folders by name; .gitignore counts.".into(),
                parameters: ArgumentSchema::object()
                    .required(
                        "pattern",
                        ArgumentKind::text().not_empty().such_as("*.md"),
                        "Glob: `*.md`, `src/**/*.rs`",
                    )
                    .optional("path", ArgumentKind::text(), "Folder (here)")
                    .optional(
                        "limit",
                        ArgumentKind::integer().min(1).max(5_000),
                        "Most results (500)",
                    )
                    .optional("newestFirst", ArgumentKind::flag(), "")
                    .optional("includeIgnored", ArgumentKind::flag(), "")
                    .build()
                    .into(),
                effect: Effect::Read,
                sinks: [CallSink::new("path", SinkKind::Path)].into(),
            }),
            with: Arc::clone(files),
            act: find,
        }
        .foreseeing(CallForesight {
            targets: Some(|files, arguments| files.tree_target(arguments.path.as_deref())),
            ..CallForesight::default()
        }),
    )
}

fn find(files: &FileTools, arguments: FindArguments, job: &BlockingJob) -> ToolOutput {
    let path = arguments.path.as_deref().unwrap_or(".");
    let pattern = match FindPattern::new(&arguments.pattern) {
        Ok(pattern) => pattern,
        Err(error) => {
            return ToolOutput::failed(format!(
                "find: argument `pattern` is not a glob: {error}. Example: {{\"pattern\":\"*.md\"}}"
            ));
        }
    };
    let spot = match files.places.locate(path, PlaceAccess::Read) {
        Ok(spot) if spot.kind() == EntryKind::Folder => spot,
        Ok(spot) => {
            let path = spot.shown().to_owned();
            let error = match spot.kind() {
                EntryKind::Absent => PlaceError::Missing { path },
                _ => PlaceError::NotFolder { path },
            };
            return files.refused(spot.shown(), &error);
        }
        Err(error) => return files.refused(path, &error),
    };
    let limit = arguments.limit.unwrap_or(USUAL_LIMIT);
    let by_time = arguments.newest_first == Some(true);
    let tree = FileTree {
        places: &files.places,
        ignored: ignored(arguments.include_ignored),
        stop: &job.stop,
    };
    let mut found = Vec::new();
    let ended = tree.walk(&spot, &mut |visit| {
        if pattern.matches(visit.relative) {
            let slash = match visit.kind {
                EntryKind::Folder => "/",
                _ => "",
            };
            let name = format!("{}{slash}", visit.shown(&spot));
            found.push((visit.modified, name, visit.path.to_owned()));
        }
        // All are looked at when the newest are wanted.
        match found.len() > limit && !by_time {
            true => ControlFlow::Break(()),
            false => ControlFlow::Continue(()),
        }
    });
    if by_time {
        found.sort_by(|a, b| b.0.cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    }
    let all = found.len();
    let (lines, paths): (Vec<String>, Vec<PathBuf>) = found
        .into_iter()
        .take(limit)
        .map(|(_, name, path)| (name, path))
        .unzip();
    let note = match (ended, all > limit) {
        (WalkEnd::TooMany, _) => {
            Some("[Too many files: only part was searched. Give a path.]".to_owned())
        }
        (_, true) => Some(format!(
            "[The first {} results. Narrow the pattern or raise limit.]",
            grouped(limit)
        )),
        _ => None,
    };
    if lines.is_empty() {
        let note = note.unwrap_or_default();
        return ToolOutput::said(format!(
            "Nothing in {} matches `{}`. {note}",
            spot.named(),
            arguments.pattern
        ));
    }
    let trust = spot.trust_of_names(paths);
    let label = |text| spot.label_as(text, trust, files.entropy.as_ref());
    let mut output = files
        .bound
        .output(&job.name, lines.join("\n"), trust, label);
    let note = note.map(|note| OutputPiece::Text(LabelledText::runtime(note)));
    output.content.extend(note);
    output.with_details(json!({ "path": spot.shown(), "results": all.min(limit) }))
}

pub(super) fn ignored(included: Option<bool>) -> IgnoredFiles {
    match included {
        Some(true) => IgnoredFiles::Included,
        _ => IgnoredFiles::LeftOut,
    }
}

/// A glob: over the name alone, or over the path when it has a slash.
pub(super) struct FindPattern {
    matcher: GlobMatcher,
    whole: bool,
}

impl FindPattern {
    pub(super) fn new(pattern: &str) -> Result<Self, globset::Error> {
        let pattern = pattern.trim().trim_start_matches("./");
        let glob = GlobBuilder::new(pattern).literal_separator(true).build()?;
        Ok(Self {
            matcher: glob.compile_matcher(),
            whole: pattern.contains('/'),
        })
    }

    pub(super) fn matches(&self, relative: &std::path::Path) -> bool {
        match (self.whole, relative.file_name()) {
            (false, Some(name)) => self.matcher.is_match(name),
            _ => self.matcher.is_match(relative),
        }
    }
}
