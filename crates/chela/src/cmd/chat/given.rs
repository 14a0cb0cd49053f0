//! What comes along with a message: piped text and pictures.

use std::io::{self, IsTerminal, Read};
use std::path::PathBuf;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use chela_agent::conversation::Image;
use chela_tools::picture_mime;
use rustix::fs::FileType;

use crate::fail::Fail;

/// More piped text than this fits into no model.
const MOST_TEXT: u64 = 4 * 1024 * 1024;
const MOST_IMAGE: u64 = 20 * 1024 * 1024;

/// Text on standard input, when it is a pipe or a file. With a message of its own, an empty one
/// counts as none.
pub fn piped(has_message: bool) -> Result<Option<String>, Fail> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return Ok(None);
    }
    let kind = rustix::fs::fstat(&stdin).map(|stat| FileType::from_raw_mode(stat.st_mode));
    // A service or a scheduler gives /dev/null or a socket that nobody writes to.
    let speaks = matches!(kind, Ok(FileType::Fifo | FileType::RegularFile));
    if has_message && !speaks {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    stdin
        .lock()
        .take(MOST_TEXT + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| Fail::new(format!("cannot read standard input: {error}")))?;
    if bytes.len() as u64 > MOST_TEXT {
        return Err(Fail::new("standard input is longer than 4 MiB").hint(
            "save it in the workspace and name the file: the agent reads it piece by piece",
        ));
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok((!has_message || !text.trim().is_empty()).then_some(text))
}

/// Pictures, read and encoded.
pub fn images(files: &[PathBuf]) -> Result<Vec<Image>, Fail> {
    files
        .iter()
        .map(|file| {
            let shown = file.display();
            let bytes = std::fs::File::open(file)
                .and_then(|opened| {
                    let mut bytes = Vec::new();
                    opened.take(MOST_IMAGE + 1).read_to_end(&mut bytes)?;
                    Ok(bytes)
                })
                .map_err(|error| Fail::new(format!("cannot read the picture {shown}: {error}")))?;
            if bytes.len() as u64 > MOST_IMAGE {
                return Err(Fail::new(format!(
                    "the picture {shown} is larger than 20 MiB"
                )));
            }
            let mime = picture_mime(&bytes).ok_or_else(|| {
                Fail::usage(format!("{shown} is no picture that models read"))
                    .hint("PNG, JPEG, GIF and WebP are")
            })?;
            Ok(Image {
                mime: mime.to_owned(),
                data: STANDARD.encode(bytes),
            })
        })
        .collect()
}
