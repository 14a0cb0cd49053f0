//! `write`.

use std::path::PathBuf;
use std::sync::Arc;

use chela_core::ContentHash;
use chela_files::{DraftPlacement, ExpectedContent};
use serde::Deserialize;
use serde_json::json;

use super::change::{ChangedLines, shown_diff};
use super::masked;
use super::text::{self, TextEnding, TextShape};
use super::{FileTools, MOST_FILE_BYTES, as_targets, counted, real_path};
use crate::blocking::{BlockingJob, BlockingTool, CallForesight, ForeseeingTool};
use crate::place::{EntryKind, OpenPlace};
use crate::schema::{ArgumentKind, ArgumentSchema};
use crate::spec::shared_spec;
use crate::{
    CallSink, Effect, FileChange, FilePreview, SinkKind, Tool, ToolNeed, ToolOutput, ToolSpec,
    WriteExtent,
};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WriteArguments {
    path: String,
    content: String,
}

pub(super) fn tool(files: &Arc<FileTools>) -> Arc<dyn Tool> {
    Arc::new(ForeseeingTool {
        sight: CallForesight {
            effect: Some(effect),
            targets: Some(|files, arguments| as_targets(paths(files, arguments))),
            writes: Some((WriteExtent::Whole, paths)),
            preview: Some(preview),
            needs: &[ToolNeed::Folders],
        },
        tool: BlockingTool {
            spec: shared_spec!(ToolSpec {
                name: "write".into(),
                description:
                    "Create or replace a whole file, with missing folders. For a part use edit."
                        .into(),
                parameters: ArgumentSchema::object()
                    .required(
                        "path",
                        ArgumentKind::text().not_empty().such_as("notes/today.md"),
                        "",
                    )
                    .required("content", ArgumentKind::text().such_as("# Today\n"), "")
                    .build()
                    .into(),
                effect: Effect::WriteReversible,
                sinks: [
                    CallSink::new("path", SinkKind::Path),
                    CallSink::new("content", SinkKind::Text),
                ]
                .into(),
            }),
            with: Arc::clone(files),
            act: write,
        },
    })
}

/// Writing to a file that shapes the agent is more than writing.
fn effect(files: &FileTools, arguments: &WriteArguments) -> Effect {
    files.effect_at(files.places.imagined().locate_new(&arguments.path))
}

fn paths(files: &FileTools, arguments: &WriteArguments) -> Vec<PathBuf> {
    real_path(files.places.imagined().locate_new(&arguments.path))
}

fn preview(files: &FileTools, arguments: &WriteArguments) -> Vec<FilePreview> {
    files.rehearse(|files| {
        write(files, arguments.clone(), &BlockingJob::default());
    })
}

