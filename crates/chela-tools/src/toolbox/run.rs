//! Running a call: does the tool exist, may it be used now, are its arguments right?

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;

use chela_core::panics::caught_panic;
use chela_core::suggest::nearest;
use futures_util::FutureExt;
use serde_json::{Map, Value};

use chela_guard::SecretLook;

use super::Toolbox;
use crate::{
    CallFuture, CallTarget, Effect, PolicyVerdict, RunCall, Tool, ToolOutput, foresight, schema,
};

/// A call whose tool exists, may be used, and whose arguments are right.
pub struct PreparedCall {
    pub tool: Arc<dyn Tool>,
    pub arguments: Map<String, Value>,
    /// Whether an address in them looks like one with a key in it.
    pub look: SecretLook,
}

impl std::fmt::Debug for PreparedCall {
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
    /// [`ToolOutput`] that says what the model can do.
    pub fn prepare(
        &self,
        name: &str,
        arguments: &Map<String, Value>,
    ) -> Result<PreparedCall, ToolOutput> {
        let Some(tool) = self.get(name) else {
            tracing::info!(tool = name, "no such tool");
            return Err(ToolOutput::failed(self.unknown(name)));
        };
        let kept_out = self
            .turn
            .as_ref()
            .and_then(|turn| match turn.explain(name) {
                PolicyVerdict::Out(why) => Some((why, turn.readable_with(name))),
                PolicyVerdict::In(_) => None,
            });
        let out = |why: &str| {
            tracing::info!(tool = name, %why, "the policy of this message keeps a tool out");
            ToolOutput::failed(format!(
                "{name} may not be used for this message: {why}. Answer without it."
            ))
        };
        if let Some((why, [])) = &kept_out {
            return Err(out(why));
        }
        let arguments = schema::check(&tool.spec().parameters, arguments)
            .map(|arguments| tool.settle(arguments))
            .map_err(|complaint| ToolOutput::failed(complaint.to_text(name)))?;
        if let Some((why, folders)) = kept_out
            && !only_reads_in(tool.as_ref(), &arguments, folders)
        {
            return Err(out(&why));
        }
        if let Some(fault) = foresight::address_fault(tool.spec(), &arguments) {
            tracing::info!(tool = name, %fault, "a call names no address");
            return Err(ToolOutput::failed(format!("{name} was not run: {fault}.")));
        }
        let look = self.carries(tool.spec(), &arguments).inspect_err(|_| {
            tracing::warn!(tool = name, "a call carries a secret: refused");
        })?;
        Ok(PreparedCall {
            tool: Arc::clone(tool),
            arguments,
            look,
        })
    }

    /// Runs a call that was prepared, and judged in between.
    pub async fn run_prepared(&self, prepared: &PreparedCall, call: RunCall<'_>) -> ToolOutput {
        let progress = |progress| (call.progress)(self.progress_without_secrets(progress));
        let call = RunCall {
            arguments: &prepared.arguments,
            progress: &progress,
            bound: Some(&self.bound),
            ..call
        };
        let output = self.without_secrets(run_or_break(prepared.tool.as_ref(), call).await);
        self.within_bounds(&prepared.tool.spec().name, output)
    }

    /// Runs one call. Whatever goes wrong is an [`ToolOutput`] that says what the model can do.
    pub fn run<'a>(&'a self, name: &'a str, call: RunCall<'a>) -> CallFuture<'a> {
        Box::pin(async move {
            match self.prepare(name, call.arguments) {
                Ok(prepared) => {
                    let targets = prepared.tool.targets(&prepared.arguments);
                    let call = RunCall {
                        targets: &targets,
                        ..call
                    };
                    self.run_prepared(&prepared, call).await
                }
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
        if self.lost().contains(&name) {
            return format!(
                "{shown} was taken away after this session began and cannot be called any more. Use another tool, or answer without it."
            );
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
    fn within_bounds(&self, name: &str, output: ToolOutput) -> ToolOutput {
        let most = self.bound.chars().saturating_mul(SLACK);
        let length = output.text().chars().count();
        if length <= most {
            return output;
        }
        ToolOutput::failed(format!(
            "{name} gave {length} characters, more than the {most} that fit. Ask for less at once."
        ))
        .with_details(output.details)
    }
}

/// Whether a call reads files, and all of them lie in these folders.
fn only_reads_in(tool: &dyn Tool, arguments: &Map<String, Value>, folders: &[PathBuf]) -> bool {
    let lies_inside = |target: &CallTarget| match target {
        CallTarget::File(path) => folders.iter().any(|folder| path.starts_with(folder)),
        _ => false,
    };
    let targets = tool.targets(arguments);
    tool.prospect(arguments).effect == Effect::Read
        && !targets.is_empty()
        && targets.iter().all(lies_inside)
}

/// A tool that panics has failed, like one that says so; what it had begun may be half done.
async fn run_or_break(tool: &dyn Tool, call: RunCall<'_>) -> ToolOutput {
    let run = AssertUnwindSafe(async { tool.run(call).await });
    run.catch_unwind().await.unwrap_or_else(|payload| {
        let panic = caught_panic(&*payload);
        let name = &tool.spec().name;
        tracing::error!(tool = %name, %panic, "a tool broke");
        ToolOutput::failed(format!(
            "{name} broke while it ran: a fault in its code. It may have done a part of its work; look before you try again, or try another way."
        ))
    })
}
