//! The files memory is made of.

mod conversations;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use chela_core::{Audience, Host, Trust};
use chela_files::{ReadVersion, read_version_at};
use globset::{GlobBuilder, GlobMatcher};

use crate::day::OwnerZone;
use crate::front;
use crate::settings::{ExtraPath, MemorySettings, SourceKind};
use crate::transcript::{self, SessionPage, TranscriptSource};

/// Larger files are no notes; they are named in the report and left out.
pub const LARGEST_FILE: u64 = 16 * 1024 * 1024;

/// What notes are written in. Anything else in their folder is named and left out.
const NOTE_ENDINGS: [&str; 4] = ["md", "markdown", "txt", "org"];
/// So many of those left out are named.
const MOST_NAMED: usize = 3;

const LINKED_NOTES: &str = "memory is a link that leads out of the workspace, so nothing in it is read: if you put it there, name the folder it leads to in `agents.defaults.memorySearch.extraPaths`, or move the notes into the workspace";

/// A file that belongs to memory, as found on disk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFile {
    /// As shown and cited: relative to the workspace where it lies in it.
    pub label: String,
    pub path: PathBuf,
    pub source: FileSource,
    pub size: u64,
    /// Nanoseconds since 1970; 0 where the file system does not say.
    pub modified: i64,
    pub trust: Trust,
    pub audience: Audience,
    /// The stretch of a conversation it is, when it is no file.
    pub page: Option<SessionPage>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileSource {
    Memory,
    Extra,
    Sessions,
}

impl FileSource {
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Extra => "extra",
            Self::Sessions => "sessions",
        }
    }
}

/// What a look at the disk found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FoundFiles {
    /// By label.
    pub files: BTreeMap<String, FoundFile>,
    /// What was left out or could not be read, for the owner.
    pub problems: Vec<String>,
    /// Folders that could not be listed: what the index knows of them stays.
    pub unreadable: Vec<String>,
}

impl FoundFiles {
    /// Whether a label lies in a folder that could not be listed.
    pub(crate) fn is_away(&self, label: &str) -> bool {
        self.unreadable.iter().any(|folder| {
            folder.is_empty()
                || label
                    .strip_prefix(folder.as_str())
                    .is_some_and(|rest| rest.starts_with('/'))
        })
    }
}

/// The most a file may be trusted, by its path: where text written down in bad company lies, only
/// whoever watched it being written can say.
#[derive(Clone, Default)]
pub struct TrustCeiling(Option<Arc<TrustOfPath>>);

type TrustOfPath = dyn Fn(&Path, Option<&ReadVersion>) -> Trust + Send + Sync;

impl TrustCeiling {
    pub fn new(of: impl Fn(&Path, Option<&ReadVersion>) -> Trust + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(of)))
    }

    pub fn of(&self, path: &Path) -> Trust {
        self.0.as_ref().map_or(Trust::Operator, |of| of(path, None))
    }

    /// Of the version that was read: another may lie there by now.
    pub fn of_read(&self, path: &Path, read: &ReadVersion) -> Trust {
        let of = self.0.as_ref();
        of.map_or(Trust::Operator, |of| of(path, Some(read)))
    }
}

impl std::fmt::Debug for TrustCeiling {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self.0 {
            Some(_) => "Ceiling(by file)",
            None => "Ceiling(none)",
        })
    }
}

/// Where an agent's memory lies, and where its owner is.
#[derive(Debug, Clone, Default)]
pub struct MemoryPlaces {
    pub workspace: PathBuf,
    /// Folder of session transcripts (`*.jsonl`), when they may be searched.
    pub sessions: Option<PathBuf>,
    /// How far its files may be trusted at most.
    pub ceiling: TrustCeiling,
    /// Whose days count.
    pub zone: OwnerZone,
}

/// Lists every file that belongs to memory.
pub fn find(host: &Host, places: &MemoryPlaces, settings: &MemorySettings) -> FoundFiles {
    let mut found = FoundFiles::default();
    if settings.sources.contains(&SourceKind::Memory) {
        core_files(&mut found, places);
        let notes = places.workspace.join("memory");
        if notes.is_dir() && !inside(&notes, &places.workspace) {
            // A command may have put the link there: what it leads to is not the agent's.
            found.problems.push(LINKED_NOTES.to_owned());
        } else if notes.is_dir() {
            let mut walk = Walk {
                found: &mut found,
                places,
                root: &notes,
                source: FileSource::Memory,
                matcher: None,
                left_out: Vec::new(),
            };
            walk.folder(&notes, 0);
            let left_out = std::mem::take(&mut walk.left_out);
            found.problems.extend(told_left_out(left_out));
        }
        for extra in &settings.extra_paths {
            extra_path(&mut found, host, places, extra);
        }
    }
    if settings.sources.contains(&SourceKind::Sessions)
        && let Some(sessions) = &places.sessions
        && sessions.is_dir()
    {
        let matcher = glob("*.jsonl").ok();
        let mut walk = Walk {
            found: &mut found,
            places,
            root: sessions,
            source: FileSource::Sessions,
            matcher,
            left_out: Vec::new(),
        };
        walk.folder(sessions, 0);
    }
    found
}

