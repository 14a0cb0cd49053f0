//! `apply_patch`: several files at once, all or none.

mod apply;
mod parse;

use std::path::PathBuf;
use std::sync::Arc;

use chela_core::ContentHash;
use chela_core::secret::MaskedText;
use chela_files::{DraftPlacement, ExpectedContent};
use serde::Deserialize;
use serde_json::{Value, json};

use super::change::{ChangedLines, shown_diff};
use super::edit::whole_text;
use super::masked;
use super::text::TextShape;
use super::{
    FileTools, MOST_FILE_BYTES, MOST_TRIES, as_targets, busy, counted, keeps_changing,
    leads_elsewhere, real_path,
};
use crate::blocking::{BlockingJob, BlockingTool, CallForesight, ForeseeingTool};
use crate::place::{EntryKind, OpenPlace, PlaceAccess, PlaceError};
use crate::schema::{ArgumentKind, ArgumentSchema};
use crate::{
    CallSink, CallSuccess, ChangeId, Effect, FileChange, FilePreview, SinkKind, Tool, ToolNeed,
    ToolOutput, ToolSpec, WriteExtent,
};

use crate::spec::shared_spec;
use parse::{PatchChunk, PatchSection};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PatchArguments {
    patch: String,
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
            name: "apply_patch".into(),
            description: "Change several files at once, all or none. Between `*** Begin Patch` and `*** End Patch`: `*** Add File: path`, `*** Update File: path` (then `*** Move to: path` to rename), `*** Delete File: path`. Lines begin with a space (kept), `-` or `+`; `@@ some line` says where to look.".into(),
            parameters: ArgumentSchema::object()
                .required(
                    "patch",
                    ArgumentKind::text().not_empty().such_as(
                        "*** Begin Patch\n*** Update File: notes.md\n@@\n-old line\n+new line\n*** End Patch",
                    ),
                    "",
                )
                .build().into(),
            effect: Effect::WriteReversible,
            sinks: [CallSink::new("patch", SinkKind::Text)].into(),
        }),
        with: Arc::clone(files),
        act: patch,
        },
    })
}

/// What a section of a patch makes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PatchedText {
    /// No line was to go.
    pub adds_only: bool,
    /// None when its lines are not there.
    pub text: Option<String>,
}

/// What each changed file of a patch would be, if all of them had this text.
pub(crate) fn patch_text(patch: &str, body: &str) -> Option<Vec<PatchedText>> {
    let sections = parse::parse(patch).ok()?;
    let texts = sections.iter().filter_map(|section| match section {
        PatchSection::Update { chunks, .. } => Some(PatchedText {
            adds_only: chunks.iter().all(PatchChunk::adds_only),
            text: apply::apply(body, chunks).ok(),
        }),
        PatchSection::Add { .. } | PatchSection::Delete { .. } => None,
    });
    Some(texts.collect())
}

/// Writing to a file that shapes the agent is more than writing.
fn effect(files: &FileTools, arguments: &PatchArguments) -> Effect {
    let places = files.patch_places.imagined();
    let sections = parse::parse(&arguments.patch).unwrap_or_default();
    let paths = sections.iter().flat_map(PatchSection::paths);
    paths
        .map(|path| files.effect_at(places.locate_new(path)))
        .max_by_key(|effect| effect.gravity_of_writing())
        .unwrap_or(Effect::WriteReversible)
}

/// Every file it touches.
fn paths(files: &FileTools, arguments: &PatchArguments) -> Vec<PathBuf> {
    let places = files.patch_places.imagined();
    let sections = parse::parse(&arguments.patch).unwrap_or_default();
    let paths = sections.iter().flat_map(PatchSection::paths);
    paths
        .flat_map(|path| real_path(places.locate_new(path)))
        .collect()
}

/// What each section would do by itself: one that cannot be applied hides no other.
fn preview(files: &FileTools, arguments: &PatchArguments) -> Vec<FilePreview> {
    let sections = parse::parse(&arguments.patch).unwrap_or_default();
    let (files, job) = (files.imagined(), BlockingJob::default());
    let outcomes = sections
        .iter()
        .filter_map(|section| plan(&files, section, &[], &job).ok())
        .flatten();
    outcomes
        .filter(|outcome| outcome.before != outcome.after)
        .map(|outcome| FilePreview {
            path: outcome.spot.path().to_owned(),
            before: outcome.before,
            after: outcome.after,
        })
        .collect()
}

