//! `image`, and pictures that are `read`.

use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chela_core::grouped;
use serde::Deserialize;
use serde_json::json;

use super::{FileTools, ImageInput};
use crate::blocking::{BlockingJob, BlockingTool, CallForesight};
use crate::place::{OpenPlace, PlaceAccess};
use crate::schema::{ArgumentKind, ArgumentSchema};
use crate::spec::shared_spec;
use crate::{CallSink, Effect, OutputPiece, SinkKind, Tool, ToolOutput, ToolSpec};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ImageArguments {
    path: Option<String>,
    data: Option<String>,
    prompt: Option<String>,
}

pub(super) fn tool(files: &Arc<FileTools>) -> Arc<dyn Tool> {
    Arc::new(
        BlockingTool {
            spec: shared_spec!(ToolSpec {
                name: "image".into(),
                description: "Look at a picture (PNG, JPEG, GIF, WebP): a file, or data as base64."
                    .into(),
                parameters: ArgumentSchema::object()
                    .optional(
                        "path",
                        ArgumentKind::text().such_as("photo.png"),
                        "File of the picture",
                    )
                    .optional(
                        "data",
                        ArgumentKind::text(),
                        "The picture itself: base64 or a data: URL",
                    )
                    .optional("prompt", ArgumentKind::text(), "What to look for")
                    .build()
                    .into(),
                effect: Effect::ReadUntrusted,
                sinks: [CallSink::new("path", SinkKind::Path)].into(),
            }),
            with: Arc::clone(files),
            act: look,
        }
        .foreseeing(CallForesight {
            targets: Some(|files, arguments| match &arguments.path {
                Some(path) => files.file_target(path),
                None => Vec::new(),
            }),
            ..CallForesight::default()
        }),
    )
}

fn look(files: &FileTools, arguments: ImageArguments, _: &BlockingJob) -> ToolOutput {
    let asked = arguments.prompt.clone();
    let output = seen(files, arguments);
    match asked {
        Some(asked) => output.with_details(json!({ "question": asked })),
        None => output,
    }
}

fn seen(files: &FileTools, arguments: ImageArguments) -> ToolOutput {
    const WANTED: &str =
        "image: give either `path` or `data`. Example of a valid call: {\"path\":\"photo.png\"}";
    match (arguments.path, arguments.data) {
        (Some(path), None) => match files.places.locate(&path, PlaceAccess::Read) {
            Ok(spot) => from_file(files, &spot),
            Err(error) => files.refused(&path, &error),
        },
        (None, Some(data)) => from_data(files, &data),
        _ => ToolOutput::failed(WANTED),
    }
}

fn from_file(files: &FileTools, spot: &OpenPlace) -> ToolOutput {
    let bytes = match spot.read(files.most_image_bytes) {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(size)) => return too_large(files, spot.shown(), size),
        Err(error) => return files.refused(spot.shown(), &error),
    };
    match kind_of(&bytes) {
        Some(kind) => piece(files, spot.shown(), kind, &bytes),
        None => ToolOutput::failed(format!(
            "{} is not a PNG, JPEG, GIF or WebP picture.",
            spot.shown()
        )),
    }
}

fn from_data(files: &FileTools, data: &str) -> ToolOutput {
    let encoded: String = match data.split_once("base64,") {
        Some((_, encoded)) => encoded,
        None => data,
    }
    .split_whitespace()
    .collect();
    let most = files.most_image_bytes;
    if encoded.len() as u64 / 4 * 3 > most {
        return too_large(files, "The picture", encoded.len() as u64 / 4 * 3);
    }
    let Ok(bytes) = STANDARD.decode(encoded) else {
        return ToolOutput::failed("image: argument `data` is not base64.");
    };
    match kind_of(&bytes) {
        Some(kind) => piece(files, "The picture", kind, &bytes),
        None => ToolOutput::failed("image: `data` is not a PNG, JPEG, GIF or WebP picture."),
    }
}

/// A picture that `read` came across.
pub(super) fn shown(files: &FileTools, spot: &OpenPlace, kind: ImageKind) -> ToolOutput {
    match files.images {
        ImageInput::Yes => from_file(files, spot),
        ImageInput::No => blind(spot.shown(), kind),
    }
}

