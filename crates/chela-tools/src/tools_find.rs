//! `tools_find`: the tools a model was not told of, found by what they do.

use std::sync::{Arc, Mutex};

use chela_core::lock;
use chela_memory::{CardIndex, IndexCard};
use serde::Deserialize;
use serde_json::Value;

use crate::blocking::{BlockingJob, BlockingTool};
use crate::schema::{ArgumentKind, ArgumentSchema};
use crate::{Effect, Tool, ToolOutput, ToolSpec};

pub(crate) const NAME: &str = "tools_find";

/// Most tools one question brings: each costs what it would have cost in the list.
const MOST_FOUND: usize = 3;
/// Most of them that are named beforehand.
const MOST_NAMED: usize = 16;

/// The tools that can be found, ready to be asked about.
#[derive(Default)]
pub(crate) struct ToolCatalog(Mutex<CatalogState>);

#[derive(Default)]
struct CatalogState {
    specs: Vec<ToolSpec>,
    /// Made with the first question.
    index: Option<CardIndex>,
}

impl ToolCatalog {
    /// Makes these the tools that can be found.
    pub(crate) fn set<'a>(&self, specs: impl Iterator<Item = &'a ToolSpec>) {
        let specs: Vec<ToolSpec> = specs.cloned().collect();
        let mut state = lock(&self.0);
        let is_same = |(a, b): (&ToolSpec, &ToolSpec)| Arc::ptr_eq(&a.parameters, &b.parameters);
        if state.specs.len() == specs.len() && state.specs.iter().zip(&specs).all(is_same) {
            return;
        }
        *state = CatalogState { specs, index: None };
    }

    /// The tools that fit best: those that are named, else those whose words fit.
    fn find(&self, query: &str) -> Result<Vec<ToolSpec>, chela_memory::store::StoreError> {
        let mut state = lock(&self.0);
        let CatalogState { specs, index } = &mut *state;
        let named: Vec<ToolSpec> = specs
            .iter()
            .filter(|spec| names_it(query, &spec.name))
            .take(MOST_FOUND)
            .cloned()
            .collect();
        if !named.is_empty() {
            return Ok(named);
        }
        let index = match index {
            Some(index) => index,
            None => {
                let cards: Vec<IndexCard> = specs.iter().map(card_of).collect();
                index.insert(CardIndex::new(&cards)?)
            }
        };
        let found = index.find(query, MOST_FOUND)?;
        let spec_named = |name: &String| specs.iter().find(|spec| *spec.name == **name).cloned();
        Ok(found.iter().filter_map(spec_named).collect())
    }

    fn names(&self) -> Vec<String> {
        let state = lock(&self.0);
        state
            .specs
            .iter()
            .map(|spec| spec.name.to_string())
            .collect()
    }
}

/// Whether a word of the question is the name of the tool.
fn names_it(query: &str, name: &str) -> bool {
    query
        .split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-'))
        .any(|word| word.eq_ignore_ascii_case(name))
}

/// What a tool is found by: its name, what it says of itself and of its arguments.
fn card_of(spec: &ToolSpec) -> IndexCard {
    let mut text = format!(
        "{}. {}",
        spec.name.replace(['_', '-'], " "),
        spec.description
    );
    for (name, property) in spec
        .parameters
        .get("properties")
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
    {
        let about = property["description"].as_str().unwrap_or_default();
        text.push_str(&format!(" {name}: {about}"));
    }
    IndexCard {
        name: spec.name.to_string(),
        text,
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FindArguments {
    query: String,
}

/// The tool that searches a catalog. Its description names what there is, so that a model knows
/// when to ask.
pub(crate) fn tool(catalog: &Arc<ToolCatalog>) -> Arc<dyn Tool> {
    let mut names = catalog.names();
    let more = names.len().saturating_sub(MOST_NAMED);
    names.truncate(MOST_NAMED);
    let mut listed = names.join(", ");
    if more > 0 {
        listed.push_str(&format!(" and {more} more"));
    }
    Arc::new(BlockingTool {
        spec: ToolSpec {
            name: NAME.into(),
            description: format!(
                "Find further tools by what they do or by name: {listed}. Those it gives can be called from then on."
            )
            .into(),
            parameters: ArgumentSchema::object()
                .required(
                    "query",
                    ArgumentKind::text().not_empty().such_as("start a sub-agent"),
                    "",
                )
                .build()
                .into(),
            effect: Effect::Read,
            sinks: [].into(),
        }
        .shared(),
        with: Arc::clone(catalog),
        act: find,
    })
}

fn find(catalog: &ToolCatalog, arguments: FindArguments, _: &BlockingJob) -> ToolOutput {
    let found = match catalog.find(&arguments.query) {
        Ok(found) => found,
        Err(error) => {
            tracing::warn!(%error, "the tools cannot be searched");
            return ToolOutput::failed(format!(
                "The tools cannot be searched. There are: {}.",
                catalog.names().join(", ")
            ));
        }
    };
    if found.is_empty() {
        return ToolOutput::failed(format!(
            "No tool fits that. Those that are not listed: {}.",
            catalog.names().join(", ")
        ));
    }
    let told: Vec<String> = found.iter().map(described).collect();
    let names = found.iter().map(|spec| spec.name.to_string());
    ToolOutput::said(format!(
        "Call these by their names, with arguments as their JSON Schema says:\n{}",
        told.join("\n")
    ))
    .offering(names)
}

/// A tool as it is told of in words.
fn described(spec: &ToolSpec) -> String {
    let schema: Value = spec.model_schema();
    format!(
        "- {}: {}\n  arguments: {schema}",
        spec.name, spec.description
    )
}

#[cfg(test)]
mod tests;
