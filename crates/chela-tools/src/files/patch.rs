//! `apply_patch`: several files at once, all or none.

mod apply;
mod parse;

use std::path::PathBuf;
use std::sync::Arc;

use chela_core::ContentHash;
use chela_core::secret::Masked;
use chela_files::{ExpectedContent, Placement};
use serde::Deserialize;
use serde_json::{Value, json};

use super::change::Change;
use super::edit::whole_text;
use super::masked;
use super::text::Shape;
use super::{
    Files, MOST_FILE_BYTES, MOST_TRIES, as_targets, busy, counted, keeps_changing, real_path,
};
use crate::blocking::{Blocking, Foreseen, Foresight, Job};
use crate::place::{Access, EntryKind, PlaceError, Spot};
use crate::schema::{Kind, Schema};
use crate::{
    ChangeId, Effect, FileChange, FilePreview, Output, Sink, SinkKind, Spec, Success, Tool,
    ToolNeed, WriteExtent,
};

use parse::{Chunk, Section};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Arguments {
    patch: String,
}

pub(super) fn tool(files: &Arc<Files>) -> Arc<dyn Tool> {
    Arc::new(Foreseen {
        sight: Foresight {
            effect: Some(effect),
            targets: Some(|files, arguments| as_targets(paths(files, arguments))),
            writes: Some((WriteExtent::Part, paths)),
            preview: Some(preview),
            needs: &[ToolNeed::Folders],
        },
        tool: Blocking {
        spec: Spec {
            name: "apply_patch".into(),
            description: "Change several files at once; either all changes are made or none. Between `*** Begin Patch` and `*** End Patch` come sections `*** Add File: path`, `*** Update File: path` (with `*** Move to: path` to rename) and `*** Delete File: path`. Lines begin with a space (kept), `-` (removed) or `+` (added); `@@ some line` says where to look.".into(),
            parameters: Schema::object()
                .required(
                    "patch",
                    Kind::text().not_empty().such_as(
                        "*** Begin Patch\n*** Update File: notes.md\n@@\n-old line\n+new line\n*** End Patch",
                    ),
                    "The patch",
                )
                .build().into(),
            effect: Effect::WriteReversible,
            sinks: [Sink::new("patch", SinkKind::Text)].into(),
        },
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
        Section::Update { chunks, .. } => Some(PatchedText {
            adds_only: chunks.iter().all(Chunk::adds_only),
            text: apply::apply(body, chunks).ok(),
        }),
        Section::Add { .. } | Section::Delete { .. } => None,
    });
    Some(texts.collect())
}

/// Writing to a file that shapes the agent is more than writing.
fn effect(files: &Files, arguments: &Arguments) -> Effect {
    let places = files.patch_places.imagined();
    let sections = parse::parse(&arguments.patch).unwrap_or_default();
    let paths = sections.iter().flat_map(Section::paths);
    paths
        .map(|path| files.effect_at(places.locate_new(path)))
        .max_by_key(|effect| match effect {
            Effect::Config => 2,
            Effect::Persona => 1,
            _ => 0,
        })
        .unwrap_or(Effect::WriteReversible)
}

/// Every file it touches.
fn paths(files: &Files, arguments: &Arguments) -> Vec<PathBuf> {
    let places = files.patch_places.imagined();
    let sections = parse::parse(&arguments.patch).unwrap_or_default();
    let paths = sections.iter().flat_map(Section::paths);
    paths
        .flat_map(|path| real_path(places.locate_new(path)))
        .collect()
}

/// What each section would do by itself: one that cannot be applied hides no other.
fn preview(files: &Files, arguments: &Arguments) -> Vec<FilePreview> {
    let sections = parse::parse(&arguments.patch).unwrap_or_default();
    let files = files.imagined();
    let outcomes = sections
        .iter()
        .filter_map(|section| plan(&files, section, &[]).ok())
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
    spot: Spot,
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
    /// Its details, with what the file was and is.
    fn with_hashes(&self) -> Value {
        let mut details = self.details.clone();
        details["before"] = json!(self.before.as_ref().map(ContentHash::of));
        details["after"] = json!(self.after.as_ref().map(ContentHash::of));
        details
    }
}

fn patch(files: &Files, arguments: Arguments, job: &Job) -> Output {
    let sections = match parse::parse(&arguments.patch) {
        Ok(sections) => sections,
        Err(problem) => {
            return Output::failed(format!(
                "The patch cannot be read: {problem}. Nothing was changed."
            ));
        }
    };
    for _ in 0..MOST_TRIES {
        // Nobody else changes the files from before they are read until all are replaced.
        let spots: Vec<Spot> = sections
            .iter()
            .flat_map(|section| spots_of(files, section))
            .collect();
        let held = files.locks.hold(spots.iter().map(Spot::path));
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
fn spots_of(files: &Files, section: &Section) -> Vec<Spot> {
    let places = &files.patch_places;
    let found = match section {
        Section::Add { path, .. } => vec![places.locate_new(path)],
        Section::Delete { path } => vec![places.locate(path, Access::Write)],
        Section::Update { path, move_to, .. } => {
            let mut found = vec![places.locate(path, Access::Write)];
            found.extend(move_to.iter().map(|to| places.locate_new(to)));
            found
        }
    };
    found.into_iter().flatten().collect()
}

/// `None` when something that knows no locks saved one of the files meanwhile: all are as they
/// were, and the patch is tried on what stands there now.
fn patch_once(files: &Files, sections: &[Section], job: &Job) -> Option<Output> {
    let mut outcomes: Vec<Outcome> = Vec::new();
    for section in sections {
        match plan(files, section, &outcomes) {
            Ok(planned) => outcomes.extend(planned),
            Err(refused) => return Some(nothing_changed(refused)),
        }
    }
    match commit(files, &outcomes, &job.call) {
        Ok(Placement::Changed) => None,
        Ok(Placement::Placed) => {
            let said: Vec<&str> = outcomes
                .iter()
                .map(|outcome| outcome.said.as_str())
                .filter(|said| !said.is_empty())
                .collect();
            let details: Vec<Value> = outcomes.iter().map(Outcome::with_hashes).collect();
            Some(Output::said(said.join("\n")).with_details(json!({ "files": details })))
        }
        Err(refused) => Some(refused),
    }
}

/// Reads a patch and applies what it says of files to a text, for whoever tries many.
pub(super) fn read_and_apply(patch: &str, text: &str) -> Vec<String> {
    let sections = parse::parse(patch).unwrap_or_default();
    let applied = sections.iter().filter_map(|section| match section {
        Section::Update { chunks, .. } => apply::apply(text, chunks).ok(),
        Section::Add { content, .. } => Some(content.clone()),
        Section::Delete { .. } => None,
    });
    applied.collect()
}

fn nothing_changed(mut refused: Output) -> Output {
    let note = chela_guard::Labelled::runtime("Nothing was changed.");
    refused.content.push(crate::Piece::Text(note));
    refused.success = Success::Failed;
    refused
}

/// What a section does, without doing it.
fn plan(files: &Files, section: &Section, planned: &[Outcome]) -> Result<Vec<Outcome>, Output> {
    let at = |path: &str, found: Result<Spot, PlaceError>| {
        let spot = found.map_err(|error| files.refused(path, &error))?;
        match planned.iter().any(|other| other.spot.path() == spot.path()) {
            true => Err(Output::failed(format!(
                "{} stands in the patch twice. Put all its changes in one section.",
                spot.shown()
            ))),
            false => Ok(spot),
        }
    };
    match section {
        Section::Add { path, content } => {
            let spot = at(path, files.patch_places.locate_new(path))?;
            absent(&spot)?;
            let restored = Masked::default().restore(content);
            let mut outcome = added(spot, restored.text.clone().into_bytes(), "Added");
            outcome.said += &masked::told(&restored);
            Ok(vec![outcome])
        }
        Section::Delete { path } => {
            let spot = at(path, files.patch_places.locate(path, Access::Write))?;
            Ok(vec![removed(files, spot, "Deleted")?])
        }
        Section::Update {
            path,
            move_to,
            chunks,
        } => {
            let spot = at(path, files.patch_places.locate(path, Access::Write))?;
            let (before, text) = whole_text(files, &spot)?;
            // The patch was written by one who saw the file without its secrets.
            let masked = files.redactor.mask(&text.body);
            let body = apply::apply(&masked.text, chunks).map_err(|missing| {
                let mut output = Output::failed(format!(
                    "{}: these lines of the patch are not in the file{}. Call read and copy them exactly.",
                    spot.shown(),
                    missing.after()
                ));
                let quoted = chela_guard::Labelled::runtime(missing.lines);
                output.content.push(crate::Piece::Text(quoted));
                output
            })?;
            let restored = masked.restore(&body);
            let body = &restored.text;
            let about = masked::told(&restored);
            let bytes = encoded(&spot, text.shape, body)?;
            let change = Change::between(&text.body, body);
            match move_to {
                None => {
                    let said = change.map_or_else(
                        || format!("{}: nothing changed", spot.shown()),
                        |change| format!("Updated {}: {change}", spot.shown()),
                    ) + &about;
                    let details =
                        json!({ "path": spot.shown(), "change": change.map(Change::to_json) });
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

fn absent(spot: &Spot) -> Result<(), Output> {
    match spot.kind() {
        EntryKind::Absent => Ok(()),
        _ => Err(Output::failed(format!(
            "{} exists already. Use `*** Update File:` to change it.",
            spot.shown()
        ))),
    }
}

fn encoded(spot: &Spot, shape: Shape, body: &str) -> Result<Vec<u8>, Output> {
    shape.encode(body).map_err(|c| {
        Output::failed(format!(
            "{} is {} and cannot hold `{c}`.",
            spot.shown(),
            shape.encoding.as_str()
        ))
    })
}

fn added(spot: Spot, bytes: Vec<u8>, verb: &str) -> Outcome {
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

fn removed(files: &Files, spot: Spot, verb: &str) -> Result<Outcome, Output> {
    let before = match spot.read(MOST_FILE_BYTES) {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(_)) => {
            return Err(Output::failed(format!(
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
fn commit(files: &Files, outcomes: &[Outcome], call: &str) -> Result<Placement, Output> {
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
            Ok(Placement::Placed) => continue,
            Ok(Placement::Changed) => None,
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
            ([], PlaceError::Changed { .. }) => Ok(Placement::Changed),
            ([], error) => Err(nothing_changed(files.refused(outcome.spot.shown(), &error))),
            (left, error) => Err(Output::failed(format!(
                "{error} Changes to {} could not be taken back; look at them.",
                left.join(", ")
            ))),
        };
    }
    Ok(Placement::Placed)
}

impl Outcome {
    /// Makes the change, if the file is still the one it was made for.
    fn put(&self) -> Result<Placement, PlaceError> {
        match (&self.after, &self.before) {
            (Some(bytes), before) => self
                .spot
                .replace(bytes, ExpectedContent::of(before.as_deref())),
            (None, Some(before)) => self.spot.remove_if(before),
            (None, None) => Ok(Placement::Placed),
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
fn take_back(files: &Files, outcome: &Outcome) -> Result<(), PlaceError> {
    let put = match (&outcome.before, &outcome.after) {
        (Some(before), after) => {
            let expected = ExpectedContent::of(after.as_deref());
            outcome.spot.replace(before, expected)?
        }
        (None, Some(after)) => {
            // The spot was empty when it was found; now the new file stands there.
            let path = outcome.spot.path().to_string_lossy();
            let now = files.patch_places.locate(&path, Access::Write)?;
            now.remove_if(after)?
        }
        (None, None) => Placement::Placed,
    };
    match put {
        Placement::Placed => Ok(()),
        Placement::Changed => Err(PlaceError::Changed {
            path: outcome.spot.shown().to_owned(),
        }),
    }
}

#[cfg(test)]
mod tests;