/// The bytes of a file, or of a stretch of a conversation.
pub(crate) fn content(
    file: &FoundFile,
    transcripts: Option<&dyn TranscriptSource>,
) -> Result<(Vec<u8>, Option<ReadVersion>), String> {
    match (&file.page, transcripts) {
        (Some(page), Some(transcripts)) => {
            let bytes = transcript::read_page(transcripts, page);
            bytes
                .map(|bytes| (bytes, None))
                .map_err(|error| error.to_string())
        }
        _ => match read_version_at(&file.path, LARGEST_FILE + 1) {
            Ok((bytes, version)) => Ok((bytes, Some(version))),
            Err(error) => Err(error.to_string()),
        },
    }
}

/// MEMORY.md, memory.md when it is another file, USER.md.
fn core_files(found: &mut FoundFiles, places: &MemoryPlaces) {
    for name in ["MEMORY.md", "memory.md", "USER.md"] {
        let path = places.workspace.join(name);
        let same = name == "memory.md"
            && found
                .files
                .get("MEMORY.md")
                .is_some_and(|first| same_file(&first.path, &path));
        if path.is_file() && !same && inside(&path, &places.workspace) {
            add(found, places, &path, FileSource::Memory);
        }
    }
}

fn extra_path(found: &mut FoundFiles, host: &Host, places: &MemoryPlaces, extra: &ExtraPath) {
    let is_glob = extra.path.contains(['*', '?', '[', '{']);
    let (base, pattern) = if is_glob {
        let cut = extra.path.find(['*', '?', '[', '{']).unwrap_or(0);
        let cut = extra
            .path
            .get(..cut)
            .unwrap_or_default()
            .rfind('/')
            .map_or(0, |at| at + 1);
        (
            extra.path.get(..cut).unwrap_or_default(),
            Some(extra.path.get(cut..).unwrap_or_default().to_owned()),
        )
    } else {
        (extra.path.as_str(), extra.pattern.clone())
    };
    let base = if base.is_empty() { "." } else { base };
    let root = host.expand_from(base, &places.workspace);
    let matcher = match pattern.as_deref().map(glob).transpose() {
        Ok(matcher) => matcher,
        Err(problem) => {
            found.problems.push(format!(
                "extraPaths: `{}` is not a valid pattern: {problem}",
                extra.path
            ));
            return;
        }
    };
    if is_symlink(&root) {
        found.problems.push(format!(
            "extraPaths: {} is a symbolic link; name the folder it points to",
            root.display()
        ));
    } else if root.is_file() {
        add(found, places, &root, FileSource::Extra);
    } else if root.is_dir() {
        let mut walk = Walk {
            found,
            places,
            root: &root,
            source: FileSource::Extra,
            matcher,
            left_out: Vec::new(),
        };
        walk.folder(&root, 0);
    } else {
        found.unreadable.push(label(places, &root));
        found.problems.push(format!(
            "extraPaths: {} does not exist; what was indexed stays searchable",
            root.display()
        ));
    }
}

fn glob(pattern: &str) -> Result<GlobMatcher, String> {
    GlobBuilder::new(pattern)
        .literal_separator(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|error| error.kind().to_string())
}

struct Walk<'a> {
    found: &'a mut FoundFiles,
    places: &'a MemoryPlaces,
    root: &'a Path,
    source: FileSource,
    matcher: Option<GlobMatcher>,
    /// Files that are no notes.
    left_out: Vec<String>,
}

/// Says which files of the folder of notes are not searched, and what would be.
fn told_left_out(mut files: Vec<String>) -> Option<String> {
    files.sort();
    let all = files.len();
    files.truncate(MOST_NAMED);
    let more = match all - files.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    (all > 0).then(|| {
        format!(
            "not searched, because they are no text: {}{more}; notes are .md, .markdown, .txt and .org files: \
             write down what matters of others in one",
            files.join(", ")
        )
    })
}

