//! `chela usage`: what was used, summed up.

use chela_core::Host;
use chela_ledger::{UsageBy, UsageRange, UsageSum, dollars};
use chela_tools::approvals::shown;

use super::time::utc;
use super::turn::{number, percent};
use super::{Outcome, ledger};
use crate::cli::usage::{ByName, UsageArgs};
use crate::fail::Exit;
use crate::screen::{Paint, Screen, counted, grouped, shorten};

/// How long the longest bar is.
const BAR: u64 = 24;
const DAY: u64 = 86_400_000;

pub fn run(host: &Host, screen: &mut Screen, args: &UsageArgs) -> Outcome {
    let by = match args.by {
        ByName::Agent => UsageBy::Agent,
        ByName::Model => UsageBy::Model,
        ByName::Section => UsageBy::Section,
        ByName::Cause => UsageBy::Cause,
        ByName::Day => UsageBy::Day,
    };
    let range = UsageRange {
        since: args
            .days
            .map(|days| host.unix_millis().saturating_sub(days.saturating_mul(DAY))),
        until: None,
    };
    ledger::with(host, screen, |ledger, screen| {
        let day = |at: u64| utc(at / 1000).chars().take(10).collect();
        let sums = ledger.usage(by, range, &day)?;
        if args.json {
            screen.json(&sums)?;
            return Ok(Exit::Fine);
        }
        let paint = screen.paint;
        let most = sums.iter().map(|sum| sum.input).max().unwrap_or(0);
        let rows: Vec<Vec<String>> = sums.iter().map(|sum| row(sum, most, paint)).collect();
        screen.table("", &rows)?;
        if sums.iter().any(|sum| sum.estimated > 0) {
            screen.line(paint.dim("~ in part by our own count: the endpoint reported nothing"))?;
        }
        Ok(Exit::Fine)
    })
}

fn row(sum: &UsageSum, most: u64, paint: Paint) -> Vec<String> {
    let bar = "█".repeat(number(percent(sum.input.saturating_mul(BAR), most) / 100));
    let about = if sum.estimated > 0 { "~" } else { "" };
    let cost = match sum.cost {
        0 => String::new(),
        cost => dollars(cost),
    };
    vec![
        shorten(&shown(&sum.name), 40),
        paint.accent(bar),
        format!("{about}{} in", grouped(number(sum.input))),
        format!("{} out", grouped(number(sum.output))),
        format!("{} % cached", percent(sum.cache_read, sum.input)),
        counted(number(sum.requests), "request"),
        cost,
    ]
}
