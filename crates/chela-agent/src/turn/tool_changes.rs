//! Tools that came or went after a session began.
//!
//! The list of tools is part of what every request begins with, and does not move while a session
//! lasts. What changed is told once, with the newest message; at the next reset or compaction it
//! is part of the list.

use chela_core::{Origin, Trust};
use chela_tools::{ToolSpec, Toolbox};

use crate::runtime_blocks::{BlockKind, RuntimeBlock, SentBlock};

const GAINED: &str = include_str!("../../text/tools-gained.md");
const FINDABLE: &str = include_str!("../../text/tools-findable.md");
const LOST: &str = include_str!("../../text/tools-lost.md");
const SAME: &str = include_str!("../../text/tools-same.md");

/// Most new tools that are told of.
const MOST_TOOLS: usize = 64;
/// Most characters of what one of them says of itself, and of its schema.
const MOST_DESCRIPTION: usize = 600;
const MOST_SCHEMA: usize = 4_000;

/// What a model that was told of the tools a session began with has to know now.
pub(super) fn tool_changes(toolbox: &Toolbox, sent: &[SentBlock]) -> Option<RuntimeBlock> {
    let mut told = Vec::new();
    let gained: Vec<String> = toolbox.gained().take(MOST_TOOLS).map(described).collect();
    if !gained.is_empty() {
        told.push(format!("{}\n{}", GAINED.trim(), gained.join("\n")));
    }
    let findable = toolbox.findable_since();
    if !findable.is_empty() {
        told.push(format!("{} {}.", FINDABLE.trim(), in_few_words(&findable)));
    }
    let lost = toolbox.lost();
    if !lost.is_empty() {
        told.push(format!("{} {}.", LOST.trim(), in_few_words(&lost)));
    }
    let was_told = sent.iter().any(|block| block.kind == BlockKind::Tools);
    if told.is_empty() && was_told {
        told.push(SAME.trim().to_owned());
    }
    (!told.is_empty()).then(|| RuntimeBlock {
        kind: BlockKind::Tools,
        text: told.join("\n\n"),
        origin: Origin::Runtime,
        trust: Trust::Operator,
    })
}

/// Names, and how many more there are.
fn in_few_words(names: &[&str]) -> String {
    const MOST_NAMES: usize = 24;
    let more = names.len().saturating_sub(MOST_NAMES);
    let shown: Vec<&str> = names.iter().take(MOST_NAMES).copied().collect();
    match more {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

fn described(spec: &ToolSpec) -> String {
    let description: String = spec.description.chars().take(MOST_DESCRIPTION).collect();
    let schema = spec.model_schema().to_string();
    let schema = match schema.chars().count() <= MOST_SCHEMA {
        true => schema,
        false => "too long to be shown; its answer to a wrong call says what is missing".to_owned(),
    };
    format!("- {}: {description}\n  arguments: {schema}", spec.name)
}
