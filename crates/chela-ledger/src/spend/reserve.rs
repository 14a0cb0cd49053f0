//! Reservations: one transaction looks at the limits and takes the room.

use std::sync::OnceLock;

use chela_store::Durability;
use rusqlite::{Connection, params};

use super::{
    Amount, Limit, LimitOf, LimitReached, LimitScope, Reservation, ReserveAsk, ReserveError,
};
use crate::seal::Seal;
use crate::store::{Ledger, LedgerError, LedgerFuture, Trouble};

/// The states of a call.
const OPEN: i64 = 0;
const SETTLED: i64 = 1;
/// Its process died, or it took too long: what is known of its cost counts.
const LOST: i64 = 2;

impl Ledger {
    /// Takes room for a call, or says which limit leaves none.
    pub async fn reserve(&self, ask: &ReserveAsk) -> Result<Reservation, ReserveError> {
        let now = self.host.unix_millis();
        let asked = ask.clone();
        let taken = self
            .write(Durability::Disk, move |tx| take_room(tx, &asked, now))
            .await?;
        Ok(taken.map(|id| Reservation {
            id,
            ask: ask.clone(),
        })?)
    }

    /// The call is over and cost this much. Counts once: a second time changes nothing. Under way
    /// when this returns.
    pub fn settle(&self, reservation: &Reservation, actual: Amount) -> LedgerFuture<()> {
        let now = self.host.unix_millis();
        let (id, ask) = (reservation.id, reservation.ask.clone());
        // Lost with a power cut, it counts with what is known of it.
        self.write(Durability::Process, move |tx| {
            let known: bool = tx
                .prepare_cached("SELECT count(*) FROM calls WHERE id = ?1")?
                .query_row([id], |row| row.get(0))?;
            if !known {
                // It took longer than was thought, and its room was given away. It still counts.
                put(tx, Some(id), &ask, now)?;
            }
            tx.prepare_cached(
                "UPDATE calls SET tokens = ?2, cost = ?3, state = ?4 WHERE id = ?1 AND state <> ?4",
            )?
            .execute(params![id, actual.tokens, actual.micro_dollars, SETTLED])?;
            Ok(reseal(tx, id)?)
        })
    }

    /// The call was not made, or nothing has to be paid for it.
    pub async fn release(&self, reservation: Reservation) -> Result<(), LedgerError> {
        self.write(Durability::Process, move |tx| {
            tx.prepare_cached("DELETE FROM calls WHERE id = ?1 AND state = ?2")?
                .execute([reservation.id, OPEN])?;
            Ok(())
        })
        .await
    }

    /// What is spent and reserved at the moment under a limit.
    pub async fn used(&self, ask: &ReserveAsk, limit: &Limit) -> Result<Amount, LedgerError> {
        let now = self.host.unix_millis();
        let (ask, limit) = (ask.clone(), limit.clone());
        self.write(Durability::Process, move |tx| {
            give_back_lost(tx, now)?;
            used(tx, &ask, &limit)
        })
        .await
    }
}

/// Takes room for a call: its number, or the limit that leaves none.
pub(crate) fn take_room(
    tx: &Connection,
    ask: &ReserveAsk,
    now: u64,
) -> Result<Result<i64, LimitReached>, Trouble> {
    give_back_lost(tx, now)?;
    for limit in &ask.limits {
        if let Some(reached) = reached(tx, ask, limit)? {
            return Ok(Err(reached));
        }
    }
    Ok(Ok(put(tx, None, ask, now)?))
}

fn reached(
    tx: &Connection,
    ask: &ReserveAsk,
    limit: &Limit,
) -> Result<Option<LimitReached>, Trouble> {
    let used = used(tx, ask, limit)?;
    let after = used + ask.estimate;
    let over = limit.tokens.is_some_and(|most| after.tokens > most)
        || limit
            .micro_dollars
            .is_some_and(|most| after.micro_dollars > most);
    Ok(over.then(|| LimitReached {
        scope: limit.scope,
        used,
        estimate: ask.estimate,
        tokens: limit.tokens,
        micro_dollars: limit.micro_dollars,
        key: limit.key.clone(),
    }))
}

fn used(tx: &Connection, ask: &ReserveAsk, limit: &Limit) -> Result<Amount, Trouble> {
    let (column, value) = match limit.scope {
        LimitScope::Turn => ("turn", &ask.turn),
        LimitScope::Session => ("session", &ask.session),
        LimitScope::Day => ("day", &ask.day),
        LimitScope::Month => ("month", &ask.month),
    };
    let (agent, job) = match limit.of {
        LimitOf::Everything => (None, None),
        LimitOf::Agent => (Some(&ask.agent), None),
        LimitOf::Job => (Some(&ask.agent), Some(&ask.job)),
    };
    Ok(tx
        .prepare_cached(&format!(
            "SELECT coalesce(sum(tokens), 0), coalesce(sum(cost), 0) FROM calls \
             WHERE {column} = ?1 AND (?2 IS NULL OR agent = ?2) AND (?3 IS NULL OR job = ?3)"
        ))?
        .query_row(params![value, agent, job], |row| {
            Ok(Amount {
                tokens: row.get(0)?,
                micro_dollars: row.get(1)?,
            })
        })?)
}

