//! The file tools: read, write, edit, apply_patch, grep, find, ls, image.

mod change;
mod edit;
mod find;
mod grep;
mod image;
mod ls;
mod masked;
mod near;
mod patch;
mod read;
mod shown_file;
mod text;
mod tree;
mod write;

use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use chela_core::secret::Redactor;
use chela_core::suggest::nearest;
use chela_core::{Entropy, Trust, grouped, lock};
use chela_files::{LockFile, PathLocks};

use crate::blocking::BlockingJob;
use crate::place::{EntryKind, FilePlaces, OpenPlace, PlaceAccess, PlaceError};
use crate::{
    CallTarget, ChangeId, ChangeJournal, Effect, FileChange, FilePreview, OutputBound, Tool,
    ToolOutput,
};

/// Whether a model can look at pictures.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ImageInput {
    Yes,
    #[default]
    No,
}

pub use image::picture_mime;
pub use patch::PatchedText;
pub(crate) use patch::patch_text;

/// Largest picture sent to a model, unless the config says otherwise.
pub(crate) const MOST_IMAGE_BYTES: u64 = 6 * 1024 * 1024;
/// Files larger than this are read in pieces, never changed.
pub const MOST_FILE_BYTES: u64 = 16 * 1024 * 1024;

/// What the file tools share.
#[derive(Clone)]
pub(crate) struct FileTools {
    pub(crate) places: Arc<FilePlaces>,
    /// Where `apply_patch` may go: as far, or less.
    pub(crate) patch_places: Arc<FilePlaces>,
    pub(crate) bound: Arc<OutputBound>,
    pub(crate) entropy: Arc<dyn Entropy>,
    pub(crate) images: ImageInput,
    pub(crate) most_image_bytes: u64,
    /// `None`: changes cannot be taken back, and nobody expects it.
    pub(crate) journal: Option<Arc<dyn ChangeJournal>>,
    /// Files are seen without their secrets.
    pub(crate) redactor: Arc<Redactor>,
    /// Keep other sessions away from a file while it is changed.
    pub(crate) locks: PathLocks,
}

/// How often a change is made anew because something that knows no locks, such as an editor,
/// saved the file meanwhile.
const MOST_TRIES: usize = 5;

pub(crate) fn tools(files: &Arc<FileTools>) -> Vec<Arc<dyn Tool>> {
    vec![
        read::tool(files),
        write::tool(files),
        edit::tool(files),
        patch::tool(files),
        grep::tool(files),
        find::tool(files),
        ls::tool(files),
    ]
}

pub(crate) fn image_tool(files: &Arc<FileTools>) -> Arc<dyn Tool> {
    image::tool(files)
}

/// What the updates and additions of a patch would make of a text: foreign bytes end to end, for
/// fuzzing.
#[doc(hidden)]
pub fn patched(patch: &str, text: &str) -> Vec<String> {
    patch::read_and_apply(patch, text)
}

/// Where a file that was found really is.
fn real_path(found: Result<OpenPlace, PlaceError>) -> Vec<PathBuf> {
    found
        .map(|spot| spot.path().to_owned())
        .into_iter()
        .collect()
}

fn as_targets(paths: Vec<PathBuf>) -> Vec<CallTarget> {
    paths.into_iter().map(CallTarget::File).collect()
}

/// Notes what would be changed, and lets none of it happen: the tools change nothing that no
/// journal keeps.
#[derive(Default)]
struct Rehearsal(Mutex<Vec<FilePreview>>);

impl ChangeJournal for Rehearsal {
    fn before(&self, change: &FileChange<'_>) -> Result<ChangeId, String> {
        let mut seen = lock(&self.0);
        seen.push(FilePreview {
            path: change.path.to_owned(),
            before: change.before.map(<[u8]>::to_vec),
            after: change.after.map(<[u8]>::to_vec),
        });
        Err("this is a preview".to_owned())
    }

    fn not_made(&self, _: ChangeId) {}
}

impl FileTools {
    /// What a call would change. It runs over folders that are only imagined and a journal of its
    /// own that refuses every change, so nothing is written and nothing shared is touched.
    fn rehearse(&self, act: impl FnOnce(&Self)) -> Vec<FilePreview> {
        let rehearsal = Arc::new(Rehearsal::default());
        act(&Self {
            journal: Some(Arc::clone(&rehearsal) as Arc<dyn ChangeJournal>),
            ..self.imagined()
        });
        let mut seen = lock(&rehearsal.0);
        std::mem::take(&mut *seen)
    }

    /// The same over folders that are only imagined where they are missing.
    fn imagined(&self) -> Self {
        Self {
            places: Arc::new(self.places.imagined()),
            patch_places: Arc::new(self.patch_places.imagined()),
            ..self.clone()
        }
    }

    /// One file a call reads.
    fn file_target(&self, path: &str) -> Vec<CallTarget> {
        let found = self.places.locate(path, PlaceAccess::Read);
        let path = found.map(|spot| spot.path().to_owned());
        path.map(CallTarget::File).into_iter().collect()
    }

    /// A place a call looks through; the workspace unless it says otherwise.
    fn tree_target(&self, path: Option<&str>) -> Vec<CallTarget> {
        let found = self.places.locate(path.unwrap_or("."), PlaceAccess::Read);
        let path = found.map(|spot| spot.path().to_owned());
        path.map(CallTarget::Tree).into_iter().collect()
    }

