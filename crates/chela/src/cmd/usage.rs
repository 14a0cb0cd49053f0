//! `chela usage`: what was used, summed up.

use chela_agent::OwnerCalendar;
use chela_core::Host;
use chela_gateway::QuotaTally;
use chela_ledger::{UsageBy, UsageRange, UsageSum, dollars};
use chela_store::{SqliteRuntimeStore, block_on};
use chela_tools::approvals::shown;

use super::turn::{number, percent};
use super::{CommandOutcome, CommandSetup, ledger};
use crate::cli::usage::{ByName, UsageArgs};
use crate::fail::{CommandError, CommandExit};
use crate::screen::{ColourMode, Screen, count_noun, grouped, shorten};

/// How long the longest bar is.
const BAR: u64 = 24;
const DAY: u64 = 86_400_000;

pub fn run(host: &Host, screen: &mut Screen, args: &UsageArgs) -> CommandOutcome {
    let by = match args.by {
        ByName::Agent => UsageBy::Agent,
        ByName::Model => UsageBy::Model,
        ByName::Section => UsageBy::Section,
        ByName::Cause => UsageBy::Cause,
        ByName::Day => UsageBy::Day,
    };
    let setup = CommandSetup::load(host);
    let zone = &setup.loaded.config.agents.defaults.user_timezone;
    let calendar = OwnerCalendar::of(host, zone.as_deref());
    // Today is one of them.
    let since = |days: u64| {
        let earlier = days.saturating_sub(1).saturating_mul(DAY);
        calendar.midnight(host.unix_millis().saturating_sub(earlier))
    };
    let range = UsageRange {
        since: args.days.map(since),
        until: None,
    };
    ledger::with_ledger(host, screen, |ledger, screen| {
        let sums = block_on(ledger.usage(by, range, &|at| calendar.day(at)))?;
        if args.json {
            screen.json(&sums)?;
            return Ok(CommandExit::Fine);
        }
        match sums.is_empty() {
            true => screen.line("No usage in this period.")?,
            false => chart(screen, &sums, by)?,
        }
        tell_quotas(&setup, screen)
    })
}

/// What is used up of `gateway.quotas`, where there are any.
fn tell_quotas(setup: &CommandSetup, screen: &mut Screen) -> CommandOutcome {
    let path = SqliteRuntimeStore::path_in(&setup.host.state_dir());
    let store = SqliteRuntimeStore::open_existing(&path).map_err(CommandError::new)?;
    let Some(store) = store else {
        return Ok(CommandExit::Fine);
    };
    let quotas = &setup.loaded.config.gateway.quotas;
    let now = setup.host.unix_millis();
    let tally = block_on(QuotaTally::load(quotas, &store, now)).map_err(CommandError::new)?;
    let standings = tally.standings(quotas, now);
    if !standings.is_empty() {
        screen.line("\nQuotas of the gateway:")?;
    }
    for standing in standings {
        screen.line(shown(&standing.in_words()))?;
    }
    Ok(CommandExit::Fine)
}

fn chart(screen: &mut Screen, sums: &[UsageSum], by: UsageBy) -> Result<(), CommandError> {
    let paint = screen.paint;
    let most = sums.iter().map(|sum| sum.input).max().unwrap_or(0);
    let mut rows: Vec<Vec<String>> = sums
        .iter()
        .map(|sum| row(sum, bar(sum.input, most), by, paint))
        .collect();
    if sums.len() > 1 && by != UsageBy::Section {
        let total = UsageSum::total(sums);
        rows.push(row(&total, String::new(), by, paint));
    }
    screen.table("", &rows)?;
    if sums.iter().any(|sum| sum.estimated > 0) {
        screen.line(paint.dim(
            "~ partly our own count: the endpoint reported nothing, or the answer broke off",
        ))?;
    }
    Ok(())
}

/// A bar in eighths of a character, so that small shares show too.
fn bar(part: u64, most: u64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (part.saturating_mul(BAR * 8))
        .checked_div(most)
        .unwrap_or(0);
    // What is there at all is seen.
    let eighths = eighths.max(u64::from(part > 0));
    "█".repeat(number(eighths / 8)) + EIGHTHS[number(eighths % 8)]
}

fn row(sum: &UsageSum, bar: String, by: UsageBy, paint: ColourMode) -> Vec<String> {
    let about = if sum.estimated > 0 { "~" } else { "" };
    let input = format!("{about}{} in", grouped(number(sum.input)));
    let mut cells = vec![shorten(&shown(&sum.name), 40), paint.accent(bar), input];
    if by != UsageBy::Section {
        let cost = match sum.cost {
            0 => String::new(),
            cost => dollars(cost),
        };
        cells.extend([
            format!("{} out", grouped(number(sum.output))),
            format!("{} % cached", percent(sum.cache_read, sum.input)),
            count_noun(number(sum.requests), "request"),
            cost,
        ]);
    }
    cells
}

#[cfg(test)]
mod tests {
    use super::bar;

    #[test]
    fn bars_are_in_proportion() {
        assert_eq!(bar(0, 0), "");
        assert_eq!(bar(10, 10).chars().count(), 24);
        assert_eq!(bar(5, 10), "█".repeat(12));
        assert_eq!(bar(1, 1_000_000), "▏");
        assert_eq!(bar(0, 10), "");
    }
}
