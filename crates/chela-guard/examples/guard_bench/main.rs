//! Replays recorded tasks and attacks through the guard with a model that obeys everything:
//! `cargo xtask guard-bench FILE`.

mod adaptive;
mod replay;
mod traces;
mod world;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use chela_config::model::GuardPolicy;
use chela_core::{ContentHash, Origin, Trust};

use traces::Traces;
use world::{Decisions, Owner, Ran, World as _};

fn main() -> ExitCode {
    let outcome = std::env::args()
        .nth(1)
        .ok_or("guard-bench needs the file of traces".to_owned())
        .and_then(|path| std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}")))
        .and_then(|text| Traces::parse(&text));
    match outcome {
        Ok(traces) => {
            say(&report(&traces));
            ExitCode::SUCCESS
        }
        Err(message) => {
            say(&message);
            ExitCode::FAILURE
        }
    }
}

fn report(traces: &Traces) -> String {
    let mut lines = Vec::new();
    for policy in [
        GuardPolicy::Open,
        GuardPolicy::Standard,
        GuardPolicy::Strict,
    ] {
        lines.extend(enforcement(traces, policy));
    }
    let new = || Decisions::new(GuardPolicy::Standard);
    lines.push(
        "attacks that adapt (standard)                            harmful / cases".to_owned(),
    );
    let (tiring, most) = adaptive::tiring(traces, new);
    let tried = adaptive::reencoded(traces, new)
        .into_iter()
        .chain(adaptive::laundered(traces, new))
        .chain(adaptive::leaked(traces, new))
        .chain(adaptive::spoofed(traces, new))
        .chain([tiring]);
    lines.extend(tried.map(|tried| {
        format!(
            "  {:<52} {:>9} / {}",
            tried.name, tried.harmful, tried.cases
        )
    }));
    lines.push(format!(
        "  most questions put to the owner by (f)               {most:>9}"
    ));
    let (index, decision) = at_a_mebibyte(traces);
    lines.push(format!(
        "decision at 1 MiB of session text: {decision:.1?} (indexing the text: {index:.1?})"
    ));
    lines.join("\n")
}

fn enforcement(traces: &Traces, policy: GuardPolicy) -> Vec<String> {
    let tasks = traces.users.len();
    let (mut completed, mut none, mut plans, mut asked) = (0, 0, 0, 0);
    let (mut legitimate, mut passed) = (0, 0);
    for task in &traces.users {
        let mut world = Decisions::new(policy);
        let ran = replay::task(&mut world, traces, task, Owner::Approves);
        completed += usize::from(!ran.contains(&Ran::No));
        none += usize::from(world.questions == 0);
        plans += world.questions;
        asked += world.asked_calls;
        let mut world = Decisions::new(policy);
        let ran = replay::task(&mut world, traces, task, Owner::Absent);
        legitimate += ran.len();
        passed += ran.iter().filter(|ran| **ran != Ran::No).count();
    }
    let (mut cases, mut outward, mut reversible) = (0, 0, 0);
    for (task, attack) in traces.cases() {
        let mut world = Decisions::new(policy);
        let harm = replay::attack(&mut world, traces, task, attack);
        cases += 1;
        outward += usize::from(harm.outward > 0);
        reversible += usize::from(harm.outward == 0 && harm.reversible > 0);
        if harm.outward > 0 && policy == GuardPolicy::Standard {
            say(&format!(
                "reached the world: {} {} with {}",
                task.suite, task.id, attack.id
            ));
        }
    }
    let share = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
    vec![
        format!("policy {}", policy.as_str()),
        format!(
            "  attacks that reached an outward effect   {outward} of {cases} ({:.1} %)",
            share(outward, cases)
        ),
        format!(
            "  attacks with a reversible effect only    {reversible} ({:.1} %)",
            share(reversible, cases)
        ),
        format!("  tasks completed when the owner approves  {completed} of {tasks}"),
        format!(
            "  approvals per task, by plan              {:.2} ({plans})",
            plans as f64 / tasks as f64
        ),
        format!(
            "  approvals per task, each call            {:.2} ({asked})",
            asked as f64 / tasks as f64
        ),
        format!(
            "  tasks with no approval                   {none} ({:.1} %)",
            share(none, tasks)
        ),
        format!(
            "  calls that pass when nobody approves     {passed} of {legitimate} ({:.1} %)",
            share(passed, legitimate)
        ),
    ]
}

/// How long a decision takes when a session is long.
fn at_a_mebibyte(traces: &Traces) -> (Duration, Duration) {
    let mut world = Decisions::new(GuardPolicy::Standard);
    let started = Instant::now();
    let mut round = 0;
    while world.seen.size() < 1 << 20 {
        for task in &traces.users {
            world.owner_says(&task.prompt);
            for (at, call) in task.calls.iter().enumerate() {
                let text = format!(
                    "{} {round}.{at}",
                    call.output.as_deref().unwrap_or_default()
                );
                world.add(
                    &text,
                    Trust::External,
                    Origin::Tool {
                        call: "x".into(),
                        hash: ContentHash::of(""),
                    },
                );
            }
        }
        round += 1;
    }
    let index = started.elapsed();
    let mut slowest = Duration::ZERO;
    for call in traces.injections.iter().flat_map(|attack| &attack.calls) {
        let Some(declared) = traces.declared(&call.tool) else {
            continue;
        };
        // The machine may be busy: the best of several tries is what a decision costs.
        let best = (0..20).map(|_| world.decide(call, declared).1).min();
        slowest = slowest.max(best.unwrap_or_default());
    }
    (index, slowest)
}

#[expect(
    clippy::print_stdout,
    reason = "a benchmark talks to the person at the terminal"
)]
fn say(text: &str) {
    println!("{text}");
}
