//! `chela stop`: the kill switch.

use std::time::{Duration, Instant};

use chela_agent::halt::{HaltError, HaltNotice, running_turns};
use chela_core::Host;
use chela_sandbox::RunningCommand;
use serde_json::json;

use super::CommandOutcome;
use super::time::utc;
use crate::chat::clean_line;
use crate::cli::stop::StopArgs;
use crate::fail::{CommandError, CommandExit};
use crate::screen::{Screen, count_noun};

pub fn run(host: &Host, screen: &mut Screen, args: StopArgs) -> CommandOutcome {
    if args.all {
        let reason_given = args.reason.is_some();
        HaltNotice::set(host, args.reason)?;
        let left = wait_for_end(host);
        tell(host, screen, args.json, Some(&left))?;
        if reason_given
            && !args.json
            && HaltNotice::look(host).is_some_and(|halt| halt.reason.is_none())
        {
            screen.line("The reason could not be saved: the disk cannot be written to.")?;
        }
        return Ok(CommandExit::Fine);
    }
    if args.lift {
        let was = HaltNotice::lift(host)?;
        match (args.json, was) {
            (true, _) => screen.json(&json!({ "stopped": false, "was": was }))?,
            (false, true) => screen.line("Agents may work again.")?,
            (false, false) => screen.line("Agents were not stopped.")?,
        }
        return Ok(CommandExit::Fine);
    }
    tell(host, screen, args.json, None)?;
    Ok(CommandExit::Fine)
}

/// What stopping came to.
struct StopOutcome {
    /// Turns that still ran when nobody waited any more.
    turns: usize,
    /// Commands that still run.
    running: Vec<RunningCommand>,
    /// Commands that had outlived the program that started them, and were ended now.
    ended: Vec<RunningCommand>,
}

/// Waits until every turn has ended, and ends the commands nobody looks after any more. Only what
/// was looked for is said to be gone.
fn wait_for_end(host: &Host) -> StopOutcome {
    let deadline = Instant::now() + PATIENCE;
    let mut ended = Vec::new();
    loop {
        ended.extend(chela_sandbox::end_surviving_commands(host));
        let (turns, running) = (running_turns(host), chela_sandbox::running_commands(host));
        if turns == 0 && running.is_empty() || Instant::now() > deadline {
            return StopOutcome {
                turns,
                running,
                ended,
            };
        }
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// How long turns have to end.
const PATIENCE: Duration = Duration::from_secs(5);

/// `stopped since …: why`, when every agent is.
pub fn stopped_since(host: &Host) -> Option<String> {
    let halt = HaltNotice::look(host)?;
    let why = halt.reason.map_or(String::new(), |why| format!(": {why}"));
    Some(format!("stopped since {}{why}", utc(halt.at / 1000)))
}

fn tell(
    host: &Host,
    screen: &mut Screen,
    json: bool,
    outcome: Option<&StopOutcome>,
) -> Result<(), CommandError> {
    let halt = HaltNotice::look(host);
    if json {
        let since = halt.as_ref().map(|halt| halt.at);
        let reason = halt.as_ref().and_then(|halt| halt.reason.clone());
        let mut told = json!({ "stopped": halt.is_some(), "at": since, "reason": reason });
        if let Some(outcome) = outcome {
            let names = |commands: &[RunningCommand]| -> Vec<String> {
                commands.iter().map(|it| it.shown.clone()).collect()
            };
            told["turnsRunning"] = outcome.turns.into();
            told["commandsRunning"] = names(&outcome.running).into();
            told["commandsEnded"] = names(&outcome.ended).into();
        }
        screen.json(&told)?;
        return Ok(());
    }
    match halt {
        Some(_) => {
            let stopped = stopped_since(host).unwrap_or_default();
            screen.line(format!("Every agent is {stopped}."))?;
            match outcome {
                Some(outcome) => tell_outcome(screen, outcome)?,
                None => screen.paragraph(
                    "",
                    "Nothing starts and nothing is sent until `chela stop --lift`.",
                )?,
            }
        }
        None => {
            screen.line("Agents are not stopped.")?;
            screen.paragraph(
                "",
                "`chela stop --all` stops every turn of every agent, in every \
                process, and lets none start.",
            )?;
        }
    }
    Ok(())
}

fn tell_outcome(screen: &mut Screen, outcome: &StopOutcome) -> Result<(), CommandError> {
    for command in &outcome.ended {
        let line = format!("Stopped a command that was left running: {}", command.shown);
        screen.line(clean_line(&line))?;
    }
    if outcome.turns == 0 && outcome.running.is_empty() {
        screen.paragraph(
            "",
            "All turns have ended; nothing runs and nothing is sent until \
            `chela stop --lift`.",
        )?;
        return Ok(());
    }
    if outcome.turns > 0 {
        let turns = count_noun(outcome.turns, "turn");
        screen.line(format!(
            "After {} s {turns} had not ended yet; run `chela stop` to check again.",
            PATIENCE.as_secs()
        ))?;
    }
    for command in &outcome.running {
        screen.line(clean_line(&format!("Still running: {}", command.shown)))?;
    }
    screen.paragraph(
        "",
        "Nothing starts and nothing is sent until `chela stop --lift`.",
    )?;
    Ok(())
}

impl From<HaltError> for CommandError {
    fn from(error: HaltError) -> Self {
        let next = error.next_step();
        CommandError::new(error).hint(next)
    }
}
