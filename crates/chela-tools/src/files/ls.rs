//! `ls`.

use std::sync::Arc;

use chela_core::{grouped, sanitize};
use chela_guard::Labelled;
use serde::Deserialize;
use serde_json::json;

use super::Files;
use crate::blocking::{Blocking, Job};
use crate::place::{Access, EntryKind};
use crate::schema::{Kind, Schema};
use crate::{Effect, Output, Piece, Sink, SinkKind, Spec, Tool};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    path: Option<String>,
    limit: Option<usize>,
}

const USUAL_LIMIT: usize = 500;

pub(super) fn tool(files: &Arc<Files>) -> Arc<dyn Tool> {
    Arc::new(Blocking {
        spec: Spec {
            name: "ls".into(),
            description: "List a folder: names with sizes, folders with a slash.".into(),
            parameters: Schema::object()
                .optional("path", Kind::text(), "Folder; the workspace unless given")
                .optional(
                    "limit",
                    Kind::integer().min(1).max(5_000),
                    "At most so many entries; 500 unless given",
                )
                .build()
                .into(),
            effect: Effect::Read,
            sinks: [Sink::new("path", SinkKind::Path)].into(),
        },
        with: Arc::clone(files),
        act: list,
    })
}

fn list(files: &Files, arguments: Arguments, job: &Job) -> Output {
    let path = arguments.path.as_deref().unwrap_or(".");
    let limit = arguments.limit.unwrap_or(USUAL_LIMIT);
    let located = files.places.locate(path, Access::Read);
    let (spot, (entries, total)) = match located.and_then(|spot| {
        let entries = spot.entries(limit)?;
        Ok((spot, entries))
    }) {
        Ok(found) => found,
        Err(error) => return files.refused(path, &error),
    };
    let lines: Vec<String> = entries
        .iter()
        .map(|entry| {
            let name = entry.name.to_string_lossy();
            let name = sanitize::literal(&name);
            match entry.kind {
                EntryKind::Folder => format!("{name}/"),
                EntryKind::Link => format!("{name} (link)"),
                EntryKind::File => format!("{name}  {}", size(entry.size)),
                EntryKind::Other | EntryKind::Absent => format!("{name} (device)"),
            }
        })
        .collect();
    if lines.is_empty() {
        return Output::said(format!("[{} is empty.]", spot.shown()));
    }
    let label = |text| spot.label(text, files.entropy.as_ref());
    let mut output = files
        .bound
        .output(&job.name, lines.join("\n"), spot.trust(), label);
    if total > entries.len() {
        output.content.push(Piece::Text(Labelled::runtime(format!(
            "[{} of {} entries. Ask for more with limit, or use find.]",
            grouped(entries.len()),
            grouped(total)
        ))));
    }
    output.with_details(json!({ "path": spot.shown(), "entries": total }))
}

/// A size as people say it.
fn size(bytes: u64) -> String {
    match bytes {
        0..10_000 => format!("{bytes} B"),
        10_000..10_000_000 => format!("{} KB", bytes / 1_000),
        _ => format!("{} MB", bytes / 1_000_000),
    }
}
