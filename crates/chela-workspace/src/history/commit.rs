//! Committing what changed in the core files, and only that.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};

use chela_core::{ok_or_debug, sanitize};

use super::{
    CommitAuthor, HistoryError, HistoryPause, HistorySnapshot, WorkspaceHistory, is_core_path,
    present_files,
};
use crate::core_file::CoreFile;
use crate::git::{CommitId, GitCall, GitError};

/// Arguments per call; far below what any system allows.
const BATCH: usize = 200;
const MOST_WHY: usize = 200;

/// What git knows about a path: mode and blob.
type Entry = (String, String);
type Entries = BTreeMap<String, Entry>;

impl WorkspaceHistory {
    /// Commits the core files that changed since the last commit, saying who and why.
    pub fn snapshot(&self, who: &CommitAuthor, why: &str) -> Result<HistorySnapshot, HistoryError> {
        if let Some(pause) = self.pause()? {
            tracing::debug!(%pause, "the history is not written now");
            return Ok(HistorySnapshot::Paused(pause));
        }
        let head = self.head()?;
        let before = match &head {
            Some(head) => self.tree_entries(head)?,
            None => Entries::new(),
        };
        let changes = self.changes(&before)?;
        if changes.is_empty() {
            return Ok(HistorySnapshot::Unchanged);
        }
        let tree = self.build_tree(head.as_ref(), &changes)?;
        let id = self.commit_tree(
            &tree,
            head.as_ref(),
            &Message {
                who,
                why,
                changes: &changes,
            },
        )?;
        let zero = "0".repeat(id.as_str().len());
        let old = head.as_ref().map_or(zero.as_str(), CommitId::as_str);
        let moved = self.line(&[
            "update-ref",
            "-m",
            "chela: snapshot",
            "HEAD",
            id.as_str(),
            old,
        ]);
        if let Err(error) = &moved
            && self.head()? != head
        {
            tracing::info!(%error, "someone else committed at the same moment");
            return Ok(HistorySnapshot::Paused(HistoryPause::Locked));
        }
        moved?;
        self.tell_index(&before, &changes)?;
        tracing::info!(commit = id.short(), by = %who, files = changes.len(), "the history has a new version");
        Ok(HistorySnapshot::Committed {
            id,
            files: changes.into_keys().collect(),
        })
    }

    /// The commit that is checked out; `None` in a repository without any.
    pub(super) fn head(&self) -> Result<Option<CommitId>, HistoryError> {
        let line = self.line_if_any(&["rev-parse", "--quiet", "--verify", "HEAD^{commit}"])?;
        Ok(line.as_deref().and_then(CommitId::parse))
    }

    fn pause(&self) -> Result<Option<HistoryPause>, HistoryError> {
        let under_way = [
            "MERGE_HEAD",
            "CHERRY_PICK_HEAD",
            "REVERT_HEAD",
            "BISECT_LOG",
            "rebase-merge",
            "rebase-apply",
        ];
        if under_way
            .iter()
            .any(|name| self.git_dir.join(name).exists())
        {
            return Ok(Some(HistoryPause::Operation));
        }
        if self.git_dir.join("index.lock").exists() {
            return Ok(Some(HistoryPause::Locked));
        }
        let branch = self.line_if_any(&["symbolic-ref", "--quiet", "HEAD"])?;
        Ok(branch.is_none().then_some(HistoryPause::DetachedHead))
    }

    /// The core files of a commit.
    pub(super) fn tree_entries(&self, commit: &CommitId) -> Result<Entries, HistoryError> {
        let mut args = vec!["ls-tree", "-r", "-z", commit.as_str(), "--"];
        args.extend(CoreFile::ALL.iter().map(|file| file.name()));
        args.push("memory/");
        let output = self.output(&args)?;
        Ok(entries(&output, |facts| {
            let (mode, rest) = facts.split_once(' ')?;
            let (kind, blob) = rest.split_once(' ')?;
            (kind == "blob").then(|| (mode.to_owned(), blob.to_owned()))
        }))
    }