/// One file as the patch leaves it.
struct Outcome {
    spot: OpenPlace,
    /// What was there; `None` for nothing.
    before: Option<Vec<u8>>,
    /// What will be there; `None` for nothing.
    after: Option<Vec<u8>>,
    /// The file whose text lives on in this one.
    keeps: Option<PathBuf>,
    said: String,
    details: Value,
}

impl Outcome {
    /// The change for people; `None` where there is nothing to read.
    fn diff(&self) -> Option<String> {
        let body = |content: &Option<Vec<u8>>| match content {
            None => Some(String::new()),
            Some(bytes) => super::text::decode(bytes).map(|text| text.body),
        };
        shown_diff(&body(&self.before)?, &body(&self.after)?)
    }

    /// Its details, with what the file was and is.
    fn with_hashes(&self) -> Value {
        let mut details = self.details.clone();
        if let Value::Object(fields) = &mut details {
            let hash = |content: &Option<Vec<u8>>| json!(content.as_ref().map(ContentHash::of));
            fields.insert("before".to_owned(), hash(&self.before));
            fields.insert("after".to_owned(), hash(&self.after));
            fields.insert("diff".to_owned(), json!(self.diff()));
        }
        details
    }
}

fn patch(files: &FileTools, arguments: PatchArguments, job: &BlockingJob) -> ToolOutput {
    let sections = match parse::parse(&arguments.patch) {
        Ok(sections) => sections,
        Err(problem) => {
            return ToolOutput::failed(format!(
                "The patch cannot be read: {problem}. Nothing was changed."
            ));
        }
    };
    for _ in 0..MOST_TRIES {
        // Nobody else changes the files from before they are read until all are replaced.
        let spots: Vec<OpenPlace> = sections
            .iter()
            .flat_map(|section| spots_of(files, section))
            .collect();
        let held = files.locks.hold(spots.iter().map(OpenPlace::path));
        let _held = match held {
            Ok(held) => held,
            Err(error) => return busy("The files of the patch", &error.to_string()),
        };
        if let Some(output) = patch_once(files, &sections, job) {
            return output;
        }
    }
    keeps_changing("A file of the patch")
}

/// The places a section is about, as far as they can be found.
fn spots_of(files: &FileTools, section: &PatchSection) -> Vec<OpenPlace> {
    let places = &files.patch_places;
    let found = match section {
        PatchSection::Add { path, .. } => vec![places.locate_new(path)],
        PatchSection::Delete { path } => vec![places.locate(path, PlaceAccess::Write)],
        PatchSection::Update { path, move_to, .. } => {
            let mut found = vec![places.locate(path, PlaceAccess::Write)];
            found.extend(move_to.iter().map(|to| places.locate_new(to)));
            found
        }
    };
    found.into_iter().flatten().collect()
}

/// `None` when something that knows no locks saved one of the files meanwhile: all are as they
/// were, and the patch is tried on what stands there now.
fn patch_once(
    files: &FileTools,
    sections: &[PatchSection],
    job: &BlockingJob,
) -> Option<ToolOutput> {
    let mut outcomes: Vec<Outcome> = Vec::new();
    for section in sections {
        match plan(files, section, &outcomes, job) {
            Ok(planned) => outcomes.extend(planned),
            Err(refused) => return Some(nothing_changed(refused)),
        }
    }
    match commit(files, &outcomes, &job.call) {
        Ok(DraftPlacement::Changed) => None,
        Ok(DraftPlacement::Placed) => {
            let said: Vec<&str> = outcomes
                .iter()
                .map(|outcome| outcome.said.as_str())
                .filter(|said| !said.is_empty())
                .collect();
            let details: Vec<Value> = outcomes.iter().map(Outcome::with_hashes).collect();
            Some(ToolOutput::said(said.join("\n")).with_details(json!({ "files": details })))
        }
        Err(refused) => Some(refused),
    }
}

/// Reads a patch and applies what it says of files to a text, for whoever tries many.
pub(super) fn read_and_apply(patch: &str, text: &str) -> Vec<String> {
    let sections = parse::parse(patch).unwrap_or_default();
    let applied = sections.iter().filter_map(|section| match section {
        PatchSection::Update { chunks, .. } => apply::apply(text, chunks).ok(),
        PatchSection::Add { content, .. } => Some(content.clone()),
        PatchSection::Delete { .. } => None,
    });
    applied.collect()
}

