//! The files of a workspace that programs run by themselves, before and after a command.
//!
//! A file tool names what it writes and is asked about beforehand. A command writes what it likes,
//! so the workspace is looked through around it: whatever way leads to such a file, through folders
//! nobody keeps own files in, links, or a repository that was not there before.

mod names;
mod repository;
mod walk;

use std::collections::{BTreeMap, HashSet};
use std::ffi::OsString;
use std::fs::Metadata;
use std::path::{Path, PathBuf};

use chela_core::ok_or_warn;
use chela_files::{FileMode, FileStamp, RootedFolder};
use chela_guard::RunsWhen;
use chela_session::journal::FileJournal;

use names::OtherNames;
use walk::LookLimits;

/// Larger files are not kept to be put back.
const MOST_BYTES: u64 = 256 * 1024;
/// The end of the name of a file that was set aside.
const HELD: &str = "held";

/// The files of a workspace that programs run by themselves, as they were.
///
/// Commands may still run while these are looked at and set aside, and put links where folders
/// were: everything goes through descriptors of the folders one began with, and nothing outside of
/// those is read or renamed.
#[derive(Debug, Default)]
pub(crate) struct SelfRunningFiles {
    /// Where they were looked for: real paths, none inside another.
    roots: Vec<PathBuf>,
    files: BTreeMap<PathBuf, KnownFile>,
    /// There are more than were looked at.
    pub is_cut: bool,
}

#[derive(Debug)]
struct KnownFile {
    when: RunsWhen,
    /// Of itself, and of what it leads to.
    stamp: (FileStamp, Option<FileStamp>),
    /// What it held, where it might have to be put back.
    text: Option<Vec<u8>>,
    /// It is a config of git that says nothing but what a plain clone says.
    is_harmless: bool,
    /// The link that makes it one of these.
    via: Option<PathBuf>,
}

/// A file that was written while a command ran.
#[derive(Debug)]
pub(crate) struct WrittenFile {
    pub path: PathBuf,
    pub when: RunsWhen,
    /// What it held before.
    pub before: Option<Vec<u8>>,
    /// The folder it was found in, however deep.
    root: PathBuf,
}

impl SelfRunningFiles {
    pub(crate) fn look(folders: Vec<PathBuf>) -> Self {
        Self::look_within(real_roots(folders), LookLimits::USUAL)
    }

    /// The same with more time, where it takes that.
    pub(crate) fn look_far(folders: Vec<PathBuf>) -> Self {
        let near = Self::look(folders.clone());
        match near.is_cut {
            true => Self::look_within(real_roots(folders), LookLimits::WIDE),
            false => near,
        }
    }

    fn look_within(roots: Vec<PathBuf>, limits: LookLimits) -> Self {
        let (files, is_cut) = walk::look(&open_roots(&roots), limits);
        Self {
            roots,
            files,
            is_cut,
        }
    }

    /// What was written since, and how everything is now. A command that made more than can be
    /// looked through is given more time than the look before it had. `touched`: everything it
    /// wrote, where that is known: then nothing is too deep to be found.
    pub(crate) fn written(self, touched: Option<&HashSet<PathBuf>>) -> (Vec<WrittenFile>, Self) {
        let limits = match self.is_cut {
            true => LookLimits::USUAL,
            false => LookLimits::WIDE,
        };
        self.written_within(limits, touched)
    }

    fn written_within(
        mut self,
        limits: LookLimits,
        touched: Option<&HashSet<PathBuf>>,
    ) -> (Vec<WrittenFile>, Self) {
        let mut now = Self::look_within(std::mem::take(&mut self.roots), limits);
        if let Some(touched) = touched.filter(|_| now.is_cut) {
            let found = walk::look_at(&open_roots(&now.roots), touched);
            for (path, file) in found {
                now.files.entry(path).or_insert(file);
            }
            now.is_cut = false;
        }
        let mut written = Vec::new();
        let mut vias = Vec::new();
        for (path, file) in &now.files {
            let before = self.files.remove(path);
            let is_same = before.as_ref().is_some_and(|was| was.stamp == file.stamp);
            // What was too deep to be seen before is nothing new.
            let is_old = self.is_cut && touched.is_some_and(|touched| !touched.contains(path));
            let is_nothing = is_same || is_old || file.is_harmless;
            let Some(root) = now.root_of(path).filter(|_| !is_nothing) else {
                continue;
            };
            vias.push(file.via.as_ref());
            written.push(WrittenFile {
                path: path.clone(),
                when: file.when,
                before: before.and_then(|before| before.text),
                root: root.to_owned(),
            });
        }
        // Behind a new link is what was there before: the link alone makes it run.
        let links: HashSet<PathBuf> = written.iter().map(|file| file.path.clone()).collect();
        let written = written.into_iter().zip(vias);
        let written = written
            .filter(|(_, via)| via.is_none_or(|via| !links.contains(via)))
            .map(|(file, _)| file)
            .collect();
        (written, now)
    }

