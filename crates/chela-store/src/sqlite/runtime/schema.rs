//! The tables of inbox, outbox, jobs and leases, and what they share.

use rusqlite::{Connection, Row};

use crate::claims::{ClaimHolder, LeaseTime};
use crate::file::{FileFormat, FreedRoom};

pub(super) static FORMAT: FileFormat = FileFormat {
    name: "the runtime file",
    if_damaged: "move it aside to start a new one (unanswered messages and planned jobs are lost \
        with it)",
    steps: &STEPS,
    mend: None,
    room: FreedRoom::GivenBack,
};

/// `claim` is the number of the newest claim, 0 when it was given back. `numbers` outlives what was
/// numbered: a lease that was released and taken again never gets an old number.
const STEPS: [&str; 2] = [
    "
    CREATE TABLE inbox (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        lane TEXT NOT NULL,
        body TEXT NOT NULL,
        accepted INTEGER NOT NULL,
        tries INTEGER NOT NULL DEFAULT 0,
        claim INTEGER NOT NULL DEFAULT 0,
        worker TEXT,
        until INTEGER,
        outcome TEXT,
        finished INTEGER
    );
    CREATE INDEX inbox_waiting ON inbox (number) WHERE finished IS NULL;
    CREATE INDEX inbox_lanes ON inbox (lane, number) WHERE finished IS NULL;
    CREATE INDEX inbox_finished ON inbox (finished) WHERE finished IS NOT NULL;
    CREATE TABLE jobs (
        id TEXT PRIMARY KEY,
        spec TEXT NOT NULL,
        next INTEGER,
        enabled INTEGER NOT NULL,
        state TEXT NOT NULL,
        revision INTEGER NOT NULL DEFAULT 1
    ) WITHOUT ROWID;
    CREATE INDEX jobs_due ON jobs (next, id) WHERE enabled = 1;
    CREATE TABLE occurrences (
        job TEXT NOT NULL,
        planned INTEGER NOT NULL,
        tries INTEGER NOT NULL DEFAULT 0,
        message TEXT,
        due INTEGER,
        begun INTEGER NOT NULL,
        ended INTEGER,
        note TEXT NOT NULL,
        PRIMARY KEY (job, planned)
    ) WITHOUT ROWID;
    CREATE INDEX occurrences_open ON occurrences (planned, job) WHERE ended IS NULL;
    CREATE INDEX occurrences_newest ON occurrences (planned);
    CREATE TABLE leases (
        name TEXT PRIMARY KEY,
        holder TEXT NOT NULL,
        fence INTEGER NOT NULL,
        until INTEGER NOT NULL
    ) WITHOUT ROWID;
    CREATE TABLE numbers (
        name TEXT PRIMARY KEY,
        last INTEGER NOT NULL
    ) WITHOUT ROWID;
",
    // What is to be delivered, and what was said before in a lane.
    "
    CREATE TABLE outbox (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        body TEXT NOT NULL,
        made INTEGER NOT NULL,
        due INTEGER NOT NULL,
        expires INTEGER NOT NULL,
        tries INTEGER NOT NULL DEFAULT 0,
        state TEXT NOT NULL DEFAULT 'waiting',
        why TEXT NOT NULL DEFAULT '',
        ended INTEGER
    );
    CREATE INDEX inbox_past ON inbox (lane, number) WHERE finished IS NOT NULL;
    CREATE INDEX outbox_due ON outbox (due) WHERE ended IS NULL;
    CREATE INDEX outbox_ended ON outbox (ended) WHERE ended IS NOT NULL;
",
];

/// Which numbers are counted.
#[derive(Debug, Clone, Copy)]
pub(super) enum NumberOf {
    Claim,
    Fence,
}

/// A number nothing of its kind ever had, larger than all before.
pub(super) fn next_number(tx: &Connection, of: NumberOf) -> rusqlite::Result<u64> {
    let name = match of {
        NumberOf::Claim => "claim",
        NumberOf::Fence => "fence",
    };
    tx.prepare_cached(
        "INSERT INTO numbers (name, last) VALUES (?1, 1) \
         ON CONFLICT (name) DO UPDATE SET last = last + 1 RETURNING last",
    )?
    .query_row([name], |row| row.get(0))
}

/// A moment as it is kept; what is too far away to be written is the last there is.
pub(super) fn moment(time: u64) -> i64 {
    i64::try_from(time).unwrap_or(i64::MAX)
}

pub(super) fn end_of(time: LeaseTime) -> i64 {
    moment(time.until())
}

/// Who has a row in its hands, from two columns.
pub(super) fn holder_of(
    row: &Row<'_>,
    worker: usize,
    until: usize,
) -> rusqlite::Result<Option<ClaimHolder>> {
    let holder: (Option<String>, Option<u64>) = (row.get(worker)?, row.get(until)?);
    Ok(match holder {
        (Some(worker), Some(until)) => Some(ClaimHolder { worker, until }),
        _ => None,
    })
}
