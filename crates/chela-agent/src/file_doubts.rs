//! Which files were written after text from outside was read, for whoever asks whether a yes still
//! covers what would run.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use chela_core::ok_or_warn;
use chela_files::FileFacts as _;
use chela_memory::note::is_session_note;
use chela_session::journal::FileJournal;
use chela_tools::approvals::FolderDoubts;

/// What the journal knows of the files of an agent.
#[derive(Debug)]
pub(crate) struct JournalDoubts {
    pub journal: Arc<FileJournal>,
    /// The agent's folder, links resolved.
    pub workspace: PathBuf,
}

impl FolderDoubts for JournalDoubts {
    fn written_since(&self, folder: &Path, since: u64) -> Option<PathBuf> {
        let files = ok_or_warn!(
            self.journal.foreign_files(),
            "the journal cannot be read, so no standing yes holds"
        );
        // What cannot be read is no proof that there is nothing.
        let Some(files) = files else {
            return Some(folder.to_owned());
        };
        files.into_iter().find(|file| {
            file.starts_with(folder) && changed_after(file, since) && !self.is_plain_note(file)
        })
    }
}

impl JournalDoubts {
    /// The note Chela writes at the end of a session is read as text, whatever was said in it: no
    /// program runs it or takes it for its settings.
    fn is_plain_note(&self, file: &Path) -> bool {
        let is_plain = |found: std::fs::Metadata| found.is_file() && !found.is_executable();
        is_session_note(&self.workspace, file) && file.symlink_metadata().is_ok_and(is_plain)
    }
}

/// By the time the system keeps, which whoever owns the file cannot set back. A file that is gone
/// is read by nobody.
fn changed_after(file: &Path, since: u64) -> bool {
    file.symlink_metadata()
        .is_ok_and(|found| u64::try_from(found.stamp().changed / 1_000_000).unwrap_or(0) >= since)
}
