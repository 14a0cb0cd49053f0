//! All files of one skill: read once, hashed, each with the stamp that tells when to read again.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use chela_core::ContentHash;
use chela_files::{FileFacts as _, FileStamp, FolderEntryKind, HeldFolder, open_plain};
use serde::Serialize;

use crate::finding::SkillFinding;
use crate::stamp::FolderStamps;

/// Folders that tools fill by themselves. They are no part of a skill; what `add` fetches may not
/// hold them, so nothing foreign hides there.
pub(crate) const GENERATED: [&str; 5] =
    [".git", "node_modules", "__pycache__", ".venv", ".DS_Store"];

const MAX_FILES: usize = 4_096;
const MAX_DEPTH: usize = 10;
/// A larger file cannot be locked by its content in a reasonable time.
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// The files below a skill's folder.
#[derive(Debug)]
pub(crate) struct SkillTree {
    pub files: Vec<SkillFile>,
    pub hash: ContentHash,
    pub stamps: FolderStamps,
    pub findings: Vec<SkillFinding>,
}

/// A file of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SkillFile {
    /// Relative to the skill's folder, with `/`.
    pub path: String,
    pub bytes: u64,
    pub hash: ContentHash,
    pub kind: FileKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum FileKind {
    Plain,
    /// The operating system may run it.
    Executable,
    /// Not read: the path of what it points to is hashed instead.
    Link,
}

#[derive(Debug, thiserror::Error)]
pub enum TreeError {
    #[error("cannot read {}: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("it has more than {MAX_FILES} files; a skill is a few files, so move the others out")]
    TooManyFiles,
}

/// What one look into a folder showed.
#[derive(Debug)]
pub(crate) struct FolderListing {
    pub path: PathBuf,
    pub stamp: FileStamp,
    pub entries: Vec<TreeEntry>,
    /// Entries whose names are no text: they cannot be shown, listed or locked.
    pub unnamed: usize,
}

#[derive(Debug)]
pub(crate) struct TreeEntry {
    pub name: String,
    pub kind: EntryKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryKind {
    Dir,
    File,
    Link,
    /// A pipe, socket or device: opening one may never end.
    Special,
}

impl From<FolderEntryKind> for EntryKind {
    fn from(kind: FolderEntryKind) -> Self {
        match kind {
            FolderEntryKind::Folder => Self::Dir,
            FolderEntryKind::File => Self::File,
            FolderEntryKind::Link => Self::Link,
            FolderEntryKind::Other => Self::Special,
        }
    }
}

impl FolderListing {
    /// Looks into a folder; entries come in the order of their names.
    pub(crate) fn read(path: PathBuf) -> io::Result<Self> {
        let folder = HeldFolder::open(&path)?;
        let stamp = folder.stamp_of(Path::new(""))?;
        let mut entries = Vec::new();
        let mut unnamed = 0;
        for entry in folder.into_entries()? {
            match entry.name.into_string() {
                Ok(name) => entries.push(TreeEntry {
                    name,
                    kind: entry.kind.into(),
                }),
                Err(_) => unnamed += 1,
            }
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Self {
            path,
            stamp,
            entries,
            unnamed,
        })
    }

    pub(crate) fn find(&self, name: &str) -> Option<&TreeEntry> {
        self.entries.iter().find(|entry| entry.name == name)
    }
}

/// Reads the tree below a folder. `known` is a file whose bytes are at hand already.
pub(crate) fn read(
    listing: &FolderListing,
    known: &KnownFile<'_>,
    stamps: FolderStamps,
    now: SystemTime,
) -> Result<SkillTree, TreeError> {
    let root = listing.path.clone();
    let mut reading = Reading {
        root: &root,
        known,
        files: Vec::new(),
        findings: Vec::new(),
        stamps,
        now,
    };
    reading.folder(listing, 0)?;
    reading.files.sort_by(|a, b| a.path.cmp(&b.path));
    let hash = hash_of(&reading.files);
    Ok(SkillTree {
        files: reading.files,
        hash,
        stamps: reading.stamps,
        findings: reading.findings,
    })
}

/// The hash of a skill: of the names, kinds and contents of all its files.
pub(crate) fn hash_of(files: &[SkillFile]) -> ContentHash {
    let mut bytes = Vec::with_capacity(files.len() * 80);
    for file in files {
        bytes.push(match file.kind {
            FileKind::Plain => b'-',
            FileKind::Executable => b'x',
            FileKind::Link => b'l',
        });
        bytes.extend_from_slice(file.hash.as_bytes());
        // The length before the name keeps one file from posing as two.
        bytes.extend_from_slice(&(file.path.len() as u64).to_le_bytes());
        bytes.extend_from_slice(file.path.as_bytes());
    }
    ContentHash::of(bytes)
}

/// A file that was read before its tree.
pub(crate) struct KnownFile<'a> {
    pub name: &'a str,
    pub hash: ContentHash,
    pub stamp: FileStamp,
    pub mode: u32,
}

