//! The files that say what an agent may do, watched around a command.
//!
//! In a sandbox they are out of reach, and outside a fence keeps most commands from them
//! (`chela_sandbox::StateFence`). Where there is none a command runs as the owner's user and can
//! write them past every check, so what it changed there is put back and told. What the owner
//! changes meanwhile with Chela, in another terminal, stays: that process says so itself, and its
//! ancestors say whose it is. Changes that go on in the background are not seen here.

use std::path::{Path, PathBuf};

use crate::caller_tokens::CallerTokens;
use crate::work_folders::FolderGrants;
use chela_core::{Host, ok_or_warn};
use chela_files::{FileMode, WriteWitness, write_file};
use chela_ledger::installation_key_file;
use chela_mcp::McpRecord;
use chela_sandbox::may_come_from_command;
use chela_store::{RowsGuarded, SqliteRuntimeStore, block_on};
use chela_tools::approvals::{ApprovalsDocument, StateReach};
use chela_workspace::trust::TrustRecords;

/// A file of this size is none of these.
const MOST_BYTES: u64 = 16 << 20;

/// Whose files are watched, around what.
#[derive(Clone)]
pub(super) struct AuthorityAsk {
    pub(super) host: Host,
    pub(super) reach: StateReach,
}

/// What the files held before a command.
pub(super) struct AuthorityFiles {
    host: Host,
    reach: StateReach,
    before: Vec<(PathBuf, Option<Vec<u8>>)>,
    /// Where links lead that lead to the home: no fence holds a link.
    links: Vec<(PathBuf, PathBuf)>,
    queue: Option<QueueWatch>,
    /// Hears what the owner writes meanwhile.
    witness: Option<WriteWitness>,
}

impl AuthorityFiles {
    pub(super) fn look(host: Host, reach: StateReach) -> Self {
        let mut files = vec![
            host.config_file(),
            host.state_dir().join(".env"),
            ApprovalsDocument::path(&host),
            FolderGrants::path(&host),
            TrustRecords::path(&host),
            McpRecord::path(&host),
            CallerTokens::path(&host),
            installation_key_file(&host),
        ];
        if reach == StateReach::Kept {
            // A fence ends around a single file when somebody else replaces it.
            let home = host.state_dir();
            files.retain(|file| !file.starts_with(&home));
        }
        // From before the first look: what is written between the two is heard.
        let judged = host.clone();
        let is_owner = Box::new(move |pid| !may_come_from_command(&judged, pid));
        let witness = (!files.is_empty())
            .then(|| WriteWitness::listen(&host.state_dir(), files.clone(), is_owner))
            .flatten();
        let before = files.into_iter().map(|file| {
            let held = read(&file);
            (file, held)
        });
        let before = before.collect();
        let queue = match reach {
            StateReach::Kept => None,
            StateReach::Open => QueueWatch::begin(&host),
        };
        let links = [host.state_dir(), host.config_file()].into_iter();
        let links = links.filter_map(|path| {
            let target = std::fs::read_link(&path).ok()?;
            Some((path, target))
        });
        let links = links.collect();
        Self {
            host,
            reach,
            before,
            links,
            queue,
            witness,
        }
    }

    pub(super) fn ask(&self) -> AuthorityAsk {
        AuthorityAsk {
            host: self.host.clone(),
            reach: self.reach,
        }
    }

    /// Puts back what changed meanwhile and was changed neither by this program nor by the owner
    /// with it. Gives what the owner is to hear.
    pub(super) fn settle(self) -> Vec<String> {
        let approvals = ApprovalsDocument::path(&self.host);
        let key = installation_key_file(&self.host);
        // First of all: everything else is found by them.
        let changed = self.links.iter().filter(|(link, target)| {
            let now = std::fs::read_link(link);
            now.is_err() || now.is_ok_and(|now| now != *target)
        });
        let mut told: Vec<String> = changed
            .map(|(link, target)| put_link_back(&self.host, link, target))
            .collect();
        told.extend(self.queue.map_or_else(Vec::new, QueueWatch::settle));
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

/// The inbox, the outbox and the jobs: their rows speak for people and leave the machine.
struct QueueWatch {
    path: PathBuf,
    _guarded: RowsGuarded,
}

impl QueueWatch {
    fn begin(host: &Host) -> Option<Self> {
        let path = SqliteRuntimeStore::path_in(&host.state_dir());
        let judged = host.clone();
        let may_write = Box::new(move |pid| !may_come_from_command(&judged, pid));
        let guarded = match open_queue(&path) {
            Some(store) => {
                let guarded = block_on(store.guard_rows(may_write));
                ok_or_warn!(guarded, "what a command does to the queue is not seen")?
            }
            None => SqliteRuntimeStore::guard_absent(&path, may_write),
        };
        Some(Self {
            path,
            _guarded: guarded,
        })
    }

    /// Takes out what nobody of Chela's put in. Gives what the owner is to hear.
    fn settle(self) -> Vec<String> {
        // Anew: a command may have put another file there.
        let Some(store) = open_queue(&self.path) else {
            return Vec::new();
        };
        let refused = block_on(store.refuse_unknown());
        let refused = ok_or_warn!(refused, "the queue cannot be looked through");
        let refused = refused.into_iter().flatten();
        refused.map(|row| format!("{row}.")).collect()
    }
}

fn open_queue(path: &Path) -> Option<SqliteRuntimeStore> {
    let opened = SqliteRuntimeStore::open_existing(path);
    ok_or_warn!(opened, "what a command does to the queue is not seen").flatten()
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

/// What is there now lies aside afterwards.
fn put_link_back(host: &Host, link: &Path, target: &Path) -> String {
    let name = host.compact(link);
    let mut aside = link.as_os_str().to_owned();
    aside.push(format!(".from-command-{}", host.random_hex(4)));
    let moved = match link.symlink_metadata() {
        Ok(_) => std::fs::rename(link, &aside),
        Err(_) => Ok(()),
    };
    match moved.and_then(|()| std::os::unix::fs::symlink(target, link)) {
        Ok(()) => format!(
            "{name} changed while a command of the agent ran, so the link was restored. What was \
             there is in {}.",
            host.compact(Path::new(&aside))
        ),
        Err(error) => format!(
            "{name} changed while a command of the agent ran and could not be restored ({error}): \
             it led to {}. Check it before you continue.",
            host.compact(target)
        ),
    }
}

fn read(file: &Path) -> Option<Vec<u8>> {
    let found = file.metadata().ok()?;
    (found.is_file() && found.len() <= MOST_BYTES)
        .then(|| std::fs::read(file).ok())
        .flatten()
}
