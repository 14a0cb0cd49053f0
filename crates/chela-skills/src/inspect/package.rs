//! All files of a package, read once: texts to look into, and remarks on what is none.

use std::fs;
use std::io;
use std::path::Path;

use chela_core::ContentHash;

use super::bytes::{FileContent, UnreadableReason, holds};
use crate::archive::{self, ArchiveEntry, ClosedArchive};
use crate::finding::SkillFinding;
use crate::skill::Skill;
use crate::tree::FileKind;
use crate::tree::{self, EntryKind, FolderListing, GENERATED};

/// A text larger than this is not written for anyone to read.
const MAX_TEXT_BYTES: u64 = 1024 * 1024;
/// Pictures and archives may be larger.
const MAX_FILE_BYTES: u64 = 24 * 1024 * 1024;
const MAX_TOTAL_BYTES: u64 = 64 * 1024 * 1024;
const MAX_FILES: usize = 4_096;
const MAX_DEPTH: usize = 12;

/// The files of one skill, as far as they can be read.
#[derive(Debug, Default)]
pub struct SkillPackage {
    pub(super) name: String,
    /// Path and text.
    pub(super) texts: Vec<(String, String)>,
    pub(super) findings: Vec<SkillFinding>,
}

/// Whether a skill has been looked at before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PackageSight {
    /// Everything in the folder came with it.
    First,
    /// It has been in use: what tools left behind is theirs.
    Again,
}

impl SkillPackage {
    /// Reads a folder, whatever is in it; it need not be a usable skill.
    pub fn read(folder: &Path) -> Self {
        let mut reading = Reading::new(folder, PackageSight::First);
        reading.folder(folder, 0);
        reading.finish(folder)
    }

    /// Reads the folder of a skill. What is read must be what the skill was found to hold.
    pub(crate) fn of(skill: &Skill, sight: PackageSight) -> Self {
        let mut reading = Reading::new(&skill.folder, sight);
        reading.locked = Some(skill);
        reading.folder(&skill.folder, 0);
        let mut package = reading.finish(&skill.folder);
        package.name = skill.name.clone();
        package
    }

    /// A package of a single text, as data sets keep them.
    pub fn of_text(path: &str, text: &str) -> Self {
        let package = Self::of_files([(path, text.as_bytes())]);
        Self {
            name: written_name(text).unwrap_or_default(),
            ..package
        }
    }

    /// A package that lies nowhere: paths and what the files hold.
    pub fn of_files<'f>(files: impl IntoIterator<Item = (&'f str, &'f [u8])>) -> Self {
        let mut reading = Reading::new(Path::new(""), PackageSight::First);
        for (path, bytes) in files {
            reading.content(path, bytes, Layer::Outer);
        }
        reading.finish(Path::new(""))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layer {
    Outer,
    /// Inside an archive.
    Inner,
}

struct Reading<'a> {
    root: &'a Path,
    sight: PackageSight,
    locked: Option<&'a Skill>,
    package: SkillPackage,
    files: usize,
    bytes: u64,
}

impl<'a> Reading<'a> {
    fn new(root: &'a Path, sight: PackageSight) -> Self {
        Self {
            root,
            sight,
            locked: None,
            package: SkillPackage::default(),
            files: 0,
            bytes: 0,
        }
    }

    fn finish(mut self, folder: &Path) -> SkillPackage {
        if let Some(skill) = self.locked {
            let found = skill
                .files
                .iter()
                .filter(|file| file.kind != FileKind::Link)
                .count();
            if found > self.files {
                let message = "a file disappeared while the folder was read";
                self.package
                    .findings
                    .push(SkillFinding::error("changed-while-read", message));
            }
        }
        let of_text = self
            .package
            .texts
            .iter()
            .find(|(path, _)| path.eq_ignore_ascii_case(crate::SKILL_FILE));
        let folder_name = folder
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        self.package.name = of_text
            .and_then(|(_, text)| written_name(text))
            .unwrap_or_else(|| folder_name.to_owned());
        self.package
    }

