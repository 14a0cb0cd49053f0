//! `ls`.

use std::sync::Arc;

use chela_core::{grouped, sanitize};
use chela_guard::LabelledText;
use serde::Deserialize;
use serde_json::json;

use super::FileTools;
use crate::blocking::{BlockingJob, BlockingTool, CallForesight};
use crate::place::{EntryKind, PlaceAccess};
use crate::schema::{ArgumentKind, ArgumentSchema};
use crate::spec::shared_spec;
use crate::{CallSink, Effect, OutputPiece, SinkKind, Tool, ToolOutput, ToolSpec};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LsArguments {
    path: Option<String>,
    limit: Option<usize>,
}

const USUAL_LIMIT: usize = 500;

pub(super) fn tool(files: &Arc<FileTools>) -> Arc<dyn Tool> {
    Arc::new(
        BlockingTool {
            spec: shared_spec!(ToolSpec {
                name: "ls".into(),
                description: "List a folder with sizes.".into(),
                parameters: ArgumentSchema::object()
                    .optional("path", ArgumentKind::text(), "Folder (here)")
                    .optional(
                        "limit",
                        ArgumentKind::integer().min(1).max(5_000),
                        "Most entries (500)",
                    )
                    .build()
                    .into(),
                effect: Effect::Read,
                sinks: [CallSink::new("path", SinkKind::Path)].into(),
            }),
            with: Arc::clone(files),
            act: list,
        }
        .foreseeing(CallForesight {
            targets: Some(|files, arguments| files.tree_target(arguments.path.as_deref())),
            ..CallForesight::default()
        }),
    )
}

fn list(files: &FileTools, arguments: LsArguments, job: &BlockingJob) -> ToolOutput {
    let path = arguments.path.as_deref().unwrap_or(".");
    let limit = arguments.limit.unwrap_or(USUAL_LIMIT);
    let located = files.places.locate(path, PlaceAccess::Read);
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
        return ToolOutput::said(format!("[{} is empty.]", spot.shown()));
    }
    let paths = entries.iter().map(|entry| spot.path().join(&entry.name));
    let trust = spot.trust_of_names(paths);
    let label = |text| spot.label_as(text, trust, files.entropy.as_ref());
    let mut output = files
        .bound
        .output(&job.name, lines.join("\n"), trust, label);
    if total > entries.len() {
        output
            .content
            .push(OutputPiece::Text(LabelledText::runtime(format!(
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
