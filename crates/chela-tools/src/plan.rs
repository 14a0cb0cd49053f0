//! `update_plan`: what the agent is about to do, for people to follow.

use std::sync::{Arc, Mutex};

use chela_core::lock;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::blocking::{BlockingJob, BlockingTool};
use crate::schema::{ArgumentKind, ArgumentSchema};
use crate::spec::shared_spec;
use crate::{Effect, Tool, ToolOutput, ToolSpec};

/// The plan of a session. Kept in memory: it is about the work at hand.
#[derive(Debug, Default)]
pub struct SessionPlan(Mutex<Vec<PlanStep>>);

impl SessionPlan {
    pub fn steps(&self) -> Vec<PlanStep> {
        lock(&self.0).clone()
    }

    /// Takes over the steps of a plan that was made with other tools of the same session.
    pub fn go_on_with(&self, steps: &[PlanStep]) {
        steps.clone_into(&mut lock(&self.0));
    }
}

/// One step of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlanStep {
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
    plan: Vec<PlanStep>,
}

const MOST_STEPS: usize = 50;

pub(crate) fn tool(plan: &Arc<SessionPlan>) -> Arc<dyn Tool> {
    Arc::new(BlockingTool {
        spec: shared_spec!(spec()),
        with: Arc::clone(plan),
        act: update,
    })
}

fn spec() -> ToolSpec {
    let step = ArgumentSchema::object()
        .required(
            "step",
            ArgumentKind::text().not_empty().such_as("Read the config"),
            "",
        )
        .required(
            "status",
            ArgumentKind::one_of(&["pending", "in_progress", "completed"]),
            "",
        );
    ToolSpec {
        name: "update_plan".into(),
        description: "Note the steps of a longer task and how far each is: always the whole plan."
            .into(),
        parameters: ArgumentSchema::object()
            .required("plan", ArgumentKind::list(ArgumentKind::nested(step)), "")
            .optional("explanation", ArgumentKind::text(), "")
            .build()
            .into(),
        effect: Effect::Read,
        sinks: [].into(),
    }
}

fn update(plan: &SessionPlan, arguments: Arguments, _: &BlockingJob) -> ToolOutput {
    let steps = arguments.plan;
    if steps.len() > MOST_STEPS {
        return ToolOutput::failed(format!(
            "The plan has {} steps; at most {MOST_STEPS} are kept. Join some.",
            steps.len()
        ));
    }
    let count = |status| steps.iter().filter(|step| step.status == status).count();
    let running = count(StepStatus::InProgress);
    if running > 1 {
        return ToolOutput::failed(format!(
            "{running} steps are in_progress; at most one may be. Call update_plan again with one of them in_progress and the others pending or completed."
        ));
    }
    let said = format!(
        "Plan updated: {} of {} steps completed.",
        count(StepStatus::Completed),
        steps.len()
    );
    let details = json!({ "explanation": arguments.explanation, "plan": steps });
    *lock(&plan.0) = steps;
    ToolOutput::said(said).with_details(details)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(plan: &SessionPlan, steps: &[(&str, StepStatus)]) -> ToolOutput {
        let plan_steps = steps.iter().map(|(step, status)| PlanStep {
            step: (*step).to_owned(),
            status: *status,
        });
        let arguments = Arguments {
            explanation: None,
            plan: plan_steps.collect(),
        };
        update(plan, arguments, &BlockingJob::default())
    }

    #[test]
    fn one_step_at_a_time() {
        let plan = SessionPlan::default();
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
        assert_eq!(refused.success, crate::CallSuccess::Failed);
        // A refused plan changes nothing.
        assert_eq!(plan.steps()[0].step, "a");
    }
}
