//! The list of all files of a skill.

use std::collections::BTreeMap;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

use chela_core::ContentHash;
use serde::Serialize;

use super::{MANIFEST_FILE, SIGNATURE_FILE};
use crate::tree::{self, EntryKind, FileKind, FolderListing, SkillFile};

const FIRST_LINE: &str = "chela-skill-manifest 1";
const MAX_FILES: usize = 8_192;
const MAX_DEPTH: usize = 16;
const MAX_FILE_BYTES: u64 = 64 * 1024 * 1024;

/// Every file of a skill but the list itself and its signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillManifest {
    /// The skill this list is for: a signed list of one skill says nothing about another.
    pub name: String,
    files: BTreeMap<String, Listed>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Listed {
    hash: ContentHash,
    kind: FileKind,
}

/// Why there is no list.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    #[error("{} cannot be read: {source}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    #[error("{0} is a link; put the file itself there")]
    Link(String),
    #[error("{0} is a pipe, socket or device")]
    Special(String),
    #[error("{0} contains a file whose name is not plain text")]
    Name(String),
    #[error("there are more than {MAX_FILES} files, or they are nested too deep")]
    TooMany,
    #[error("line {line} is not valid")]
    Line { line: usize },
}

/// One thing that is not as it was signed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "what", content = "path", rename_all = "kebab-case")]
pub enum ManifestDifference {
    Changed(String),
    /// It can be run now, or no longer.
    Mode(String),
    Added(String),
    Removed(String),
}

impl fmt::Display for ManifestDifference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Changed(path) => write!(f, "{path} was changed"),
            Self::Mode(path) => write!(f, "{path} changed between text and program"),
            Self::Added(path) => write!(f, "{path} was added"),
            Self::Removed(path) => write!(f, "{path} was removed"),
        }
    }
}

impl SkillManifest {
    /// The list of files that were read and hashed already.
    pub(super) fn of(name: &str, files: &[SkillFile]) -> Self {
        let listed = |file: &SkillFile| {
            let listed = Listed {
                hash: file.hash,
                kind: file.kind,
            };
            (file.path.clone(), listed)
        };
        Self {
            name: name.to_owned(),
            files: files
                .iter()
                .filter(|file| !is_ours(&file.path))
                .map(listed)
                .collect(),
        }
    }

    /// Reads every file below a folder, but for what git keeps at its top.
    pub(super) fn read_folder(folder: &Path, name: &str) -> Result<Self, ManifestError> {
        let mut manifest = Self {
            name: name.to_owned(),
            files: BTreeMap::new(),
        };
        manifest.folder(folder, "", 0)?;
        Ok(manifest)
    }

    fn folder(&mut self, path: &Path, below: &str, depth: usize) -> Result<(), ManifestError> {
        let unreadable = |path: &Path| {
            let path = path.to_owned();
            move |source| ManifestError::Unreadable { path, source }
        };
        let listing = FolderListing::read(path.to_owned()).map_err(unreadable(path))?;
        if listing.unnamed > 0 {
            return Err(ManifestError::Name(below.to_owned()));
        }
        if depth > MAX_DEPTH {
            return Err(ManifestError::TooMany);
        }
        for entry in &listing.entries {
            let relative = format!("{below}{}", entry.name);
            let inner = path.join(&entry.name);
            match entry.kind {
                _ if is_ours(&relative) || relative == ".git" => {}
                _ if relative.contains(['\n', '\r']) => {
                    return Err(ManifestError::Name(below.to_owned()));
                }
                EntryKind::Dir => self.folder(&inner, &format!("{relative}/"), depth + 1)?,
                EntryKind::Link => return Err(ManifestError::Link(relative)),
                EntryKind::Special => return Err(ManifestError::Special(relative)),
                EntryKind::File => {
                    let content =
                        tree::read_file(&inner, MAX_FILE_BYTES).map_err(unreadable(&inner))?;
                    let kind = if content.mode & 0o111 == 0 {
                        FileKind::Plain
                    } else {
                        FileKind::Executable
                    };
                    let hash = ContentHash::of(&content.bytes);
                    self.files.insert(relative, Listed { hash, kind });
                    if self.files.len() > MAX_FILES {
                        return Err(ManifestError::TooMany);
                    }
                }
            }
        }
        Ok(())
    }

    pub(super) fn parse(text: &str) -> Result<Self, ManifestError> {
        let at = |line: usize| ManifestError::Line { line };
        let mut lines = text.lines().enumerate();
        lines
            .next()
            .filter(|(_, line)| *line == FIRST_LINE)
            .ok_or_else(|| at(1))?;
        let name = lines
            .next()
            .and_then(|(_, line)| line.strip_prefix("name "))
            .ok_or_else(|| at(2))?;
        let mut files = BTreeMap::new();
        for (number, line) in lines {
            let listed = Self::parse_line(line).ok_or_else(|| at(number + 1))?;
            if files.insert(listed.0, listed.1).is_some() || files.len() > MAX_FILES {
                return Err(at(number + 1));
            }
        }
        Ok(Self {
            name: name.to_owned(),
            files,
        })
    }

    /// `<hash> x path` or `<hash> - path`.
    fn parse_line(line: &str) -> Option<(String, Listed)> {
        let hash = ContentHash::from_hex(line.get(..64)?)?;
        let kind = match line.get(64..67)? {
            " - " => FileKind::Plain,
            " x " => FileKind::Executable,
            _ => return None,
        };
        let path = line.get(67..)?;
        let odd = path.is_empty()
            || path.starts_with('/')
            || path.split('/').any(|part| matches!(part, "" | "." | ".."));
        (!odd).then(|| (path.to_owned(), Listed { hash, kind }))
    }

    /// How what was found differs from this list.
    pub(super) fn differences(&self, found: &Self) -> Vec<ManifestDifference> {
        let mut all = Vec::new();
        for (path, signed) in &self.files {
            match found.files.get(path) {
                None => all.push(ManifestDifference::Removed(path.clone())),
                Some(now) if now.hash != signed.hash => {
                    all.push(ManifestDifference::Changed(path.clone()))
                }
                Some(now) if now.kind != signed.kind => {
                    all.push(ManifestDifference::Mode(path.clone()))
                }
                Some(_) => {}
            }
        }
        let added = found
            .files
            .keys()
            .filter(|path| !self.files.contains_key(*path));
        all.extend(added.map(|path| ManifestDifference::Added(path.clone())));
        all
    }

    pub(super) fn len(&self) -> usize {
        self.files.len()
    }
}

impl fmt::Display for SkillManifest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{FIRST_LINE}\nname {}", self.name)?;
        for (path, listed) in &self.files {
            let kind = if listed.kind == FileKind::Executable {
                'x'
            } else {
                '-'
            };
            writeln!(f, "{} {kind} {path}", listed.hash)?;
        }
        Ok(())
    }
}

fn is_ours(path: &str) -> bool {
    path == MANIFEST_FILE || path == SIGNATURE_FILE
}
