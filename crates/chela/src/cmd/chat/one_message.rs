//! One message that is answered and done with, typed as in the chat.

use chela_agent::conversation::{Conversation, InboundMessage};
use chela_agent::slash::{
    self, AnswerOutcome, CommandAnswer, CommandContext, CommandId, ParsedLine, SlashCommand,
    SurfaceAction,
};

use super::super::CommandOutcome;
use super::which_session::SessionChoice;
use crate::chat::{self, ForNow, GatewayTalk, OneShotRequest, OutputForm};
use crate::fail::{CommandError, CommandExit};
use crate::screen::Screen;

/// One message; commands work here too, so that scripts can use them.
pub async fn answer_one(
    talk: &Conversation,
    gateway: Option<&GatewayTalk>,
    screen: &mut Screen,
    asked: OneShotRequest,
) -> CommandOutcome {
    let mut for_now = ForNow::new(talk);
    let outcome = answer_with(talk, gateway, screen, asked, &mut for_now).await;
    for_now.put_back().await;
    outcome
}

/// A script sees by the code that a command of the chat did not do what was asked.
fn refuse_failed(answer: &CommandAnswer, command: &SlashCommand) -> Result<(), CommandError> {
    if answer.outcome == AnswerOutcome::Done {
        return Ok(());
    }
    let hint = match command.id {
        CommandId::Skill => "`chela skills list` shows the skills".to_owned(),
        CommandId::Model => "`chela models list` shows the models".to_owned(),
        CommandId::Resume => "`chela sessions list --all` shows the conversations".to_owned(),
        CommandId::Approve => "`chela approvals list` shows what waits".to_owned(),
        _ => format!(
            "`chela -m '/help {}'` shows how it is written",
            command.name
        ),
    };
    Err(CommandError::new(answer.text.trim_end_matches('.')).hint(hint))
}

async fn answer_with(
    talk: &Conversation,
    gateway: Option<&GatewayTalk>,
    screen: &mut Screen,
    asked: OneShotRequest,
    for_now: &mut ForNow<'_>,
) -> CommandOutcome {
    let OneShotRequest {
        message,
        form,
        wait,
        afterwards,
    } = asked;
    // What was piped in gives no orders to Chela: only what was typed is looked through for them.
    let parsed = slash::parse(&message.text);
    let answer = match &parsed {
        ParsedLine::Command { command, args } => slash::run(talk, command, args).await,
        ParsedLine::Directives(directives) => {
            let mut told = Vec::new();
            for directive in directives {
                let answer = slash::apply(talk, directive).await;
                refuse_failed(&answer, directive.command)?;
                told.push(answer.text);
            }
            CommandAnswer::text(told.join("\n\n"))
        }
        ParsedLine::Unknown { name, args } => match slash::find("skill") {
            Some(skill) if talk.is_skill(name) => {
                let answer = slash::run(talk, skill, &format!("{name} {args}")).await;
                refuse_failed(&answer, skill)?;
                answer
            }
            // A path is something to speak of; a command nobody has is a mistake.
            _ if args.is_empty() && message.piped.is_none() && !is_path(name) => {
                let told = slash::help(name).replace('`', "");
                return Err(CommandError::usage(told.trim_end_matches('.')));
            }
            _ => CommandAnswer::then(SurfaceAction::Say(message.text.clone())),
        },
        ParsedLine::Message {
            text, directives, ..
        } => {
            for directive in directives {
                for_now.direct(directive).await;
            }
            CommandAnswer::then(SurfaceAction::Say(text.clone()))
        }
    };
    if let ParsedLine::Command { command, .. } = parsed {
        refuse_failed(&answer, command)?;
    }
    let then = match answer.then {
        SurfaceAction::UseSkill(called) => {
            for_now.answered_by(called.model.as_deref()).await;
            SurfaceAction::Say(called.message)
        }
        then => then,
    };
    let text = match then {
        SurfaceAction::Say(text) | SurfaceAction::Begun(Some(text)) => {
            let asked = OneShotRequest {
                message: InboundMessage { text, ..message },
                form,
                wait,
                afterwards,
            };
            return chat::run_once(talk, gateway, screen, asked).await;
        }
        SurfaceAction::Compact(keep) => talk
            .compact(keep.as_deref())
            .await
            .map_err(CommandError::new)?
            .in_words(),
        SurfaceAction::Approve { id, .. } => {
            let told = format!("there is no open question `{id}`");
            return Err(CommandError::new(told).hint("`chela approvals list` shows what waits"));
        }
        SurfaceAction::Choose(rows) => slash::list_conversations(&rows),
        SurfaceAction::Folder(_) => {
            "Use `--cd DIR` or `--add-dir DIR` to choose the folder for one message.".to_owned()
        }
        SurfaceAction::Resume(id) => {
            let chosen = SessionChoice::Found(id.clone());
            let key = chosen.open(talk.agents(), talk.agent()).await?;
            let key = key.map_or_else(String::new, |key| key.to_string());
            format!("{key} continues the conversation `{id}`.")
        }
        _ => answer.text,
    };
    match form {
        OutputForm::Json => screen.json(&serde_json::json!({ "reply": text, "command": true }))?,
        OutputForm::JsonStream => {
            screen.line(serde_json::json!({ "type": "result", "reply": text, "command": true }))?
        }
        OutputForm::Plain | OutputForm::Drawn => chat::print_markdown(screen, &text)?,
    }
    Ok(CommandExit::Fine)
}

/// Whether `/name` is a place on this machine.
fn is_path(name: &str) -> bool {
    name.contains('/') || std::path::Path::new("/").join(name).exists()
}
