//! What comes along with a message: piped text.

use std::io::{self, IsTerminal, Read};

use crate::fail::CommandError;

/// More piped text than this fits into no model.
const MOST_TEXT: u64 = 4 * 1024 * 1024;

/// Text on standard input, when it is a pipe or a file. With a message of its own, an empty one
/// counts as none.
pub fn read_piped_text(has_message: bool) -> Result<Option<String>, CommandError> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        return Ok(None);
    }
    if has_message && !somebody_writes(&stdin) {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    stdin
        .lock()
        .take(MOST_TEXT + 1)
        .read_to_end(&mut bytes)
        .map_err(|error| CommandError::new(format!("cannot read standard input: {error}")))?;
    if bytes.len() as u64 > MOST_TEXT {
        return Err(CommandError::new("standard input is longer than 4 MiB")
            .hint("save it in the workspace and name the file: the agent can read it in parts"));
    }
    let text = String::from_utf8_lossy(&bytes).into_owned();
    Ok((!has_message || !text.trim().is_empty()).then_some(text))
}

/// A service or a scheduler gives /dev/null or a socket that nobody writes to.
#[cfg(unix)]
fn somebody_writes(stdin: &io::Stdin) -> bool {
    use rustix::fs::{FileType, fstat};
    let kind = fstat(stdin).map(|stat| FileType::from_raw_mode(stat.st_mode));
    matches!(kind, Ok(FileType::Fifo | FileType::RegularFile))
}

/// What a scheduler gives ends at once.
#[cfg(not(unix))]
fn somebody_writes(_: &io::Stdin) -> bool {
    true
}
