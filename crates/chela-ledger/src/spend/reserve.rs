//! Reservations: one transaction looks at the limits and takes the room.

use chela_files::{is_process_alive, this_boot};
use chela_store::{
    CallState, LedgerTransaction, LimitSpan, NewCall, OpenCall, SpentAmount as Amount, SpentQuery,
    WriteDurability,
};

use super::{
    LimitOf, LimitReached, LimitScope, ReserveAsk, ReserveError, SpendReservation, SpendingBound,
};
use crate::ledger::{Ledger, LedgerError, LedgerFuture};

impl Ledger {
    /// Takes room for a call, or says which limit leaves none.
    pub async fn reserve(&self, ask: &ReserveAsk) -> Result<SpendReservation, ReserveError> {
        let now = self.host.unix_millis();
        let asked = ask.clone();
        let taken = self
            .write(WriteDurability::Disk, move |tx| take_room(tx, &asked, now))
            .await?;
        Ok(taken.map(|id| SpendReservation {
            id,
            ask: ask.clone(),
        })?)
    }

    /// The call is over and cost this much. Counts once: a second time changes nothing. Under way
    /// when this returns.
    pub fn settle(&self, reservation: &SpendReservation, actual: Amount) -> LedgerFuture<()> {
        let now = self.host.unix_millis();
        let (id, ask) = (reservation.id, reservation.ask.clone());
        // Lost with a power cut, it counts with what is known of it.
        self.write(WriteDurability::Process, move |tx| {
            if tx.settle_call(id, actual)? == CallState::Unknown {
                tracing::debug!(
                    call = id,
                    "a call is settled whose room was given away: it still counts"
                );
                tx.add_call(&ask.call(Some(id), now))?;
                tx.settle_call(id, actual)?;
            }
            Ok(())
        })
    }

    /// The call was not made, or nothing has to be paid for it.
    pub async fn release(&self, reservation: SpendReservation) -> Result<(), LedgerError> {
        self.write(WriteDurability::Process, move |tx| {
            Ok(tx.release_call(reservation.id)?)
        })
        .await
    }

    /// What is spent and reserved at the moment under a limit.
    pub async fn used(
        &self,
        ask: &ReserveAsk,
        limit: &SpendingBound,
    ) -> Result<Amount, LedgerError> {
        let now = self.host.unix_millis();
        let (ask, limit) = (ask.clone(), limit.clone());
        self.write(WriteDurability::Process, move |tx| {
            give_back_lost(tx, now)?;
            used(tx, &ask, &limit)
        })
        .await
    }
}

/// Takes room for a call: its number, or the limit that leaves none.
pub(crate) fn take_room(
    tx: &mut dyn LedgerTransaction,
    ask: &ReserveAsk,
    now: u64,
) -> Result<Result<i64, LimitReached>, LedgerError> {
    give_back_lost(tx, now)?;
    for limit in &ask.limits {
        if let Some(reached) = reached(tx, ask, limit)? {
            tracing::info!(key = reached.key, job = ask.job, "a limit leaves no room");
            return Ok(Err(reached));
        }
    }
    Ok(Ok(tx.add_call(&ask.call(None, now))?))
}

impl ReserveAsk {
    /// The call, under the number it had before where it had one.
    fn call(&self, number: Option<i64>, now: u64) -> NewCall<'_> {
        NewCall {
            number,
            at: now,
            agent: &self.agent,
            session: &self.session,
            turn: &self.turn,
            job: &self.job,
            day: &self.day,
            month: &self.month,
            model: &self.model,
            estimate: self.estimate,
            known: self.known,
            owner: this_boot(),
            process: std::process::id(),
            expires: now.saturating_add(self.lasts),
        }
    }
}

fn reached(
    tx: &mut dyn LedgerTransaction,
    ask: &ReserveAsk,
    limit: &SpendingBound,
) -> Result<Option<LimitReached>, LedgerError> {
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

fn used(
    tx: &mut dyn LedgerTransaction,
    ask: &ReserveAsk,
    limit: &SpendingBound,
) -> Result<Amount, LedgerError> {
    let (agent, job) = match limit.of {
        LimitOf::Agent => (Some(ask.agent.as_str()), None),
        LimitOf::Job => (Some(ask.agent.as_str()), Some(ask.job.as_str())),
    };
    let span = match limit.scope {
        LimitScope::Turn => LimitSpan::Turn(&ask.turn),
        LimitScope::Session => LimitSpan::Session(&ask.session),
        LimitScope::Day => LimitSpan::Day(&ask.day),
        LimitScope::Month => LimitSpan::Month(&ask.month),
    };
    Ok(tx.spent(&SpentQuery { span, agent, job })?)
}

/// Gives back what processes took that are dead now, but for what is known: their requests may
/// have been sent, and then somebody is paid for reading them.
fn give_back_lost(tx: &mut dyn LedgerTransaction, now: u64) -> Result<(), LedgerError> {
    for call in tx.open_calls()? {
        if is_lost(&call, now) {
            tracing::debug!(call = call.number, "the room of a lost call is given back");
            tx.give_up_call(call.number)?;
        }
    }
    Ok(())
}

fn is_lost(call: &OpenCall, now: u64) -> bool {
    let pid = u32::try_from(call.process);
    call.expires <= now || !pid.is_ok_and(|pid| is_process_alive(&call.owner, pid))
}
