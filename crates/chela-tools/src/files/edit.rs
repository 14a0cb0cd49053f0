//! `edit`.

use std::path::PathBuf;
use std::sync::Arc;

use chela_core::ContentHash;
use chela_files::{DraftPlacement, ExpectedContent, ReadVersion};
use serde::Deserialize;
use serde_json::json;

use super::change::{ChangedLines, shown_diff};
use super::masked;
use super::near::closest;
use super::text::{self, TextEnding, TextFile};
use super::{FileTools, MOST_FILE_BYTES, MOST_TRIES, as_targets, keeps_changing, real_path};
use crate::blocking::{BlockingJob, BlockingTool, CallForesight, ForeseeingTool};
use crate::place::{OpenPlace, PlaceAccess};
use crate::schema::{ArgumentKind, ArgumentSchema};
use crate::spec::shared_spec;
use crate::{
    CallSink, Effect, FileChange, FilePreview, OutputPiece, SinkKind, Tool, ToolNeed, ToolOutput,
    ToolSpec, WriteExtent,
};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct EditArguments {
    path: String,
    old_text: String,
    new_text: String,
    replace_all: Option<bool>,
}

pub(super) fn tool(files: &Arc<FileTools>) -> Arc<dyn Tool> {
    Arc::new(ForeseeingTool {
        sight: CallForesight {
            effect: Some(effect),
            targets: Some(|files, arguments| as_targets(paths(files, arguments))),
            writes: Some((WriteExtent::Part, paths)),
            preview: Some(preview),
            needs: &[ToolNeed::Folders],
        },
        tool: BlockingTool {
            spec: shared_spec!(ToolSpec {
                name: "edit".into(),
                description:
                    "Replace exact text in a file. oldText must occur once, or set replaceAll."
                        .into(),
                parameters: ArgumentSchema::object()
                    .required(
                        "path",
                        ArgumentKind::text().not_empty().such_as("notes.md"),
                        "",
                    )
                    .required(
                        "oldText",
                        ArgumentKind::text().not_empty().such_as("colour: red"),
                        "Exactly as in the file, blanks included",
                    )
                    .required("newText", ArgumentKind::text().such_as("colour: blue"), "")
                    .optional("replaceAll", ArgumentKind::flag(), "")
                    .build()
                    .into(),
                effect: Effect::WriteReversible,
                sinks: [
                    CallSink::new("path", SinkKind::Path),
                    CallSink::new("newText", SinkKind::Text),
                ]
                .into(),
            }),
            with: Arc::clone(files),
            act: edit,
        },
    })
}

/// Writing to a file that shapes the agent is more than writing.
fn effect(files: &FileTools, arguments: &EditArguments) -> Effect {
    files.effect_at(files.places.locate(&arguments.path, PlaceAccess::Write))
}

fn paths(files: &FileTools, arguments: &EditArguments) -> Vec<PathBuf> {
    real_path(files.places.locate(&arguments.path, PlaceAccess::Write))
}

fn preview(files: &FileTools, arguments: &EditArguments) -> Vec<FilePreview> {
    files.rehearse(|files| {
        edit(files, arguments.clone(), &BlockingJob::default());
    })
}

fn edit(files: &FileTools, arguments: EditArguments, job: &BlockingJob) -> ToolOutput {
    let locate = || files.places.locate(&arguments.path, PlaceAccess::Write);
    for _ in 0..MOST_TRIES {
        // Nobody else changes the file from before it is read until it is replaced.
        let (spot, _held) = match files.hold(&arguments.path, job, locate) {
            Ok(found) => found,
            Err(refused) => return refused,
        };
        if let Some(output) = edit_once(files, &spot, &arguments, job) {
            return output;
        }
    }
    keeps_changing(&arguments.path)
}

