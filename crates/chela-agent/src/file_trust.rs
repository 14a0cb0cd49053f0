//! How far the text of a file is trusted, and who answers for it.
//!
//! One answer for everybody who reads files: the file tools, memory, commands, the notes a session
//! begins with. A file is the agent's own when a record says who wrote this very version; whatever
//! no record speaks of is foreign.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use chela_core::{ContentHash, Trust, ok_or_warn};
use chela_files::ReadVersion;
use chela_memory::source::TrustCeiling;
use chela_session::journal::{
    FileJournal, JournalError, LookedAtFile, LookedAtTree, TreeEntry, TreeEntryKind,
};
use chela_store::OwnVersion;
use chela_tools::place::TrustOf;
use chela_workspace::custody::Custody;

/// What is known about who wrote the files.
#[derive(Debug, Clone, Default)]
pub struct FileTrust {
    /// Of every agent: workspaces may be shared.
    pub journals: Vec<Arc<FileJournal>>,
    /// Who wrote the files that shape each agent.
    pub custodies: Vec<Arc<Custody>>,
}

/// Who answers for a file as it is, and how that is known.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileAnswer {
    /// A turn that had read nothing foreign wrote it, a command that could reach nothing foreign
    /// did, or the owner said yes to it.
    Journal(OwnVersion),
    /// It is as the record of the files that shape an agent has it.
    Custody(Trust),
    /// `guard.trust` takes what anybody writes there.
    Policy,
    /// A name Chela itself gives.
    Chela,
    Nobody(ForeignReason),
}

/// Why nobody answers for a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ForeignReason {
    /// It was written after foreign text had been read.
    WrittenTainted,
    /// It shapes the agent, and it is not the version on record.
    NotOnRecord,
    /// No record speaks of it as it is.
    Unknown,
    /// The records cannot be read.
    Unreadable,
}

/// Folders of a workspace whose names are Chela's own.
const OWN_FOLDERS: [&str; 5] = ["memory", "skills", "hooks", ".agents", ".git"];
/// Files that are not known by their stamp are read; so many at most for one look at a tree.
const MOST_READ: usize = 512;

impl FileTrust {
    /// The most a file may be trusted that somebody else answers for: a skill. What was written
    /// after foreign text had been read is foreign all the same, and so is everything while nobody
    /// can say.
    pub fn ceiling(&self, path: &Path) -> Trust {
        self.ceiling_of_version(path, None)
    }

    /// The same of the version that was read, where one was.
    pub fn ceiling_of_version(&self, path: &Path, read: Option<&ReadVersion>) -> Trust {
        let real = path.canonicalize();
        let path = real.as_deref().unwrap_or(path);
        match self.is_marked_foreign(path, read) {
            true => Trust::External,
            false => self.by_custody(path, read).unwrap_or(Trust::Operator),
        }
    }

    /// How far a file is trusted, by its real path: as the agent's own, or not at all.
    pub fn trust_of_file(&self, path: &Path) -> Trust {
        self.trust_of_version(path, None)
    }

    /// The same of the version that was read, where one was: another may lie there by now.
    pub fn trust_of_version(&self, path: &Path, read: Option<&ReadVersion>) -> Trust {
        match self.answer_for_version(path, read) {
            FileAnswer::Nobody(_) => Trust::External,
            FileAnswer::Custody(trust) => trust.min(Trust::Agent),
            FileAnswer::Journal(_) | FileAnswer::Policy | FileAnswer::Chela => Trust::Agent,
        }
    }

    /// Who answers for a file as it is.
    pub fn answer_for(&self, path: &Path) -> FileAnswer {
        self.answer_for_version(path, None)
    }

    fn answer_for_version(&self, path: &Path, read: Option<&ReadVersion>) -> FileAnswer {
        if self.is_marked_foreign(path, read) {
            return FileAnswer::Nobody(ForeignReason::WrittenTainted);
        }
        match self.by_custody(path, read) {
            Some(trust) if trust < Trust::Agent => {
                return match self.by_journal(path, read) {
                    Ok(Some(version)) if !self.shapes_an_agent(path) => {
                        FileAnswer::Journal(version)
                    }
                    _ => FileAnswer::Nobody(ForeignReason::NotOnRecord),
                };
            }
            Some(trust) => return FileAnswer::Custody(trust),
            None => {}
        }
        match self.by_journal(path, read) {
            Ok(Some(version)) => FileAnswer::Journal(version),
            Ok(None) if self.is_own_folder(path) => FileAnswer::Chela,
            Ok(None) if self.takes_anything(path) => FileAnswer::Policy,
            Ok(None) => FileAnswer::Nobody(ForeignReason::Unknown),
            Err(error) => {
                tracing::warn!(%error, path = %path.display(), "who wrote a file cannot be told: it counts as foreign");
                FileAnswer::Nobody(ForeignReason::Unreadable)
            }
        }
    }

