//! `chela cache why`: what each request could reuse, and why not more.

use chela_core::Host;
use chela_ledger::{CacheReport, CacheTurn, Ledger, dollars};
use chela_model::Models;
use chela_store::block_on;
use chela_tools::approvals::shown;

use super::time::utc;
use super::turn::{number, percent};
use super::{CommandOutcome, CommandSetup, ledger};
use crate::cli::cache::CacheCommand;
use crate::fail::CommandExit;
use crate::screen::{ColourMode, Screen, count_noun, grouped};

pub fn run(host: &Host, screen: &mut Screen, command: CacheCommand) -> CommandOutcome {
    let CacheCommand::Why { session, json } = command;
    let setup = CommandSetup::look(host);
    let models = Models::of(host, &setup.loaded);
    ledger::with_ledger(host, screen, |ledger, screen| {
        why(ledger, &models, screen, (session.as_deref(), json))
    })
}

fn why(
    ledger: &Ledger,
    models: &Models,
    screen: &mut Screen,
    (given, as_json): (Option<&str>, bool),
) -> CommandOutcome {
    let session = ledger::resolve_session(ledger, given)?;
    let report =
        block_on(ledger.cache_report(&session, &|model| ledger::model_prices(models, model)))?;
    let Some(report) = report else {
        return Ok(CommandExit::Fine);
    };
    if as_json {
        screen.json(&report)?;
        return Ok(CommandExit::Fine);
    }
    let paint = screen.paint;
    screen.line(format!(
        "{} {}",
        paint.bold(shown(&report.key)),
        paint.dim(shown(&report.session))
    ))?;
    let rows: Vec<Vec<String>> = report.turns.iter().map(|turn| row(turn, paint)).collect();
    screen.table("  ", &rows)?;
    screen.paragraph("", &in_words(&report))?;
    Ok(CommandExit::Fine)
}

fn row(turn: &CacheTurn, paint: ColourMode) -> Vec<String> {
    let reuse = &turn.reuse;
    let said = match &reuse.broken {
        None => paint.good("the rest is new"),
        Some(broken) => {
            let price = match (reuse.reread_tokens, turn.reread_cost) {
                (0, _) => String::new(),
                (tokens, None) => format!("; {} tokens read again", grouped(number(tokens))),
                (tokens, Some(cost)) => {
                    let tokens = grouped(number(tokens));
                    format!("; {tokens} tokens read again for {}", dollars(cost))
                }
            };
            let place = match broken.path.is_empty() {
                true => String::new(),
                false => format!(
                    " ({} at byte {})",
                    broken.place,
                    grouped(number(broken.offset))
                ),
            };
            shown(&format!("{}{place}{price}", broken.cause))
        }
    };
    vec![
        paint.accent(turn.record),
        paint.dim(utc(turn.at / 1000)),
        format!(
            "{} of {} tokens reused",
            grouped(number(reuse.tokens)),
            grouped(number(reuse.total_tokens))
        ),
        said,
    ]
}

fn in_words(report: &CacheReport) -> String {
    let part = percent(report.reused_tokens, report.total_tokens);
    let breaks = match report.avoidable_breaks {
        0 => "no avoidable breaks".to_owned(),
        many => count_noun(many, "avoidable break"),
    };
    let price = match (report.reread_tokens, report.reread_cost) {
        (0, _) | (_, None) => String::new(),
        (_, Some(cost)) => format!(" Reading it again cost {}.", dollars(cost)),
    };
    format!("{part} % of all input could be reused; {breaks}.{price}")
}