/// `None` when something that knows no locks saved the file meanwhile: then the text is looked for
/// in what stands there now.
fn edit_once(
    files: &FileTools,
    spot: &OpenPlace,
    arguments: &EditArguments,
    job: &BlockingJob,
) -> Option<ToolOutput> {
    let (before, text, version) = match whole_text(files, spot) {
        Ok(found) => found,
        Err(refused) => return Some(refused),
    };
    // Matched as it is shown, so that a stand-in matches and a part of a secret does not.
    let masked = files.redactor.mask(&text.body);
    let seen = &masked.text;
    let Some((old, new)) = fitted(&text, seen, arguments) else {
        let why = "edit: oldText and newText are the same; nothing would change.";
        return Some(ToolOutput::failed(why));
    };
    let count = seen.matches(&old).count();
    let all = arguments.replace_all == Some(true);
    let body = match (count, all) {
        (0, _) => return Some(missing(files, spot, &version, (seen, &old))),
        (1, _) => seen.replacen(&old, &new, 1),
        (_, true) => seen.replace(&old, &new),
        (count, false) => {
            return Some(ToolOutput::failed(format!(
                "oldText occurs {count} times in {}, at lines {}. Give more lines around the one you mean, or set replaceAll.",
                spot.shown(),
                lines_of(seen, &old)
            )));
        }
    };
    let restored = masked.restore(&body);
    let body = &restored.text;
    let bytes = match text.shape.encode(body) {
        Ok(bytes) => bytes,
        Err(c) => {
            return Some(ToolOutput::failed(format!(
                "{} is {} and cannot hold `{c}`. Use other characters, or write the whole file anew.",
                spot.shown(),
                text.shape.encoding.as_str()
            )));
        }
    };
    let made = FileChange {
        path: spot.path(),
        before: Some(&before),
        after: Some(&bytes),
        keeps: Some(spot.path()),
        tool: "edit",
        call: &job.call,
    };
    let kept = match files.keep(spot.shown(), &made) {
        Ok(kept) => kept,
        Err(refused) => return Some(refused),
    };
    match spot.replace(&bytes, ExpectedContent::Bytes(&before)) {
        Ok(DraftPlacement::Placed) => {}
        Ok(DraftPlacement::Changed) => {
            files.not_made(kept);
            return None;
        }
        Err(error) => {
            files.not_made(kept);
            return Some(files.refused(&arguments.path, &error));
        }
    }
    let change = ChangedLines::between(&text.body, body);
    let places = match count {
        1 => String::new(),
        count => format!(" in {count} places"),
    };
    let said = change.map_or_else(String::new, |change| format!(": {change}"));
    let about = masked::restored_notice(&restored);
    let details = json!({
        "path": spot.shown(),
        "replaced": count,
        "before": text.shape.encode(&text.body).ok().map(ContentHash::of),
        "after": ContentHash::of(&bytes),
        "change": change.map(ChangedLines::to_json),
        "diff": shown_diff(&text.body, body),
    });
    let said = format!("Edited {}{places}{said}.{about}", spot.shown());
    Some(ToolOutput::said(said).with_details(details))
}

/// The bytes and the text of a file that is to be changed.
pub(super) fn whole_text(
    files: &FileTools,
    spot: &OpenPlace,
) -> Result<(Vec<u8>, TextFile, ReadVersion), ToolOutput> {
    let (bytes, version) = match spot.read_version(MOST_FILE_BYTES) {
        Ok(Ok(read)) => read,
        Ok(Err(size)) => {
            return Err(ToolOutput::failed(format!(
                "{} has {size} bytes; files of more than {MOST_FILE_BYTES} are not changed here. Use exec.",
                spot.shown()
            )));
        }
        Err(error) => return Err(files.refused(spot.shown(), &error)),
    };
    match text::decode(&bytes) {
        Some(text) => Ok((bytes, text, version)),
        None => Err(ToolOutput::failed(format!(
            "{} is not text and cannot be edited.",
            spot.shown()
        ))),
    }
}

/// Old and new text with the line endings the text has in memory; `None` when they are equal.
fn fitted(text: &TextFile, seen: &str, arguments: &EditArguments) -> Option<(String, String)> {
    let (mut old, mut new) = (arguments.old_text.clone(), arguments.new_text.clone());
    match text.shape.ending {
        TextEnding::CrLf => {
            old = old.replace("\r\n", "\n");
            new = new.replace("\r\n", "\n");
        }
        // Of a file with both endings, the one the old text stands in is kept.
        TextEnding::Mixed if !seen.contains(&old) && !old.contains('\r') => {
            let carried = old.replace('\n', "\r\n");
            if seen.contains(&carried) {
                old = carried;
                new = new.replace("\r\n", "\n").replace('\n', "\r\n");
            }
        }
        TextEnding::Mixed | TextEnding::Lf => {}
    }
    (old != new).then_some((old, new))
}

fn lines_of(body: &str, old: &str) -> String {
    const MOST: usize = 10;
    let lines: Vec<String> = body
        .match_indices(old)
        .take(MOST)
        .filter_map(|(at, _)| body.get(..at))
        .map(|before| (before.matches('\n').count() + 1).to_string())
        .collect();
    lines.join(", ")
}

/// Says that a text is not there, and shows what comes nearest.
fn missing(
    files: &FileTools,
    spot: &OpenPlace,
    read: &ReadVersion,
    (body, old): (&str, &str),
) -> ToolOutput {
    let name = spot.shown();
    let Some(near) = closest(body, old) else {
        return ToolOutput::failed(format!(
            "oldText is not in {name}, and nothing in it comes near. Call read first and copy the text exactly."
        ));
    };
    let why = match near.only_blanks {
        true => "they differ from oldText only in spaces, tabs or blank lines",
        false => "compare them with oldText character by character",
    };
    let mut output = ToolOutput::failed(format!(
        "oldText is not in {name}. Closest are lines {}-{}; {why}:",
        near.from, near.to
    ));
    let excerpt = spot.label(near.text, read, files.entropy.as_ref());
    output.content.push(OutputPiece::Text(excerpt));
    output
}
