//! `/tools`, `/skills`, `/skill`: what the agent can do.

use super::{CommandAnswer, SurfaceAction};
use crate::slash::command_context::{CommandContext, CommandTrouble};

pub(super) async fn tools(talk: &impl CommandContext, args: &str) -> String {
    let tools = talk.tools().await;
    if tools.is_empty() {
        return "It has no tools in this conversation.".to_owned();
    }
    if args.eq_ignore_ascii_case("verbose") {
        let rows = tools.iter().map(|tool| {
            let found = if tool.is_deferred {
                " (loaded when needed)"
            } else {
                ""
            };
            format!("- `{}`{found} {}", tool.name, tool.description)
        });
        return rows.collect::<Vec<_>>().join("\n");
    }
    let names = |is_deferred: bool| {
        let names = tools.iter().filter(|tool| tool.is_deferred == is_deferred);
        let names: Vec<String> = names.map(|tool| format!("`{}`", tool.name)).collect();
        names.join(", ")
    };
    let found = match names(true) {
        none if none.is_empty() => none,
        deferred => format!(" Loaded when needed: {deferred}."),
    };
    format!(
        "{} tools: {}.{found} `/tools verbose` says what each does.",
        tools.len(),
        names(false),
    )
}

pub(super) fn skills(talk: &impl CommandContext) -> String {
    let skills = talk.skills();
    if skills.is_empty() {
        return "It has no skills yet; `chela skills new NAME` creates one.".to_owned();
    }
    let rows = skills.iter().map(|skill| match &skill.hint {
        Some(hint) => format!("- `/{} {hint}` {}", skill.command, skill.description),
        None => format!("- `/{}` {}", skill.command, skill.description),
    });
    rows.collect::<Vec<_>>().join("\n")
}

pub(super) async fn skill(
    talk: &impl CommandContext,
    args: &str,
) -> Result<CommandAnswer, CommandTrouble> {
    if args.is_empty() {
        return Ok(CommandAnswer::text(skills(talk)));
    }
    let (name, rest) = args.split_once(char::is_whitespace).unwrap_or((args, ""));
    let called = talk.call_skill(name, rest.trim()).await?;
    Ok(CommandAnswer::then(SurfaceAction::UseSkill(called)))
}
