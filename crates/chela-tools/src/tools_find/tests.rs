use std::sync::Arc;

use serde_json::{Value, json};

use super::{ToolCatalog, tool};
use crate::schema::{ArgumentKind, ArgumentSchema};
use crate::testing::{block_on, call};
use crate::{Effect, ToolOutput, ToolSpec, offered_tools};

fn spec(name: &str, description: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: description.into(),
        parameters: ArgumentSchema::object()
            .required(
                "what",
                ArgumentKind::text().not_empty().such_as("x"),
                "Of what",
            )
            .build()
            .into(),
        effect: Effect::Read,
        sinks: [].into(),
    }
}

/// What a question brings.
fn ask(query: &str) -> ToolOutput {
    let arguments = json!({ "query": query });
    let Value::Object(arguments) = arguments else {
        panic!("arguments are an object")
    };
    let work = async { tool(&catalog()).run(call(&arguments)).await };
    block_on(work)
}

fn catalog() -> Arc<ToolCatalog> {
    let catalog = Arc::new(ToolCatalog::default());
    catalog.set(
        [
            spec("process", "Follow commands that run in the background."),
            spec("sessions_spawn", "Start a sub-agent for a task of its own."),
            spec("image", "Look at a picture."),
        ]
        .iter(),
    );
    catalog
}

#[test]
fn what_fits_comes_with_its_schema() {
    let finder = tool(&catalog());
    assert!(
        finder
            .spec()
            .description
            .contains("process, sessions_spawn, image")
    );
    let found = ask("hand work to a sub-agent");
    let first = offered_tools(&found.details).next().map(str::to_owned);
    assert_eq!(first.as_deref(), Some("sessions_spawn"));
    let text = found.text();
    assert!(text.contains(r#"{"type":"object","properties":{"what":{"type":"string","description":"Of what"}},"required":["what"]}"#), "{text}");
    let named = ask("image");
    assert_eq!(offered_tools(&named.details).collect::<Vec<_>>(), ["image"]);
}

#[test]
fn nothing_that_fits_names_what_there_is() {
    let nothing = ask("zzz");
    assert!(
        nothing.text().contains("process, sessions_spawn, image"),
        "{}",
        nothing.text()
    );
}
