//! `chela gateway deliveries`: what is on its way, and what did not arrive.

use chela_core::{ContentHash, Host};
use chela_gateway::{WorkDelivery, delivery_expiry};
use chela_store::{
    DeliveryEnd, DeliveryQuery, DeliveryRecord, DeliveryState, OutboxStore as _,
    SqliteRuntimeStore, block_on,
};
use serde_json::{Value, json};

use crate::chat::clean_line;
use crate::cli::gateway::{DeliveriesArgs, DeliveriesCommand};
use crate::cmd::time::utc;
use crate::cmd::{CommandOutcome, CommandSetup};
use crate::fail::{CommandError, CommandExit};
use crate::screen::Screen;

/// The longest text in the list.
const MOST_TEXT: usize = 60;
/// So much of a hash names a delivery.
const ID_LENGTH: usize = 8;

pub fn run(host: &Host, screen: &mut Screen, args: DeliveriesArgs) -> CommandOutcome {
    let path = SqliteRuntimeStore::path_in(&host.state_dir());
    let store = SqliteRuntimeStore::open_existing(&path).map_err(CommandError::new)?;
    let Some(store) = store else {
        return no_such(screen, &args);
    };
    match &args.command {
        None => list(screen, &store, &args),
        Some(DeliveriesCommand::Retry { id }) => {
            let record = find(&store, id)?;
            let setup = CommandSetup::load(host);
            let now = host.unix_millis();
            let expires = delivery_expiry(&setup.loaded, now);
            let retried = block_on(store.retry_delivery(&record.id, now, expires));
            match retried.map_err(CommandError::new)? {
                true => screen.line("It is tried again as soon as the gateway runs.")?,
                false => return Err(CommandError::usage("it has arrived already")),
            }
            Ok(CommandExit::Fine)
        }
        Some(DeliveriesCommand::Drop { id }) => {
            let record = find(&store, id)?;
            let end = DeliveryEnd {
                state: DeliveryState::Dropped,
                why: "dropped by you".to_owned(),
                at: host.unix_millis(),
            };
            let dropped = block_on(store.end_delivery(&record.id, end));
            match dropped.map_err(CommandError::new)? {
                true => screen.line("Dropped: it is not delivered.")?,
                false => {
                    let why = format!("it is over already: {}", record.state.as_str());
                    return Err(CommandError::usage(why));
                }
            }
            Ok(CommandExit::Fine)
        }
    }
}

/// How many deliveries wait, and how many were given up.
pub fn delivery_counts(host: &Host) -> (usize, usize) {
    let path = SqliteRuntimeStore::path_in(&host.state_dir());
    let Ok(Some(store)) = SqliteRuntimeStore::open_existing(&path) else {
        return (0, 0);
    };
    let count = |state| {
        let query = DeliveryQuery {
            state: Some(state),
            limit: usize::MAX,
        };
        block_on(store.deliveries(query)).map_or(0, |records| records.len())
    };
    let failed = count(DeliveryState::Failed) + count(DeliveryState::Expired);
    (count(DeliveryState::Waiting), failed)
}

fn no_such(screen: &mut Screen, args: &DeliveriesArgs) -> CommandOutcome {
    match (&args.command, args.json) {
        (Some(DeliveriesCommand::Retry { id } | DeliveriesCommand::Drop { id }), _) => {
            Err(unknown(id, &[]))
        }
        (None, true) => {
            screen.json(&json!({ "deliveries": [] }))?;
            Ok(CommandExit::Fine)
        }
        (None, false) => {
            screen.line("There are no deliveries.")?;
            Ok(CommandExit::Fine)
        }
    }
}

fn list(screen: &mut Screen, store: &SqliteRuntimeStore, args: &DeliveriesArgs) -> CommandOutcome {
    let query = DeliveryQuery {
        state: None,
        limit: usize::MAX,
    };
    let records = block_on(store.deliveries(query)).map_err(CommandError::new)?;
    let is_over = |record: &DeliveryRecord| {
        matches!(
            record.state,
            DeliveryState::Delivered | DeliveryState::Dropped
        )
    };
    let records: Vec<DeliveryRecord> = records
        .into_iter()
        .filter(|record| args.all || !is_over(record))
        .take(args.limit)
        .collect();
    if args.json {
        let rows: Vec<Value> = records.iter().map(record_json).collect();
        screen.json(&json!({ "deliveries": rows }))?;
        return Ok(CommandExit::Fine);
    }
    if records.is_empty() {
        screen.line(match args.all {
            true => "There are no deliveries.",
            false => "Nothing waits to be delivered, and nothing failed.",
        })?;
        return Ok(CommandExit::Fine);
    }
    let lines: Vec<Vec<String>> = records.iter().map(record_line).collect();
    screen.table("", &lines)?;
    Ok(CommandExit::Fine)
}

fn record_line(record: &DeliveryRecord) -> Vec<String> {
    let (from, to, text) = match WorkDelivery::read(record) {
        Ok(delivery) => (delivery.from, delivery.target.in_words(), delivery.text),
        Err(why) => (String::new(), String::new(), why),
    };
    let text: String = text.chars().take(MOST_TEXT).collect();
    let standing = match record.state {
        DeliveryState::Waiting if record.tries > 0 => {
            format!(
                "waiting, next try {}: {}",
                utc(record.due / 1_000),
                record.why
            )
        }
        DeliveryState::Waiting => "waiting".to_owned(),
        state if record.why.is_empty() => state.as_str().to_owned(),
        state => format!("{}: {}", state.as_str(), record.why),
    };
    vec![
        short_id(record),
        utc(record.made / 1_000),
        clean_line(&format!("{from} to {to}")),
        clean_line(&standing),
        clean_line(&text),
    ]
}

fn record_json(record: &DeliveryRecord) -> Value {
    let delivery = WorkDelivery::read(record).ok();
    json!({
        "number": short_id(record), "id": record.id, "state": record.state.as_str(),
        "made": record.made, "due": record.due, "expires": record.expires,
        "tries": record.tries, "why": record.why, "ended": record.ended,
        "delivery": delivery,
    })
}

/// What people name it by: its own id is long.
fn short_id(record: &DeliveryRecord) -> String {
    let hash = ContentHash::of(&record.id).to_string();
    hash.chars().take(ID_LENGTH).collect()
}

fn find(store: &SqliteRuntimeStore, id: &str) -> Result<DeliveryRecord, CommandError> {
    let query = DeliveryQuery {
        state: None,
        limit: usize::MAX,
    };
    let records = block_on(store.deliveries(query)).map_err(CommandError::new)?;
    let is_it = |record: &&DeliveryRecord| {
        record.id == id || (!id.is_empty() && short_id(record).starts_with(id))
    };
    let found: Vec<&DeliveryRecord> = records.iter().filter(is_it).collect();
    match found.as_slice() {
        [one] => Ok((*one).clone()),
        several => Err(unknown(id, several)),
    }
}

fn unknown(id: &str, several: &[&DeliveryRecord]) -> CommandError {
    let why = match several.len() {
        0 => format!("there is no delivery `{id}`"),
        _ => format!("`{id}` could be {} deliveries", several.len()),
    };
    CommandError::usage(why).hint("`chela gateway deliveries --all` lists them")
}
