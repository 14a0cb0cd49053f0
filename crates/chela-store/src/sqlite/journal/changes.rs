//! The changes on record.

use rusqlite::{Connection, OptionalExtension, Row, ToSql, params};

use super::foreign;
use crate::journal::{ChangeQuery, ChangeRecord, ForgetLimit, NewChange, PackedText};

const COLUMNS: &str = "id, at, session, session_id, turn, call, tool, path, keeps, what, tainted, \
                       before_hash, after_hash, undone, foreign_before, home";

pub(super) fn keep(tx: &Connection, change: &NewChange) -> rusqlite::Result<i64> {
    let foreign = foreign::follow_change(tx, change)?;
    tx.prepare_cached(
        "INSERT INTO changes (at, session, session_id, turn, call, tool, path, keeps, what, \
         before_hash, before_size, before, after_hash, tainted, foreign_before, foreign_after, \
         home) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)",
    )?
    .execute(params![
        change.at,
        change.session,
        change.session_id,
        change.turn,
        change.call,
        change.tool,
        change.path,
        change.keeps.as_ref().map(|kept| &kept.path),
        change.what,
        change.before.map(|text| text.hash),
        change.before.map_or(0, |text| text.size),
        change.packed_before,
        change.after.map(|text| text.hash),
        change.tainted,
        foreign.before,
        foreign.after,
        change.home,
    ])?;
    Ok(tx.last_insert_rowid())
}

