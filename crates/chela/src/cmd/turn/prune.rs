//! `chela turn prune`: what is old or too much leaves the record.

use chela_agent::agent::retention;
use chela_config::model::{BareUnit, ByteSize, DurationText};
use chela_core::Host;
use chela_ledger::{Ledger, LedgerRetention, RetentionReport};
use chela_store::block_on;
use serde_json::json;

use super::number;
use crate::cmd::{CommandOutcome, CommandSetup};
use crate::fail::{CommandError, CommandExit};
use crate::screen::{Screen, count_noun, grouped};

/// What was typed.
pub struct TurnPruneRequest {
    pub older_than: Option<String>,
    pub max_size: Option<String>,
    pub dry_run: bool,
    pub json: bool,
}

pub fn prune(
    host: &Host,
    ledger: &Ledger,
    screen: &mut Screen,
    asked: &TurnPruneRequest,
) -> CommandOutcome {
    let keep = asked.retention(host)?;
    let before = block_on(ledger.stored_bytes())?;
    let gone = match asked.dry_run {
        true => block_on(ledger.would_retain(keep))?,
        false => block_on(ledger.retain(keep))?,
    };
    if asked.json {
        screen.json(&json!({
            "requests": gone.requests,
            "contents": gone.contents,
            "bytes": gone.bytes,
            "bytesBefore": before,
            "bytesAfter": before.saturating_sub(gone.bytes),
            "done": !asked.dry_run,
        }))?;
        return Ok(CommandExit::Fine);
    }
    screen.line(in_words(&gone, before, asked.dry_run))?;
    Ok(CommandExit::Fine)
}

impl TurnPruneRequest {
    /// What was asked for; as the config says where nothing was.
    fn retention(&self, host: &Host) -> Result<LedgerRetention, CommandError> {
        if self.older_than.is_none() && self.max_size.is_none() {
            return Ok(retention(&CommandSetup::load(host).loaded));
        }
        let age = |text: &String| {
            DurationText::from(text.as_str())
                .duration(BareUnit::Days)
                .and_then(|age| u64::try_from(age.as_millis()).ok())
                .ok_or_else(|| {
                    CommandError::usage(format!("`{text}` is not a length of time"))
                        .hint("such as 30d or 12h")
                })
        };
        let size = |text: &String| {
            ByteSize::Text(text.clone()).bytes().ok_or_else(|| {
                CommandError::usage(format!("`{text}` is not a size")).hint("such as 500mb or 1gb")
            })
        };
        Ok(LedgerRetention {
            age: self.older_than.as_ref().map(age).transpose()?,
            bytes: self.max_size.as_ref().map(size).transpose()?,
        })
    }
}

fn in_words(gone: &RetentionReport, before: u64, dry_run: bool) -> String {
    if gone.requests == 0 {
        return format!(
            "Nothing to prune ({} bytes stored).",
            grouped(number(before))
        );
    }
    format!(
        "{} {}, {} bytes; {} bytes remain.",
        if dry_run { "Would delete" } else { "Deleted" },
        count_noun(gone.requests, "request"),
        grouped(number(gone.bytes)),
        grouped(number(before.saturating_sub(gone.bytes))),
    )
}
