//! `/new`, `/reset`, `/resume`, `/name`: which conversation this is.

use super::{CommandAnswer, SurfaceAction};
use crate::slash::choose_model::{self, ModelMatch};
use crate::slash::command_context::{
    CommandContext, CommandTrouble, ConversationRow, SessionSetting,
};

/// `/new x`: a model, or else the first message.
pub(super) async fn new(
    talk: &impl CommandContext,
    args: &str,
) -> Result<CommandAnswer, CommandTrouble> {
    let rows = talk.models();
    let one_word = !args.is_empty() && !args.contains(char::is_whitespace);
    let provider = || {
        rows.iter()
            .find(|row| {
                row.name
                    .split_once('/')
                    .is_some_and(|(provider, _)| provider.eq_ignore_ascii_case(args))
            })
            .map(|row| row.name.clone())
    };
    let model = if one_word {
        provider().or_else(|| match choose_model::pick(&rows, args) {
            ModelMatch::One(known) => Some(known),
            _ => None,
        })
    } else {
        None
    };
    let note = talk.begin().await?;
    forget_settings(talk).await?;
    if let Some(model) = &model {
        talk.set(SessionSetting::Model, Some(model)).await?;
    }
    let first = (model.is_none() && !args.is_empty()).then(|| args.to_owned());
    let text = match &model {
        Some(model) => format!("A new conversation, with `{model}`."),
        None => "A new conversation.".to_owned(),
    };
    Ok(CommandAnswer {
        then: SurfaceAction::Begun(first),
        ..CommandAnswer::text(begun(&text, note.as_deref()))
    })
}

/// What is said when a conversation begins; whoever left one behind hears where it is.
fn begun(text: &str, note: Option<&str>) -> String {
    match note {
        Some(note) => format!(
            "{text} `/resume` returns to the old one; what you asked in it is noted in `{note}`."
        ),
        None => text.to_owned(),
    }
}

pub(super) async fn reset(
    talk: &impl CommandContext,
    args: &str,
) -> Result<CommandAnswer, CommandTrouble> {
    let (word, rest) = args.split_once(char::is_whitespace).unwrap_or((args, ""));
    let soft = word.eq_ignore_ascii_case("soft");
    let message = if soft { rest.trim() } else { args };
    let note = talk.begin().await?;
    if !soft {
        forget_settings(talk).await?;
    }
    let text = if soft {
        "Started over; model and settings are kept."
    } else {
        "Started over, with the settings from the config."
    };
    Ok(CommandAnswer {
        then: SurfaceAction::Begun((!message.is_empty()).then(|| message.to_owned())),
        ..CommandAnswer::text(begun(text, note.as_deref()))
    })
}

pub(super) async fn resume(
    talk: &impl CommandContext,
    given: &str,
) -> Result<CommandAnswer, CommandTrouble> {
    if given.is_empty() {
        let rows = talk.conversations().await?;
        return Ok(match rows.iter().all(|row| row.is_open) {
            true => CommandAnswer::text("There is no other conversation yet."),
            false => CommandAnswer::then(SurfaceAction::Choose(rows)),
        });
    }
    let row = talk.find_conversation(given).await?;
    Ok(match row.is_open {
        true => CommandAnswer::text("You are already in this conversation."),
        false => CommandAnswer::then(SurfaceAction::Resume(row.id)),
    })
}

/// The conversations that can be gone back to, where nothing can be picked from a list.
pub fn list_conversations(rows: &[ConversationRow]) -> String {
    let lines = rows.iter().map(|row| {
        let id = row.id.get(..8).unwrap_or(&row.id);
        let title: String = row.title.chars().take(70).collect();
        let now = if row.is_open { " **← now**" } else { "" };
        format!("- `{id}` {}, {title}{now}", row.age)
    });
    let lines: Vec<String> = lines.collect();
    format!("{}\n\nReturn to one with `/resume ID`.", lines.join("\n"))
}

async fn forget_settings(talk: &impl CommandContext) -> Result<(), CommandTrouble> {
    for setting in [
        SessionSetting::Model,
        SessionSetting::Thinking,
        SessionSetting::Reasoning,
        SessionSetting::Verbose,
        SessionSetting::Elevated,
        SessionSetting::Title,
    ] {
        if talk.setting(setting).is_some() {
            talk.set(setting, None).await?;
        }
    }
    Ok(())
}

pub(super) async fn name(
    talk: &impl CommandContext,
    title: &str,
) -> Result<CommandAnswer, CommandTrouble> {
    if title.is_empty() {
        let text = match talk.setting(SessionSetting::Title) {
            Some(title) => format!("This conversation is called “{title}”."),
            None => "This conversation has no title; set one with `/name TITLE`.".to_owned(),
        };
        return Ok(CommandAnswer::text(text));
    }
    let title = chela_core::sanitize::literal(title);
    talk.set(SessionSetting::Title, Some(&title)).await?;
    Ok(CommandAnswer::text(format!(
        "This conversation is now called “{title}”."
    )))
}
