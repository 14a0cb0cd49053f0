//! `write`.

use std::sync::Arc;

use chela_core::ContentHash;
use chela_files::{ExpectedContent, Placement};
use serde::Deserialize;
use serde_json::json;

use super::change::Change;
use super::masked;
use super::text::{self, Ending, Shape};
use super::{Files, MOST_FILE_BYTES, counted};
use crate::blocking::{Blocking, Foreseen, Job};
use crate::place::{EntryKind, Spot};
use crate::schema::{Kind, Schema};
use crate::{Effect, FileChange, Output, Sink, SinkKind, Spec, Tool};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    path: String,
    content: String,
}

pub(super) fn tool(files: &Arc<Files>) -> Arc<dyn Tool> {
    Arc::new(Foreseen {
        effect,
        tool: Blocking {
        spec: Spec {
            name: "write".into(),
            description: "Create a file or replace all of it; missing folders are made. To change part of a file, use edit.".into(),
            parameters: Schema::object()
                .required(
                    "path",
                    Kind::text().not_empty().such_as("notes/today.md"),
                    "Path, relative to the workspace or absolute",
                )
                .required("content", Kind::text().such_as("# Today\n"), "The whole new text")
                .build().into(),
            effect: Effect::WriteReversible,
            sinks: [
                Sink::new("path", SinkKind::Path),
                Sink::new("content", SinkKind::Text),
            ].into(),
        },
        with: Arc::clone(files),
        act: write,
        },
    })
}

/// Writing to a file that shapes the agent is more than writing.
fn effect(files: &Files, arguments: &Arguments) -> Effect {
    files.effect_at(files.places.locate_new(&arguments.path))
}

fn write(files: &Files, arguments: Arguments, job: &Job) -> Output {
    let Arguments { path, content } = arguments;
    // Nobody else changes the file from before it is read until it is replaced.
    let (spot, _held) = match files.hold(&path, || files.places.locate_new(&path)) {
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
        Ok(Placement::Placed) => {}
        Ok(Placement::Changed) => {
            files.not_made(kept);
            return Output::failed(format!(
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
    let change = old.as_ref().map(|old| Change::between(&old.body, &content));
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
        masked::told(&restored)
    ));
    let details = json!({
        "path": spot.shown(),
        "created": spot.kind() == EntryKind::Absent,
        "lines": lines,
        "bytes": bytes.len(),
        "before": before.as_ref().map(ContentHash::of),
        "after": ContentHash::of(&bytes),
        "change": change.flatten().map(Change::to_json),
    });
    Output::said(said).with_details(details)
}

/// What the file holds now. Where changes are to be taken back, what cannot be read cannot be
/// replaced either.
fn before(files: &Files, spot: &Spot) -> Result<Option<Vec<u8>>, Output> {
    if spot.kind() != EntryKind::File {
        return Ok(None);
    }
    match (spot.read(MOST_FILE_BYTES), &files.journal) {
        (Ok(Ok(bytes)), _) => Ok(Some(bytes)),
        // It may be written though it cannot be read.
        (_, None) => Ok(None),
        (Ok(Err(size)), Some(_)) => Err(Output::failed(format!(
            "{} has {}; more than {} cannot be kept for undo, so it is not replaced. Write a new file instead, or ask the user to move this one away.",
            spot.shown(),
            counted(usize::try_from(size).unwrap_or(usize::MAX), "byte", "bytes"),
            chela_core::grouped(usize::try_from(MOST_FILE_BYTES).unwrap_or(usize::MAX)),
        ))),
        (Err(error), Some(_)) => Err(files.refused(spot.shown(), &error)),
    }
}

/// The shape a new text is written in: that of the old one where it can hold it.
fn shape_for(old: Option<Shape>, content: &str) -> (Shape, String) {
    let Some(mut shape) = old else {
        return (Shape::PLAIN, String::new());
    };
    // Whoever writes both endings, or CRLF where there was LF, means it.
    if content.contains("\r\n") || shape.ending == Ending::Mixed {
        shape.ending = Ending::Lf;
    }
    if shape.encode(content).is_err() {
        return (Shape::PLAIN, ", now UTF-8".to_owned());
    }
    let kept = shape.unusual().map(|what| format!(", {what} kept"));
    (shape, kept.unwrap_or_default())
}
