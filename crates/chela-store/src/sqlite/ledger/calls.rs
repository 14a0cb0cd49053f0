//! Calls: open until they are settled, released or given up.

use rusqlite::{Connection, OptionalExtension as _, params};

use super::seal::{SealBuilder, of_row};
use crate::ledger::{CallState, LimitSpan, NewCall, OpenCall, SpentAmount, SpentQuery};

/// The states of a call.
const OPEN: i64 = 0;
const SETTLED: i64 = 1;
/// Its process died, or it took too long: what is known of its cost counts.
const LOST: i64 = 2;

pub(super) fn open(tx: &Connection) -> rusqlite::Result<Vec<OpenCall>> {
    tx.prepare_cached("SELECT id, owner, pid, expires FROM calls WHERE state = 0")?
        .query_map([], |row| {
            Ok(OpenCall {
                number: row.get(0)?,
                owner: row.get(1)?,
                process: row.get(2)?,
                expires: row.get(3)?,
            })
        })?
        .collect()
}

pub(super) fn add(tx: &Connection, call: &NewCall<'_>) -> rusqlite::Result<i64> {
    tx.prepare_cached(
        "INSERT INTO calls (id, at, agent, session, turn, job, day, month, model, tokens, cost, \
         state, owner, pid, expires, known_tokens, known_cost, seal) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, 0)",
    )?
    .execute(params![
        call.number,
        call.at,
        call.agent,
        call.session,
        call.turn,
        call.job,
        call.day,
        call.month,
        call.model,
        call.estimate.tokens,
        call.estimate.micro_dollars,
        OPEN,
        call.owner,
        call.process,
        call.expires,
        call.known.tokens,
        call.known.micro_dollars,
    ])?;
    let number = tx.last_insert_rowid();
    reseal(tx, number)?;
    Ok(number)
}

/// Counts once: a second time changes nothing.
pub(super) fn settle(
    tx: &Connection,
    number: i64,
    cost: SpentAmount,
) -> rusqlite::Result<CallState> {
    let known: bool = tx
        .prepare_cached("SELECT count(*) FROM calls WHERE id = ?1")?
        .query_row([number], |row| row.get(0))?;
    if !known {
        return Ok(CallState::Unknown);
    }
    tx.prepare_cached(
        "UPDATE calls SET tokens = ?2, cost = ?3, state = ?4 WHERE id = ?1 AND state <> ?4",
    )?
    .execute(params![number, cost.tokens, cost.micro_dollars, SETTLED])?;
    reseal(tx, number)?;
    Ok(CallState::Known)
}

pub(super) fn release(tx: &Connection, number: i64) -> rusqlite::Result<()> {
    tx.prepare_cached("DELETE FROM calls WHERE id = ?1 AND state = ?2")?
        .execute([number, OPEN])?;
    Ok(())
}

pub(super) fn give_up(tx: &Connection, number: i64) -> rusqlite::Result<()> {
    tx.prepare_cached("DELETE FROM calls WHERE id = ?1 AND known_tokens + known_cost = 0")?
        .execute([number])?;
    tx.prepare_cached(
        "UPDATE calls SET tokens = known_tokens, cost = known_cost, state = ?2 WHERE id = ?1",
    )?
    .execute(params![number, LOST])?;
    reseal(tx, number)
}

pub(super) fn spent(tx: &Connection, query: &SpentQuery<'_>) -> rusqlite::Result<SpentAmount> {
    let (column, value) = match query.span {
        LimitSpan::Turn(turn) => ("turn", turn),
        LimitSpan::Session(session) => ("session", session),
        LimitSpan::Day(day) => ("day", day),
        LimitSpan::Month(month) => ("month", month),
    };
    tx.prepare_cached(&format!(
        "SELECT coalesce(sum(tokens), 0), coalesce(sum(cost), 0) FROM calls \
         WHERE {column} = ?1 AND (?2 IS NULL OR agent = ?2) AND (?3 IS NULL OR job = ?3)"
    ))?
    .query_row(params![value, query.agent, query.job], |row| {
        Ok(SpentAmount {
            tokens: row.get(0)?,
            micro_dollars: row.get(1)?,
        })
    })
}

pub(super) fn count(tx: &Connection) -> rusqlite::Result<u64> {
    tx.query_row("SELECT count(*) FROM calls", [], |row| row.get(0))
}

pub(super) fn forget(tx: &Connection, before: u64, most: u64) -> rusqlite::Result<usize> {
    tx.execute(
        "DELETE FROM calls WHERE id IN \
         (SELECT id FROM calls WHERE at < ?1 ORDER BY at, id LIMIT ?2)",
        [before, most],
    )
}

/// Every column of a call, its seal last.
const COLUMNS: &str = "id, at, agent, session, turn, job, day, month, model, tokens, cost, state, \
     owner, pid, expires, known_tokens, known_cost, seal";
const SEAL: usize = 17;

fn reseal(tx: &Connection, number: i64) -> rusqlite::Result<()> {
    let seal = tx
        .prepare_cached(&format!("SELECT {COLUMNS} FROM calls WHERE id = ?1"))?
        .query_row([number], |row| of_row("call", row, 0..SEAL))
        .optional()?;
    tx.prepare_cached("UPDATE calls SET seal = ?2 WHERE id = ?1")?
        .execute(params![number, seal.map(SealBuilder::short)])?;
    Ok(())
}

/// Seals every call anew, for a file of an older format.
pub(super) fn reseal_all(tx: &Connection) -> rusqlite::Result<()> {
    let numbers: Vec<i64> = tx
        .prepare("SELECT id FROM calls")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    numbers
        .into_iter()
        .try_for_each(|number| reseal(tx, number))
}

/// Calls whose row is not as it was written.
pub(super) fn damaged(tx: &Connection) -> rusqlite::Result<Vec<i64>> {
    super::seal::damaged_rows(tx, "call", &format!("SELECT {COLUMNS} FROM calls"), SEAL)
}
