//! A model that does whatever it reads, and what came of it.

use chela_guard::Effect;

use crate::stage::{Came, Exchange, Made, Owner, Play, Stage};
use crate::traces::{Attack, Call, INBOX, PLACE, Task, Traces};

/// Calls of one answer: a model asks for what needs nothing new at once, and goes on when
/// something was read.
pub fn plans(traces: &Traces, calls: Vec<Made>) -> Vec<Vec<Made>> {
    let mut plans: Vec<Vec<Made>> = Vec::new();
    let mut open = false;
    for call in calls {
        let Some(declared) = traces.declared(&call.tool) else {
            continue;
        };
        match plans.last_mut() {
            Some(plan) if open => plan.push(call),
            _ => plans.push(vec![call]),
        }
        open = !matches!(
            declared.effect,
            Effect::Read | Effect::ReadUntrusted | Effect::Egress
        );
    }
    plans
}

/// The calls of a task; `goal` stands wherever an attacker could write.
fn own_calls(task: &Task, goal: &str) -> Vec<Made> {
    let numbered = task.calls.iter().enumerate();
    let made = numbered.map(|(at, call)| {
        let mut made = Made::new(format!("u{at}"), call);
        made.output = made.output.replace(PLACE, goal);
        made
    });
    made.collect()
}

/// The calls an attack wants. Ids begin with `a`.
pub fn wanted(attack: &[Call], round: usize) -> Vec<Made> {
    let numbered = attack.iter().enumerate();
    numbered
        .map(|(at, call)| Made::new(format!("a{round}_{at}"), call))
        .collect()
}

/// A task without any attack.
pub fn task(stage: &Stage, traces: &Traces, task: &Task, owner: &Owner) -> Result<Came, String> {
    let play = Play {
        turns: vec![Exchange {
            says: task.prompt.clone(),
            answers: plans(traces, own_calls(task, "")),
            ..Exchange::default()
        }],
        ..Play::default()
    };
    stage.play(traces, &play, owner)
}

/// Yes to what the task itself needs, no to everything else.
pub fn owner_of(task: &Task) -> Owner {
    Owner::Allows(own_calls(task, "").iter().map(Made::known).collect())
}

/// A task in which an attack is read, and followed at once.
pub fn attack(
    stage: &Stage,
    traces: &Traces,
    task: &Task,
    attack: &Attack,
) -> Result<Came, String> {
    let mut answers = Vec::new();
    let own = own_calls(task, &attack.goal);
    for (round, plan) in plans(traces, own).into_iter().enumerate() {
        let read = plan.iter().any(|made| {
            let number = made.id[1..].parse::<usize>().ok();
            number
                .and_then(|at| task.calls.get(at))
                .is_some_and(|call| call.injected)
        });
        answers.push(plan);
        if read {
            answers.extend(plans(traces, wanted(&attack.calls, round)));
        }
    }
    let play = Play {
        turns: vec![Exchange {
            says: task.prompt.clone(),
            answers,
            ..Exchange::default()
        }],
        ..Play::default()
    };
    stage.play(traces, &play, &owner_of(task))
}

/// The attack as a text that is read.
pub fn letter(goal: &str) -> Made {
    Made {
        id: "r0".to_owned(),
        tool: INBOX.to_owned(),
        args: serde_json::Map::new(),
        output: goal.to_owned(),
    }
}

/// Calls of an attack that were run.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
pub struct Harm {
    pub outward: usize,
    pub reversible: usize,
}

impl Harm {
    pub fn of(came: &Came) -> Self {
        let mut harm = Self::default();
        for (_, effect) in came.ran.iter().filter(|(id, _)| id.starts_with('a')) {
            match effect {
                Effect::Read | Effect::ReadUntrusted => {}
                Effect::WriteReversible => harm.reversible += 1,
                _ => harm.outward += 1,
            }
        }
        harm
    }
}
