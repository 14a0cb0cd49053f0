//! The texts before the last few edits.

use std::path::{Path, PathBuf};

use super::{StoreError, write};
use crate::sources::read_text;

/// How many older backups stay beside the newest.
const OLDER: usize = 5;

/// Keeps `old` as `<name>.bak`; what was there moves to `.bak.1`, and so on to `.bak.5`.
pub(super) fn keep(path: &Path, old: &str) -> Result<PathBuf, StoreError> {
    let newest = write::with_suffix(path, ".bak");
    if read_text(&newest).is_ok_and(|kept| kept == old) {
        return Ok(newest);
    }
    let numbered = |number| match number {
        0 => newest.clone(),
        number => write::with_suffix(path, &format!(".bak.{number}")),
    };
    // Written before anything moves: a full disk must not cost an older backup.
    let ready = write::prepare(&newest, old)?;
    ready.take_rights_of(path)?;
    for number in (0..OLDER).rev() {
        let from = numbered(number);
        if from.is_file() {
            let to = numbered(number + 1);
            std::fs::rename(&from, &to).map_err(|source| StoreError::Io {
                what: "move the backup",
                path: from,
                source,
            })?;
        }
    }
    ready.put_in_place()?;
    Ok(newest)
}
