//! The files that say what an agent may do, watched around a command.
//!
//! In a sandbox they are out of reach. Outside a command runs as the owner's user and can write
//! them past every check, so what it changed there is put back and told. What the owner changes
//! meanwhile with Chela, in another terminal, stays: that process says so itself, and its ancestors
//! say whose it is. Changes that go on in the background are not seen here.

use std::path::{Path, PathBuf};

use crate::caller_tokens::CallerTokens;
use crate::work_folders::FolderGrants;
use chela_core::Host;
use chela_files::{FileMode, WriteWitness, write_file};
use chela_ledger::installation_key_file;
use chela_mcp::McpRecord;
use chela_sandbox::may_come_from_command;
use chela_tools::approvals::ApprovalsDocument;
use chela_workspace::trust::TrustRecords;

/// A file of this size is none of these.
const MOST_BYTES: u64 = 16 << 20;

/// What the files held before a command.
pub(super) struct AuthorityFiles {
    host: Host,
    before: Vec<(PathBuf, Option<Vec<u8>>)>,
    /// Hears what the owner writes meanwhile.
    witness: Option<WriteWitness>,
}

impl AuthorityFiles {
    pub(super) fn look(host: Host) -> Self {
        let files = [
            host.config_file(),
            host.state_dir().join(".env"),
            ApprovalsDocument::path(&host),
            FolderGrants::path(&host),
            TrustRecords::path(&host),
            McpRecord::path(&host),
            CallerTokens::path(&host),
            installation_key_file(&host),
        ];
        // From before the first look: what is written between the two is heard.
        let judged = host.clone();
        let is_owner = Box::new(move |pid| !may_come_from_command(&judged, pid));
        let witness = WriteWitness::listen(&host.state_dir(), files.to_vec(), is_owner);
        let before = files.into_iter().map(|file| {
            let held = read(&file);
            (file, held)
        });
        let before = before.collect();
        Self {
            host,
            before,
            witness,
        }
    }

    pub(super) fn host(&self) -> Host {
        self.host.clone()
    }

    /// Puts back what changed meanwhile and was changed neither by this program nor by the owner
    /// with it. Gives what the owner is to hear.
    pub(super) fn settle(self) -> Vec<String> {
        let approvals = ApprovalsDocument::path(&self.host);
        let key = installation_key_file(&self.host);
        let mut told = Vec::new();
        for (file, before) in self.before {
            let by_owner = self
                .witness
                .as_ref()
                .and_then(|witness| witness.last_written(&file));
            let before = by_owner.or(before);
            let now = read(&file);
            if now == before
                || (file == approvals && is_harmless(before.as_deref(), now.as_deref()))
                // Whoever needs the key first makes it.
                || (file == key && before.is_none())
            {
                continue;
            }
            tracing::warn!(file = %file.display(), "a file of the guard changed while a command ran");
            told.push(put_back(
                &self.host,
                &file,
                before.as_deref(),
                now.as_deref(),
            ));
        }
        told
    }
}

/// Whether the approvals document changed by an answer given here, or without allowing anything.
fn is_harmless(before: Option<&[u8]>, now: Option<&[u8]>) -> bool {
    now.is_some_and(ApprovalsDocument::was_written_here)
        || ApprovalsDocument::allows_the_same(before, now)
}

fn put_back(host: &Host, file: &Path, before: Option<&[u8]>, now: Option<&[u8]>) -> String {
    let name = host.compact(file);
    let mut aside = file.as_os_str().to_owned();
    aside.push(".from-command");
    let aside = PathBuf::from(aside);
    let kept = now.map(|text| write_file(&aside, text, FileMode::Private));
    let kept = match kept {
        Some(Ok(())) => format!(" The changed text is in {}.", host.compact(&aside)),
        Some(Err(error)) => format!(" The changed text is lost: {error}."),
        None => String::new(),
    };
    let back = match before {
        Some(text) => write_file(file, text, FileMode::Private).map_err(|error| error.to_string()),
        None => std::fs::remove_file(file).map_err(|error| error.to_string()),
    };
    match back {
        Ok(()) => format!(
            "{name} changed while a command of the agent ran, so it was restored.{kept} If the \
             change was yours, make it again now."
        ),
        Err(error) => format!(
            "{name} changed while a command of the agent ran and could not be restored \
             ({error}): check it before you continue.{kept}"
        ),
    }
}

fn read(file: &Path) -> Option<Vec<u8>> {
    let found = file.metadata().ok()?;
    (found.is_file() && found.len() <= MOST_BYTES)
        .then(|| std::fs::read(file).ok())
        .flatten()
}
