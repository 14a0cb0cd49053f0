//! Running a call: does the tool exist, may it be used now, are its arguments right?

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use chela_core::panics::caught_panic;
use chela_core::suggest::nearest;
use futures_util::FutureExt;
use serde_json::{Map, Value};

use super::Toolbox;
use crate::{Call, Output, Running, Tool, Verdict, schema};

/// A call whose tool exists, may be used, and whose arguments are right.
pub struct Prepared {
    pub tool: Arc<dyn Tool>,
    pub arguments: Map<String, Value>,
}

impl std::fmt::Debug for Prepared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Prepared")
            .field("tool", &self.tool.spec().name)
            .field("arguments", &self.arguments)
            .finish()
    }
}

/// A result this much longer than the limit is a fault of the tool: labels and notes take room.
const SLACK: usize = 2;

impl Toolbox {
    /// Finds the tool of a call and puts its arguments right. What is wrong with it is an
    /// [`Output`] that says what the model can do.
    pub fn prepare(&self, name: &str, arguments: &Map<String, Value>) -> Result<Prepared, Output> {
        let Some(tool) = self.get(name) else {
            tracing::info!(tool = name, "no such tool");
            return Err(Output::failed(self.unknown(name)));
        };
        if let Some(turn) = &self.turn
            && let Verdict::Out(why) = turn.explain(name)
        {
            tracing::info!(tool = name, %why, "the policy of this message keeps a tool out");
            return Err(Output::failed(format!(
                "{name} may not be used for this message: {why}. Answer without it."
            )));
        }
        let arguments = schema::check(&tool.spec().parameters, arguments)
            .map_err(|complaint| Output::failed(complaint.to_text(name)))?;
        if let Some(refused) = self.carries(tool.spec(), &arguments) {
            tracing::warn!(tool = name, "a call carries a secret: refused");
            return Err(refused);
        }
        Ok(Prepared {
            tool: Arc::clone(tool),
            arguments,
        })
    }

    /// Runs a call that was prepared, and judged in between.
    pub async fn run_prepared(&self, prepared: &Prepared, call: Call<'_>) -> Output {
        let progress = |progress| (call.progress)(self.progress_without_secrets(progress));
        let call = Call {
            arguments: &prepared.arguments,
            progress: &progress,
            ..call
        };
        let output = self.without_secrets(run_or_break(prepared.tool.as_ref(), call).await);
        self.within_bounds(&prepared.tool.spec().name, output)
    }

    /// Runs one call. Whatever goes wrong is an [`Output`] that says what the model can do.
    pub fn run<'a>(&'a self, name: &'a str, call: Call<'a>) -> Running<'a> {
        Box::pin(async move {
            match self.prepare(name, call.arguments) {
                Ok(prepared) => self.run_prepared(&prepared, call).await,
                Err(failed) => failed,
            }
        })
    }

    fn unknown(&self, name: &str) -> String {
        let names: Vec<&str> = self.specs().map(|spec| &*spec.name).collect();
        let shown: String = name.chars().take(64).collect();
        if let Some((_, why)) = self.left_out.iter().find(|(left, _)| left == name) {
            return format!("{shown} is not available here: {why}. Do not try it again.");
        }
        match nearest(name, names.iter().copied()) {
            Some(near) => format!("There is no tool `{shown}`. Did you mean `{near}`?"),
            None if names.is_empty() => {
                format!("There is no tool `{shown}`; no tools are available here.")
            }
            None => format!(
                "There is no tool `{shown}`. The tools are: {}.",
                names.join(", ")
            ),
        }
    }

    /// The last line: tools bound what they say themselves, and know best how.
    fn within_bounds(&self, name: &str, output: Output) -> Output {
        let most = self.bound.chars().saturating_mul(SLACK);
        let length = output.text().chars().count();
        if length <= most {
            return output;
        }
        Output::failed(format!(
            "{name} gave {length} characters, more than the {most} that fit. Ask for less at once."
        ))
        .with_details(output.details)
    }
}

/// A tool that panics has failed, like one that says so; what it had begun may be half done.
async fn run_or_break(tool: &dyn Tool, call: Call<'_>) -> Output {
    let run = AssertUnwindSafe(async { tool.run(call).await });
    run.catch_unwind().await.unwrap_or_else(|payload| {
        let panic = caught_panic(&*payload);
        let name = &tool.spec().name;
        tracing::error!(tool = %name, %panic, "a tool broke");
        Output::failed(format!(
            "{name} broke while it ran: a fault in its code. It may have done a part of its work; look before you try again, or try another way."
        ))
    })
}
