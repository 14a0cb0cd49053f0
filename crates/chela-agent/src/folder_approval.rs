//! One yes of the owner's for a folder or a file, given after seeing what it holds.

use std::path::{Path, PathBuf};

use chela_core::{ContentHash, Host, Trust, grouped};
use chela_files::{FileStamp, read_version_at};
use chela_session::journal::{
    AnsweredBy, FileJournal, FileWriter, JournalError, LookedAtFile, TreeEntry, TreeEntryKind,
    look_at_tree,
};
use chela_workspace::CoreFile;
use chela_workspace::custody::Custody;
use chela_workspace::trust::{SuspicionLevel, TrustError, VersionWriter, WrittenVersion};
use serde_json::{Value, json};

use crate::file_trust::FileTrust;

/// In a larger folder nobody can say what a yes would cover.
const MOST_ENTRIES: usize = 200_000;
/// Files that are looked through for slipped-in instructions.
const MOST_SCANNED: usize = 2_000;
/// So many are named; the rest is counted.
const MOST_NAMED: usize = 12;

/// The records a yes goes into.
#[derive(Debug, Clone, Copy)]
pub struct ApprovalRecords<'a> {
    pub host: &'a Host,
    pub custody: &'a Custody,
    pub known: &'a FileTrust,
    /// Of the agent whose owner says yes.
    pub journal: &'a FileJournal,
}

/// A folder, or a file, as the owner is shown it.
#[derive(Debug)]
pub struct LookedAtFolder {
    root: PathBuf,
    pub shown: String,
    files: Vec<LookedAtFile>,
    count: usize,
    bytes: u64,
    foreign: usize,
    executables: Vec<String>,
    instructions: Vec<String>,
    /// What reads like an instruction that somebody slipped in, by file.
    found: Vec<(String, String)>,
    is_checkout: bool,
}