pub(super) fn take_out(tx: &Connection, change: i64) -> rusqlite::Result<()> {
    let found: Option<(String, bool)> = tx
        .prepare_cached("SELECT path, foreign_before FROM changes WHERE id = ?1")?
        .query_row([change], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((path, was_foreign)) = found else {
        return Ok(());
    };
    if was_foreign {
        foreign::mark_foreign(tx, &path, None)?;
    } else {
        foreign::clear(tx, &path)?;
    }
    // The version it would have made is answered for by nobody.
    tx.execute(
        "DELETE FROM own_files WHERE path = ?1 AND stamp = '' AND (turn, hash) = \
         (SELECT turn, after_hash FROM changes WHERE id = ?2)",
        params![path, change],
    )?;
    tx.execute("DELETE FROM changes WHERE id = ?1", [change])
        .map(drop)
}

pub(super) fn forget(tx: &Connection, limit: ForgetLimit) -> rusqlite::Result<usize> {
    let most = i64::try_from(limit.most_bytes).unwrap_or(i64::MAX);
    let old = tx.execute("DELETE FROM changes WHERE at < ?1", [limit.oldest])?;
    let large = tx.execute(
        "DELETE FROM changes WHERE id <= (SELECT max(id) FROM (SELECT id, \
         sum(coalesce(length(before), 0) + ?2) OVER (ORDER BY id DESC) AS total FROM changes) \
         WHERE total > ?1)",
        params![most, limit.bytes_per_change],
    )?;
    Ok(old + large)
}

pub(super) fn text_before(
    connection: &Connection,
    change: i64,
) -> rusqlite::Result<Option<Option<PackedText>>> {
    connection
        .prepare_cached("SELECT before, before_size FROM changes WHERE id = ?1")?
        .query_row([change], |row| {
            let packed: Option<Vec<u8>> = row.get(0)?;
            let size = row.get(1)?;
            Ok(packed.map(|packed| PackedText { packed, size }))
        })
        .optional()
}

pub(super) fn mark_undone(tx: &Connection, changes: &[i64], by: i64) -> rusqlite::Result<()> {
    for change in changes {
        tx.execute(
            "UPDATE changes SET undone = NULL WHERE undone = ?1",
            [change],
        )?;
        tx.execute(
            "UPDATE changes SET undone = ?2 WHERE id = ?1",
            params![change, by],
        )?;
    }
    Ok(())
}

pub(super) fn find(
    connection: &Connection,
    query: &ChangeQuery,
) -> rusqlite::Result<Vec<ChangeRecord>> {
    match query {
        ChangeQuery::Newest { limit } => {
            let limit = i64::try_from(*limit).unwrap_or(i64::MAX);
            select(connection, "1 ORDER BY id DESC LIMIT ?1", &[&limit])
        }
        ChangeQuery::ByNumber(number) => select(connection, "id = ?1", &[number]),
        ChangeQuery::LastTurn { session } => last_turn(connection, session.as_deref()),
        ChangeQuery::TurnsBeginning(beginning) => select(
            connection,
            "substr(turn, 1, length(?1)) = ?1 ORDER BY id",
            &[beginning],
        ),
        ChangeQuery::SameCall {
            turn,
            call,
            session_id,
        } => select(
            connection,
            "turn = ?1 AND call = ?2 AND session_id = ?3 AND undone IS NULL ORDER BY id",
            &[turn, call, session_id],
        ),
        ChangeQuery::LaterOf { path, after } => select(
            connection,
            "path = ?1 AND id > ?2 AND undone IS NULL ORDER BY id DESC LIMIT 1",
            &[path, after],
        ),
    }
}

fn last_turn(
    connection: &Connection,
    session: Option<&str>,
) -> rusqlite::Result<Vec<ChangeRecord>> {
    // What no turn did, such as the note of a session, is taken back by its number.
    let newest = select(
        connection,
        "(?1 IS NULL OR session = ?1) AND tool <> 'undo' AND turn <> '' AND undone IS NULL \
         ORDER BY id DESC LIMIT 1",
        &[&session],
    )?;
    match newest.first() {
        Some(newest) => select(
            connection,
            "turn = ?1 AND session_id = ?2 AND undone IS NULL AND tool <> 'undo' ORDER BY id",
            &[&newest.turn, &newest.session_id],
        ),
        None => Ok(Vec::new()),
    }
}

fn select(
    connection: &Connection,
    which: &str,
    with: &[&dyn ToSql],
) -> rusqlite::Result<Vec<ChangeRecord>> {
    connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM changes WHERE {which}"))?
        .query_map(with, change_of)?
        .collect()
}

fn change_of(row: &Row<'_>) -> rusqlite::Result<ChangeRecord> {
    Ok(ChangeRecord {
        number: row.get(0)?,
        at: row.get(1)?,
        session: row.get(2)?,
        session_id: row.get(3)?,
        turn: row.get(4)?,
        call: row.get(5)?,
        tool: row.get(6)?,
        path: row.get(7)?,
        keeps: row.get(8)?,
        what: row.get(9)?,
        tainted: row.get(10)?,
        before: row.get(11)?,
        after: row.get(12)?,
        undone: row.get(13)?,
        foreign_before: row.get(14)?,
        home: row.get(15)?,
    })
}

/// Whether a name in this home is absolute. All that begin with the home and a slash lie between
/// these two: `0` comes right after the slash.
pub(super) fn has_names_in(connection: &Connection, home: &str) -> rusqlite::Result<bool> {
    connection.query_row(
        "SELECT EXISTS (SELECT 1 FROM changes WHERE path >= ?1 AND path < ?2) \
         OR EXISTS (SELECT 1 FROM foreign_files WHERE path >= ?1 AND path < ?2) \
         OR EXISTS (SELECT 1 FROM own_files WHERE path >= ?1 AND path < ?2)",
        [format!("{home}/"), format!("{home}0")],
        |row| row.get(0),
    )
}

pub(super) fn adopt_names(tx: &Connection, home: &str) -> rusqlite::Result<()> {
    let columns = [
        ("changes", "path"),
        ("changes", "keeps"),
        ("foreign_files", "path"),
        ("own_files", "path"),
    ];
    for (table, column) in columns {
        tx.execute(
            &format!(
                "UPDATE OR REPLACE {table} SET {column} = substr({column}, length(?1) + 1) \
                 WHERE {column} >= ?1 AND {column} < ?2"
            ),
            [format!("{home}/"), format!("{home}0")],
        )?;
    }
    Ok(())
}
