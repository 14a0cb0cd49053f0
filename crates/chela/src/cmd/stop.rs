//! `chela stop`: the kill switch.

use chela_agent::halt::{Halt, HaltError};
use chela_core::Host;
use serde_json::json;

use super::Outcome;
use super::time::utc;
use crate::cli::stop::StopArgs;
use crate::fail::{Exit, Fail};
use crate::screen::Screen;

pub fn run(host: &Host, screen: &mut Screen, args: StopArgs) -> Outcome {
    if args.all {
        let reason_given = args.reason.is_some();
        Halt::set(host, args.reason)?;
        tell(host, screen, args.json)?;
        if reason_given && !args.json && Halt::look(host).is_some_and(|halt| halt.reason.is_none())
        {
            screen
                .line("The reason could not be kept: nothing more can be written to the disk.")?;
        }
        return Ok(Exit::Fine);
    }
    if args.lift {
        // What an agent starts must not start the agent again.
        if host.var("CHELA_SHELL").is_some() {
            return Err(
                Fail::new("agents are let go by the owner, not by a command of an agent")
                    .hint("run it in a terminal of your own"),
            );
        }
        let was = Halt::lift(host)?;
        match (args.json, was) {
            (true, _) => screen.json(&json!({ "stopped": false, "was": was }))?,
            (false, true) => screen.line("Agents may work again.")?,
            (false, false) => screen.line("Nothing was stopped.")?,
        }
        return Ok(Exit::Fine);
    }
    tell(host, screen, args.json)?;
    Ok(Exit::Fine)
}

fn tell(host: &Host, screen: &mut Screen, json: bool) -> Result<(), Fail> {
    let halt = Halt::look(host);
    if json {
        let since = halt.as_ref().map(|halt| halt.at);
        let reason = halt.as_ref().and_then(|halt| halt.reason.clone());
        screen.json(&json!({ "stopped": halt.is_some(), "at": since, "reason": reason }))?;
        return Ok(());
    }
    match halt {
        Some(halt) => {
            let why = halt.reason.map_or(String::new(), |why| format!(": {why}"));
            screen.line(format!(
                "Every agent is stopped since {}{why}.",
                utc(halt.at / 1000)
            ))?;
            screen.paragraph("", "Turns that ran have ended; nothing runs and nothing is sent until `chela stop --lift`.")?;
        }
        None => {
            screen.line("Agents may work.")?;
            screen.paragraph("", "`chela stop --all` ends every turn of every agent, in every process, and lets none begin.")?;
        }
    }
    Ok(())
}

impl From<HaltError> for Fail {
    fn from(error: HaltError) -> Self {
        let next = error.next_step();
        Fail::new(error).hint(next)
    }
}