fn write(files: &FileTools, arguments: WriteArguments, job: &BlockingJob) -> ToolOutput {
    let WriteArguments { path, content } = arguments;
    // Nobody else changes the file from before it is read until it is replaced.
    let (spot, _held) = match files.hold(&path, job, || files.places.locate_new(&path)) {
        Ok(found) => found,
        Err(refused) => return refused,
    };
    let before = match before(files, &spot) {
        Ok(before) => before,
        Err(refused) => return refused,
    };
    let old = before.as_deref().and_then(text::decode);
    // Where the file held a secret and the text holds its stand-in, the secret stays.
    let masked = old.as_ref().map(|old| files.redactor.mask(&old.body));
    let restored = masked.unwrap_or_default().restore(&content);
    let content = restored.text.clone();
    let (shape, unusual) = shape_for(old.as_ref().map(|old| old.shape), &content);
    let bytes = match shape.encode(&content) {
        Ok(bytes) => bytes,
        Err(_) => content.clone().into_bytes(),
    };
    let change = FileChange {
        path: spot.path(),
        before: before.as_deref(),
        after: Some(&bytes),
        keeps: None,
        tool: "write",
        call: &job.call,
    };
    let kept = match files.keep(spot.shown(), &change) {
        Ok(kept) => kept,
        Err(refused) => return refused,
    };
    let expected = match (&before, spot.kind()) {
        (Some(bytes), _) => ExpectedContent::Bytes(bytes),
        (None, EntryKind::Absent) => ExpectedContent::Absent,
        // It could not be read, and nobody expects to take the change back.
        (None, _) => ExpectedContent::Anything,
    };
    match spot.replace(&bytes, expected) {
        Ok(DraftPlacement::Placed) => {}
        Ok(DraftPlacement::Changed) => {
            files.not_made(kept);
            return ToolOutput::failed(format!(
                "{} was not written: something else saved it at this very moment. Read it to see what it holds now, then write again if that is still right.",
                spot.shown()
            ));
        }
        Err(error) => {
            files.not_made(kept);
            return files.refused(&path, &error);
        }
    }
    let lines = content.lines().count();
    let change = old
        .as_ref()
        .map(|old| ChangedLines::between(&old.body, &content));
    let mut said = match (spot.kind(), &change) {
        (EntryKind::Absent, _) => format!("Created {}", spot.shown()),
        (_, Some(None)) => format!("{} already held this text; nothing changed", spot.shown()),
        (_, Some(Some(change))) => format!("Wrote {}: {change}", spot.shown()),
        (_, None) => format!("Replaced {}", spot.shown()),
    };
    said.push_str(&format!(
        " ({}, {}{unusual}).{}",
        counted(lines, "line", "lines"),
        counted(bytes.len(), "byte", "bytes"),
        masked::restored_notice(&restored)
    ));
    let details = json!({
        "path": spot.shown(),
        "created": spot.kind() == EntryKind::Absent,
        "lines": lines,
        "bytes": bytes.len(),
        "before": before.as_ref().map(ContentHash::of),
        "after": ContentHash::of(&bytes),
        "change": change.flatten().map(ChangedLines::to_json),
        "diff": shown_diff(old.as_ref().map_or("", |old| &old.body), &content),
    });
    ToolOutput::said(said).with_details(details)
}

/// What the file holds now. Where changes are to be taken back, what cannot be read cannot be
/// replaced either.
fn before(files: &FileTools, spot: &OpenPlace) -> Result<Option<Vec<u8>>, ToolOutput> {
    if spot.kind() != EntryKind::File {
        return Ok(None);
    }
    match (spot.read(MOST_FILE_BYTES), &files.journal) {
        (Ok(Ok(bytes)), _) => Ok(Some(bytes)),
        // It may be written though it cannot be read.
        (_, None) => Ok(None),
        (Ok(Err(size)), Some(_)) => Err(ToolOutput::failed(format!(
            "{} has {}; more than {} cannot be kept for undo, so it is not replaced. Write a new file instead, or ask the user to move this one away.",
            spot.shown(),
            counted(usize::try_from(size).unwrap_or(usize::MAX), "byte", "bytes"),
            chela_core::grouped(usize::try_from(MOST_FILE_BYTES).unwrap_or(usize::MAX)),
        ))),
        (Err(error), Some(_)) => Err(files.refused(spot.shown(), &error)),
    }
}

/// The shape a new text is written in: that of the old one where it can hold it.
fn shape_for(old: Option<TextShape>, content: &str) -> (TextShape, String) {
    let Some(mut shape) = old else {
        return (TextShape::PLAIN, String::new());
    };
    // Whoever writes both endings, or CRLF where there was LF, means it.
    if content.contains("\r\n") || shape.ending == TextEnding::Mixed {
        shape.ending = TextEnding::Lf;
    }
    if shape.encode(content).is_err() {
        return (TextShape::PLAIN, ", now UTF-8".to_owned());
    }
    let kept = shape.unusual().map(|what| format!(", {what} kept"));
    (shape, kept.unwrap_or_default())
}
