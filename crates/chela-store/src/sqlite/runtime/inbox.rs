//! Accepted messages.

use rusqlite::{Connection, OptionalExtension, Row, params};

use super::schema::{NumberOf, end_of, holder_of, moment, next_number};
use crate::claims::{ClaimAsk, ClaimState, LeaseTime, WorkClaim};
use crate::inbox::{
    ClaimedMessage, InboxMessage, LaneRoom, MessageAccepted, MessageOutcome, NewMessage,
};

const COLUMNS: &str = "id, lane, body, accepted, tries, worker, until, outcome, finished";

pub(super) fn accept(tx: &Connection, message: &NewMessage) -> rusqlite::Result<MessageAccepted> {
    if let Some(known) = by_id(tx, &message.id)? {
        return Ok(MessageAccepted::Known(Box::new(known)));
    }
    tx.prepare_cached("INSERT INTO inbox (id, lane, body, accepted) VALUES (?1, ?2, ?3, ?4)")?
        .execute(params![
            message.id,
            message.lane,
            message.body,
            moment(message.at)
        ])?;
    Ok(MessageAccepted::New)
}

pub(super) fn accept_within(
    tx: &Connection,
    message: &NewMessage,
    room: LaneRoom,
) -> rusqlite::Result<MessageAccepted> {
    // What came before is not refused.
    if let Some(known) = by_id(tx, &message.id)? {
        return Ok(MessageAccepted::Known(Box::new(known)));
    }
    if !message.id.starts_with(room.apart) {
        let waiting: u64 = tx
            .prepare_cached(
                "SELECT count(*) FROM inbox WHERE lane = ?1 AND finished IS NULL \
                 AND worker IS NULL AND substr(id, 1, length(?2)) <> ?2",
            )?
            .query_row([&message.lane, room.apart], |row| row.get(0))?;
        if waiting >= room.most {
            return Ok(MessageAccepted::Full { waiting });
        }
    }
    accept(tx, message)
}

/// Whether some message waits that nobody has in its hands.
pub(super) fn has_waiting(tx: &Connection) -> rusqlite::Result<bool> {
    tx.prepare_cached(
        "SELECT EXISTS (SELECT 1 FROM inbox WHERE finished IS NULL AND worker IS NULL)",
    )?
    .query_row([], |row| row.get(0))
}

pub(super) fn claim(tx: &Connection, ask: &ClaimAsk) -> rusqlite::Result<Option<ClaimedMessage>> {
    let head: Option<i64> = tx
        .prepare_cached(
            "SELECT number FROM inbox AS head WHERE finished IS NULL \
             AND (until IS NULL OR until <= ?1) \
             AND NOT EXISTS (SELECT 1 FROM inbox WHERE lane = head.lane \
             AND finished IS NULL AND number < head.number) ORDER BY number LIMIT 1",
        )?
        .query_row([moment(ask.time.now)], |row| row.get(0))
        .optional()?;
    claim_row(tx, head, ask)
}

pub(super) fn claim_behind(
    tx: &Connection,
    claim: &WorkClaim,
    ask: &ClaimAsk,
) -> rusqlite::Result<Option<ClaimedMessage>> {
    let next: Option<i64> = tx
        .prepare_cached(
            "SELECT number FROM inbox AS next WHERE finished IS NULL \
             AND (until IS NULL OR until <= ?3) \
             AND EXISTS (SELECT 1 FROM inbox AS held WHERE held.id = ?1 AND held.claim = ?2 \
             AND held.finished IS NULL AND held.lane = next.lane AND held.number < next.number) \
             ORDER BY number LIMIT 1",
        )?
        .query_row(
            params![claim.name, claim.number, moment(ask.time.now)],
            |row| row.get(0),
        )
        .optional()?;
    claim_row(tx, next, ask)
}

pub(super) fn release_claims(tx: &Connection) -> rusqlite::Result<usize> {
    tx.execute(
        "UPDATE inbox SET claim = 0, worker = NULL, until = NULL \
         WHERE finished IS NULL AND worker IS NOT NULL",
        [],
    )
}

fn claim_row(
    tx: &Connection,
    head: Option<i64>,
    ask: &ClaimAsk,
) -> rusqlite::Result<Option<ClaimedMessage>> {
    let Some(head) = head else {
        return Ok(None);
    };
    let number = next_number(tx, NumberOf::Claim)?;
    let message = tx
        .prepare_cached(&format!(
            "UPDATE inbox SET tries = tries + 1, claim = ?2, worker = ?3, until = ?4 \
             WHERE number = ?1 RETURNING {COLUMNS}"
        ))?
        .query_row(
            params![head, number, ask.worker, end_of(ask.time)],
            message_of,
        )?;
    let before = tx
        .prepare_cached(
            "SELECT outcome, finished FROM inbox WHERE lane = ?1 AND finished IS NOT NULL \
             AND number < ?2 ORDER BY number DESC LIMIT 1",
        )?
        .query_row(params![message.lane, head], |row| {
            Ok(MessageOutcome {
                text: row.get(0)?,
                at: row.get(1)?,
            })
        })
        .optional()?;
    let name = message.id.clone();
    let claim = WorkClaim { name, number };
    Ok(Some(ClaimedMessage {
        claim,
        message,
        before,
    }))
}

