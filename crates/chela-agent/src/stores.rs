//! The stores of an installation, as a check of their health looks at them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use chela_config::LoadedConfig;
use chela_core::{AgentId, Host, ok_or_debug, ok_or_warn};
use chela_files::read_if_there;
use chela_inspect::store_health::{DatabaseFile, StoreHealthInput, StoreKind, StoreOpener};
use chela_ledger::{Ledger, RecordFilter, ledger_file};
use chela_memory::index_file;
use chela_session::journal::{FileJournal, JournalError, JournalRetention, ListAsk, journal_file};
use chela_session::{SessionError, Sessions, session_file};
use chela_store::{FileState, StoreError, block_on};

/// Gathers the files of every agent, those that are no longer in the config included.
pub fn store_ground<'a>(host: &'a Host, loaded: &LoadedConfig) -> StoreHealthInput<'a> {
    let agents = agents_with_stores(host, loaded);
    let mut folders = vec![host.state_dir()];
    folders.extend(
        loaded
            .agents()
            .iter()
            .map(|agent| loaded.workspace_dir(agent).value),
    );
    StoreHealthInput {
        host,
        databases: agents
            .iter()
            .flat_map(|agent| files_of(host, agent))
            .collect(),
        folders,
        ledger_had_been: is_listed(&ledger_file(host)) || has_lock(&ledger_file(host)),
        opener: Box::new(AgentStores {
            host,
            retention: JournalRetention::of(loaded),
        }),
    }
}

/// Opens what an agent keeps as a conversation does.
#[derive(Debug)]
struct AgentStores<'a> {
    host: &'a Host,
    retention: JournalRetention,
}

impl StoreOpener for AgentStores<'_> {
    fn open(&self, file: &DatabaseFile) -> Result<(), StoreError> {
        match file.kind {
            StoreKind::Sessions => match Sessions::open_existing(self.host, &file.agent) {
                Err(SessionError::File(error)) => Err(error),
                _ => Ok(()),
            },
            StoreKind::Journal => {
                let journal = FileJournal::of(self.host, &file.agent, self.retention);
                match journal.list(ListAsk { limit: 1 }) {
                    Err(JournalError::File(error)) => Err(error),
                    _ => Ok(()),
                }
            }
            // An index of another format is not used, and one that cannot be is made again.
            _ => Ok(()),
        }
    }
}

fn agents_with_stores(host: &Host, loaded: &LoadedConfig) -> BTreeSet<AgentId> {
    let kept = std::fs::read_dir(host.state_dir().join("agents"));
    let kept = kept.into_iter().flatten().flatten().filter_map(|folder| {
        let agent = AgentId::parse(folder.file_name().to_str()?).ok()?;
        folder.path().is_dir().then_some(agent)
    });
    loaded.agents().into_iter().chain(kept).collect()
}

fn files_of(host: &Host, agent: &AgentId) -> [DatabaseFile; 3] {
    let sessions = session_file(host, agent);
    let journal = journal_file(host, agent);
    let file = |kind, path: PathBuf, had_been| DatabaseFile {
        kind,
        agent: agent.clone(),
        path,
        had_been,
    };
    let spoke = is_listed(&sessions) || (is_missing(&sessions) && is_on_record(host, agent));
    let changed = is_listed(&journal);
    [
        file(StoreKind::Sessions, sessions, spoke),
        file(StoreKind::Journal, journal, changed),
        file(StoreKind::MemoryIndex, index_file(host, agent), false),
    ]
}

fn is_missing(path: &Path) -> bool {
    FileState::of(path) != FileState::Present
}

/// Whether the list of files that were ever made, which lies beside them, names this one.
fn is_listed(path: &Path) -> bool {
    let list = read_if_there(&path.with_file_name("records.txt"));
    let list = ok_or_warn!(list, "which records were ever made cannot be read").flatten();
    let list = list.unwrap_or_default();
    let name = path.file_name().and_then(|name| name.to_str());
    list.lines().any(|known| Some(known) == name)
}

/// Whoever writes to the ledger locks a file beside it.
fn has_lock(ledger: &Path) -> bool {
    ledger.with_extension("lock").exists()
}

/// Whether the ledger knows of a request of this agent: then there were sessions.
fn is_on_record(host: &Host, agent: &AgentId) -> bool {
    let asked = RecordFilter {
        agent: Some(agent.to_string()),
        limit: Some(1),
        ..RecordFilter::default()
    };
    let found = Ledger::open_existing(host).and_then(|ledger| match ledger {
        Some(ledger) => block_on(ledger.list(&asked)),
        None => Ok(Vec::new()),
    });
    ok_or_debug!(found, "the ledger does not say whether there were sessions")
        .is_some_and(|found| !found.is_empty())
}