fn piece(files: &FileTools, name: &str, kind: ImageKind, bytes: &[u8]) -> ToolOutput {
    if files.images == ImageInput::No {
        return blind(name, kind);
    }
    let size = dimensions(kind, bytes);
    let across = size.map_or_else(String::new, |(width, height)| format!(", {width}×{height}"));
    let mut output = ToolOutput::said(format!(
        "{name}: {}{across}, {} bytes.",
        kind.mime(),
        grouped(bytes.len())
    ));
    output.content.push(OutputPiece::Image {
        mime: kind.mime().to_owned(),
        data: STANDARD.encode(bytes),
    });
    output.with_details(json!({
        "path": name,
        "mime": kind.mime(),
        "bytes": bytes.len(),
        "width": size.map(|size| size.0),
        "height": size.map(|size| size.1),
    }))
}

fn blind(name: &str, kind: ImageKind) -> ToolOutput {
    ToolOutput::failed(format!(
        "{name} is a picture ({}), and this model cannot look at pictures. Say so; do not guess what it shows.",
        kind.mime()
    ))
}

fn too_large(files: &FileTools, name: &str, size: u64) -> ToolOutput {
    ToolOutput::failed(format!(
        "{name} has {} bytes; pictures of at most {} can be shown. Make it smaller first.",
        grouped(size as usize),
        grouped(files.most_image_bytes as usize)
    ))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ImageKind {
    Png,
    Jpeg,
    Gif,
    WebP,
}

impl ImageKind {
    pub(super) fn mime(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::WebP => "image/webp",
        }
    }
}

/// What a file that begins so is called, when it is a picture models read. By its first bytes:
/// names lie.
pub fn picture_mime(bytes: &[u8]) -> Option<&'static str> {
    kind_of(bytes).map(ImageKind::mime)
}

/// What kind of picture begins so.
pub(super) fn kind_of(bytes: &[u8]) -> Option<ImageKind> {
    match bytes {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => Some(ImageKind::Png),
        [0xFF, 0xD8, 0xFF, ..] => Some(ImageKind::Jpeg),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(ImageKind::Gif),
        [
            b'R',
            b'I',
            b'F',
            b'F',
            _,
            _,
            _,
            _,
            b'W',
            b'E',
            b'B',
            b'P',
            ..,
        ] => Some(ImageKind::WebP),
        _ => None,
    }
}

/// Width and height, where the header says so plainly.
fn dimensions(kind: ImageKind, bytes: &[u8]) -> Option<(u32, u32)> {
    let big = |at: usize| {
        let four = bytes.get(at..at + 4)?.try_into().ok()?;
        Some(u32::from_be_bytes(four))
    };
    let little = |at: usize| {
        let two = bytes.get(at..at + 2)?.try_into().ok()?;
        Some(u32::from(u16::from_le_bytes(two)))
    };
    match kind {
        ImageKind::Png => Some((big(16)?, big(20)?)),
        ImageKind::Gif => Some((little(6)?, little(8)?)),
        ImageKind::Jpeg => jpeg(bytes),
        ImageKind::WebP => None,
    }
}

/// Walks the segments of a JPEG to the one with its size.
fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let two = |at: usize| {
        let two = bytes.get(at..at + 2)?.try_into().ok()?;
        Some(u16::from_be_bytes(two))
    };
    let mut at = 2;
    loop {
        let [0xFF, marker] = *bytes.get(at..at + 2)? else {
            return None;
        };
        let is_size = matches!(marker, 0xC0..=0xCF) && !matches!(marker, 0xC4 | 0xC8 | 0xCC);
        if is_size {
            return Some((two(at + 7)?.into(), two(at + 5)?.into()));
        }
        let length = usize::from(two(at + 2)?);
        at += 2 + length.max(2);
    }
}

#[cfg(test)]
mod tests {
    use super::picture_mime;

    #[test]
    fn pictures_are_known_by_their_first_bytes() {
        assert_eq!(picture_mime(b"\x89PNG\r\n\x1a\n"), Some("image/png"));
        assert_eq!(picture_mime(b"RIFF1234WEBPVP8 "), Some("image/webp"));
        assert_eq!(picture_mime(b"#!/bin/sh"), None);
        assert_eq!(picture_mime(b""), None);
    }
}
