//! `read`.

use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;

use chela_core::grouped;
use chela_files::ReadVersion;
use chela_guard::LabelledText;
use serde::Deserialize;
use serde_json::json;

use super::masked::SecretReader;
use super::shown_file::ShownFile;
use super::text::{self, ByteOrderMark, TextEncoding};
use super::{FileTools, MOST_FILE_BYTES, image};
use crate::blocking::{BlockingJob, BlockingTool, CallForesight, StopFlag};
use crate::place::{OpenPlace, PlaceAccess};
use crate::schema::{ArgumentKind, ArgumentSchema};
use crate::spec::shared_spec;
use crate::{CallSink, Effect, OutputPiece, SinkKind, Tool, ToolOutput, ToolSpec};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(super) struct ReadArguments {
    path: String,
    offset: Option<usize>,
    limit: Option<usize>,
    column: Option<usize>,
    line_numbers: Option<bool>,
}

pub(super) fn tool(files: &Arc<FileTools>) -> Arc<dyn Tool> {
    Arc::new(
        BlockingTool {
            spec: shared_spec!(ToolSpec {
                name: "read".into(),
                description: "Read a text file by lines, or a picture. Long files come in parts."
                    .into(),
                parameters: ArgumentSchema::object()
                    .required(
                        "path",
                        ArgumentKind::text().not_empty().such_as("notes.md"),
                        "In the workspace, or absolute",
                    )
                    .optional("offset", ArgumentKind::integer().min(1), "First line (1)")
                    .optional("limit", ArgumentKind::integer().min(1), "Lines")
                    .optional(
                        "column",
                        ArgumentKind::integer().min(1),
                        "First character, for very long lines",
                    )
                    .optional("lineNumbers", ArgumentKind::flag(), "")
                    .build()
                    .into(),
                effect: Effect::Read,
                sinks: [CallSink::new("path", SinkKind::Path)].into(),
            }),
            with: Arc::clone(files),
            act: read,
        }
        .foreseeing(CallForesight {
            targets: Some(|files, arguments| files.file_target(&arguments.path)),
            ..CallForesight::default()
        }),
    )
}

fn read(files: &FileTools, arguments: ReadArguments, job: &BlockingJob) -> ToolOutput {
    let located = files.places.locate(&arguments.path, PlaceAccess::Read);
    let opened = located.and_then(|spot| spot.open().map(|file| (spot, file)));
    let (spot, file) = match opened {
        Ok(opened) => opened,
        Err(error) => return files.refused(&arguments.path, &error),
    };
    let unreadable =
        |error| ToolOutput::failed(format!("{} cannot be read: {error}.", spot.shown()));
    let shown = match ShownFile::take(file) {
        Ok(shown) => shown,
        Err(error) => return unreadable(error),
    };
    let sample = match shown.sample() {
        Ok(sample) => sample,
        Err(error) => return unreadable(error),
    };
    if let Some(kind) = image::kind_of(&sample) {
        return image::shown(files, &spot, kind);
    }
    let Some((encoding, mark)) = text::sniff(&sample) else {
        return ToolOutput::failed(format!(
            "{} is not text ({} bytes). Use exec with a program that understands it, such as `file`.",
            spot.shown(),
            grouped(shown.size as usize)
        ));
    };
    let mut wanted = Wanted {
        from: arguments.offset.unwrap_or(1).max(1),
        lines: arguments.limit.unwrap_or(usize::MAX),
        column: arguments.column.unwrap_or(1).max(1),
        // Room for the note and the markers of foreign text.
        chars: files.bound.chars().saturating_sub(400).max(200),
    };
    let found = match encoding {
        TextEncoding::Utf8 | TextEncoding::Latin1 => loop {
            let skip = match mark {
                ByteOrderMark::Present => 3,
                ByteOrderMark::Absent => 0,
            };
            let found = shown.reader(skip).and_then(|reader| {
                let clean = SecretReader::new(reader, &files.redactor);
                stream(clean, encoding, &wanted, &job.stop)
            });
            // Some text costs more tokens than its length says: less of it is shown.
            match found {
                Ok(found) if !files.bound.fits(&found.lines.join("\n")) && wanted.chars > 200 => {
                    wanted.chars = wanted.chars * 2 / 3;
                }
                found => break found,
            }
        },
        TextEncoding::Utf16Le | TextEncoding::Utf16Be => match &shown.whole {
            Some(bytes) => match text::decode(bytes) {
                Some(text) => {
                    let clean = files.redactor.mask(&text.body).text;
                    stream_bytes(clean.as_bytes(), &wanted, &job.stop)
                }
                None => return ToolOutput::failed(format!("{} is not text.", spot.shown())),
            },
            None => {
                return ToolOutput::failed(format!(
                    "{} is {} bytes of {}; more than {} cannot be read. Convert it with exec first.",
                    spot.shown(),
                    grouped(shown.size as usize),
                    encoding.as_str(),
                    grouped(MOST_FILE_BYTES as usize)
                ));
            }
        },
    };
    match found {
        Ok(found) => {
            let version = shown.version();
            output(files, &spot, &version, &arguments, &wanted, found, encoding)
        }
        Err(error) => unreadable(error),
    }
}

