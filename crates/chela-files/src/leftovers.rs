//! What a process that died in the middle of a write left behind.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The name of a draft. It says nothing of the file, whose name may be as long as names can be.
pub(crate) fn draft_name(random: u64, count: u64) -> OsString {
    OsString::from(format!(".chela-{random:016x}-{count}.tmp"))
}

/// Whether a file is a draft by its name: one of [`crate::FileDraft`], or of the writers before
/// it (`.NAME.1234-0.tmp`, `.NAME.1234.new`, `NAME.json.1234.new`).
pub fn is_leftover(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    if let Some(stem) = name.strip_suffix(".tmp") {
        let of_ours = stem.strip_prefix(".chela-").is_some_and(is_numbered);
        let older = stem.starts_with('.')
            && stem
                .rsplit_once('.')
                .is_some_and(|(_, last)| is_numbered(last));
        return of_ours || older;
    }
    name.strip_suffix(".new").is_some_and(|stem| {
        stem.rsplit_once('.').is_some_and(|(name, process)| {
            let of_a_draft = name.starts_with('.') || name.ends_with(".json");
            of_a_draft && is_number(process)
        })
    })
}

/// The drafts in a folder (not in those below it) that were last written `older_than` before
/// `now`: a process may still be at work on a younger one.
fn leftovers_in(folder: &Path, older_than: Duration, now: SystemTime) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return Vec::new();
    };
    let mut found: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| is_leftover(&entry.file_name()))
        .filter(|entry| {
            entry.metadata().is_ok_and(|facts| {
                let written = facts.modified().unwrap_or(now);
                let age = now.duration_since(written).unwrap_or_default();
                facts.is_file() && age >= older_than
            })
        })
        .map(|entry| entry.path())
        .collect();
    found.sort();
    found
}

/// The same in the folders below, so many levels down. Links, hidden folders and what builds and
/// package managers fill are left out, and a tree of very many folders is not walked to its end.
pub fn leftovers_below(
    folder: &Path,
    levels: usize,
    older_than: Duration,
    now: SystemTime,
) -> Vec<PathBuf> {
    const MOST_FOLDERS: usize = 2_000;
    let mut found = Vec::new();
    let mut open = vec![(folder.to_owned(), levels)];
    let mut looked = 0;
    while let Some((folder, levels)) = open.pop() {
        looked += 1;
        if looked > MOST_FOLDERS {
            break;
        }
        found.extend(leftovers_in(&folder, older_than, now));
        if levels == 0 {
            continue;
        }
        let entries = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        let inside = entries.filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            let passed_over = name.starts_with('.') || ["node_modules", "target"].contains(&&*name);
            !passed_over && entry.file_type().is_ok_and(|kind| kind.is_dir())
        });
        open.extend(inside.map(|entry| (entry.path(), levels - 1)));
    }
    found.sort();
    found
}

/// `9f3a-1` or `9f3a-1-0`: hexadecimal digits, then numbers.
fn is_numbered(text: &str) -> bool {
    let mut pieces = text.split('-');
    let random = pieces.next().unwrap_or_default();
    let mut numbers = pieces.peekable();
    !random.is_empty()
        && random.bytes().all(|byte| byte.is_ascii_hexdigit())
        && numbers.peek().is_some()
        && numbers.all(is_number)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests;
