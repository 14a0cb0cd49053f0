//! How sessions begin: under a key, as the child of another, from elsewhere.

use rusqlite::{Connection, params};

use super::rows::{EntryRow, current_session, insert_entry, row_of, session_by_id};
use super::tree::{COMPACTION, branch};
use crate::engine::JobError;
use crate::sessions::{
    BranchInherited, EntryMarks, EntryRecord, SessionFork, SessionForked, SessionImport,
    SessionImported, SessionRecord, SessionResume, SessionStart, SessionStarted,
};

pub(super) fn start(
    connection: &Connection,
    start: &SessionStart,
) -> Result<SessionStarted, JobError> {
    let current = current_session(connection, &start.key)?;
    let as_known = match (&current, &start.ends) {
        (None, None) => true,
        (Some(current), Some(known)) => current.id == known.id && current.version == known.version,
        _ => false,
    };
    if !as_known {
        return Ok(SessionStarted::Overtaken(current));
    }
    if row_of(connection, &start.id)?.is_some() {
        return Ok(SessionStarted::IdTaken);
    }
    if let Some(ends) = &start.ends {
        connection.execute(
            "UPDATE sessions SET ended = ?2, ended_why = ?3, version = version + 1 WHERE id = ?1",
            params![ends.id, start.at, ends.why],
        )?;
    }
    create(connection, start)?;
    Ok(SessionStarted::Started(made(connection, &start.id)?))
}

pub(super) fn resume(
    connection: &Connection,
    resume: &SessionResume,
) -> Result<Option<SessionRecord>, JobError> {
    let Some(session) = session_by_id(connection, &resume.id)? else {
        return Ok(None);
    };
    connection.execute(
        "UPDATE sessions SET ended = ?2, ended_why = ?3, version = version + 1 \
         WHERE key = ?1 AND ended IS NULL AND id <> ?4",
        params![session.key, resume.at, resume.ends_why, resume.id],
    )?;
    connection.execute(
        "UPDATE sessions SET ended = NULL, ended_why = NULL, archived = NULL, resumed = ?2, \
         interacted = ?2, updated = ?2, version = version + 1 WHERE id = ?1",
        params![resume.id, resume.at],
    )?;
    made(connection, &resume.id).map(Some)
}

pub(super) fn fork(connection: &Connection, fork: &SessionFork) -> Result<SessionForked, JobError> {
    let Some(parent) = row_of(connection, &fork.parent)? else {
        return Ok(SessionForked::ParentGone);
    };
    if row_of(connection, &fork.id)?.is_some() {
        return Ok(SessionForked::IdTaken);
    }
    connection.execute(
        "UPDATE sessions SET ended = ?2, ended_why = ?3 WHERE key = ?1 AND ended IS NULL",
        params![fork.key, fork.at, fork.ends_why],
    )?;
    let child = create(
        connection,
        &SessionStart {
            id: fork.id.clone(),
            key: fork.key.clone(),
            at: fork.at,
            settings: fork.settings.clone(),
            label: None,
            display_name: None,
            parent: Some(fork.parent.clone()),
            ends: None,
        },
    )?;
    let entries = branch(connection, parent)?;
    let bytes = bytes_since_compaction(&entries);
    let inherited = if bytes > fork.most_bytes {
        BranchInherited::Nothing { bytes }
    } else {
        inherit(connection, child, parent.leaf, &entries)?;
        BranchInherited::Branch {
            entries: entries.len(),
        }
    };
    Ok(SessionForked::Forked {
        child: made(connection, &fork.id)?,
        inherited,
    })
}

fn inherit(
    connection: &Connection,
    child: i64,
    leaf: u32,
    entries: &[EntryRecord],
) -> rusqlite::Result<()> {
    for entry in entries {
        let row = EntryRow {
            number: entry.number,
            parent: entry.parent,
            at: entry.at,
            kind: &entry.kind,
            body: &entry.body,
            marks: &EntryMarks::of(&entry.kind, &entry.body),
        };
        insert_entry(connection, child, &row)?;
    }
    connection
        .execute(
            "UPDATE sessions SET leaf = ?2, entries = ?3, bytes = ?4 WHERE row = ?1",
            params![
                child,
                leaf,
                entries.len(),
                entries.iter().map(|entry| entry.body.len()).sum::<usize>()
            ],
        )
        .map(drop)
}

pub(super) fn import(
    connection: &Connection,
    import: &SessionImport,
) -> Result<SessionImported, JobError> {
    if row_of(connection, &import.id)?.is_some() {
        return Ok(SessionImported::IdTaken);
    }
    let taken = current_session(connection, &import.key)?.is_some();
    connection.execute(
        "INSERT INTO sessions (id, key, started, updated, interacted, ended, ended_why, \
         settings, label, parent, leaf, entries, bytes, compactions) \
         VALUES (?1, ?2, ?3, ?4, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)",
        params![
            import.id,
            import.key,
            import.started,
            import.updated,
            taken.then_some(import.updated),
            taken.then_some(&import.past_why),
            import.settings,
            import.label,
            import.parent,
            import.leaf,
            import.entries.len(),
            import
                .entries
                .iter()
                .map(|entry| entry.body.len())
                .sum::<usize>(),
            import
                .entries
                .iter()
                .filter(|entry| entry.kind == COMPACTION)
                .count(),
        ],
    )?;
    let session = connection.last_insert_rowid();
    for (number, entry) in (1_u32..).zip(&import.entries) {
        let row = EntryRow {
            number,
            parent: entry.parent,
            at: entry.at,
            kind: &entry.kind,
            body: &entry.body,
            marks: &EntryMarks::of(&entry.kind, &entry.body),
        };
        insert_entry(connection, session, &row)?;
    }
    let record = made(connection, &import.id)?;
    Ok(match taken {
        true => SessionImported::Past(record),
        false => SessionImported::Current(record),
    })
}

fn create(connection: &Connection, start: &SessionStart) -> rusqlite::Result<i64> {
    connection.execute(
        "INSERT INTO sessions (id, key, started, updated, interacted, settings, label, \
         display_name, parent) VALUES (?1, ?2, ?3, ?3, ?3, ?4, ?5, ?6, ?7)",
        params![
            start.id,
            start.key,
            start.at,
            start.settings,
            start.label,
            start.display_name,
            start.parent,
        ],
    )?;
    Ok(connection.last_insert_rowid())
}

fn made(connection: &Connection, id: &str) -> Result<SessionRecord, JobError> {
    session_by_id(connection, id)?
        .ok_or_else(|| JobError::Damaged(format!("session {id} was written and is not there")))
}

/// What a branch takes, counted from its last compaction on.
fn bytes_since_compaction(entries: &[EntryRecord]) -> u64 {
    let mut bytes = 0;
    for entry in entries.iter().rev() {
        bytes += entry.body.len() as u64;
        if entry.kind == COMPACTION {
            break;
        }
    }
    bytes
}
