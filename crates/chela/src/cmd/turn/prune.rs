//! `chela turn prune`: what is old or too much leaves the record.

use chela_agent::keeping::retention;
use chela_config::model::{BareUnit, ByteSize, DurationText};
use chela_core::Host;
use chela_ledger::{Forgotten, Ledger, Retention};
use chela_store::block_on;
use serde_json::json;

use super::number;
use crate::cmd::{Outcome, Setup};
use crate::fail::{Exit, Fail};
use crate::screen::{Screen, counted, grouped};

/// What was typed.
pub struct Asked {
    pub older_than: Option<String>,
    pub max_size: Option<String>,
    pub dry_run: bool,
    pub json: bool,
}

pub fn prune(host: &Host, ledger: &Ledger, screen: &mut Screen, asked: &Asked) -> Outcome {
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
        return Ok(Exit::Fine);
    }
    screen.line(in_words(&gone, before, asked.dry_run))?;
    Ok(Exit::Fine)
}

impl Asked {
    /// What was asked for; as the config says where nothing was.
    fn retention(&self, host: &Host) -> Result<Retention, Fail> {
        if self.older_than.is_none() && self.max_size.is_none() {
            return Ok(retention(&Setup::load(host).loaded));
        }
        let age = |text: &String| {
            DurationText::from(text.as_str())
                .duration(BareUnit::Days)
                .and_then(|age| u64::try_from(age.as_millis()).ok())
                .ok_or_else(|| {
                    Fail::usage(format!("`{text}` is no length of time")).hint("such as 30d or 12h")
                })
        };
        let size = |text: &String| {
            ByteSize::Text(text.clone()).bytes().ok_or_else(|| {
                Fail::usage(format!("`{text}` is no size")).hint("such as 500mb or 1gb")
            })
        };
        Ok(Retention {
            age: self.older_than.as_ref().map(age).transpose()?,
            bytes: self.max_size.as_ref().map(size).transpose()?,
        })
    }
}

fn in_words(gone: &Forgotten, before: u64, dry_run: bool) -> String {
    if gone.requests == 0 {
        return format!(
            "Nothing is to go: {} bytes are kept.",
            grouped(number(before))
        );
    }
    format!(
        "{} {}, {} bytes; {} bytes are kept.",
        if dry_run { "Would delete" } else { "Deleted" },
        counted(gone.requests, "request"),
        grouped(number(gone.bytes)),
        grouped(number(before.saturating_sub(gone.bytes))),
    )
}