fn nothing_changed(mut refused: ToolOutput) -> ToolOutput {
    let note = chela_guard::LabelledText::runtime("Nothing was changed.");
    refused.content.push(crate::OutputPiece::Text(note));
    refused.success = CallSuccess::Failed;
    refused
}

/// What a section does, without doing it.
fn plan(
    files: &FileTools,
    section: &PatchSection,
    planned: &[Outcome],
    job: &BlockingJob,
) -> Result<Vec<Outcome>, ToolOutput> {
    let at = |path: &str, found: Result<OpenPlace, PlaceError>| {
        let spot = found.map_err(|error| files.refused(path, &error))?;
        if !job.may_change(spot.path()) {
            return Err(leads_elsewhere(&spot));
        }
        match planned.iter().any(|other| other.spot.path() == spot.path()) {
            true => Err(ToolOutput::failed(format!(
                "{} stands in the patch twice. Put all its changes in one section.",
                spot.shown()
            ))),
            false => Ok(spot),
        }
    };
    match section {
        PatchSection::Add { path, content } => {
            let spot = at(path, files.patch_places.locate_new(path))?;
            absent(&spot)?;
            let restored = MaskedText::default().restore(content);
            let mut outcome = added(spot, restored.text.clone().into_bytes(), "Added");
            outcome.said += &masked::restored_notice(&restored);
            Ok(vec![outcome])
        }
        PatchSection::Delete { path } => {
            let spot = at(path, files.patch_places.locate(path, PlaceAccess::Write))?;
            Ok(vec![removed(files, spot, "Deleted")?])
        }
        PatchSection::Update {
            path,
            move_to,
            chunks,
        } => {
            let spot = at(path, files.patch_places.locate(path, PlaceAccess::Write))?;
            let (before, text, _) = whole_text(files, &spot)?;
            // The patch was written by one who saw the file without its secrets.
            let masked = files.redactor.mask(&text.body);
            let body = apply::apply(&masked.text, chunks).map_err(|missing| {
                let mut output = ToolOutput::failed(format!(
                    "{}: these lines of the patch are not in the file{}. Call read and copy them exactly.",
                    spot.shown(),
                    missing.after()
                ));
                let quoted = chela_guard::LabelledText::runtime(missing.lines);
                output.content.push(crate::OutputPiece::Text(quoted));
                output
            })?;
            let restored = masked.restore(&body);
            let body = &restored.text;
            let about = masked::restored_notice(&restored);
            let bytes = encoded(&spot, text.shape, body)?;
            let change = ChangedLines::between(&text.body, body);
            match move_to {
                None => {
                    let said = change.map_or_else(
                        || format!("{}: nothing changed", spot.shown()),
                        |change| format!("Updated {}: {change}", spot.shown()),
                    ) + &about;
                    let details = json!({ "path": spot.shown(), "change": change.map(ChangedLines::to_json) });
                    Ok(vec![Outcome {
                        keeps: Some(spot.path().to_owned()),
                        spot,
                        before: Some(before),
                        after: Some(bytes),
                        said,
                        details,
                    }])
                }
                Some(new) => {
                    let target = at(new, files.patch_places.locate_new(new))?;
                    absent(&target)?;
                    let said = format!("Moved {} to {}{about}", spot.shown(), target.shown());
                    let mut old = removed(files, spot, "")?;
                    old.said = String::new();
                    let mut new = added(target, bytes, "");
                    new.said = said;
                    new.keeps = Some(old.spot.path().to_owned());
                    Ok(vec![new, old])
                }
            }
        }
    }
}

fn absent(spot: &OpenPlace) -> Result<(), ToolOutput> {
    match spot.kind() {
        EntryKind::Absent => Ok(()),
        _ => Err(ToolOutput::failed(format!(
            "{} exists already. Use `*** Update File:` to change it.",
            spot.shown()
        ))),
    }
}

fn encoded(spot: &OpenPlace, shape: TextShape, body: &str) -> Result<Vec<u8>, ToolOutput> {
    shape.encode(body).map_err(|c| {
        ToolOutput::failed(format!(
            "{} is {} and cannot hold `{c}`.",
            spot.shown(),
            shape.encoding.as_str()
        ))
    })
}