    /// What writing there would be: files that shape the agent are not mere files.
    fn effect_at(&self, found: Result<OpenPlace, PlaceError>) -> Effect {
        let write = Effect::WriteReversible;
        match found {
            Ok(spot) => write.when_writing(&spot.path().to_string_lossy()),
            // It will be refused.
            Err(_) => write,
        }
    }

    /// Finds a file and keeps every other session away from it until the lock is dropped. What is
    /// found is as it is under the lock.
    fn hold(
        &self,
        given: &str,
        job: &BlockingJob,
        locate: impl Fn() -> Result<OpenPlace, PlaceError>,
    ) -> Result<(OpenPlace, Vec<LockFile>), ToolOutput> {
        let found = || locate().map_err(|error| self.refused(given, &error));
        let mut spot = found()?;
        for _ in 0..MOST_TRIES {
            let held = self
                .locks
                .hold([spot.path()])
                .map_err(|error| busy(spot.named(), &error.to_string()))?;
            let now = found()?;
            if now.path() == spot.path() {
                return match job.may_change(now.path()) {
                    true => Ok((now, held)),
                    false => Err(leads_elsewhere(&now)),
                };
            }
            spot = now;
        }
        Err(ToolOutput::failed(format!(
            "{} leads elsewhere each time it is looked at. Try again.",
            spot.named()
        )))
    }

    /// Keeps what a change replaces. A change that could not be taken back is refused.
    fn keep(&self, shown: &str, change: &FileChange<'_>) -> Result<Option<ChangeId>, ToolOutput> {
        match &self.journal {
            Some(journal) if change.before != change.after => {
                journal.before(change).map(Some).map_err(|why| {
                    ToolOutput::failed(format!(
                        "{shown} was not changed, because the change could not be taken back later: {why}"
                    ))
                })
            }
            _ => Ok(None),
        }
    }

    /// Says that a change came to nothing.
    fn not_made(&self, change: Option<ChangeId>) {
        if let (Some(journal), Some(change)) = (&self.journal, change) {
            journal.not_made(change);
        }
    }

    /// Says that a path cannot be used; a missing file comes with the name that was meant.
    fn refused(&self, given: &str, error: &PlaceError) -> ToolOutput {
        let hint = match error {
            PlaceError::Missing { .. } => self.meant(given),
            _ => None,
        };
        match (hint, error) {
            (Some(MeantName::Own(meant)), _) => {
                ToolOutput::failed(format!("{error} Did you mean `{meant}`?"))
            }
            (Some(MeantName::Foreign), _) => {
                ToolOutput::failed(format!("{error} Call ls: there is a name much like it."))
            }
            (None, PlaceError::IsFolder { .. }) => {
                ToolOutput::failed(format!("{error} Call ls to see what is in it."))
            }
            (None, error) => ToolOutput::failed(error.to_string()),
        }
    }

    /// The entry nearest to a path that does not exist. A name somebody else chose is text from
    /// outside, and nothing the program says by itself.
    fn meant(&self, given: &str) -> Option<MeantName> {
        const MOST: usize = 2_000;
        let given = given.trim().trim_end_matches('/');
        let (folder, name) = match given.rsplit_once('/') {
            Some((folder, name)) => (if folder.is_empty() { "/" } else { folder }, name),
            None => (".", given),
        };
        let spot = self.places.locate(folder, PlaceAccess::Read).ok()?;
        let (entries, _) = spot.entries(MOST).ok()?;
        let names: Vec<String> = entries
            .into_iter()
            .filter(|entry| entry.kind != EntryKind::Other)
            .filter_map(|entry| entry.name.into_string().ok())
            .collect();
        let near = nearest(name, names.iter().map(String::as_str))?;
        if spot.trust_of(&spot.path().join(near)) < Trust::Agent {
            return Some(MeantName::Foreign);
        }
        Some(MeantName::Own(match folder {
            "." => near.to_owned(),
            folder => format!("{}/{near}", folder.trim_end_matches('/')),
        }))
    }
}

/// The name that was meant where there is none of the one that was given.
enum MeantName {
    Own(String),
    /// Nobody answers for it.
    Foreign,
}

/// Says that a path no longer leads to the file the call was allowed to change.
fn leads_elsewhere(spot: &OpenPlace) -> ToolOutput {
    tracing::warn!(path = %spot.path().display(), "a call would change a file it was not judged for");
    ToolOutput::failed(format!(
        "{} was not changed: it leads elsewhere now than when the call was allowed, because something replaced it or a folder above it meanwhile. Look where it leads, then try again.",
        spot.named()
    ))
}

/// Says that a file cannot be had.
fn busy(shown: &str, why: &str) -> ToolOutput {
    ToolOutput::failed(format!(
        "{shown} was not changed: another session is changing it ({why}). Nothing was lost; try again."
    ))
}

/// Says that a file changed faster than it could be changed.
fn keeps_changing(shown: &str) -> ToolOutput {
    ToolOutput::failed(format!(
        "{shown} was not changed: something else saved it again each time, {MOST_TRIES} times in a row. Read it, then try again."
    ))
}

/// `1 line`, `2,000 lines`.
fn counted(number: usize, one: &str, many: &str) -> String {
    match number {
        1 => format!("1 {one}"),
        number => format!("{} {many}", grouped(number)),
    }
}

#[cfg(test)]
mod tests;