impl Walk<'_> {
    /// Symbolic links are not followed: what they point to has a name of its own.
    fn folder(&mut self, folder: &Path, depth: usize) {
        const DEEPEST: usize = 32;
        let entries = match std::fs::read_dir(folder) {
            Ok(entries) if depth <= DEEPEST => entries,
            Ok(_) => return,
            Err(error) => {
                self.found
                    .problems
                    .push(format!("{} cannot be listed: {error}", folder.display()));
                self.found.unreadable.push(label(self.places, folder));
                return;
            }
        };
        for entry in entries.flatten() {
            let (path, Ok(kind)) = (entry.path(), entry.file_type()) else {
                continue;
            };
            let hidden = entry.file_name().to_string_lossy().starts_with('.');
            if hidden || kind.is_symlink() {
                continue;
            }
            if kind.is_dir() && !(self.source == FileSource::Extra && is_made_by_tools(&path)) {
                self.folder(&path, depth + 1);
            } else if kind.is_file() && self.wanted(&path) {
                add(self.found, self.places, &path, self.source);
            } else if kind.is_file() && self.source == FileSource::Memory {
                self.left_out.push(label(self.places, &path));
            }
        }
    }

    fn wanted(&self, path: &Path) -> bool {
        match &self.matcher {
            Some(matcher) => path
                .strip_prefix(self.root)
                .is_ok_and(|path| matcher.is_match(path)),
            None if self.source == FileSource::Memory => is_note(path),
            None => path
                .extension()
                .is_some_and(|ext| ext.eq_ignore_ascii_case("md")),
        }
    }
}

/// Folders of what can be fetched or built again: nobody wrote down anything there.
fn is_made_by_tools(folder: &Path) -> bool {
    let named = folder
        .file_name()
        .is_some_and(|name| name == "node_modules" || name == "__pycache__");
    named || folder.join("CACHEDIR.TAG").is_file()
}

/// Whether the name of a file in `memory/` is that of a note.
pub fn is_note(path: &Path) -> bool {
    path.extension().is_some_and(|ext| {
        NOTE_ENDINGS
            .iter()
            .any(|ending| ext.eq_ignore_ascii_case(ending))
    })
}

fn add(found: &mut FoundFiles, places: &MemoryPlaces, path: &Path, source: FileSource) {
    let facts = match std::fs::metadata(path) {
        Ok(facts) => facts,
        Err(error) => {
            found
                .problems
                .push(format!("{} cannot be read: {error}", path.display()));
            return;
        }
    };
    let label = label(places, path);
    if facts.len() > LARGEST_FILE {
        found.problems.push(format!(
            "{label} is skipped: {} MB is more than the {} MB allowed for a note",
            facts.len() / 1_048_576,
            LARGEST_FILE / 1_048_576
        ));
        return;
    }
    let modified = facts
        .modified()
        .ok()
        .and_then(|time| time.duration_since(UNIX_EPOCH).ok())
        .map_or(0, |since| {
            i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
        });
    let trust = match source {
        // What the owner curates; the agent writes daily notes.
        FileSource::Memory if is_core(&label) => Trust::Owner,
        FileSource::Memory | FileSource::Sessions => Trust::Agent,
        FileSource::Extra => Trust::External,
    };
    let trust = trust.join(places.ceiling.of(path));
    found.files.entry(label.clone()).or_insert(FoundFile {
        label,
        path: path.to_owned(),
        source,
        size: facts.len(),
        modified,
        trust,
        audience: Audience::Private,
        page: None,
    });
}

/// Whether a file is one the owner curates.
pub fn is_core(label: &str) -> bool {
    matches!(label, "MEMORY.md" | "memory.md" | "USER.md")
}

/// Who may be shown a note: what it says of itself. The owner's own files are the owner's alone,
/// whatever they say.
pub fn audience_of(file: &FoundFile, text: &str) -> Audience {
    match (file.source, file.label.as_str()) {
        (FileSource::Sessions, _) => file.audience,
        (_, label) if is_core(label) => file.audience,
        _ => front::read(text).audience.unwrap_or(file.audience),
    }
}

/// How a file is named in results: relative to the workspace, with forward slashes.
pub fn label(places: &MemoryPlaces, path: &Path) -> String {
    let inside = path.strip_prefix(&places.workspace).ok();
    let shown = match (&places.sessions, inside) {
        (_, Some(inside)) => inside.display().to_string(),
        (Some(sessions), None) if path.starts_with(sessions) => {
            let inside = path.strip_prefix(sessions).unwrap_or(path);
            format!("sessions/{}", inside.display())
        }
        _ => path.display().to_string(),
    };
    shown.replace('\\', "/")
}

/// Whether a path, with every link followed, lies in a folder.
pub fn inside(path: &Path, folder: &Path) -> bool {
    match (path.canonicalize(), folder.canonicalize()) {
        (Ok(path), Ok(folder)) => path.starts_with(folder),
        _ => false,
    }
}

fn same_file(a: &Path, b: &Path) -> bool {
    matches!((a.canonicalize(), b.canonicalize()), (Ok(a), Ok(b)) if a == b)
}

fn is_symlink(path: &Path) -> bool {
    std::fs::symlink_metadata(path).is_ok_and(|facts| facts.is_symlink())
}

#[cfg(test)]
mod tests;
