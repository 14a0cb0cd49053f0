//! Looking into archives without unpacking them: bounded, in memory, one layer deep.

use std::io::Read;

use flate2::read::{DeflateDecoder, GzDecoder};

const MAX_ENTRIES: usize = 2_000;
const MAX_UNPACKED: u64 = 24 * 1024 * 1024;

/// What a Unix mode says of a file that is a link.
const LINK: u32 = 0o120_000;
const KIND: u32 = 0o170_000;

impl ArchiveEntry {
    pub(crate) fn is_link(&self) -> bool {
        self.mode & KIND == LINK
    }
}

/// A file inside an archive.
#[derive(Debug)]
pub(crate) struct ArchiveEntry {
    pub path: String,
    pub bytes: Vec<u8>,
    /// Type and permissions as Unix has them; 0 where the archive does not say.
    pub mode: u32,
}

/// Why an archive stays closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ClosedArchive {
    Locked,
    TooLarge,
    Broken,
}

/// The files of a tar archive.
pub(crate) fn tar(bytes: &[u8]) -> Result<Vec<ArchiveEntry>, ClosedArchive> {
    let mut entries = Vec::new();
    let mut left = MAX_UNPACKED;
    let mut archive = tar::Archive::new(bytes);
    for entry in archive.entries().map_err(|_| ClosedArchive::Broken)? {
        let mut entry = entry.map_err(|_| ClosedArchive::Broken)?;
        let path = entry
            .path()
            .map_err(|_| ClosedArchive::Broken)?
            .display()
            .to_string();
        if !entry.header().entry_type().is_file() {
            continue;
        }
        let bytes = read(&mut entry, &mut left)?;
        let mode = entry.header().mode().unwrap_or(0);
        push(&mut entries, ArchiveEntry { path, bytes, mode })?;
    }
    Ok(entries)
}

/// What a gzip stream holds.
pub(crate) fn gunzip(bytes: &[u8]) -> Result<Vec<u8>, ClosedArchive> {
    let mut left = MAX_UNPACKED;
    read(&mut GzDecoder::new(bytes), &mut left)
}

/// The files of a zip archive, by its central directory: that is what unpackers go by.
pub(crate) fn zip(bytes: &[u8]) -> Result<Vec<ArchiveEntry>, ClosedArchive> {
    let end = end_record(bytes).ok_or(ClosedArchive::Broken)?;
    let count = usize::from(u16_at(bytes, end + 10).ok_or(ClosedArchive::Broken)?);
    let mut at = usize::try_from(u32_at(bytes, end + 16).ok_or(ClosedArchive::Broken)?)
        .map_err(|_| ClosedArchive::Broken)?;
    if count == 0xffff || at == 0xffff_ffff {
        return Err(ClosedArchive::TooLarge);
    }
    let mut entries = Vec::new();
    let mut left = MAX_UNPACKED;
    for _ in 0..count {
        let (entry, next) = zip_entry(bytes, at, &mut left)?;
        if let Some(entry) = entry {
            push(&mut entries, entry)?;
        }
        at = next;
    }
    Ok(entries)
}

fn zip_entry(
    bytes_of_all: &[u8],
    at: usize,
    left: &mut u64,
) -> Result<(Option<ArchiveEntry>, usize), ClosedArchive> {
    let bytes = bytes_of_all;
    let field16 = |offset| u16_at(bytes, at + offset).ok_or(ClosedArchive::Broken);
    let field32 = |offset| {
        let value = u32_at(bytes, at + offset).ok_or(ClosedArchive::Broken)?;
        usize::try_from(value).map_err(|_| ClosedArchive::Broken)
    };
    if bytes.get(at..at + 4) != Some(b"PK\x01\x02") {
        return Err(ClosedArchive::Broken);
    }
    let flags = field16(8)?;
    let method = field16(10)?;
    let packed = field32(20)?;
    let name_len = usize::from(field16(28)?);
    let next = at + 46 + name_len + usize::from(field16(30)?) + usize::from(field16(32)?);
    let name = bytes
        .get(at + 46..at + 46 + name_len)
        .ok_or(ClosedArchive::Broken)?;
    let path = String::from_utf8_lossy(name).into_owned();
    if flags & 1 != 0 {
        return Err(ClosedArchive::Locked);
    }
    if path.ends_with('/') {
        return Ok((None, next));
    }
    let local = field32(42)?;
    let local_name = usize::from(u16_at(bytes, local + 26).ok_or(ClosedArchive::Broken)?);
    let local_extra = usize::from(u16_at(bytes, local + 28).ok_or(ClosedArchive::Broken)?);
    let from = local + 30 + local_name + local_extra;
    let data = bytes
        .get(from..from.saturating_add(packed))
        .ok_or(ClosedArchive::Broken)?;
    let mut data = data;
    let bytes = match method {
        0 => read(&mut data, left)?,
        8 => read(&mut DeflateDecoder::new(data), left)?,
        _ => return Err(ClosedArchive::Broken),
    };
    // The upper half holds a mode where a Unix made the archive.
    let mode = match field16(4)? >> 8 {
        3 => u32_at(bytes_of_all, at + 38).ok_or(ClosedArchive::Broken)? >> 16,
        _ => 0,
    };
    Ok((Some(ArchiveEntry { path, bytes, mode }), next))
}

/// Where the directory of a zip archive is described: near its end.
fn end_record(bytes: &[u8]) -> Option<usize> {
    let from = bytes.len().saturating_sub(22 + 0xffff);
    let tail = bytes.get(from..)?;
    tail.windows(4)
        .rposition(|window| window == b"PK\x05\x06")
        .map(|at| from + at)
}

fn push(entries: &mut Vec<ArchiveEntry>, entry: ArchiveEntry) -> Result<(), ClosedArchive> {
    if entries.len() >= MAX_ENTRIES {
        return Err(ClosedArchive::TooLarge);
    }
    entries.push(entry);
    Ok(())
}

fn read(source: &mut impl Read, left: &mut u64) -> Result<Vec<u8>, ClosedArchive> {
    let mut bytes = Vec::new();
    let size = source
        .take(*left + 1)
        .read_to_end(&mut bytes)
        .map_err(|_| ClosedArchive::Broken)?;
    *left = left
        .checked_sub(size as u64)
        .ok_or(ClosedArchive::TooLarge)?;
    Ok(bytes)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes
        .get(at..at + 2)?
        .try_into()
        .ok()
        .map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes
        .get(at..at + 4)?
        .try_into()
        .ok()
        .map(u32::from_le_bytes)
}