/// The lines that were asked for, and how much of them fits.
#[derive(Debug, Clone, Copy)]
struct Wanted {
    from: usize,
    lines: usize,
    column: usize,
    chars: usize,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Found {
    lines: Vec<String>,
    /// Lines of the whole file.
    total: usize,
    /// The first line did not fit; it goes on at this character.
    goes_on_at: Option<usize>,
}

fn stream(
    file: impl Read,
    encoding: TextEncoding,
    wanted: &Wanted,
    stop: &StopFlag,
) -> std::io::Result<Found> {
    match encoding {
        TextEncoding::Latin1 => take_lines(BufReader::new(file), wanted, stop, |bytes| {
            bytes.iter().map(|byte| char::from(*byte)).collect()
        }),
        _ => take_lines(BufReader::new(file), wanted, stop, lossy),
    }
}

fn stream_bytes(bytes: &[u8], wanted: &Wanted, stop: &StopFlag) -> std::io::Result<Found> {
    take_lines(bytes, wanted, stop, lossy)
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Walks a file of any size and keeps only what was asked for and fits.
fn take_lines(
    mut reader: impl BufRead,
    wanted: &Wanted,
    stop: &StopFlag,
    decode: impl Fn(&[u8]) -> String,
) -> std::io::Result<Found> {
    let mut found = Found::default();
    let mut room = wanted.chars;
    let mut full = false;
    let last = wanted.from.saturating_add(wanted.lines);
    // No more of a line is kept than could be shown, in the longest encoding.
    let keep = wanted.column.saturating_add(wanted.chars);
    let keep = (keep as u64).saturating_mul(4).saturating_add(4);
    loop {
        let number = found.total + 1;
        if full || number < wanted.from || number >= last {
            if reader.skip_until(b'\n')? == 0 {
                return Ok(found);
            }
            found.total += 1;
        } else {
            let mut line = Vec::new();
            if (&mut reader).take(keep).read_until(b'\n', &mut line)? == 0 {
                return Ok(found);
            }
            if !line.ends_with(b"\n") {
                reader.skip_until(b'\n')?;
            }
            found.total += 1;
            full = !keep_line(&mut found, &decode(trimmed(&line)), wanted, &mut room);
        }
        if found.total.is_multiple_of(4096) && stop.is_set() {
            return Ok(found);
        }
    }
}

/// Without its line ending.
fn trimmed(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

/// Keeps a line if it fits; whether more may follow.
fn keep_line(found: &mut Found, line: &str, wanted: &Wanted, room: &mut usize) -> bool {
    let first = found.lines.is_empty();
    let skip = if first { wanted.column - 1 } else { 0 };
    let shown: String = line.chars().skip(skip).collect();
    let length = shown.chars().count() + 1;
    if length <= *room {
        *room -= length;
        found.lines.push(shown);
        return true;
    }
    if first {
        found.lines.push(shown.chars().take(*room).collect());
        found.goes_on_at = Some(skip + *room + 1);
    }
    false
}

fn output(
    files: &FileTools,
    spot: &OpenPlace,
    version: &ReadVersion,
    arguments: &ReadArguments,
    wanted: &Wanted,
    found: Found,
    encoding: TextEncoding,
) -> ToolOutput {
    let name = spot.shown();
    if found.total == 0 {
        return ToolOutput::said(format!("[{name} is empty.]"));
    }
    if wanted.from > found.total {
        return ToolOutput::failed(format!(
            "{name} has {} lines; there is no line {}. Call read with offset between 1 and {}.",
            grouped(found.total),
            wanted.from,
            found.total
        ));
    }
    let to = wanted.from + found.lines.len().saturating_sub(1);
    let note = match found.goes_on_at {
        Some(column) => Some(format!(
            "[Line {} of {} goes on: call read with offset={} column={column}.]",
            wanted.from, found.total, wanted.from
        )),
        None if to < found.total => Some(format!(
            "[Lines {}-{to} of {}. Go on with offset={}.]",
            wanted.from,
            grouped(found.total),
            to + 1
        )),
        None => None,
    };
    let numbered = arguments.line_numbers == Some(true);
    let lines = found.lines.iter().zip(wanted.from..);
    let body: Vec<String> = lines
        .map(|(line, number)| match numbered {
            true => format!("{number:>6}\t{line}"),
            false => line.clone(),
        })
        .collect();
    let labelled = spot.label(body.join("\n"), version, files.entropy.as_ref());
    let mut output = ToolOutput::of(labelled).with_details(json!({
        "path": name,
        "fromLine": wanted.from,
        "toLine": to,
        "lines": found.total,
        "encoding": encoding.as_str(),
    }));
    let note = note.map(|note| OutputPiece::Text(LabelledText::runtime(note)));
    output.content.extend(note);
    output
}
