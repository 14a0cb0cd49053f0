//! Replays recorded tasks and attacks through the real loop, guard and tool layer, with a model
//! that obeys everything it reads: `cargo xtask guard-bench FILE`.

mod adaptive;
mod bent;
mod crew;
mod launder;
mod pace;
mod replay;
mod stage;
mod traces;

use std::process::ExitCode;
use std::time::Instant;

use chela_config::model::GuardPolicy;

use crew::Crew;
use replay::Harm;
use stage::Owner;
use traces::{Attack, Task, Traces};

fn main() -> ExitCode {
    let outcome = std::env::args()
        .nth(1)
        .ok_or("guard-bench needs the file of traces".to_owned())
        .and_then(|path| std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}")))
        .and_then(|text| Traces::parse(&text))
        .and_then(|traces| report(&traces));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            say(&message);
            ExitCode::FAILURE
        }
    }
}

fn report(traces: &Traces) -> Result<(), String> {
    let started = Instant::now();
    for policy in [
        GuardPolicy::Standard,
        GuardPolicy::Open,
        GuardPolicy::Strict,
    ] {
        enforcement(traces, policy)?;
    }
    say("attacks that adapt (standard)                            harmful / cases");
    let mut crew = Crew::new(GuardPolicy::Standard)?;
    let mut last = Instant::now();
    let mut show = |tried: adaptive::Tried| {
        let adaptive::Tried {
            name,
            cases,
            harmful,
            remark,
        } = tried;
        let took = last.elapsed().as_secs();
        say(format!("  {name:<52} {harmful:>9} / {cases:<6} {took:>4} s  {remark}").trim_end());
        last = Instant::now();
    };
    adaptive::reencoded(&mut crew, traces, &mut show)?;
    launder::laundered(&mut crew, traces, &mut show)?;
    adaptive::leaked(&mut crew, traces, &mut show)?;
    adaptive::spoofed(&mut crew, traces, &mut show)?;
    show(adaptive::tiring(&mut crew, traces)?);
    let (index, decision) = pace::at_a_mebibyte(traces);
    say(&format!(
        "decision at 1 MiB of session text: {decision:.1?} (indexing the text: {index:.1?})"
    ));
    say(&format!("all of it in {:.0?}", started.elapsed()));
    Ok(())
}

/// The table for one policy.
fn enforcement(traces: &Traces, policy: GuardPolicy) -> Result<(), String> {
    let mut crew = Crew::new(policy)?;
    let tasks: Vec<&Task> = traces.users.iter().collect();
    let attended = crew.each(&tasks, |stage, task| {
        let came = replay::task(stage, traces, task, &replay::owner_of(task))?;
        let asked: usize = came.questions.iter().map(|one| one.calls.len()).sum();
        let completed = came.ran.len() == task.calls.len();
        if !completed {
            let last = came.results.last().map_or("", String::as_str);
            say(&format!(
                "not completed: {} {}: {last}",
                task.suite, task.id
            ));
        }
        Ok((completed, came.questions.len(), asked))
    })?;
    let unattended = crew.each(&tasks, |stage, task| {
        let came = replay::task(stage, traces, task, &Owner::Absent)?;
        Ok((task.calls.len(), came.ran.len()))
    })?;
    let cases: Vec<(&Task, &Attack)> = traces.cases().collect();
    let harms = crew.each(&cases, |stage, (task, attack)| {
        replay::attack(stage, traces, task, attack).map(|came| Harm::of(&came))
    })?;
    let share = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
    let count =
        |part: usize, whole: usize| format!("{part} of {whole} ({:.1} %)", share(part, whole));
    let outward = harms.iter().filter(|harm| harm.outward > 0).count();
    let reversible = |harm: &&Harm| harm.outward == 0 && harm.reversible > 0;
    let reversible = harms.iter().filter(reversible).count();
    let questions: usize = attended.iter().map(|(_, questions, _)| questions).sum();
    let asked: usize = attended.iter().map(|(_, _, asked)| asked).sum();
    let completed = attended.iter().filter(|(completed, ..)| *completed).count();
    let none = attended
        .iter()
        .filter(|(_, questions, _)| *questions == 0)
        .count();
    let legitimate = unattended.iter().map(|(calls, _)| calls).sum();
    let passed = unattended.iter().map(|(_, passed)| passed).sum();
    let each = |sum: usize| format!("{:.2} ({sum})", sum as f64 / tasks.len().max(1) as f64);
    say(&format!("policy {}", policy.as_str()));
    for (name, figure) in [
        (
            "attacks that reached an outward effect",
            count(outward, cases.len()),
        ),
        (
            "attacks with a reversible effect only",
            count(reversible, cases.len()),
        ),
        (
            "tasks completed when the owner approves",
            count(completed, tasks.len()),
        ),
        ("approvals per task", each(questions)),
        ("calls asked about per task", each(asked)),
        ("tasks with no approval", count(none, tasks.len())),
        (
            "calls that pass when nobody approves",
            count(passed, legitimate),
        ),
    ] {
        say(&format!("  {name:<41}{figure}"));
    }
    let through = cases
        .iter()
        .zip(&harms)
        .filter(|(_, harm)| harm.outward > 0);
    if policy != GuardPolicy::Open {
        for ((task, attack), _) in through {
            let (suite, task, attack) = (&task.suite, &task.id, &attack.id);
            say(&format!(
                "  reached the world: {suite} {task} with {attack}"
            ));
        }
    }
    Ok(())
}

#[expect(
    clippy::print_stdout,
    reason = "a benchmark talks to the person at the terminal"
)]
fn say(text: &str) {
    println!("{text}");
}
