//! Saving what can be read of a damaged session file.

use std::path::{Path, PathBuf};

use chela_core::Host;
use chela_files::{FileMode, write_file};
use chela_store::{SalvagedSession, StoreError, salvage_sessions};
use serde_json::{Value, json};

use super::begun::forget_record_file;
use super::entry::{EntryBody, EntryId, TranscriptEntry};
use super::jsonl::{SessionHeader, line};
use super::stamp::iso;
use super::store::SessionError;

/// What was saved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SalvagedSessions {
    /// One file of JSON lines for each session.
    pub files: Vec<PathBuf>,
    pub entries: usize,
    /// What could not be read, and why. Empty: nothing was lost.
    pub lost: Vec<String>,
    /// Where the damaged file lies now.
    pub aside: Option<PathBuf>,
}

/// Writes every session that can still be read into `folder`, as far as it can be read, then moves
/// the damaged file aside so that a new one can begin. Nothing is deleted.
pub fn salvage(host: &Host, path: &Path, folder: &Path) -> Result<SalvagedSessions, SessionError> {
    let mut saved = SalvagedSessions::default();
    chela_files::create_private_folder(folder).map_err(|source| StoreError::Folder {
        path: folder.to_owned(),
        source,
    })?;
    let lost = salvage_sessions(path, |session| save(folder, &session, &mut saved))?;
    saved.lost = lost;
    let mut aside = path.as_os_str().to_owned();
    aside.push(format!(".damaged-{}", host.unix_time()));
    let aside = PathBuf::from(aside);
    let failed = |source| SessionError::Archive {
        path: aside.clone(),
        source,
    };
    forget_record_file(path).map_err(failed)?;
    std::fs::rename(path, &aside).map_err(failed)?;
    for suffix in ["-wal", "-shm"] {
        let side = |base: &Path| {
            let mut name = base.as_os_str().to_owned();
            name.push(suffix);
            PathBuf::from(name)
        };
        match std::fs::rename(side(path), side(&aside)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(failed(error));
            }
            _ => {}
        }
    }
    tracing::warn!(
        path = %path.display(),
        sessions = saved.files.len(),
        entries = saved.entries,
        lost = saved.lost.len(),
        "a damaged session file was saved as far as it can be read, and moved aside"
    );
    saved.aside = Some(aside);
    Ok(saved)
}

fn save(
    folder: &Path,
    session: &SalvagedSession,
    saved: &mut SalvagedSessions,
) -> Result<(), SessionError> {
    let safe: String = session
        .id
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || *c == '-')
        .collect();
    let path = folder.join(format!("{safe}.jsonl"));
    let mut text = format!("{}\n", header(session));
    let mut known = std::collections::BTreeSet::new();
    let mut before = 0;
    for row in &session.entries {
        // Where the one it follows is lost, it follows what is left before that.
        let parent = match known.contains(&row.parent) || row.parent == 0 {
            true => row.parent,
            false => before,
        };
        let entry = TranscriptEntry {
            id: EntryId(row.number),
            parent: (parent > 0).then_some(EntryId(parent)),
            at: row.at,
            body: EntryBody::decode(&row.kind, &row.body),
        };
        known.insert(row.number);
        before = row.number;
        saved.entries += 1;
        text += &format!("{}\n", line(&entry));
    }
    write_file(&path, text.as_bytes(), FileMode::Private).map_err(|error| {
        SessionError::Archive {
            path: path.clone(),
            source: error.into(),
        }
    })?;
    saved.files.push(path);
    Ok(())
}

fn header(session: &SalvagedSession) -> Value {
    let known = session.header.as_ref();
    json!(SessionHeader {
        timestamp: known.map(|known| iso(known.started)),
        key: known.map(|known| known.key.clone()),
        label: known.and_then(|known| known.label.as_deref()),
        leaf: known.map(|known| EntryId(known.leaf)),
        ..SessionHeader::of(&session.id)
    })
}
