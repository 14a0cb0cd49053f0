//! `find`.

use std::ops::ControlFlow;
use std::sync::Arc;

use chela_core::grouped;
use chela_guard::Labelled;
use globset::{GlobBuilder, GlobMatcher};
use serde::Deserialize;
use serde_json::json;

use super::Files;
use super::tree::{Ended, Ignored, Tree};
use crate::blocking::{Blocking, Job};
use crate::place::{Access, EntryKind, PlaceError};
use crate::schema::{Kind, Schema};
use crate::{Effect, Output, Piece, Sink, SinkKind, Spec, Tool};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct Arguments {
    pattern: String,
    path: Option<String>,
    limit: Option<usize>,
    include_ignored: Option<bool>,
    newest_first: Option<bool>,
}

const USUAL_LIMIT: usize = 500;

pub(super) fn tool(files: &Arc<Files>) -> Arc<dyn Tool> {
    Arc::new(Blocking {
        spec: Spec {
            name: "find".into(),
            description:
                "Find files and folders by a name pattern; what .gitignore names is left out.".into(),
            parameters: Schema::object()
                .required(
                    "pattern",
                    Kind::text().not_empty().such_as("*.md"),
                    "Glob; with a slash it is matched against the whole path, such as `src/**/*.rs`",
                )
                .optional("path", Kind::text(), "Folder to look in; the workspace unless given")
                .optional(
                    "limit",
                    Kind::integer().min(1).max(5_000),
                    "At most so many results; 500 unless given",
                )
                .optional("newestFirst", Kind::flag(), "Order by time of change")
                .optional("includeIgnored", Kind::flag(), "Also what .gitignore names")
                .build().into(),
            effect: Effect::Read,
            sinks: [Sink::new("path", SinkKind::Path)].into(),
        },
        with: Arc::clone(files),
        act: find,
    })
}

fn find(files: &Files, arguments: Arguments, job: &Job) -> Output {
    let path = arguments.path.as_deref().unwrap_or(".");
    let pattern = match Pattern::new(&arguments.pattern) {
        Ok(pattern) => pattern,
        Err(error) => {
            return Output::failed(format!(
                "find: argument `pattern` is no glob: {error}. Example: {{\"pattern\":\"*.md\"}}"
            ));
        }
    };
    let spot = match files.places.locate(path, Access::Read) {
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
    let tree = Tree {
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
            found.push((visit.modified, name));
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
    let lines: Vec<String> = found
        .into_iter()
        .take(limit)
        .map(|(_, name)| name)
        .collect();
    let note = match (ended, all > limit) {
        (Ended::TooMany, _) => {
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
        return Output::said(format!(
            "Nothing in {} matches `{}`. {note}",
            spot.named(),
            arguments.pattern
        ));
    }
    let label = |text| spot.label(text, files.entropy.as_ref());
    let mut output = files
        .bound
        .output(&job.name, lines.join("\n"), spot.trust(), label);
    let note = note.map(|note| Piece::Text(Labelled::runtime(note)));
    output.content.extend(note);
    output.with_details(json!({ "path": spot.shown(), "results": all.min(limit) }))
}

pub(super) fn ignored(included: Option<bool>) -> Ignored {
    match included {
        Some(true) => Ignored::Included,
        _ => Ignored::LeftOut,
    }
}

/// A glob: over the name alone, or over the path when it has a slash.
pub(super) struct Pattern {
    matcher: GlobMatcher,
    whole: bool,
}

impl Pattern {
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
