//! Unpacking an archive into a folder of ours: as a whole, or not at all.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path};

use chela_files::set_permission_bits;
use flate2::read::GzDecoder;

use super::copy::{MAX_BYTES, MAX_FILES};
use super::source::FetchError;
use crate::archive::{self, ClosedArchive};
use crate::disk;

/// Whether a relative path stays below where it starts.
pub(super) fn is_inside(path: &Path) -> bool {
    path.components()
        .all(|part| matches!(part, Component::Normal(_) | Component::CurDir))
}

pub(super) fn unpack_file(archive: &Path, into: &Path) -> Result<(), FetchError> {
    let unreadable = |source| FetchError::Unreadable {
        path: archive.to_owned(),
        source,
    };
    let mut bytes = Vec::new();
    let file = File::open(archive).map_err(unreadable)?;
    let size = file.take(MAX_BYTES + 1).read_to_end(&mut bytes);
    if size.map_err(unreadable)? as u64 > MAX_BYTES {
        return Err(FetchError::TooLarge);
    }
    unpack_bytes(&archive.display().to_string(), &bytes, into)
}

/// Refuses an archive as a whole when any entry is not an ordinary file inside.
pub(super) fn unpack_bytes(name: &str, bytes: &[u8], into: &Path) -> Result<(), FetchError> {
    if bytes.starts_with(b"PK") {
        return unzip(name, bytes, into);
    }
    match bytes.starts_with(&[0x1f, 0x8b]) {
        true => untar(name, GzDecoder::new(bytes), into),
        false => untar(name, bytes, into),
    }
}

fn unzip(name: &str, bytes: &[u8], into: &Path) -> Result<(), FetchError> {
    let entries = archive::zip(bytes).map_err(|closed| match closed {
        ClosedArchive::Locked => FetchError::Locked {
            name: name.to_owned(),
        },
        ClosedArchive::TooLarge => FetchError::TooLarge,
        ClosedArchive::Broken => FetchError::NoArchive {
            name: name.to_owned(),
        },
    })?;
    let mut target = UnpackTarget::new(into);
    for entry in entries {
        if entry.is_link() {
            return Err(not_a_file(&entry.path, "a link"));
        }
        // Written on another system, parts may be divided the other way.
        target.write(
            Path::new(&entry.path.replace('\\', "/")),
            &entry.bytes,
            entry.mode,
        )?;
    }
    Ok(())
}

fn untar(name: &str, reader: impl Read, into: &Path) -> Result<(), FetchError> {
    let unreadable = |source| FetchError::Unreadable {
        path: name.into(),
        source,
    };
    // Headers and padding count too: an archive of nothing but headers must end as well.
    let mut tar = tar::Archive::new(reader.take(MAX_BYTES * 2));
    let mut target = UnpackTarget::new(into);
    for (count, entry) in tar.entries().map_err(unreadable)?.enumerate() {
        let mut entry = entry.map_err(|source| match count {
            // What does not even begin like one is something else.
            0 => FetchError::NoArchive {
                name: name.to_owned(),
            },
            _ => unreadable(source),
        })?;
        if count >= MAX_FILES {
            return Err(FetchError::TooLarge);
        }
        let path = entry.path().map_err(unreadable)?.into_owned();
        let shown = path.display().to_string();
        let kind = entry.header().entry_type();
        if kind.is_dir() {
            target.check(&path)?;
        } else if kind.is_file() {
            let size = entry.size();
            target.take(size)?;
            let mode = entry.header().mode().unwrap_or(0o644);
            let mut bytes = Vec::new();
            (&mut entry)
                .take(size)
                .read_to_end(&mut bytes)
                .map_err(unreadable)?;
            target.put(&path, &bytes, mode)?;
        } else if kind.is_symlink() {
            return Err(not_a_file(&shown, "a link"));
        } else if kind.is_hard_link() {
            return Err(not_a_file(&shown, "a hard link"));
        } else if !(kind.is_pax_global_extensions()
            || kind.is_pax_local_extensions()
            || kind.is_gnu_longname())
        {
            return Err(not_a_file(&shown, "a device or pipe"));
        }
    }
    Ok(())
}

fn not_a_file(path: &str, what: &'static str) -> FetchError {
    FetchError::NotAFile {
        path: chela_core::sanitize::literal(path).into_owned(),
        what,
    }
}

/// The folder that is filled, and how much may still come.
struct UnpackTarget<'a> {
    into: &'a Path,
    left: u64,
}

impl<'a> UnpackTarget<'a> {
    fn new(into: &'a Path) -> Self {
        Self {
            into,
            left: MAX_BYTES,
        }
    }

    fn check(&self, path: &Path) -> Result<(), FetchError> {
        match is_inside(path) {
            true => Ok(()),
            false => Err(FetchError::Escapes {
                path: chela_core::sanitize::literal(&path.display().to_string()).into_owned(),
            }),
        }
    }

    fn take(&mut self, size: u64) -> Result<(), FetchError> {
        self.left = self.left.checked_sub(size).ok_or(FetchError::TooLarge)?;
        Ok(())
    }

    fn write(&mut self, path: &Path, bytes: &[u8], mode: u32) -> Result<(), FetchError> {
        self.take(bytes.len() as u64)?;
        self.put(path, bytes, mode)
    }

    fn put(&self, path: &Path, bytes: &[u8], mode: u32) -> Result<(), FetchError> {
        self.check(path)?;
        if is_litter(path) {
            return Ok(());
        }
        let target = self.into.join(path);
        let failed = |source| FetchError::Unreadable {
            path: target.clone(),
            source,
        };
        disk::create_dir(target.parent().unwrap_or(self.into)).map_err(failed)?;
        fs::write(&target, bytes).map_err(failed)?;
        set_mode(&target, mode).map_err(failed)
    }
}

/// What a Mac adds to every archive it makes.
fn is_litter(path: &Path) -> bool {
    let mut parts = path.iter().filter_map(|part| part.to_str());
    parts.any(|part| part == "__MACOSX" || part == ".DS_Store" || part.starts_with("._"))
}

fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    let mode = if mode & 0o111 == 0 { 0o644 } else { 0o755 };
    set_permission_bits(path, mode)
}
