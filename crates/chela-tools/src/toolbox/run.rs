//! Running a call: does the tool exist, may it be used now, are its arguments right?

use chela_core::suggest::nearest;

use super::Toolbox;
use crate::{Call, Output, Running, Verdict, schema};

/// A result this much longer than the limit is a fault of the tool: labels and notes take room.
const SLACK: usize = 2;

impl Toolbox {
    /// Runs one call. Whatever goes wrong is an [`Output`] that says what the model can do.
    pub fn run<'a>(&'a self, name: &'a str, call: Call<'a>) -> Running<'a> {
        Box::pin(async move {
            let Some(tool) = self.get(name) else {
                return Output::failed(self.unknown(name));
            };
            if let Some(turn) = &self.turn
                && let Verdict::Out(why) = turn.explain(name)
            {
                return Output::failed(format!(
                    "{name} may not be used for this message: {why}. Answer without it."
                ));
            }
            let arguments = match schema::check(&tool.spec().parameters, call.arguments) {
                Ok(arguments) => arguments,
                Err(complaint) => return Output::failed(complaint.to_text(name)),
            };
            let output = tool
                .run(Call {
                    arguments: &arguments,
                    ..call
                })
                .await;
            self.within_bounds(name, output)
        })
    }

    fn unknown(&self, name: &str) -> String {
        let names: Vec<&str> = self.specs().map(|spec| spec.name).collect();
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
