//! Every time a job was due.

use rusqlite::{Connection, Row, params};

use super::inbox;
use super::schema::moment;
use crate::inbox::MessageOutcome;
use crate::jobs::{
    MessageStanding, OccurrenceChange, OccurrenceLimit, OccurrenceQuery, OccurrenceRecord,
    OccurrenceStep, OpenOccurrence,
};

const COLUMNS: &str = "o.job, o.planned, o.tries, o.message, o.due, o.begun, o.ended, o.note";

pub(super) fn take_step(tx: &Connection, job: &str, step: &OccurrenceStep) -> rusqlite::Result<()> {
    let (planned, at) = (moment(step.planned), moment(step.at));
    match &step.change {
        OccurrenceChange::Send { message, note } => {
            let begun = tx
                .prepare_cached(
                    "INSERT INTO occurrences (job, planned, tries, message, begun, note) \
                     VALUES (?1, ?2, 1, ?3, ?4, ?5) ON CONFLICT (job, planned) DO UPDATE SET \
                     tries = tries + 1, message = ?3, due = NULL, note = ?5 \
                     WHERE ended IS NULL AND message IS NULL",
                )?
                .execute(params![job, planned, message.id, at, note])?;
            // One that is over, or whose message is on its way, is not sent again.
            if begun > 0 {
                inbox::accept(tx, message)?;
            }
        }
        OccurrenceChange::Again { due, note } => {
            tx.prepare_cached(
                "UPDATE occurrences SET message = NULL, due = ?3, note = ?4 \
                 WHERE job = ?1 AND planned = ?2 AND ended IS NULL",
            )?
            .execute(params![job, planned, moment(*due), note])?;
        }
        OccurrenceChange::End { note } => {
            tx.prepare_cached(
                "INSERT INTO occurrences (job, planned, begun, ended, note) \
                 VALUES (?1, ?2, ?3, ?3, ?4) ON CONFLICT (job, planned) DO UPDATE SET \
                 ended = ?3, due = NULL, note = ?4 WHERE ended IS NULL",
            )?
            .execute(params![job, planned, at, note])?;
        }
    }
    Ok(())
}

/// The messages of what is not over.
pub(super) fn waiting_messages(tx: &Connection, job: &str) -> rusqlite::Result<Vec<String>> {
    tx.prepare_cached(
        "SELECT message FROM occurrences WHERE job = ?1 AND ended IS NULL AND message NOT NULL",
    )?
    .query_map([job], |row| row.get(0))?
    .collect()
}

pub(super) fn end_all(tx: &Connection, job: &str, end: &MessageOutcome) -> rusqlite::Result<()> {
    tx.prepare_cached(
        "UPDATE occurrences SET ended = ?2, due = NULL, note = ?3 WHERE job = ?1 AND ended IS NULL",
    )?
    .execute(params![job, moment(end.at), end.text])
    .map(drop)
}

pub(super) fn open(connection: &Connection) -> rusqlite::Result<Vec<OpenOccurrence>> {
    connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS}, i.id, i.outcome, i.finished FROM occurrences AS o \
             LEFT JOIN inbox AS i ON i.id = o.message WHERE o.ended IS NULL \
             ORDER BY o.planned, o.job"
        ))?
        .query_map([], |row| {
            let record = occurrence_of(row)?;
            let known: Option<String> = row.get(8)?;
            let end: (Option<String>, Option<u64>) = (row.get(9)?, row.get(10)?);
            let message = match (&record.message, known, end) {
                (None, _, _) => MessageStanding::None,
                (Some(_), None, _) => MessageStanding::Forgotten,
                (Some(_), Some(_), (Some(text), Some(at))) => {
                    MessageStanding::Finished(MessageOutcome { text, at })
                }
                (Some(_), Some(_), _) => MessageStanding::Waits,
            };
            Ok(OpenOccurrence { record, message })
        })?
        .collect()
}

pub(super) fn newest(
    connection: &Connection,
    query: &OccurrenceQuery,
) -> rusqlite::Result<Vec<OccurrenceRecord>> {
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX);
    connection
        .prepare_cached(&format!(
            "SELECT {COLUMNS} FROM occurrences AS o WHERE ?1 IS NULL OR o.job = ?1 \
             ORDER BY o.planned DESC, o.job LIMIT ?2"
        ))?
        .query_map(params![query.job, limit], occurrence_of)?
        .collect()
}

pub(super) fn forget(tx: &Connection, limit: OccurrenceLimit) -> rusqlite::Result<usize> {
    let most = i64::try_from(limit.most).unwrap_or(i64::MAX);
    let old = tx.execute(
        "DELETE FROM occurrences WHERE ended < ?1",
        [moment(limit.before)],
    )?;
    let mut jobs = tx.prepare_cached("SELECT DISTINCT job FROM occurrences")?;
    let jobs: Vec<String> = jobs
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    // Job by job: one statement for all would count the newest again for each row.
    let mut many = tx.prepare_cached(
        "DELETE FROM occurrences WHERE job = ?1 AND ended NOT NULL AND planned <= \
         (SELECT planned FROM occurrences WHERE job = ?1 \
         ORDER BY planned DESC LIMIT 1 OFFSET ?2)",
    )?;
    jobs.iter().try_fold(old, |forgotten, job| {
        Ok(forgotten + many.execute(params![job, most])?)
    })
}

fn occurrence_of(row: &Row<'_>) -> rusqlite::Result<OccurrenceRecord> {
    Ok(OccurrenceRecord {
        job: row.get(0)?,
        planned: row.get(1)?,
        tries: row.get(2)?,
        message: row.get(3)?,
        due: row.get(4)?,
        begun: row.get(5)?,
        ended: row.get(6)?,
        note: row.get(7)?,
    })
}