    fn folder(&mut self, path: &Path, depth: usize) {
        let listing = match FolderListing::read(path.to_owned()) {
            Ok(listing) => listing,
            Err(error) => return self.unread(path, &error),
        };
        if depth > MAX_DEPTH {
            return self.remark(
                path,
                SkillFinding::error("too-deep", "is nested too deep to be scanned"),
            );
        }
        if listing.unnamed > 0 {
            self.remark(
                path,
                SkillFinding::error(
                    "unnamed-file",
                    "contains a file whose name is not text, so it can be neither shown nor pinned",
                ),
            );
        }
        for entry in &listing.entries {
            let inner = path.join(&entry.name);
            if GENERATED.contains(&entry.name.as_str()) && !self.enters(&entry.name, &inner) {
                continue;
            }
            match entry.kind {
                EntryKind::Dir => self.folder(&inner, depth + 1),
                EntryKind::File => self.file(&inner),
                EntryKind::Link => self.link(&inner),
                EntryKind::Special => {
                    self.remark(
                        &inner,
                        SkillFinding::error(
                            "special-file",
                            "is a pipe, socket or device, which no skill needs",
                        ),
                    );
                }
            }
        }
    }

    /// Folders that tools fill: a package that is seen for the first time brings their contents
    /// itself, and Python runs what lies in `__pycache__` instead of the source beside it.
    fn enters(&mut self, name: &str, path: &Path) -> bool {
        match name {
            ".DS_Store" => false,
            ".git" => {
                self.git_hooks(path);
                false
            }
            _ => self.sight == PackageSight::First,
        }
    }