    fn is_marked_foreign(&self, path: &Path, read: Option<&ReadVersion>) -> bool {
        let foreign = |journal: &Arc<FileJournal>| {
            let is_foreign = match read {
                Some(read) => journal.is_foreign_version(path, read),
                None => journal.is_foreign(path),
            };
            ok_or_warn!(is_foreign, "who wrote a file cannot be told: it counts as foreign", path = %path.display())
                .unwrap_or(true)
        };
        self.journals.iter().any(foreign)
    }

    fn custodies_over<'c>(&'c self, path: &'c Path) -> impl Iterator<Item = &'c Arc<Custody>> {
        let here = |custody: &&Arc<Custody>| path.starts_with(custody.root());
        self.custodies.iter().filter(here)
    }

    /// What the record of the files that shape agents says; `None` where it has no say.
    fn by_custody(&self, path: &Path, read: Option<&ReadVersion>) -> Option<Trust> {
        let hash = read.and_then(|read| read.hash);
        let said = self
            .custodies_over(path)
            .filter_map(|custody| custody.ceiling_of_version(path, hash));
        said.reduce(Trust::join)
    }

    fn shapes_an_agent(&self, path: &Path) -> bool {
        self.custodies_over(path)
            .any(|custody| custody.kind(path).is_some())
    }

    fn by_journal(
        &self,
        path: &Path,
        read: Option<&ReadVersion>,
    ) -> Result<Option<OwnVersion>, JournalError> {
        for journal in &self.journals {
            let author = match read {
                Some(read) => journal.author_of_version(path, read)?,
                None => journal.author_of(path)?,
            };
            if let Some(version) = author {
                return Ok(Some(version));
            }
        }
        Ok(None)
    }

    /// Folders Chela itself names, and those that hold a file on record.
    fn is_own_folder(&self, path: &Path) -> bool {
        path.is_dir()
            && self.custodies_over(path).any(|custody| {
                let inside = path.strip_prefix(custody.root()).ok();
                let name = inside.and_then(Path::to_str);
                name.is_some_and(|name| name.is_empty() || OWN_FOLDERS.contains(&name))
                    || custody
                        .records()
                        .files()
                        .any(|(file, entry)| entry.trusted.is_some() && file.starts_with(path))
            })
    }

    fn takes_anything(&self, path: &Path) -> bool {
        let mut custodies = self.custodies_over(path).peekable();
        custodies.peek().is_some() && custodies.all(|custody| custody.takes_anything(path))
    }

