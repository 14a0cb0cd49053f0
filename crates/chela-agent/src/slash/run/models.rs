//! `/models`, `/model`: which there are, which one answers.

use super::CommandAnswer;
use crate::slash::choose_model;
use crate::slash::command_context::{CommandContext, CommandTrouble, SessionSetting};

pub(super) async fn models(talk: &impl CommandContext, provider: &str) -> String {
    match (choose_model::list_models(talk, provider).await, provider) {
        (Some(list), _) => list,
        (None, "") => no_model(talk),
        (None, _) => format!("There is no model from `{provider}`; `/models` lists all."),
    }
}

fn no_model(talk: &impl CommandContext) -> String {
    let missing = talk.model().missing;
    if missing.is_empty() {
        "There is no model yet.".to_owned()
    } else {
        missing.join("\n\n")
    }
}

pub(super) async fn model(
    talk: &impl CommandContext,
    asked: &str,
) -> Result<CommandAnswer, CommandTrouble> {
    if asked.is_empty() || asked.eq_ignore_ascii_case("status") {
        return Ok(CommandAnswer::text(model_status(talk)));
    }
    if asked.eq_ignore_ascii_case("default") {
        talk.set(SessionSetting::Model, None).await?;
        return Ok(CommandAnswer::text(model_status(talk)));
    }
    let chosen = choose_model::find_model(talk, asked).await?;
    talk.set(SessionSetting::Model, Some(&chosen)).await?;
    Ok(CommandAnswer::text(format!("Now using `{chosen}`.")))
}

fn model_status(talk: &impl CommandContext) -> String {
    let state = talk.model();
    let Some(selected) = state.selected else {
        return no_model(talk);
    };
    let mut text = format!("Model: `{selected}`");
    if talk.setting(SessionSetting::Model).is_some() {
        text.push_str(", chosen for this conversation");
    }
    text.push('.');
    if let Some((model, why)) = state.fallback {
        text.push_str(&format!(" The last answer came from `{model}`: {why}."));
    }
    text.push_str(" `/models` lists others.");
    text
}
