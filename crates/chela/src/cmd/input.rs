//! Reading what people hand over: a file, or standard input.

use std::io::Read;
use std::path::Path;

use crate::fail::CommandError;
use crate::file_trouble::unreadable;

/// No document a person hands over is larger.
const MOST_BYTES: u64 = 64 << 20;

/// The text of a file; `-` is standard input.
pub fn read(path: &Path) -> Result<String, CommandError> {
    let mut bytes = Vec::new();
    let outcome = if path == Path::new("-") {
        std::io::stdin()
            .lock()
            .take(MOST_BYTES)
            .read_to_end(&mut bytes)
    } else {
        std::fs::File::open(path).and_then(|file| file.take(MOST_BYTES).read_to_end(&mut bytes))
    };
    outcome.map_err(|error| unreadable(path.display(), &error))?;
    String::from_utf8(bytes).map_err(|error| {
        CommandError::new(format!(
            "{} is not UTF-8: {}",
            path.display(),
            error.utf8_error()
        ))
    })
}