    /// A file was set aside: it is gone, or as it was before.
    pub(crate) fn look_again(&mut self, path: &Path) {
        let Some(known) = self.files.remove(path) else {
            return;
        };
        let root = self.root_of(path).and_then(|root| {
            let inner = path.strip_prefix(root).ok()?;
            Some((RootedFolder::open(root).ok()?, inner))
        });
        if let Some((root, inner)) = root
            && let Some(now) = KnownFile::read(&root, inner, known.when)
        {
            self.files.insert(path.to_owned(), now);
        }
    }

    fn root_of(&self, path: &Path) -> Option<&Path> {
        let mut roots = self.roots.iter();
        roots
            .find(|root| path.starts_with(root))
            .map(PathBuf::as_path)
    }
}

/// The folders themselves, whatever links lead to them; what is inside another is looked at there.
fn real_roots(folders: Vec<PathBuf>) -> Vec<PathBuf> {
    let real = folders.into_iter().filter_map(|folder| {
        ok_or_warn!(
            folder.canonicalize(),
            "a folder is not looked through for files that programs run",
            path = %folder.display()
        )
    });
    let mut roots: Vec<PathBuf> = real.collect();
    roots.sort();
    roots.dedup_by(|inner, outer| inner.starts_with(outer));
    roots
}

fn open_roots(roots: &[PathBuf]) -> Vec<RootedFolder> {
    let open = |root: &PathBuf| {
        ok_or_warn!(
            RootedFolder::open(root),
            "a folder cannot be looked through for files that programs run",
            path = %root.display()
        )
    };
    roots.iter().filter_map(open).collect()
}

/// What files are to programs besides what their own paths say.
#[derive(Debug)]
pub(crate) struct SecondNature {
    /// The names by which links of these folders lead to them.
    pub names: OtherNames,
    /// They make a folder a repository, or change what one obeys.
    pub shapes_repository: bool,
}

impl SecondNature {
    /// Of files that are or will be there.
    pub(crate) fn of(files: &[PathBuf], folders: Vec<PathBuf>) -> Self {
        let roots = open_roots(&real_roots(folders));
        Self {
            names: OtherNames::of(&roots, files, LookLimits::USUAL),
            shapes_repository: names::shapes_repository(&roots, files),
        }
    }
}

impl KnownFile {
    fn read(root: &RootedFolder, inner: &Path, when: RunsWhen) -> Option<Self> {
        let found = root.metadata(inner).ok()?;
        let leads_to = match found.is_symlink() {
            true => root.path().join(inner).metadata().ok(),
            false => None,
        };
        let leads_to = leads_to.filter(Metadata::is_file);
        let keeps = when == RunsWhen::Opened && found.is_file();
        Some(Self {
            when,
            stamp: (FileStamp::of(&found), leads_to.as_ref().map(FileStamp::of)),
            text: keeps
                .then(|| root.read_plain(inner, MOST_BYTES).ok())
                .flatten(),
            is_harmless: false,
            via: None,
        })
    }
}

impl WrittenFile {
    /// Moves it to a name that nothing runs, and puts back what was there. Gives the name.
    pub(crate) fn set_aside(&self, journal: &FileJournal) -> Option<PathBuf> {
        let held = ok_or_warn!(
            self.rename_and_put_back(),
            "a file that programs run stays where a command wrote it",
            path = %self.path.display()
        );
        self.mark(held.as_ref().unwrap_or(&self.path), journal);
        held
    }

    /// It counts as foreign from now on.
    pub(crate) fn mark_foreign(&self, journal: &FileJournal) {
        self.mark(&self.path, journal);
    }

    /// What it holds now, for whoever is asked about it; of a link, where it leads.
    pub(crate) fn text_now(&self) -> Option<String> {
        let (root, inner) = self.place().ok()?;
        if root.metadata(&inner).ok()?.is_symlink() {
            let target = std::fs::read_link(&self.path).ok()?;
            return Some(format!("-> {}", target.display()));
        }
        let bytes = root.read_plain(&inner, MOST_BYTES).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn rename_and_put_back(&self) -> std::io::Result<PathBuf> {
        let (root, inner) = self.place()?;
        let mut name: OsString = inner.file_name().unwrap_or_default().to_owned();
        name.push(format!(".{HELD}"));
        root.rename(&inner, &name)?;
        if let Some(text) = &self.before {
            root.put(&inner, text, FileMode::KeepOrUsual)?;
        }
        Ok(self.path.with_file_name(name))
    }

    fn place(&self) -> std::io::Result<(RootedFolder, PathBuf)> {
        let inner = self.path.strip_prefix(&self.root);
        let inner = inner.map_err(|_| std::io::ErrorKind::InvalidInput)?;
        Ok((RootedFolder::open(&self.root)?, inner.to_owned()))
    }

    fn mark(&self, path: &Path, journal: &FileJournal) {
        ok_or_warn!(
            journal.mark_foreign(path),
            "a file a command wrote is not marked as foreign"
        );
    }
}

#[cfg(test)]
mod tests;
