//! Replays recorded tasks and attacks through the real loop, guard and tool layer, with a model
//! that obeys everything it reads: `cargo xtask guard-bench recorded adapting --traces FILE`.

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
use chela_testkit::tally::TallyRow;

use crew::Crew;
use replay::Harm;
use stage::Owner;
use traces::{Attack, Task, Traces};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match Wanted::of(&arguments).and_then(|wanted| report(&wanted)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            say(&message);
            ExitCode::FAILURE
        }
    }
}

/// What is to be measured.
struct Wanted {
    traces: Traces,
    policies: Vec<GuardPolicy>,
    adapting: bool,
    /// Of the attacks by another way, those whose name has this; then nothing else is measured.
    laundered: Option<String>,
    /// Each question of the tasks is listed.
    questions: bool,
}

impl Wanted {
    /// `FILE [--quick] [--questions] [--laundered=WORDS]`: quick is the default policy without the
    /// attacks that adapt.
    fn of(arguments: &[String]) -> Result<Self, String> {
        let (options, files): (Vec<&String>, Vec<&String>) = arguments
            .iter()
            .partition(|argument| argument.starts_with("--"));
        let [path] = files.as_slice() else {
            return Err("guard-bench needs the file of traces".to_owned());
        };
        let known = ["--quick", "--questions"];
        let mut laundered = None;
        for option in &options {
            match option.strip_prefix("--laundered=") {
                Some(words) => laundered = Some(words.to_owned()),
                None if known.contains(&option.as_str()) => {}
                None => return Err(format!("unknown option {option}")),
            }
        }
        let has = |name: &str| options.iter().any(|option| *option == name);
        let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
        let mut policies = vec![GuardPolicy::Standard];
        if !has("--quick") {
            policies.extend([GuardPolicy::Open, GuardPolicy::Strict]);
        }
        Ok(Self {
            traces: Traces::parse(&text)?,
            policies,
            adapting: !has("--quick"),
            laundered,
            questions: has("--questions"),
        })
    }
}

fn report(wanted: &Wanted) -> Result<(), String> {
    let started = Instant::now();
    let traces = &wanted.traces;
    if let Some(words) = &wanted.laundered {
        let mut crew = Crew::new(GuardPolicy::Standard)?;
        let mut show = |tried| say(&format!("{tried:?}"));
        return launder::laundered(&mut crew, traces, words, &mut show);
    }
    for policy in &wanted.policies {
        enforcement(traces, *policy, wanted.questions)?;
    }
    if wanted.adapting {
        adapting(traces)?;
    }
    let (index, decision) = pace::at_a_mebibyte(traces);
    say(&format!(
        "decision at 1 MiB of session text: {decision:.1?} (indexing the text: {index:.1?})"
    ));
    say(&format!("all of it in {:.0?}", started.elapsed()));
    Ok(())
}

fn adapting(traces: &Traces) -> Result<(), String> {
    say("attacks that adapt (standard)                            harmful / cases");
    let mut crew = Crew::new(GuardPolicy::Standard)?;
    let mut last = Instant::now();
    let (mut rows, mut harmful_cases) = (0, 0);
    let mut show = |tried: adaptive::Tried| {
        let adaptive::Tried {
            name,
            cases,
            harmful,
            remark,
        } = tried;
        rows += 1;
        harmful_cases += harmful;
        let took = last.elapsed().as_secs();
        say(format!("  {name:<52} {harmful:>9} / {cases:<6} {took:>4} s  {remark}").trim_end());
        last = Instant::now();
    };
    adaptive::reencoded(&mut crew, traces, &mut show)?;
    launder::laundered(&mut crew, traces, "", &mut show)?;
    adaptive::leaked(&mut crew, traces, &mut show)?;
    adaptive::spoofed(&mut crew, traces, &mut show)?;
    show(adaptive::tiring(&mut crew, traces)?);
    let row = TallyRow {
        tasks: rows,
        outward: harmful_cases,
        ..TallyRow::new("attacks that adapt", "kinds of attack")
    };
    row.note().map_err(|error| error.to_string())
}

/// What came of a task while the owner was there.
struct AttendedTask {
    completed: bool,
    questions: usize,
    /// Calls the questions were about.
    asked: usize,
}

/// The table for one policy.
fn enforcement(traces: &Traces, policy: GuardPolicy, list: bool) -> Result<(), String> {
    let mut crew = Crew::new(policy)?;
    let tasks: Vec<&Task> = traces.users.iter().collect();
    let attended = crew.each(&tasks, |stage, task| attended(stage, traces, task, list))?;
    let unattended = crew.each(&tasks, |stage, task| {
        let came = replay::task(stage, traces, task, &Owner::Absent)?;
        Ok((task.calls.len(), came.ran.len()))
    })?;
    let cases: Vec<(&Task, &Attack)> = traces.cases().collect();
    let harms = crew.each(&cases, |stage, (task, attack)| {
        replay::attack(stage, traces, task, attack).map(|came| Harm::in_task(&came, task, attack))
    })?;
    let share = |part: usize, whole: usize| 100.0 * part as f64 / whole.max(1) as f64;
    let count =
        |part: usize, whole: usize| format!("{part} of {whole} ({:.1} %)", share(part, whole));
    let outward = harms.iter().filter(|harm| harm.outward > 0).count();
    let reversible = |harm: &&Harm| harm.outward == 0 && harm.reversible > 0;
    let reversible = harms.iter().filter(reversible).count();
    let coinciding = harms.iter().filter(|harm| harm.tasks_own > 0).count();
    let questions: usize = attended.iter().map(|task| task.questions).sum();
    let asked: usize = attended.iter().map(|task| task.asked).sum();
    let completed = attended.iter().filter(|task| task.completed).count();
    let none = attended.iter().filter(|task| task.questions == 0).count();
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
            "  besides: it wanted what the task does",
            count(coinciding, cases.len()),
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
    if policy == GuardPolicy::Standard {
        let row = TallyRow {
            tasks: tasks.len(),
            done: completed,
            questions,
            outward,
            ..TallyRow::new("recorded suite", "tasks and attacks")
        };
        row.note().map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// A task whose owner says yes to what it needs.
fn attended(
    stage: &stage::Stage,
    traces: &Traces,
    task: &Task,
    list: bool,
) -> Result<AttendedTask, String> {
    let came = replay::task(stage, traces, task, &replay::owner_of(task))?;
    let completed = came.ran.len() == task.calls.len();
    let (suite, id) = (&task.suite, &task.id);
    if !completed {
        let last = came.results.last().map_or("", String::as_str);
        say(&format!("not completed: {suite} {id}: {last}"));
    }
    if list {
        for call in came.questions.iter().flat_map(|question| &question.calls) {
            let (tool, exact, why) = (&call.tool, &call.exact, &call.why);
            say(&format!("question: {suite} {id}: {tool} {exact:?}: {why}"));
        }
    }
    Ok(AttendedTask {
        completed,
        questions: came.questions.len(),
        asked: came.questions.iter().map(|one| one.calls.len()).sum(),
    })
}

#[expect(
    clippy::print_stdout,
    reason = "a benchmark talks to the person at the terminal"
)]
fn say(text: &str) {
    println!("{text}");
}