/// Writes an open call, under the number it had before where it had one.
fn put(tx: &Connection, id: Option<i64>, ask: &ReserveAsk, now: u64) -> Result<i64, Trouble> {
    tx.prepare_cached(
        "INSERT INTO calls (id, at, agent, session, turn, job, day, month, model, tokens, cost, \
         state, owner, pid, expires, known_tokens, known_cost, seal) \
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, 0)",
    )?
    .execute(params![
        id,
        now,
        ask.agent,
        ask.session,
        ask.turn,
        ask.job,
        ask.day,
        ask.month,
        ask.model,
        ask.estimate.tokens,
        ask.estimate.micro_dollars,
        OPEN,
        boot(),
        std::process::id(),
        now.saturating_add(ask.lasts),
        ask.known.tokens,
        ask.known.micro_dollars,
    ])?;
    let id = tx.last_insert_rowid();
    reseal(tx, id)?;
    Ok(id)
}

/// Gives back what processes took that are dead now, but for what is known: their requests may
/// have been sent, and then somebody is paid for reading them.
fn give_back_lost(tx: &Connection, now: u64) -> Result<(), Trouble> {
    let mut lost = Vec::new();
    {
        let mut statement =
            tx.prepare_cached("SELECT id, owner, pid, expires FROM calls WHERE state = 0")?;
        let mut rows = statement.query([])?;
        while let Some(row) = rows.next()? {
            let owner: String = row.get(1)?;
            let pid: i64 = row.get(2)?;
            let expires: u64 = row.get(3)?;
            if expires <= now || owner != boot() || !lives(pid) {
                lost.push(row.get::<_, i64>(0)?);
            }
        }
    }
    for id in lost {
        tx.prepare_cached("DELETE FROM calls WHERE id = ?1 AND known_tokens + known_cost = 0")?
            .execute([id])?;
        tx.prepare_cached(
            "UPDATE calls SET tokens = known_tokens, cost = known_cost, state = ?2 WHERE id = ?1",
        )?
        .execute(params![id, LOST])?;
        reseal(tx, id)?;
    }
    Ok(())
}

/// What tells this run of the machine from the one before; process numbers begin anew with it.
fn boot() -> &'static str {
    static BOOT: OnceLock<String> = OnceLock::new();
    BOOT.get_or_init(|| {
        std::fs::read_to_string("/proc/sys/kernel/random/boot_id")
            .map(|id| id.trim().to_owned())
            .unwrap_or_default()
    })
}

fn lives(pid: i64) -> bool {
    let Some(pid) = i32::try_from(pid)
        .ok()
        .and_then(rustix::process::Pid::from_raw)
    else {
        return false;
    };
    // Not being allowed to signal it means that it is there.
    !matches!(
        rustix::process::test_kill_process(pid),
        Err(rustix::io::Errno::SRCH)
    )
}

/// Every column of a call, its seal last.
const COLUMNS: &str = "id, at, agent, session, turn, job, day, month, model, tokens, cost, state, \
     owner, pid, expires, known_tokens, known_cost, seal";
const SEAL: usize = 17;

fn reseal(tx: &Connection, id: i64) -> rusqlite::Result<()> {
    use rusqlite::OptionalExtension;
    let seal = tx
        .prepare_cached(&format!("SELECT {COLUMNS} FROM calls WHERE id = ?1"))?
        .query_row([id], |row| crate::seal::of_row("call", row, 0..SEAL))
        .optional()?;
    tx.prepare_cached("UPDATE calls SET seal = ?2 WHERE id = ?1")?
        .execute(params![id, seal.map(Seal::short)])?;
    Ok(())
}

/// Seals every call anew, for a file of an older format.
pub(crate) fn reseal_calls(tx: &Connection) -> rusqlite::Result<()> {
    let ids: Vec<i64> = tx
        .prepare("SELECT id FROM calls")?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    ids.into_iter().try_for_each(|id| reseal(tx, id))
}

/// Calls whose row is not as it was written.
pub(crate) fn damaged_calls(tx: &Connection) -> Result<Vec<i64>, Trouble> {
    let mut statement = tx.prepare(&format!("SELECT {COLUMNS} FROM calls"))?;
    let mut rows = statement.query([])?;
    let mut damaged = Vec::new();
    while let Some(row) = rows.next()? {
        let seal = crate::seal::of_row("call", row, 0..SEAL).map(Seal::short);
        let sound = seal.is_ok_and(|seal| row.get(SEAL).is_ok_and(|own: i64| own == seal));
        if !sound {
            damaged.push(row.get(0)?);
        }
    }
    Ok(damaged)
}