    fn git_hooks(&mut self, git: &Path) {
        let folder = git.join("hooks");
        let hooks = match FolderListing::read(folder.clone()) {
            Ok(hooks) => hooks,
            // Git runs nothing there.
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
                ) =>
            {
                return;
            }
            Err(error) => return self.unread(&folder, &error),
        };
        for entry in hooks
            .entries
            .iter()
            .filter(|entry| !entry.name.ends_with(".sample"))
        {
            let finding = SkillFinding::error(
                "git-hook",
                "is run by git automatically at the next commit or checkout",
            );
            self.remark(&hooks.path.join(&entry.name), finding);
        }
    }

    fn link(&mut self, path: &Path) {
        let end = fs::canonicalize(path)
            .ok()
            .zip(fs::canonicalize(self.root).ok());
        if !end.is_some_and(|(end, root)| end.starts_with(root)) {
            self.remark(
                path,
                SkillFinding::error("link-outside", "is a link to outside the skill's folder"),
            );
        }
    }

    fn file(&mut self, path: &Path) {
        self.files += 1;
        if self.files > MAX_FILES || self.bytes > MAX_TOTAL_BYTES {
            if self.files == MAX_FILES + 1 {
                self.remark(
                    path,
                    SkillFinding::error(
                        "oversize",
                        "and others were not read: the package is too large",
                    ),
                );
            }
            return;
        }
        let content = match tree::read_file(path, MAX_FILE_BYTES) {
            Ok(content) => content,
            Err(error) => return self.unread(path, &error),
        };
        self.bytes += content.bytes.len() as u64;
        let relative = self.relative(path);
        if let Some(skill) = self.locked {
            let file = skill.files.iter().find(|file| file.path == relative);
            let same = file.is_none_or(|file| file.hash == ContentHash::of(&content.bytes));
            let generated = GENERATED
                .iter()
                .any(|name| relative.split('/').any(|part| part == *name));
            if !same || (file.is_none() && !generated) {
                self.remark(
                    path,
                    SkillFinding::error("changed-while-read", "changed while it was read"),
                );
            }
        }
        self.content(&relative, &content.bytes, Layer::Outer);
    }

    fn content(&mut self, path: &str, bytes: &[u8], layer: Layer) {
        let finding = match holds(path, bytes) {
            FileContent::Text(_) if bytes.len() as u64 > MAX_TEXT_BYTES => SkillFinding::error(
                "oversize",
                format!("has {} bytes, too many to scan", bytes.len()),
            ),
            FileContent::Text(text) => {
                self.package.texts.push((path.to_owned(), text));
                return;
            }
            FileContent::Media => return,
            FileContent::Document => SkillFinding::warning(
                "document",
                "is a document that cannot be scanned; a model may be told to read it",
            ),
            FileContent::Gzip if layer == Layer::Outer => match archive::gunzip(bytes) {
                Ok(inner) => {
                    let name = path.trim_end_matches(".gz");
                    let name = name
                        .strip_suffix(".tgz")
                        .map_or(name.to_owned(), |stem| format!("{stem}.tar"));
                    return match holds(&name, &inner) {
                        FileContent::Tar => self.entries(path, archive::tar(&inner)),
                        _ => self.content(&format!("{path}!/{name}"), &inner, Layer::Inner),
                    };
                }
                Err(closed) => closed_finding(closed),
            },
            FileContent::Zip if layer == Layer::Outer => {
                return self.entries(path, archive::zip(bytes));
            }
            FileContent::Tar if layer == Layer::Outer => {
                return self.entries(path, archive::tar(bytes));
            }
            FileContent::Zip | FileContent::Gzip | FileContent::Tar => {
                SkillFinding::error("nested-archive", "is an archive inside an archive")
            }
            FileContent::Unreadable(UnreadableReason::Bytecode)
                if self.is_left_behind(path, bytes) =>
            {
                SkillFinding::note(
                    "bytecode",
                    "was compiled by Python from the source beside it",
                )
            }
            FileContent::Unreadable(why) => SkillFinding::error(why.code(), why.words()),
        };
        self.package.findings.push(finding.in_file(path));
    }

    fn entries(&mut self, path: &str, entries: Result<Vec<ArchiveEntry>, ClosedArchive>) {
        match entries {
            Err(closed) => self
                .package
                .findings
                .push(closed_finding(closed).in_file(path)),
            Ok(entries) => {
                for entry in entries {
                    self.content(
                        &format!("{path}!/{}", entry.path),
                        &entry.bytes,
                        Layer::Inner,
                    );
                }
            }
        }
    }

    /// Whether compiled Python is what running the skill leaves behind: in its usual place, named
    /// and stamped like the source beside it. A first look believes no such stamp.
    fn is_left_behind(&self, path: &str, bytes: &[u8]) -> bool {
        let Some((folder, name)) = path
            .rsplit_once("__pycache__/")
            .filter(|_| self.sight == PackageSight::Again)
        else {
            return false;
        };
        let stem = name.split('.').next().unwrap_or_default();
        let source = self.root.join(folder).join(format!("{stem}.py"));
        let field = |at: usize| {
            bytes
                .get(at..at + 4)?
                .try_into()
                .ok()
                .map(u32::from_le_bytes)
        };
        let Ok(metadata) = fs::metadata(source) else {
            return false;
        };
        let modified = metadata
            .modified()
            .ok()
            .and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
        // Flags of 0: checked against time and size of the source whenever it is loaded.
        let stamped = modified.map(|since| since.as_secs() & 0xffff_ffff);
        field(4) == Some(0)
            && field(8).map(u64::from) == stamped
            && field(12).map(u64::from) == Some(metadata.len() & 0xffff_ffff)
    }

    fn unread(&mut self, path: &Path, error: &io::Error) {
        let finding = if error.kind() == io::ErrorKind::FileTooLarge {
            SkillFinding::error("oversize", format!("has {error} bytes, too many to scan"))
        } else {
            SkillFinding::error("unread", format!("could not be scanned: {error}"))
        };
        self.remark(path, finding);
    }

    fn remark(&mut self, path: &Path, finding: SkillFinding) {
        let relative = self.relative(path);
        self.package.findings.push(finding.in_file(relative));
    }

    fn relative(&self, path: &Path) -> String {
        path.strip_prefix(self.root)
            .unwrap_or(path)
            .display()
            .to_string()
    }
}

fn closed_finding(closed: ClosedArchive) -> SkillFinding {
    match closed {
        ClosedArchive::Locked => SkillFinding::error(
            "locked-archive",
            "is a password-protected archive, which cannot be scanned",
        ),
        ClosedArchive::TooLarge => {
            SkillFinding::error("oversize", "unpacks to more than can be scanned")
        }
        ClosedArchive::Broken => {
            SkillFinding::error("unreadable-archive", UnreadableReason::Archive.words())
        }
    }
}

/// The name in the head of a SKILL.md.
fn written_name(text: &str) -> Option<String> {
    let front = crate::front_matter::read(text.as_bytes()).ok()?;
    front.front.name.filter(|name| !name.is_empty())
}
