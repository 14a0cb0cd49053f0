//! `update_plan`: what the agent is about to do, for people to follow.

use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::blocking::{Blocking, Job};
use crate::schema::{Kind, Schema};
use crate::{Effect, Output, Spec, Tool};

/// The plan of a session. Kept in memory: it is about the work at hand.
#[derive(Debug, Default)]
pub struct Plan(Mutex<Vec<Step>>);

impl Plan {
    pub fn steps(&self) -> Vec<Step> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    /// Takes over the steps of a plan that was made with other tools of the same session.
    pub fn go_on_with(&self, steps: &[Step]) {
        steps.clone_into(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    pub step: String,
    pub status: StepStatus,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepStatus {
    Pending,
    InProgress,
    Completed,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    explanation: Option<String>,
    plan: Vec<Step>,
}

const MOST_STEPS: usize = 50;

pub(crate) fn tool(plan: &Arc<Plan>) -> Arc<dyn Tool> {
    let step = Schema::object()
        .required(
            "step",
            Kind::text().not_empty().such_as("Read the config"),
            "What is done, in one short sentence",
        )
        .required(
            "status",
            Kind::one_of(&["pending", "in_progress", "completed"]),
            "At most one step is in_progress",
        );
    Arc::new(Blocking {
        spec: Spec {
            name: "update_plan".into(),
            description: "Write down the steps of a longer task and how far each is. Give the whole plan every time; at most one step is in_progress.".into(),
            parameters: Schema::object()
                .required("plan", Kind::list(Kind::nested(step)), "All steps, in order")
                .optional("explanation", Kind::text(), "Why the plan changed")
                .build().into(),
            effect: Effect::Read,
            sinks: [].into(),
        },
        with: Arc::clone(plan),
        act: update,
    })
}

fn update(plan: &Plan, arguments: Arguments, _: &Job) -> Output {
    let steps = arguments.plan;
    if steps.len() > MOST_STEPS {
        return Output::failed(format!(
            "The plan has {} steps; at most {MOST_STEPS} are kept. Join some.",
            steps.len()
        ));
    }
    let count = |status| steps.iter().filter(|step| step.status == status).count();
    let running = count(StepStatus::InProgress);
    if running > 1 {
        return Output::failed(format!(
            "{running} steps are in_progress; at most one may be. Call update_plan again with one of them in_progress and the others pending or completed."
        ));
    }
    let said = format!(
        "Plan updated: {} of {} steps completed.",
        count(StepStatus::Completed),
        steps.len()
    );
    let details = json!({ "explanation": arguments.explanation, "plan": steps });
    *plan.0.lock().unwrap_or_else(PoisonError::into_inner) = steps;
    Output::said(said).with_details(details)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(plan: &Plan, steps: &[(&str, StepStatus)]) -> Output {
        let plan_steps = steps.iter().map(|(step, status)| Step {
            step: (*step).to_owned(),
            status: *status,
        });
        let arguments = Arguments {
            explanation: None,
            plan: plan_steps.collect(),
        };
        update(plan, arguments, &Job::default())
    }

    #[test]
    fn one_step_at_a_time() {
        let plan = Plan::default();
        let done = run(
            &plan,
            &[("a", StepStatus::Completed), ("b", StepStatus::InProgress)],
        );
        assert_eq!(done.text(), "Plan updated: 1 of 2 steps completed.");
        assert_eq!(done.details["plan"][1]["status"], "in_progress");
        let refused = run(
            &plan,
            &[("x", StepStatus::InProgress), ("y", StepStatus::InProgress)],
        );
        assert_eq!(refused.success, crate::Success::Failed);
        // A refused plan changes nothing.
        assert_eq!(plan.steps()[0].step, "a");
    }
}