struct Reading<'a> {
    root: &'a Path,
    known: &'a KnownFile<'a>,
    files: Vec<SkillFile>,
    findings: Vec<SkillFinding>,
    stamps: FolderStamps,
    now: SystemTime,
}

impl Reading<'_> {
    fn folder(&mut self, listing: &FolderListing, depth: usize) -> Result<(), TreeError> {
        self.stamps.note(&listing.path, listing.stamp, self.now);
        for entry in &listing.entries {
            if GENERATED.contains(&entry.name.as_str()) {
                continue;
            }
            if self.files.len() >= MAX_FILES {
                return Err(TreeError::TooManyFiles);
            }
            let path = listing.path.join(&entry.name);
            match entry.kind {
                EntryKind::Dir if depth >= MAX_DEPTH => {
                    let finding = SkillFinding::warning(
                        "too-deep",
                        "this folder is nested too deep and was not read",
                    );
                    self.findings.push(finding.in_file(self.relative(&path)));
                }
                EntryKind::Dir => {
                    let inner = FolderListing::read(path.clone())
                        .map_err(|source| unreadable(&path, source))?;
                    self.folder(&inner, depth + 1)?;
                }
                EntryKind::File => self.file(&path, depth)?,
                EntryKind::Link => self.link(&path)?,
                EntryKind::Special => {
                    let finding = SkillFinding::warning(
                        "special-file",
                        "a pipe, socket or device does not belong in a skill",
                    );
                    self.findings.push(finding.in_file(self.relative(&path)));
                }
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, depth: usize) -> Result<(), TreeError> {
        let relative = self.relative(path);
        let (stamp, mode, hash) = if depth == 0 && relative == self.known.name {
            (self.known.stamp, self.known.mode, self.known.hash)
        } else {
            let content =
                read_file(path, MAX_FILE_BYTES).map_err(|source| unreadable(path, source))?;
            (content.stamp, content.mode, ContentHash::of(&content.bytes))
        };
        self.stamps.note(path, stamp, self.now);
        let kind = if mode & 0o111 == 0 {
            FileKind::Plain
        } else {
            FileKind::Executable
        };
        self.files.push(SkillFile {
            path: relative,
            bytes: stamp.bytes,
            hash,
            kind,
        });
        Ok(())
    }

    /// A link is locked by where it leads and never followed; where that is outside, it is told.
    fn link(&mut self, path: &Path) -> Result<(), TreeError> {
        let target = fs::read_link(path).map_err(|source| unreadable(path, source))?;
        let relative = self.relative(path);
        let inside = fs::canonicalize(path)
            .ok()
            .zip(fs::canonicalize(self.root).ok())
            .is_some_and(|(end, root)| end.starts_with(root));
        if !inside {
            let message = format!("links to {}, outside its folder", target.display());
            self.findings
                .push(SkillFinding::warning("link-outside", message).in_file(relative.clone()));
        }
        let hash = ContentHash::of(target.as_os_str().as_encoded_bytes());
        self.files.push(SkillFile {
            path: relative,
            bytes: 0,
            hash,
            kind: FileKind::Link,
        });
        Ok(())
    }

    fn relative(&self, path: &Path) -> String {
        path.strip_prefix(self.root)
            .unwrap_or(path)
            .display()
            .to_string()
    }
}

fn unreadable(path: &Path, source: io::Error) -> TreeError {
    TreeError::Unreadable {
        path: path.to_owned(),
        source,
    }
}

/// The bytes of a regular file with the stamp of the very version that was read.
#[derive(Debug)]
pub(crate) struct FileContent {
    pub bytes: Vec<u8>,
    pub stamp: FileStamp,
    pub mode: u32,
}

/// Reads a regular file of at most `limit` bytes; never waits for a pipe and follows no link.
pub(crate) fn read_file(path: &Path, limit: u64) -> io::Result<FileContent> {
    let mut file = open_plain(path, OpenOptions::new().read(true))?;
    read_open(&mut file, limit)
}

fn read_open(file: &mut File, limit: u64) -> io::Result<FileContent> {
    let metadata = file.metadata()?;
    if metadata.len() > limit {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            metadata.len().to_string(),
        ));
    }
    // Exactly as many bytes as there were: looking for more costs a further call for each of
    // thousands of files, and a file that grew meanwhile is noticed by its stamp.
    let size = usize::try_from(metadata.len()).unwrap_or(0);
    let mut bytes = vec![0; size];
    let mut filled = 0;
    while let Some(rest) = bytes.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read(rest)? {
            0 => break,
            read => filled += read,
        }
    }
    bytes.truncate(filled);
    Ok(FileContent {
        bytes,
        stamp: FileStamp::of(&metadata),
        mode: metadata.permission_bits(),
    })
}