fn added(spot: OpenPlace, bytes: Vec<u8>, verb: &str) -> Outcome {
    let size = counted(bytes.len(), "byte", "bytes");
    let said = format!("{verb} {} ({size})", spot.shown());
    let details = json!({ "path": spot.shown(), "added": true });
    Outcome {
        spot,
        before: None,
        after: Some(bytes),
        keeps: None,
        said,
        details,
    }
}

fn removed(files: &FileTools, spot: OpenPlace, verb: &str) -> Result<Outcome, ToolOutput> {
    let before = match spot.read(MOST_FILE_BYTES) {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => {
            return Err(ToolOutput::failed(format!(
                "{} is too large to be deleted by a patch. Use exec.",
                spot.shown()
            )));
        }
        Err(error) => return Err(files.refused(spot.shown(), &error)),
    };
    let said = format!("{verb} {}", spot.shown());
    let details = json!({ "path": spot.shown(), "deleted": true });
    Ok(Outcome {
        spot,
        before: Some(before),
        after: None,
        keeps: None,
        said,
        details,
    })
}

/// Makes all changes; when one fails or finds another file than it was made for, those before it
/// are taken back. What they replace is kept before the first is made.
fn commit(
    files: &FileTools,
    outcomes: &[Outcome],
    call: &str,
) -> Result<DraftPlacement, ToolOutput> {
    let mut kept: Vec<Option<ChangeId>> = Vec::new();
    for outcome in outcomes {
        match files.keep(outcome.spot.shown(), &outcome.change(call)) {
            Ok(change) => kept.push(change),
            Err(refused) => {
                kept.into_iter().rev().for_each(|kept| files.not_made(kept));
                return Err(nothing_changed(refused));
            }
        }
    }
    for (done, outcome) in outcomes.iter().enumerate() {
        let failed = match outcome.put() {
            Ok(DraftPlacement::Placed) => continue,
            Ok(DraftPlacement::Changed) => None,
            Err(error) => Some(error),
        };
        let mut undone = Vec::new();
        for (at, kept) in kept.iter().enumerate().rev() {
            let back = outcomes.get(..done).and_then(|done| done.get(at));
            match back.filter(|back| take_back(files, back).is_err()) {
                Some(left) => undone.push(left.spot.shown().to_owned()),
                None => files.not_made(*kept),
            }
        }
        let error = failed.unwrap_or_else(|| PlaceError::Changed {
            path: outcome.spot.shown().to_owned(),
        });
        return match (undone.as_slice(), error) {
            ([], PlaceError::Changed { .. }) => Ok(DraftPlacement::Changed),
            ([], error) => Err(nothing_changed(files.refused(outcome.spot.shown(), &error))),
            (left, error) => Err(ToolOutput::failed(format!(
                "{error} Changes to {} could not be taken back; look at them.",
                left.join(", ")
            ))),
        };
    }
    Ok(DraftPlacement::Placed)
}

impl Outcome {
    /// Makes the change, if the file is still the one it was made for.
    fn put(&self) -> Result<DraftPlacement, PlaceError> {
        match (&self.after, &self.before) {
            (Some(bytes), before) => self
                .spot
                .replace(bytes, ExpectedContent::of(before.as_deref())),
            (None, Some(before)) => self.spot.remove_if(before),
            (None, None) => Ok(DraftPlacement::Placed),
        }
    }

    fn change<'a>(&'a self, call: &'a str) -> FileChange<'a> {
        FileChange {
            path: self.spot.path(),
            before: self.before.as_deref(),
            after: self.after.as_deref(),
            keeps: self.keeps.as_deref(),
            tool: "apply_patch",
            call,
        }
    }
}

/// Puts back what was there, unless somebody has saved there since.
fn take_back(files: &FileTools, outcome: &Outcome) -> Result<(), PlaceError> {
    let put = match (&outcome.before, &outcome.after) {
        (Some(before), after) => {
            let expected = ExpectedContent::of(after.as_deref());
            outcome.spot.replace(before, expected)?
        }
        (None, Some(after)) => {
            // The spot was empty when it was found; now the new file stands there.
            let path = outcome.spot.path().to_string_lossy();
            let now = files.patch_places.locate(&path, PlaceAccess::Write)?;
            now.remove_if(after)?
        }
        (None, None) => DraftPlacement::Placed,
    };
    match put {
        DraftPlacement::Placed => Ok(()),
        DraftPlacement::Changed => Err(PlaceError::Changed {
            path: outcome.spot.shown().to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests;