pub(super) fn renew(
    tx: &Connection,
    claim: &WorkClaim,
    time: LeaseTime,
) -> rusqlite::Result<ClaimState> {
    let changed = tx
        .prepare_cached(
            "UPDATE inbox SET until = ?3 WHERE id = ?1 AND claim = ?2 AND finished IS NULL",
        )?
        .execute(params![claim.name, claim.number, end_of(time)])?;
    Ok(state_after(changed))
}

pub(super) fn give_back(tx: &Connection, claim: &WorkClaim) -> rusqlite::Result<ClaimState> {
    let changed = tx
        .prepare_cached(
            "UPDATE inbox SET claim = 0, worker = NULL, until = NULL \
             WHERE id = ?1 AND claim = ?2 AND finished IS NULL",
        )?
        .execute(params![claim.name, claim.number])?;
    Ok(state_after(changed))
}

pub(super) fn finish(
    tx: &Connection,
    claim: &WorkClaim,
    outcome: &MessageOutcome,
) -> rusqlite::Result<ClaimState> {
    let changed = tx
        .prepare_cached(
            "UPDATE inbox SET outcome = ?3, finished = ?4, worker = NULL, until = NULL \
             WHERE id = ?1 AND claim = ?2 AND finished IS NULL",
        )?
        .execute(params![
            claim.name,
            claim.number,
            outcome.text,
            moment(outcome.at)
        ])?;
    Ok(state_after(changed))
}

/// Ends a message nobody has begun.
pub(super) fn withdraw(
    tx: &Connection,
    id: &str,
    outcome: &MessageOutcome,
) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "UPDATE inbox SET outcome = ?2, finished = ?3 \
         WHERE id = ?1 AND finished IS NULL AND tries = 0",
    )?
    .execute(params![id, outcome.text, moment(outcome.at)])
    .map(drop)
}

pub(super) fn by_id(connection: &Connection, id: &str) -> rusqlite::Result<Option<InboxMessage>> {
    connection
        .prepare_cached(&format!("SELECT {COLUMNS} FROM inbox WHERE id = ?1"))?
        .query_row([id], message_of)
        .optional()
}

pub(super) fn unanswered(
    connection: &Connection,
    lane: Option<&str>,
) -> rusqlite::Result<Vec<InboxMessage>> {
    let of_lane = match lane {
        Some(_) => "AND lane = ?1",
        None => "AND ?1 IS NULL",
    };
    connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM inbox WHERE finished IS NULL {of_lane} ORDER BY number"
        ))?
        .query_map([lane], message_of)?
        .collect()
}

pub(super) fn finished_before(
    connection: &Connection,
    id: &str,
    most: usize,
) -> rusqlite::Result<Vec<InboxMessage>> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM inbox AS one WHERE finished IS NOT NULL \
             AND lane = (SELECT lane FROM inbox WHERE id = ?1) \
             AND number < (SELECT number FROM inbox WHERE id = ?1) \
             ORDER BY number DESC LIMIT ?2"
        ))?
        .query_map(params![id, most], message_of)?
        .collect()
}

pub(super) fn accepted_since(
    connection: &Connection,
    at: u64,
) -> rusqlite::Result<Vec<InboxMessage>> {
    connection
        .prepare(&format!(
            "SELECT {COLUMNS} FROM inbox WHERE accepted >= ?1 ORDER BY number"
        ))?
        .query_map([moment(at)], message_of)?
        .collect()
}

pub(super) fn forget_finished(tx: &Connection, before: u64) -> rusqlite::Result<usize> {
    tx.execute("DELETE FROM inbox WHERE finished < ?1", [moment(before)])
}

fn state_after(changed: usize) -> ClaimState {
    match changed {
        0 => ClaimState::Lost,
        _ => ClaimState::Held,
    }
}

fn message_of(row: &Row<'_>) -> rusqlite::Result<InboxMessage> {
    let outcome: (Option<String>, Option<u64>) = (row.get(7)?, row.get(8)?);
    Ok(InboxMessage {
        id: row.get(0)?,
        lane: row.get(1)?,
        body: row.get(2)?,
        accepted: row.get(3)?,
        tries: row.get(4)?,
        holder: holder_of(row, 5, 6)?,
        outcome: match outcome {
            (Some(text), Some(at)) => Some(MessageOutcome { text, at }),
            _ => None,
        },
    })
}