/// Why a folder cannot be answered for.
#[derive(Debug, thiserror::Error)]
pub enum FolderApprovalError {
    #[error(
        "{shown} is too large to review: it has more than {MOST_ENTRIES} files, or folders that \
            cannot be read; approve the folders in it that you need"
    )]
    TooMuch { shown: String },
    #[error("cannot look at {shown}: {source}")]
    Look {
        shown: String,
        source: std::io::Error,
    },
    #[error(transparent)]
    Journal(#[from] JournalError),
    #[error(transparent)]
    Trust(#[from] TrustError),
}

impl LookedAtFolder {
    /// `root` is a real path.
    pub fn at(records: ApprovalRecords<'_>, root: &Path) -> Result<Self, FolderApprovalError> {
        let shown = records.host.compact(root);
        let entries = entries_of(root, &shown)?;
        let mut looked = Self {
            root: root.to_owned(),
            shown,
            files: Vec::with_capacity(entries.len()),
            count: 0,
            bytes: 0,
            foreign: 0,
            executables: Vec::new(),
            instructions: Vec::new(),
            found: Vec::new(),
            is_checkout: root.join(".git").exists(),
        };
        let mut scanned = 0;
        for entry in &entries {
            looked.files.push(looked_at(entry));
            if entry.kind != TreeEntryKind::File {
                continue;
            }
            looked.count += 1;
            looked.bytes += entry.stamp.bytes;
            let is_foreign = records.known.trust_of_file(&entry.path) < Trust::Agent;
            looked.foreign += usize::from(is_foreign);
            let name = records.custody.shown(&entry.path);
            if entry.is_executable {
                looked.executables.push(name.clone());
            }
            if gives_instructions(&entry.path) {
                looked.instructions.push(name.clone());
            }
            if reads_as_text(&entry.path) && scanned < MOST_SCANNED {
                scanned += 1;
                looked.scan(records.custody, &entry.path, name);
            }
        }
        Ok(looked)
    }

    fn scan(&mut self, custody: &Custody, path: &Path, name: String) {
        let found = custody.look(path).and_then(|(judged, _)| judged.found);
        if let Some(found) = found.filter(|found| found.severity >= SuspicionLevel::Medium) {
            self.found.push((name, found.what));
        }
    }

    /// What the one file holds that was looked at, if it still is as it was looked at.
    pub fn text_of_file(&self) -> Option<String> {
        let [file] = self.files.as_slice() else {
            return None;
        };
        let (bytes, version) =
            read_version_at(&file.path, chela_tools::MOST_FILE_BYTES + 1).ok()?;
        let is_it = version.hash.is_some() && version.hash == file.hash;
        is_it.then(|| String::from_utf8_lossy(&bytes).into_owned())
    }

    /// What in it reads like an instruction that somebody slipped in.
    pub fn found_in_file(&self) -> impl Iterator<Item = &str> {
        self.found.iter().map(|(_, what)| what.as_str())
    }

    /// How many files a yes covers.
    pub fn count(&self) -> usize {
        self.count
    }

    /// What it holds, a line for each thing worth knowing.
    pub fn in_words(&self) -> Vec<String> {
        let mut lines = vec![format!(
            "{}: {} in {} bytes; {} of them not approved yet.",
            self.shown,
            match self.count {
                1 => "1 file".to_owned(),
                many => format!("{} files", grouped(many)),
            },
            grouped(usize::try_from(self.bytes).unwrap_or(usize::MAX)),
            grouped(self.foreign)
        )];
        for (what, names) in [
            ("Instructions for agents", &self.instructions),
            ("Executable", &self.executables),
        ] {
            if !names.is_empty() {
                lines.push(format!("{what}: {}.", named(names)));
            }
        }
        let found = self.found.iter().take(MOST_NAMED);
        lines.extend(found.map(|(name, what)| format!("Suspicious: {name}: {what}")));
        if self.found.len() > MOST_NAMED {
            let more = self.found.len() - MOST_NAMED;
            lines.push(format!("Suspicious: {more} more files."));
        }
        lines.push(
            "If you approve, its text and file names count as yours; later changes and \
            additions do not."
                .to_owned(),
        );
        lines
    }

    pub fn in_json(&self) -> Value {
        json!({
            "path": self.root,
            "files": self.count,
            "bytes": self.bytes,
            "foreign": self.foreign,
            "instructions": self.instructions,
            "executables": self.executables,
            "found": self.found,
            "checkout": self.is_checkout,
        })
    }

    /// Puts the owner's yes on record: for what was looked at, and for nothing that came since.
    pub fn approve(
        &self,
        records: ApprovalRecords<'_>,
        how: &str,
    ) -> Result<(), FolderApprovalError> {
        // What somebody's journal holds against a file is settled in that very journal.
        for journal in &records.known.journals {
            for path in journal.foreign_files()? {
                if path.starts_with(&self.root) {
                    journal.vouch(&path)?;
                }
            }
        }
        let by = AnsweredBy {
            writer: FileWriter::Owner,
            how,
            turn: "",
        };
        records.journal.note_own(&self.files, &by)?;
        self.record_persona(records.custody, how)?;
        if self.is_checkout || self.root == records.custody.root() {
            records.custody.take_for_own(&self.root)?;
        }
        Ok(())
    }

    /// The files that shape an agent have a record of their own.
    fn record_persona(&self, custody: &Custody, how: &str) -> Result<(), TrustError> {
        let on_record = custody.records();
        let shapes = |file: &&LookedAtFile| {
            custody.is_persona(&file.path) || on_record.entry(&file.path).is_some()
        };
        let texts: Vec<(&Path, Vec<u8>)> = self
            .files
            .iter()
            .filter(shapes)
            .filter_map(|file| {
                let bytes = std::fs::read(&file.path).ok()?;
                // What was shown is what is approved.
                (Some(ContentHash::of(&bytes)) == file.hash).then_some((file.path.as_path(), bytes))
            })
            .collect();
        let wrote: Vec<WrittenVersion<'_>> = texts
            .iter()
            .map(|(path, bytes)| WrittenVersion {
                path,
                bytes,
                writer: &VersionWriter::Owner,
                how,
                trust: Trust::Owner,
            })
            .collect();
        custody.record(&wrote)
    }
}

fn entries_of(root: &Path, shown: &str) -> Result<Vec<TreeEntry>, FolderApprovalError> {
    let look = |source| FolderApprovalError::Look {
        shown: shown.to_owned(),
        source,
    };
    let facts = root.symlink_metadata().map_err(look)?;
    if facts.is_file() {
        return Ok(vec![TreeEntry {
            path: root.to_owned(),
            stamp: FileStamp::of(&facts),
            is_executable: false,
            kind: TreeEntryKind::File,
        }]);
    }
    let tree = look_at_tree(root, MOST_ENTRIES);
    match tree.cut {
        true => Err(FolderApprovalError::TooMuch {
            shown: shown.to_owned(),
        }),
        false => Ok(tree.entries),
    }
}

fn looked_at(entry: &TreeEntry) -> LookedAtFile {
    let is_read =
        entry.kind == TreeEntryKind::File && entry.stamp.bytes <= chela_tools::MOST_FILE_BYTES;
    LookedAtFile {
        path: entry.path.clone(),
        stamp: entry.stamp,
        hash: match is_read {
            true => std::fs::read(&entry.path).ok().map(ContentHash::of),
            false => None,
        },
    }
}

fn gives_instructions(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(|name| name == "SKILL.md" || CoreFile::of(name).is_some())
}

fn reads_as_text(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    matches!(ending, Some("md" | "txt" | "rst" | "adoc" | "html" | "eml"))
}

fn named(names: &[String]) -> String {
    let mut shown: Vec<String> = names.iter().take(MOST_NAMED).cloned().collect();
    if names.len() > MOST_NAMED {
        shown.push(format!("{} more", names.len() - MOST_NAMED));
    }
    shown.join(", ")
}
