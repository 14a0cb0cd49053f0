//! The versions of files that somebody answers for.

use rusqlite::{Connection, Row, params};

use super::foreign;
use crate::journal::{OwnVersion, TextHash};

const COLUMNS: &str = "hash, stamp, writer, how, turn, at";

pub(super) fn of_path(connection: &Connection, path: &str) -> rusqlite::Result<Vec<OwnVersion>> {
    connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM own_files WHERE path = ?1 ORDER BY at DESC"
        ))?
        .query_map([path], |row| version_of(row, 0))?
        .collect()
}

pub(super) fn below(
    connection: &Connection,
    beginning: &str,
) -> rusqlite::Result<Vec<(String, OwnVersion)>> {
    connection
        .prepare_cached(&format!(
            "SELECT path, {COLUMNS} FROM own_files WHERE path >= ?1 AND path < ?2 ORDER BY path"
        ))?
        .query_map(range_of(beginning), |row| {
            Ok((row.get(0)?, version_of(row, 1)?))
        })?
        .collect()
}

pub(super) fn note(tx: &Connection, versions: &[(String, OwnVersion)]) -> rusqlite::Result<()> {
    for (path, version) in versions {
        foreign::clear(tx, path)?;
        if let Some(hash) = version.hash {
            tx.prepare_cached("DELETE FROM foreign_texts WHERE hash = ?1")?
                .execute([hash])?;
        }
        insert(tx, path, version)?;
    }
    Ok(())
}

/// A version of one file, whatever the foreign marks say.
pub(super) fn insert(tx: &Connection, path: &str, version: &OwnVersion) -> rusqlite::Result<()> {
    let hash: &[u8] = match &version.hash {
        Some(hash) => hash,
        None => &[],
    };
    tx.prepare_cached(
        "INSERT OR REPLACE INTO own_files (path, hash, stamp, writer, how, turn, at) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
    )?
    .execute(params![
        path,
        hash,
        version.stamp,
        version.writer,
        version.how,
        version.turn,
        version.at,
    ])
    .map(drop)
}

pub(super) fn disown(tx: &Connection, path: &str) -> rusqlite::Result<()> {
    match path.ends_with('/') {
        true => tx.execute(
            "DELETE FROM own_files WHERE path >= ?1 AND path < ?2",
            range_of(path),
        ),
        false => tx.execute("DELETE FROM own_files WHERE path = ?1", [path]),
    }
    .map(drop)
}

/// Whatever begins so lies between these two: no character comes after the last one.
fn range_of(beginning: &str) -> [String; 2] {
    [beginning.to_owned(), format!("{beginning}{}", char::MAX)]
}

fn version_of(row: &Row<'_>, from: usize) -> rusqlite::Result<OwnVersion> {
    let hash: Vec<u8> = row.get(from)?;
    Ok(OwnVersion {
        hash: TextHash::try_from(hash).ok(),
        stamp: row.get(from + 1)?,
        writer: row.get(from + 2)?,
        how: row.get(from + 3)?,
        turn: row.get(from + 4)?,
        at: row.get(from + 5)?,
    })
}