    /// Something in a tree that nobody answers for; `None` where somebody does for all of it. Only
    /// what is not known by its stamp is read, and the stamp is noted then.
    pub fn foreign_in_tree(&self, root: &Path, tree: &LookedAtTree) -> Option<PathBuf> {
        if tree.cut {
            return Some(root.to_owned());
        }
        if let Some(checkout) = tree.checkouts.iter().find(|folder| *folder != root) {
            return Some(checkout.join(".git"));
        }
        let repository = root.join(".git");
        if tree.checkouts.iter().any(|folder| folder == root) && has_fetched(&repository) {
            return Some(repository);
        }
        let mut known: HashMap<PathBuf, Vec<(usize, OwnVersion)>> = HashMap::new();
        for (at, journal) in self.journals.iter().enumerate() {
            let marked = journal
                .foreign_files()
                .and_then(|foreign| Ok((foreign, journal.own_below(root)?)));
            let Some((foreign, own)) = ok_or_warn!(
                marked,
                "who wrote a tree cannot be told: it counts as foreign"
            ) else {
                return Some(root.to_owned());
            };
            let mut foreign = foreign.into_iter();
            if let Some(path) = foreign.find(|path| path.starts_with(root) && path.exists()) {
                return Some(path);
            }
            for (path, version) in own {
                known.entry(path).or_default().push((at, version));
            }
        }
        // Whoever wrote into a folder knew its name.
        let folders: HashSet<&Path> = known
            .keys()
            .flat_map(|path| path.ancestors().take_while(|folder| *folder != root))
            .collect();
        let mut stamped: Vec<Vec<(LookedAtFile, OwnVersion)>> =
            vec![Vec::new(); self.journals.len()];
        let mut read = 0;
        let mut is_own = |entry: &TreeEntry| {
            let versions = known
                .get(&entry.path)
                .map(Vec::as_slice)
                .unwrap_or_default();
            let stamp = entry.stamp.to_string();
            if versions.iter().any(|(_, version)| version.stamp == stamp) {
                return true;
            }
            if entry.kind == TreeEntryKind::Folder {
                return self.is_own_folder(&entry.path)
                    || folders.contains(entry.path.as_path())
                    || self.takes_anything(&entry.path);
            }
            read += 1;
            if read > MOST_READ {
                return false;
            }
            match hash_of(entry).and_then(|hash| {
                versions
                    .iter()
                    .find(|(_, version)| version.hash == Some(*hash.as_bytes()))
                    .map(|found| (hash, found))
            }) {
                Some((hash, (journal, version))) => {
                    if let Some(stamped) = stamped.get_mut(*journal) {
                        let file = LookedAtFile {
                            path: entry.path.clone(),
                            stamp: entry.stamp,
                            hash: Some(hash),
                        };
                        stamped.push((file, version.clone()));
                    }
                    true
                }
                None => self.trust_of_file(&entry.path) >= Trust::Agent,
            }
        };
        let foreign = tree.entries.iter().find(|entry| !is_own(entry));
        let foreign = foreign.map(|entry| entry.path.clone());
        for (journal, files) in self.journals.iter().zip(stamped) {
            ok_or_warn!(
                journal.note_stamps(files),
                "a tree is looked through again the next time"
            );
        }
        foreign
    }

    /// The owner stands for a file as it is. Says whether it was foreign.
    pub fn vouch(&self, path: &Path) -> Result<bool, JournalError> {
        let mut was_foreign = false;
        for journal in &self.journals {
            was_foreign |= journal.vouch(path)?;
        }
        Ok(was_foreign)
    }

    /// How far files are trusted, for the file tools.
    pub fn for_tools(&self) -> TrustOf {
        let known = self.clone();
        Arc::new(move |path, read| known.trust_of_version(path, read))
    }

    /// The same, for memory.
    pub fn for_memory(&self) -> TrustCeiling {
        let known = self.clone();
        TrustCeiling::new(move |path, read| known.trust_at_version(path, read))
    }

    /// How far a file is trusted, by a path that may lead through links. What somebody wrote who is
    /// trusted further than the agent stays theirs.
    pub fn trust_at(&self, path: &Path) -> Trust {
        self.trust_at_version(path, None)
    }

    /// The same of the version that was read, where one was.
    pub fn trust_at_version(&self, path: &Path, read: Option<&ReadVersion>) -> Trust {
        let real = path.canonicalize();
        let path = real.as_deref().unwrap_or(path);
        match self.answer_for_version(path, read) {
            FileAnswer::Nobody(_) => Trust::External,
            FileAnswer::Custody(trust) => trust,
            FileAnswer::Journal(_) | FileAnswer::Policy | FileAnswer::Chela => Trust::Operator,
        }
    }
}

/// Whether a repository holds what somebody else committed: something was fetched into it, or it
/// borrows from another.
fn has_fetched(repository: &Path) -> bool {
    let is_there = |name: &str| repository.join(name).symlink_metadata().is_ok();
    let has_remotes = std::fs::read_dir(repository.join("refs/remotes"))
        .is_ok_and(|mut remotes| remotes.next().is_some());
    let packed = std::fs::read_to_string(repository.join("packed-refs"));
    !repository.is_dir()
        || has_remotes
        || is_there("FETCH_HEAD")
        || is_there("objects/info/alternates")
        || packed.is_ok_and(|packed| packed.contains("refs/remotes/"))
}

fn hash_of(entry: &TreeEntry) -> Option<ContentHash> {
    if entry.kind != TreeEntryKind::File || entry.stamp.bytes > chela_tools::MOST_FILE_BYTES {
        return None;
    }
    std::fs::read(&entry.path).ok().map(ContentHash::of)
}