    /// What is to be committed: the new entry of each changed path, `None` for one that is gone.
    fn changes(&self, before: &Entries) -> Result<BTreeMap<String, Option<Entry>>, HistoryError> {
        let present = present_files(&self.dir);
        let blobs = self.store(&present)?;
        let mut changes = BTreeMap::new();
        let mut new = Vec::new();
        for (path, blob) in present.iter().zip(blobs) {
            let known = before.get(path);
            if known.is_some_and(|(_, old)| *old == blob) {
                continue;
            }
            if known.is_none() {
                new.push(path.clone());
            }
            let mode = match known {
                Some((mode, _)) if mode == "100755" => "100755",
                _ => "100644",
            };
            changes.insert(path.clone(), Some((mode.to_owned(), blob)));
        }
        for path in self.ignored(&new)? {
            changes.remove(&path);
        }
        for path in before.keys() {
            if std::fs::symlink_metadata(self.dir.join(path)).is_err() {
                changes.insert(path.clone(), None);
            }
        }
        Ok(changes)
    }

    /// Stores files as blobs, byte for byte: filters from the repository's config do not run.
    fn store(&self, paths: &[String]) -> Result<Vec<String>, HistoryError> {
        let mut blobs = Vec::with_capacity(paths.len());
        for batch in paths.chunks(BATCH) {
            let mut args = vec!["hash-object", "-w", "--no-filters", "--"];
            args.extend(batch.iter().map(String::as_str));
            blobs.extend(self.text(&args)?.lines().map(str::to_owned));
        }
        Ok(blobs)
    }

    /// Of files that git does not know yet, those the user told it to ignore.
    fn ignored(&self, paths: &[String]) -> Result<Vec<String>, HistoryError> {
        if paths.is_empty() {
            return Ok(Vec::new());
        }
        let call = GitCall {
            args: os(&["check-ignore", "-z", "--stdin"]),
            stdin: Some(paths.join("\0").into_bytes()),
            // It takes paths, not patterns, and refuses to be told so.
            env: vec![("GIT_LITERAL_PATHSPECS", "0".into())],
        };
        match self.git.run(call) {
            Ok(output) => Ok(parts(&output).collect()),
            Err(GitError::Status { code: Some(1), .. }) => Ok(Vec::new()),
            Err(error) => Err(super::failed(&self.dir, &os(&["check-ignore"]), error)),
        }
    }

    /// A tree like that of `head` with the changes in it, built in an index of its own.
    fn build_tree(
        &self,
        head: Option<&CommitId>,
        changes: &BTreeMap<String, Option<Entry>>,
    ) -> Result<String, HistoryError> {
        let index = ScratchIndex::in_folder(&self.git_dir);
        let env = || vec![("GIT_INDEX_FILE", OsString::from(&index.0))];
        let start = head.map_or("--empty", CommitId::as_str);
        self.call(GitCall {
            args: os(&["read-tree", start]),
            env: env(),
            stdin: None,
        })?;
        let stdin = Some(index_lines(changes.iter()));
        self.call(GitCall {
            args: os(&["update-index", "-z", "--index-info"]),
            env: env(),
            stdin,
        })?;
        let tree = self.call(GitCall {
            args: os(&["write-tree"]),
            env: env(),
            stdin: None,
        })?;
        Ok(String::from_utf8_lossy(&tree).trim().to_owned())
    }

    fn commit_tree(
        &self,
        tree: &str,
        head: Option<&CommitId>,
        message: &Message<'_>,
    ) -> Result<CommitId, HistoryError> {
        let mut args = vec!["commit-tree", tree];
        args.extend(head.iter().flat_map(|head| ["-p", head.as_str()]));
        let (name, email) = match message.who {
            CommitAuthor::Runtime => ("Chela".to_owned(), "chela@localhost".to_owned()),
            CommitAuthor::Owner => ("Owner".to_owned(), "owner@localhost".to_owned()),
            CommitAuthor::Agent(id) => (format!("Agent {id}"), format!("{id}@localhost")),
            CommitAuthor::Other(name) => (
                sanitize::literal(name).into_owned(),
                "other@localhost".to_owned(),
            ),
        };
        let date = format!("@{} +0000", self.host.unix_time());
        let env: Vec<(&'static str, OsString)> = vec![
            ("GIT_AUTHOR_NAME", name.into()),
            ("GIT_AUTHOR_EMAIL", email.into()),
            ("GIT_AUTHOR_DATE", date.clone().into()),
            ("GIT_COMMITTER_NAME", "Chela".into()),
            ("GIT_COMMITTER_EMAIL", "chela@localhost".into()),
            ("GIT_COMMITTER_DATE", date.into()),
        ];
        let stdin = Some(message.text().into_bytes());
        let output = self.call(GitCall {
            args: os(&args),
            env,
            stdin,
        })?;
        let line = String::from_utf8_lossy(&output);
        CommitId::parse(&line).ok_or_else(|| HistoryError::Failed {
            what: "commit-tree".to_owned(),
            dir: self.dir.clone(),
            complaint: format!("unexpected answer {line:?}"),
        })
    }

