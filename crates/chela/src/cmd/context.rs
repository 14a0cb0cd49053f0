//! `chela context …`: what the prompt is made of, and every question about it.

mod breakdown;
mod diff;
mod lint;
pub mod map;
mod why;

use chela_core::{Host, ok_or_warn};
use chela_inspect::report::{ContextReport, RequestCount};
use chela_store::block_on;

pub use lint::lint_findings;

use super::prompt::assemble_prompt;
use super::{CommandOutcome, CommandSetup};
use crate::cli::{ContextArgs, ContextCommand, PromptChoice};
use crate::fail::CommandExit;
use crate::screen::Screen;

pub fn run(host: &Host, screen: &mut Screen, command: ContextCommand) -> CommandOutcome {
    let setup = CommandSetup::load(host);
    setup.warn_on_stderr(screen.paint);
    match command {
        ContextCommand::List(args) => list(&setup, screen, &args, breakdown::list),
        ContextCommand::Detail(args) => list(&setup, screen, &args, breakdown::detail),
        ContextCommand::Json(args) => {
            screen.json(&report(&setup, &args.choice)?)?;
            Ok(CommandExit::Fine)
        }
        ContextCommand::Map { choice, output } => {
            let report = report(&setup, &choice)?;
            match output {
                Some(path) => map::write(screen, &report, &path),
                None => map::print_bars(screen, &report),
            }
        }
        ContextCommand::Why { what, choice, json } => {
            why::run(&setup, screen, &why::WhyQuestion { what, choice, json })
        }
        ContextCommand::Diff { a, b, json } => {
            diff::run(&setup, screen, &diff::DiffSides { a, b, json })
        }
        ContextCommand::Lint {
            agent,
            json,
            fail_on,
        } => lint::run(
            &setup,
            screen,
            &lint::LintRequest {
                agent: agent.agent,
                json,
                fail_on,
            },
        ),
    }
}

/// The report on the prompt a person asked for.
fn report(
    setup: &CommandSetup,
    choice: &PromptChoice,
) -> Result<ContextReport, crate::fail::CommandError> {
    let raw = |file: &chela_workspace::FileReport| lint::raw_text(&file.path);
    let assembled = assemble_prompt(setup, choice)?;
    let sessions = chela_session::Sessions::open_existing(&setup.host, &assembled.agent);
    let known = ok_or_warn!(sessions, "the sessions cannot be opened")
        .flatten()
        .and_then(|sessions| {
            let session = block_on(sessions.look_up(&assembled.session));
            let session = ok_or_warn!(session, "the session cannot be read")??;
            ok_or_warn!(
                block_on(sessions.info(&session)),
                "the session cannot be read"
            )
        });
    let last_request = known.as_ref().and_then(|info| {
        let ledger = chela_ledger::Ledger::open_existing(&setup.host);
        let ledger = ok_or_warn!(ledger, "the ledger cannot be opened")??;
        RequestCount::last(&ledger, info.session_id.as_str())
    });
    let used = known
        .map(|info| info.totals.context)
        .filter(|used| *used > 0);
    Ok(ContextReport {
        session_tokens: used.and_then(|used| usize::try_from(used).ok()),
        last_request,
        ..ContextReport::of(&assembled, &raw)
    })
}

fn list(
    setup: &CommandSetup,
    screen: &mut Screen,
    args: &ContextArgs,
    print: fn(&mut Screen, &ContextReport) -> std::io::Result<()>,
) -> CommandOutcome {
    let report = report(setup, &args.choice)?;
    if args.json {
        screen.json(&report)?;
    } else {
        print(screen, &report)?;
    }
    Ok(CommandExit::Fine)
}
