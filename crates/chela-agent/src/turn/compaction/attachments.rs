//! What a summary is given by code, whatever a model wrote: what still runs, what is planned, the
//! rules that must not be forgotten.

use chela_core::cut::{CutLimit, CutRequest, cut};
use chela_tools::StepStatus;

use crate::compact::sections_named;
use crate::context_builder::ContextBuilder;
use crate::scope::ConversationScope;
use crate::turn::TurnParts;

pub(super) async fn with_attachments(parts: TurnParts<'_>, mut summary: String) -> String {
    for (heading, text) in [
        ("## Plan", plan_in_words(parts.context).await),
        ("## Running", parts.background.still_running_in_words()),
        ("## Rules (from AGENTS.md)", pinned_rules(parts.scope)),
    ] {
        if !text.trim().is_empty() {
            summary.push_str(&format!("\n\n{heading}\n{}", text.trim()));
        }
    }
    summary
}

async fn plan_in_words(context: &ContextBuilder) -> String {
    let Ok(toolbox) = context.toolbox().await else {
        return String::new();
    };
    let steps = toolbox.plan().steps();
    steps
        .iter()
        .map(|step| {
            let status = match step.status {
                StepStatus::Pending => "pending",
                StepStatus::InProgress => "in progress",
                StepStatus::Completed => "completed",
            };
            format!("- {} ({status})\n", step.step)
        })
        .collect()
}

/// The sections of AGENTS.md that are to be read again after a compaction: those the config
/// names for it, and those pinned anywhere.
fn pinned_rules(scope: &ConversationScope) -> String {
    let settings = &scope.view.compaction.value;
    let mut names = settings
        .post_compaction_sections
        .clone()
        .unwrap_or_default();
    names.extend(scope.view.context_pin.value.iter().cloned());
    if names.is_empty() {
        return String::new();
    }
    let Ok(text) = std::fs::read_to_string(scope.view.workspace.value.join("AGENTS.md")) else {
        return String::new();
    };
    let limit = scope.view.context_limits.value.post_compaction_max_chars;
    let request = CutRequest {
        name: "AGENTS.md",
        first_line: 1,
        text: &sections_named(&text, &names),
        limit: CutLimit::Chars(usize::try_from(limit).unwrap_or(usize::MAX)),
        pinned_headings: &[],
    };
    cut(&request).text.into_owned()
}