    /// Brings the user's index to the new commit for the committed paths; else their next commit
    /// would take the changes back. Where they had staged something else, that stays staged.
    fn tell_index(
        &self,
        before: &Entries,
        changes: &BTreeMap<String, Option<Entry>>,
    ) -> Result<(), HistoryError> {
        let mut args = vec!["ls-files", "--stage", "-z", "--"];
        args.extend(changes.keys().map(String::as_str));
        let output = self.output(&args)?;
        let staged = entries(&output, |facts| {
            let (mode, rest) = facts.split_once(' ')?;
            let (blob, stage) = rest.split_once(' ')?;
            (stage == "0").then(|| (mode.to_owned(), blob.to_owned()))
        });
        let is_untouched = |path: &String| staged.get(path) == before.get(path);
        let stdin = Some(index_lines(
            changes.iter().filter(|(path, _)| is_untouched(path)),
        ));
        let args = os(&["update-index", "-z", "--index-info"]);
        self.call(GitCall {
            args,
            stdin,
            ..GitCall::default()
        })
        .map(drop)
    }
}

struct Message<'a> {
    who: &'a CommitAuthor,
    why: &'a str,
    changes: &'a BTreeMap<String, Option<Entry>>,
}

impl Message<'_> {
    fn text(&self) -> String {
        let files: Vec<_> = self
            .changes
            .keys()
            .map(|path| sanitize::literal(path))
            .collect();
        let files = files.join(", ");
        let why: String = sanitize::literal(self.why)
            .trim()
            .chars()
            .take(MOST_WHY)
            .collect();
        let subject = if why.is_empty() {
            format!("Change {files}")
        } else {
            why
        };
        format!(
            "{subject}\n\nFiles: {files}\n\nChela-By: {}\n",
            sanitize::literal(&self.who.to_string())
        )
    }
}

/// An index file that goes away again.
struct ScratchIndex(PathBuf);

impl ScratchIndex {
    fn in_folder(git_dir: &std::path::Path) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(git_dir.join(format!("chela-index-{}-{number}", std::process::id())))
    }
}

impl Drop for ScratchIndex {
    fn drop(&mut self) {
        ok_or_debug!(
            std::fs::remove_file(&self.0),
            "an index of the history stays behind"
        );
    }
}

fn os<'a>(args: &[&'a str]) -> Vec<&'a OsStr> {
    args.iter().map(|arg| OsStr::new(*arg)).collect()
}

fn index_lines<'a>(changes: impl Iterator<Item = (&'a String, &'a Option<Entry>)>) -> Vec<u8> {
    let mut lines = String::new();
    for (path, entry) in changes {
        match entry {
            Some((mode, blob)) => lines.push_str(&format!("{mode} {blob} 0\t{path}\0")),
            None => lines.push_str(&format!("0 {}\t{path}\0", "0".repeat(40))),
        }
    }
    lines.into_bytes()
}

/// Parses `facts\tpath\0…`, keeping core files only.
fn entries(output: &[u8], read: impl Fn(&str) -> Option<Entry>) -> Entries {
    parts(output)
        .filter_map(|part| {
            let (facts, path) = part.split_once('\t')?;
            Some((path.to_owned(), read(facts)?)).filter(|(path, _)| is_core_path(path))
        })
        .collect()
}

fn parts(output: &[u8]) -> impl Iterator<Item = String> {
    let parts = output
        .split(|byte| *byte == 0)
        .filter(|part| !part.is_empty());
    parts.filter_map(|part| String::from_utf8(part.to_vec()).ok())
}
